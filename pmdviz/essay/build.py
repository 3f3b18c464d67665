"""The essay as one HTML file: prose, formulas, pictures and their script, without a request to anywhere."""

from __future__ import annotations

import base64
import hashlib
import html
import re
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from string import Template
from typing import Any, NamedTuple
from urllib.parse import urlencode

from markdown_it import MarkdownIt

from pmdviz.errors import InputError, shown, unknown
from pmdviz.essay.drawing import Picture, draw, legend
from pmdviz.essay.pictures import PICTURES, kept
from pmdviz.files import script_json
from pmdviz.scenes import style

# Formulas of the prose as MathML, which every browser sets by itself: no script and no font from elsewhere.

TOKEN = re.compile(r"\s*(\\[a-z]+|[A-Za-z]{2,}|\d+(?:\.\d+)?|.)")
COMMANDS = {"\\frac": 2, "\\sqrt": 1, "\\text": 1}  # and how many groups each takes
GAP = '<mspace width="0.17em"/>'  # after a function that has no bracket
OPEN = ("(", "[", "=", "")
SCRIPTS = {"_": "msub", "^": "msup"}


def mathml(source: str, block: bool = False) -> str:
    """A formula as one <math> element. Raises InputError for braces that do not match or an unknown command."""
    reader = _Reader(source)
    inside = reader.row("")
    display = ' display="block"' if block else ""
    return f"<math{display}>{inside}</math>"


class _Reader:
    """Reads a formula from left to right."""

    def __init__(self, source: str) -> None:
        self.source, self.at = source, 0

    def fault(self, words: str) -> InputError:
        return InputError(f"a formula {words}; given: {shown(self.source)}")

    def next(self) -> str:
        """The next token; "" at the end."""
        found = TOKEN.match(self.source, self.at)
        if found is None:
            return ""
        self.at = found.end()
        return found[1]

    def peek(self) -> str:
        at, token = self.at, self.next()
        self.at = at
        return token

    def row(self, end: str) -> str:
        """All up to `end`, which is taken too."""
        parts: list[str] = []
        while (token := self.next()) != end:
            if token in ("", "}"):
                raise self.fault("has a brace without its other one")
            parts.append(self.scripted(self.atom(token)))
        return f"<mrow>{''.join(parts)}</mrow>"

    def atom(self, token: str) -> str:
        """One thing that may carry scripts."""
        if token == "{":
            return self.row("}")
        if token == "\\text":
            return f"<mtext>{html.escape(self.text()).replace(' ', '&#160;')}</mtext>"
        if token in COMMANDS:
            inside = "".join(self.group() for _ in range(COMMANDS[token]))
            return f"<m{token[1:]}>{inside}</m{token[1:]}>"
        if token.startswith("\\"):
            raise self.fault(f"has the command {token}, which is none of {', '.join(COMMANDS)}")
        return _leaf(token)

    def group(self) -> str:
        """The next token, or all in braces."""
        token = self.next()
        if token in ("", "}"):
            raise self.fault("ends where a part of it is missing")
        return self.atom(token)

    def text(self) -> str:
        found = re.compile(r"\{([^{}]*)\}").match(self.source, self.at)
        if found is None:
            raise self.fault("needs braces around its words")
        self.at = found.end()
        return found[1]

    def scripted(self, base: str) -> str:
        """The base with what is below and above the line."""
        scripts = dict(self.scripts())
        base, gap = base.removesuffix(GAP), GAP if base.endswith(GAP) else ""
        if len(scripts) == 2:
            return f"<msubsup>{base}{scripts['_']}{scripts['^']}</msubsup>{gap}"
        for sign, script in scripts.items():
            base = f"<{SCRIPTS[sign]}>{base}{script}</{SCRIPTS[sign]}>"
        return base + (gap if self.peek() not in OPEN else "")

    def scripts(self) -> Iterator[tuple[str, str]]:
        while (sign := self.peek()) in SCRIPTS:
            self.next()
            yield sign, self.group()


def _leaf(token: str) -> str:
    if token[0].isdigit():
        return f"<mn>{token}</mn>"
    if token.isalpha():  # of several letters it is upright, a function
        return f"<mi>{token}</mi>" + (GAP if len(token) > 1 else "")
    return f"<mo>{html.escape({'-': '−'}.get(token, token))}</mo>"


HERE = Path(__file__).parent
NUMBER = re.compile(r"\{(\w+)\.(\w+):([^{}]+)\}")
SPECIAL = re.compile(r"\$\$(?P<block>[^$]+)\$\$|\$(?P<inline>[^$]+)\$|\[\[(?P<picture>\w+)\]\]|" + NUMBER.pattern)
KEPT = re.compile(r"<output[^>]*>[^<]*</output>(?:[.,;:]| %[.,;]?)")  # what no line may break
MARK = "\ue000{}\ue001"  # letters for private use: Markdown leaves them alone
WIDTHS = {".": 6, ",": 6, "−": 13}  # in tenths of a digit's, at most: fonts differ
PLAY, TURN = "Play it here", "Turn it yourself"


class Number(NamedTuple):
    """A number of the prose as text: for every value of the picture's slider."""

    picture: str
    texts: tuple[str, ...]

    @property
    def moves(self) -> bool:
        """Whether it follows the slider."""
        return len(set(self.texts)) > 1


def number(picture: str, row: str, form: str) -> Number:
    """A row of a picture in a format. Raises InputError for a name that is none."""
    if picture not in PICTURES:
        raise unknown("picture of the essay", picture, PICTURES)
    rows = kept()[picture]["rows"]
    if row not in rows:
        raise unknown(f"row of picture {picture}:", row, rows)
    return Number(picture, tuple(_text(value, form) for value in rows[row]))


def _tenths(text: str) -> int:
    """The width of a number in tenths of a digit's: no text moves when another number takes its place."""
    return sum(WIDTHS.get(letter, 10) for letter in text)


def _text(value: float | None, form: str) -> str:
    return "∞" if value is None else format(value, form).replace("-", "−")


class Prose:
    """The prose as HTML; what it shows of a picture is collected as it is read."""

    def __init__(self, served: bool) -> None:
        self.served = served
        self.parts: list[str] = []  # what stands for each mark
        self.numbers: dict[str, list[tuple[str, ...]]] = {name: [] for name in PICTURES}
        self.widths: set[int] = set()  # in tenths of a digit, for which the style sheet has a class
        self.drawn: dict[str, list[list[str]]] = {}

    def html(self, source: str) -> str:
        """All of it."""
        text = MarkdownIt("commonmark", {"html": False}).render(SPECIAL.sub(self._marked, source))
        mark = MARK.format(r"(\d+)")
        figure = re.compile(rf"<p>{mark}\n(.*?)</p>", re.DOTALL)
        text = figure.sub(lambda found: self._figure(self.parts[int(found[1])], found[2]), text)
        text = re.sub(mark, lambda found: self.parts[int(found[1])], text)
        return KEPT.sub(r'<span class="keep">\g<0></span>', text)

    def _marked(self, found: re.Match[str]) -> str:
        self.parts.append(self._part(found))
        return MARK.format(len(self.parts) - 1)

    def _part(self, found: re.Match[str]) -> str:
        if formula := found["block"] or found["inline"]:
            return mathml(formula, block=found["block"] is not None)
        return found["picture"] or self._number(number(*found.groups()[3:]))

    def _number(self, one: Number) -> str:
        picture = PICTURES[one.picture]
        if not one.moves:
            return one.texts[0]
        self.numbers[one.picture].append(one.texts)
        place, wide = len(self.numbers[one.picture]) - 1, max(map(_tenths, one.texts))
        self.widths.add(wide)
        return (
            f'<output for="{one.picture}" data-number="{place}" class="w{wide}" aria-live="off">'
            f"{one.texts[picture.start]}</output>"
        )

    def _figure(self, name: str, caption: str) -> str:
        picture, panels = PICTURES[name], kept()[name]["panels"]
        svgs, paths = [], []
        for place, panel in enumerate(panels):
            drawn = draw(panel, picture.start, f"{name}-{place}", len(paths))
            svgs.append(drawn.svg)
            paths += drawn.paths
        self.drawn[name] = paths
        return (
            f'<figure id="picture-{name}"><h3>{html.escape(picture.title)}</h3>'
            f'<div class="panels">{"".join(svgs)}</div>{legend(panels)}{self._controls(picture)}'
            f"<figcaption>{caption}</figcaption>{live(picture) if self.served else ''}</figure>"
        )

    def _controls(self, picture: Picture) -> str:
        last, shown = len(picture.values) - 1, shown_values(picture)[picture.start]
        return (
            f'<div class="controls"><label for="{picture.name}">{html.escape(picture.slider)}</label>'
            f'<input id="{picture.name}" type="range" min="0" max="{last}" step="1" value="{picture.start}">'
            f'<output for="{picture.name}" data-value aria-live="off">{shown}</output></div>'
        )


def live(picture: Picture) -> str:
    """The picture's run in the app that serves the essay: in a frame on demand, or in a tab with all its settings."""
    from pmdviz.lab.links import START  # Panel, which the server has loaded

    run = {"run": picture.recipe().to_link(), "start": START}
    framed, opened = (html.escape(f"./?{urlencode(query)}") for query in (run | {"embed": "1"}, run))
    title = html.escape(f"{picture.title}, live")
    return (
        f'<p class="live"><button type="button" data-frame="{framed}" data-title="{title}">{PLAY}</button> '
        f'<a href="{opened}" target="_blank" rel="noopener">{TURN}</a></p>'
    )


def shown_values(picture: Picture) -> list[str]:
    """The values of the slider as text."""
    return [_text(value, picture.shown) for value in picture.values]


def told(picture: Picture) -> list[str]:
    """What a screen reader is told of each value of the slider."""
    return [
        f"{value}: " + NUMBER.sub(lambda found, place=place: number(*found.groups()).texts[place], picture.said)
        for place, value in enumerate(shown_values(picture))
    ]


def moving(prose: Prose) -> dict[str, Any]:
    """What the script needs of each picture: the paths, numbers, values and words for every value."""
    return {
        name: {
            "paths": prose.drawn[name],
            "numbers": prose.numbers[name],
            "values": shown_values(picture),
            "told": told(picture),
        }
        for name, picture in PICTURES.items()
    }


def _variables(theme: style.Theme) -> str:
    own = {"paper": theme.paper, "text": theme.text, "muted": theme.muted, "grid": theme.grid}
    return " ".join(f"--{name.replace('_', '-')}: {value};" for name, value in {**own, **theme.layers}.items())


def stylesheet(widths: Iterable[int]) -> str:
    """The style sheet with the colours of both themes, and the places of numbers of these widths."""
    light, dark = _variables(style.LIGHT), _variables(style.DARK)
    themes = (
        f":root {{ color-scheme: light; {light} }}\n"
        f"@media (prefers-color-scheme: dark) {{ :root {{ color-scheme: dark; {dark} }} }}\n"
        f':root[data-theme="light"] {{ color-scheme: light; {light} }}\n'
        f':root[data-theme="dark"] {{ color-scheme: dark; {dark} }}\n'
    )
    places = "\n".join(f"output.w{n} {{ min-width: {n / 10:g}ch; }}" for n in sorted(widths))
    return f"{themes}{_static('essay.css')}{places}\n"


def policy(served: bool, css: str, *scripts: str) -> str:
    """The Content-Security-Policy: these scripts and this style sheet, and nothing from anywhere but the app itself."""
    own = {"style-src": _hashes(css), "script-src": _hashes(*scripts), "img-src": "data:"}
    own |= {"frame-src": "'self'"} if served else {}
    parts = {"default-src": "'none'", **own, "base-uri": "'none'", "form-action": "'none'"}
    return "; ".join(f"{name} {value}" for name, value in parts.items())


def _hashes(*texts: str) -> str:
    found = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts)
    return " ".join(f"'sha256-{each}'" for each in found)


def _static(name: str) -> str:
    return (HERE / "static" / name).read_text(encoding="utf-8")


@cache
def page(served: bool = False) -> str:
    """The whole page; `served` beside the app, each picture opens its run there."""
    prose = Prose(served)
    body = prose.html((HERE / "essay.md").read_text(encoding="utf-8"))
    css, begin, script = stylesheet(prose.widths), _static("begin.js"), _static("essay.js")
    return Template(_static("essay.html")).substitute(
        policy=html.escape(policy(served, css, begin, script)),
        css=css,
        begin=begin,
        script=script,
        home='<a href="./">Open the lab</a>' if served else "",
        body=body,
        pictures=script_json(moving(prose)),
    )
