"""The essay as one HTML file: prose, formulas, pictures and their script, without a request to anywhere."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Iterable, Mapping
from functools import cache, partial
from pathlib import Path
from string import Template
from typing import Any
from urllib.parse import urlencode

from markdown_it import MarkdownIt
from math_core import LatexError, LatexToMathML

from pmdviz.errors import InputError, entry, shown
from pmdviz.essay.pictures import PICTURES, kept
from pmdviz.essay.pictures import Picture as Computed
from pmdviz.files import script_json, static_text
from pmdviz.pictures import Axis, Mark, Picture
from pmdviz.render import canvas_script, changes, css_variables, page_css, picture_json, policy_hashes
from pmdviz.scenes import style

# A panel as pictures, one for each value of the slider.

DOT = 3.2  # px, the diameter at size 1
LOOKS: dict[str, dict] = {"dots": {"alpha": 0.6}, "points": {"alpha": 1.0}, "marker": {"width": 1.5, "dash": (3, 3)}}
DASHES = {**style.DASHES, "first_path": style.DASHES["ghost"]}


def pictures_of(panel: Mapping[str, Any], count: int) -> list[Picture]:
    """A panel at each of so many values."""
    layers = {f"{k}": layer for k, layer in enumerate(panel["layers"])}
    legend = {key: layer["name"] for key, layer in layers.items() if layer["name"]}
    about = f"{panel['title']}: {panel['y']['label']} against {panel['x']['label']}"
    words = {"title": panel["title"], "about": "; ".join([about, *([", ".join(legend.values())] if legend else [])])}
    x, y = Axis(**panel["x"]), Axis(**panel["y"])
    return [
        Picture(x, y, {key: _mark(layer, k) for key, layer in layers.items()}, legend, **words) for k in range(count)
    ]


def _mark(layer: Mapping[str, Any], k: int) -> Mark:
    columns = layer["columns"][k if len(layer["columns"]) > 1 else 0]
    if "size" in columns:
        sizes = [round(DOT * math.sqrt(size), 2) for size in columns["size"]]
        return Mark("dots", layer["colour"], {**columns, "size": sizes}, LOOKS[layer["kind"]])
    return Mark("line", layer["colour"], columns, LOOKS.get(layer["kind"], {"dash": DASHES.get(layer["colour"], ())}))


def drawn(panel: Mapping[str, Any], start: int, count: int) -> dict[str, Any]:
    """The panel at the value `start` for the script, and its changes at each value."""
    states = [picture_json(picture, lambda key, name, values, axis: values) for picture in pictures_of(panel, count)]
    return {"picture": states[start], "changes": [changes(state, states[start]) for state in states]}


# Formulas of the prose as MathML, which every browser sets by itself: no script and no font from elsewhere.

TEX = LatexToMathML()
COLOURED = re.compile(r"\x1b\[[0-9;]*m")  # of a terminal, in the library's messages


def mathml(source: str, block: bool = False) -> str:
    """A formula in TeX as one <math> element. Raises InputError for one that cannot be read."""
    try:
        found = TEX.convert_with_local_state(source, displaystyle=block)
    except LatexError as error:
        reason = COLOURED.sub("", str(error)).strip().splitlines()[0].removeprefix("Error: ")
        raise InputError(f"a formula cannot be read: {reason}; got {shown(source)}") from None
    return found.replace("&ApplyFunction;", "\u2061")  # an entity that HTML knows, and XML does not


HERE = Path(__file__).parent
STATIC = HERE / "static"
NUMBER = re.compile(r"\{(\w+)\.(\w+):([^{}]+)\}")
SPECIAL = re.compile(r"\$\$(?P<block>[^$]+)\$\$|\$(?P<inline>[^$]+)\$|\[\[(?P<picture>\w+)\]\]|" + NUMBER.pattern)
KEPT = re.compile(r"<output[^>]*>[^<]*</output>(?:[.,;:]| %[.,;]?)")  # what no line may break
MARK = "\ue000{}\ue001"  # letters for private use: Markdown leaves them alone
WIDTHS = {".": 6, ",": 6, "−": 13}  # in tenths of a digit's, at most: fonts differ
RUN_HERE = "On this page most pictures run: press Play. The numbers below them belong to their first setting."
LAB_OF_SITE = '<a href="index.html">Open the lab</a>'
PLAY, TURN = "Play it here", "Turn it yourself"


def number(picture: str, row: str, form: str) -> tuple[str, ...]:
    """A number of the prose, a row of a picture, as text for every value of the slider. Raises InputError."""
    rows = kept()[entry("picture of the essay", picture, PICTURES).name]["rows"]
    return tuple(_text(value, form) for value in entry(f"row of picture {picture}:", row, rows))


def _text(value: float | None, form: str) -> str:
    return "∞" if value is None else format(value, form).replace("-", "−")


class Prose:
    """The prose as HTML; what it shows of a picture is collected as it is read."""

    def __init__(self, served: bool, framed: frozenset[str] = frozenset()) -> None:
        self.served, self.framed = served, framed
        self.parts: list[str] = []  # the icon of each mark
        self.numbers: dict[str, list[tuple[str, ...]]] = {name: [] for name in PICTURES}
        self.widths: set[int] = set()  # in tenths of a digit, for which the style sheet has a class
        self.drawn: dict[str, list[dict[str, Any]]] = {}

    def html(self, source: str) -> str:
        """All of it."""
        text = MarkdownIt("commonmark", {"html": False}).render(SPECIAL.sub(self._marked, source))
        mark = MARK.format(r"(\d+)")
        figure = re.compile(rf"<p>{mark}\n(.*?)</p>", re.DOTALL)
        text = figure.sub(lambda found: self._figure(self.parts[int(found[1])], found[2]), text)
        text = re.sub(mark, lambda found: self.parts[int(found[1])], text)
        return KEPT.sub(r'<span class="keep">\g<0></span>', text)

    def _marked(self, found: re.Match[str]) -> str:
        if formula := found["block"] or found["inline"]:
            part = mathml(formula, block=found["block"] is not None)
        else:
            part = found["picture"] or self._number(*found.groups()[3:])
        self.parts.append(part)
        return MARK.format(len(self.parts) - 1)

    def _number(self, name: str, row: str, form: str) -> str:
        texts = number(name, row, form)
        shown = texts[PICTURES[name].start]
        if len({*texts}) == 1 or name in self.framed:
            return shown
        place = len(self.numbers[name])
        self.numbers[name].append(texts)
        wide = max(sum(WIDTHS.get(letter, 10) for letter in text) for text in texts)  # no text moves
        self.widths.add(wide)
        return f'<output for="{name}" data-number="{place}" class="w{wide}" aria-live="off">{shown}</output>'

    def _figure(self, name: str, caption: str) -> str:
        picture, panels = PICTURES[name], kept()[name]["panels"]
        title, more = html.escape(picture.title), live(picture) if self.served else ""
        if name in self.framed:  # its run, in a page of the same site
            shown = f'<iframe loading="lazy" title="{title}" src="index.html#embed/essay-{name}"></iframe>'
        else:
            self.drawn[name] = [drawn(panel, picture.start, len(picture.values)) for panel in panels]
            shown = f'<div class="panels">{"<canvas></canvas>" * len(panels)}</div>{self._controls(picture)}'
        return f'<figure id="picture-{name}"><h3>{title}</h3>{shown}<figcaption>{caption}</figcaption>{more}</figure>'

    def _controls(self, picture: Computed) -> str:
        last, shown = len(picture.values) - 1, shown_values(picture)[picture.start]
        return (
            f'<div class="controls"><label for="{picture.name}">{html.escape(picture.slider)}</label>'
            f'<input id="{picture.name}" type="range" min="0" max="{last}" step="1" value="{picture.start}">'
            f'<output for="{picture.name}" data-value aria-live="off">{shown}</output></div>'
        )


def live(picture: Computed) -> str:
    """The picture's run in the app that serves the essay: in a frame on demand, or in a tab with all its settings."""
    from pmdviz.lab.links import START  # Panel, which the server has loaded

    run = {"run": picture.recipe().to_link(), "start": START}
    framed, opened = (html.escape(f"./?{urlencode(query)}") for query in (run | {"embed": "1"}, run))
    title = html.escape(f"{picture.title}, live")
    return (
        f'<p class="live"><button type="button" data-frame="{framed}" data-title="{title}">{PLAY}</button> '
        f'<a href="{opened}" target="_blank" rel="noopener">{TURN}</a></p>'
    )


def shown_values(picture: Computed) -> list[str]:
    """The values of the slider as text."""
    return [_text(value, picture.shown) for value in picture.values]


def told(picture: Computed) -> list[str]:
    """The words of a screen reader for each value of the slider."""
    return [
        f"{value}: " + NUMBER.sub(partial(lambda place, found: number(*found.groups())[place], place), picture.said)
        for place, value in enumerate(shown_values(picture))
    ]


def moving(prose: Prose) -> dict[str, Any]:
    """What the script needs of each picture: its panels, numbers, values and words for every value."""
    return {
        name: {
            "panels": prose.drawn[name],
            "numbers": prose.numbers[name],
            "values": shown_values(picture),
            "told": told(picture),
        }
        for name, picture in PICTURES.items()
        if name in prose.drawn
    }


def stylesheet(widths: Iterable[int]) -> str:
    """The style sheet with the colours of both themes, and the places of numbers of these widths."""
    places = "\n".join(f"output.w{n} {{ min-width: {n / 10:g}ch; }}" for n in sorted(widths))
    return f"{css_variables()}{page_css('essay')}{places}\n"


def policy(framing: bool, css: str, script: str) -> str:
    """The Content-Security-Policy: this script and this style sheet, and nothing from anywhere but the app itself."""
    own = {"style-src": policy_hashes(css), "script-src": policy_hashes(script), "img-src": "data:"}
    own |= {"frame-src": "'self'"} if framing else {}
    parts = {"default-src": "'none'", **own, "base-uri": "'none'", "form-action": "'none'"}
    return "; ".join(f"{name} {value}" for name, value in parts.items())


@cache
def page(served: bool = False, framed: frozenset[str] = frozenset()) -> str:
    """The whole page; `served` by the app, each picture opens its run there; on a site those `framed` run in place."""
    prose = Prose(served, framed)
    body = prose.html((HERE / "essay.md").read_text(encoding="utf-8"))
    if framed:
        body = f"<p>{RUN_HERE}</p>{body}"
    css, script = stylesheet(prose.widths), canvas_script() + static_text(STATIC / "essay.js")
    return Template((STATIC / "essay.html").read_text(encoding="utf-8")).substitute(
        policy=html.escape(policy(served or bool(framed), css, script)),
        css=css,
        script=script,
        home='<a href="./">Open the lab</a>' if served else LAB_OF_SITE if framed else "",
        body=body,
        pictures=script_json(moving(prose)),
    )
