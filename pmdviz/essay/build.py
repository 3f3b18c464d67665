"""The essay as one HTML file: prose, formulas, pictures and their script, without a request to anywhere."""

from __future__ import annotations

import base64
import hashlib
import html
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from string import Template
from typing import Any, NamedTuple
from urllib.parse import urlencode

from markdown_it import MarkdownIt
from math_core import LatexError, LatexToMathML

from pmdviz.errors import InputError, shown, unknown
from pmdviz.essay.pictures import PICTURES, Picture, kept
from pmdviz.files import script_json, static_text
from pmdviz.pictures import tick_words, ticks
from pmdviz.scenes import style

# A panel as SVG: what is seen without a script, and the paths that a script puts in its place for other values.
# Colours and dashes are classes, so that one drawing serves both themes.

WIDTH, HEIGHT = 400, 290
LEFT, RIGHT, TOP, BOTTOM = 54, 14, 28, 46
DOT = 1.6  # px, the radius at size 1
LEAST_DOT, DOT_RATIO = 0.3, 1.25  # radii are rounded to powers, so that a path holds all dots of one radius
ROUND = ("dots", "points")


class Scale(NamedTuple):
    """From the units of an axis to px."""

    low: float
    high: float
    start: float
    end: float
    log: bool

    def __call__(self, value: float) -> float:
        """Place of a value."""
        low, high, at = (math.log(x) if self.log else x for x in (self.low, self.high, value))
        return self.start + (at - low) / (high - low) * (self.end - self.start)


class Drawn(NamedTuple):
    """A panel's SVG, and for each path that changes its `d` at every value of the slider."""

    svg: str
    paths: list[list[str]]


def scales(panel: Mapping[str, Any]) -> tuple[Scale, Scale]:
    """Of the axes x and y."""
    x, y = panel["x"], panel["y"]
    across = Scale(x["low"], x["high"], LEFT, WIDTH - RIGHT, x["log"])
    return across, Scale(y["low"], y["high"], HEIGHT - BOTTOM, TOP, y["log"])


def line(columns: Mapping[str, Any], across: Scale, up: Scale) -> str:
    """The `d` of a line, broken where a number is missing."""
    parts, pen = [], "M"
    for x, y in zip(columns["x"], columns["y"], strict=True):
        if x is None or y is None or (up.log and y <= 0):
            pen = "M"
            continue
        parts.append(f"{pen}{across(x):.1f} {min(max(up(y), -HEIGHT), 2 * HEIGHT):.1f}")
        pen = "L"
    return "".join(parts)


def dots(columns: Mapping[str, Any], across: Scale, up: Scale) -> dict[int, str]:
    """Of each radius, by its power of DOT_RATIO, the `d` of the dots that have it; what is too small is left out."""
    found: dict[int, list[str]] = {}
    for x, y, size in zip(columns["x"], columns["y"], columns["size"], strict=True):
        radius = DOT * math.sqrt(size)
        if radius >= LEAST_DOT:
            at = f"M{across(x):.1f} {up(y):.1f}h0"
            found.setdefault(round(math.log(radius, DOT_RATIO)), []).append(at)
    return {power: "".join(parts) for power, parts in sorted(found.items())}


def layer_paths(layer: Mapping[str, Any], across: Scale, up: Scale) -> list[tuple[str, list[str]]]:
    """The attributes of each path of a layer, and its `d`s: one, or one for every value."""
    if layer["kind"] not in ROUND:
        kind = f'class="{layer["kind"]} {layer["colour"]}"'
        return [(kind, [line(columns, across, up) for columns in layer["columns"]])]
    each = [dots(columns, across, up) for columns in layer["columns"]]
    kind = f'class="{layer["kind"]} {layer["colour"]}"'
    return [
        (f'{kind} stroke-width="{2 * DOT_RATIO**power:.1f}"', [one.get(power, "") for one in each])
        for power in sorted({power for one in each for power in one}, reverse=True)
    ]


def draw(panel: Mapping[str, Any], start: int, name: str, first: int) -> Drawn:
    """The SVG of a panel at the value `start`; its changing paths are numbered from `first`."""
    across, up = scales(panel)
    inside, changing = [], []
    for layer in panel["layers"]:
        for kind, ds in layer_paths(layer, across, up):
            if len(ds) == 1:
                inside.append(f'<path {kind} d="{ds[0]}"/>')
            else:
                inside.append(f'<path {kind} data-path="{first + len(changing)}" d="{ds[start]}"/>')
                changing.append(ds)
    frame = f'x="{LEFT}" y="{TOP}" width="{WIDTH - LEFT - RIGHT}" height="{HEIGHT - TOP - BOTTOM}"'
    svg = (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html.escape(panel_words(panel))}">'
        f'<clipPath id="{name}"><rect {frame}/></clipPath>'
        f'<text class="title" x="{LEFT}" y="16">{html.escape(panel["title"])}</text>'
        f'{_grid(panel, across, up)}<g clip-path="url(#{name})">{"".join(inside)}</g></svg>'
    )
    return Drawn(svg, changing)


def panel_words(panel: Mapping[str, Any]) -> str:
    """The picture in words, for who cannot see it."""
    names = ", ".join(layer["name"] for layer in panel["layers"] if layer["name"])
    return f"{panel['title']}: {panel['y']['label']} against {panel['x']['label']}" + (f"; {names}" if names else "")


def _grid(panel: Mapping[str, Any], across: Scale, up: Scale) -> str:
    """Grid lines, numbers and labels."""
    bottom, middle = HEIGHT - BOTTOM, (TOP + HEIGHT - BOTTOM) / 2
    xs, ys = (ticks(scale.low, scale.high, scale.log) for scale in (across, up))
    lines = [f"M{across(x):.1f} {TOP}V{bottom}" for x in xs] + [f"M{LEFT} {up(y):.1f}H{WIDTH - RIGHT}" for y in ys]
    words = [f'<text class="x" x="{across(x):.1f}" y="{bottom + 16}">{tick_words(x)}</text>' for x in xs]
    words += [f'<text class="y" x="{LEFT - 6}" y="{up(y) + 4:.1f}">{tick_words(y)}</text>' for y in ys]
    center = (LEFT + WIDTH - RIGHT) / 2
    labels = (
        f'<text class="x" x="{center:.0f}" y="{HEIGHT - 8}">{html.escape(panel["x"]["label"])}</text>'
        f'<text class="x" transform="translate(13 {middle:.0f}) rotate(-90)">{html.escape(panel["y"]["label"])}</text>'
    )
    return f'<path class="grid" d="{"".join(lines)}"/>{"".join(words)}{labels}'


def legend(panels: Sequence[Mapping[str, Any]]) -> str:
    """The names of the layers with their colours, each once."""
    entries = {layer["name"]: layer for panel in panels for layer in panel["layers"] if layer["name"]}
    items = [
        f'<li><svg class="key" viewBox="0 0 28 12" aria-hidden="true"><path class="{layer["kind"]} {layer["colour"]}" '
        f'd="{"M14 6h0" if layer["kind"] in ROUND else "M1 6H27"}"/></svg>{html.escape(name)}</li>'
        for name, layer in entries.items()
    ]
    return f'<ul class="legend">{"".join(items)}</ul>'


# Formulas of the prose as MathML, which every browser sets by itself: no script and no font from elsewhere.

TEX = LatexToMathML()
COLOURED = re.compile(r"\x1b\[[0-9;]*m")  # of a terminal, in the library's messages


def mathml(source: str, block: bool = False) -> str:
    """A formula in TeX as one <math> element. Raises InputError for one that cannot be read."""
    try:
        found = TEX.convert_with_local_state(source, displaystyle=block)
    except LatexError as error:
        reason = COLOURED.sub("", str(error)).strip().splitlines()[0].removeprefix("Error: ")
        raise InputError(f"a formula cannot be read: {reason}; given: {shown(source)}") from None
    return found.replace("&ApplyFunction;", "\u2061")  # an entity that HTML knows, and XML does not


HERE = Path(__file__).parent
STATIC = HERE / "static"
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
    return f"{themes}{static_text(STATIC / 'essay.css')}{places}\n"


def policy(served: bool, css: str, *scripts: str) -> str:
    """The Content-Security-Policy: these scripts and this style sheet, and nothing from anywhere but the app itself."""
    own = {"style-src": _hashes(css), "script-src": _hashes(*scripts), "img-src": "data:"}
    own |= {"frame-src": "'self'"} if served else {}
    parts = {"default-src": "'none'", **own, "base-uri": "'none'", "form-action": "'none'"}
    return "; ".join(f"{name} {value}" for name, value in parts.items())


def _hashes(*texts: str) -> str:
    found = (base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts)
    return " ".join(f"'sha256-{each}'" for each in found)


@cache
def page(served: bool = False) -> str:
    """The whole page; `served` beside the app, each picture opens its run there."""
    prose = Prose(served)
    body = prose.html((HERE / "essay.md").read_text(encoding="utf-8"))
    css, begin, script = (
        stylesheet(prose.widths),
        *(static_text(STATIC / "essay.js", part) for part in ("begin", "essay")),
    )
    return Template((STATIC / "essay.html").read_text(encoding="utf-8")).substitute(
        policy=html.escape(policy(served, css, begin, script)),
        css=css,
        begin=begin,
        script=script,
        home='<a href="./">Open the lab</a>' if served else "",
        body=body,
        pictures=script_json(moving(prose)),
    )
