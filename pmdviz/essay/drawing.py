"""A panel as SVG: what is seen without a script, and the paths that a script puts in its place for other values.

Colours and dashes are classes, so that one drawing serves both themes.
"""

from __future__ import annotations

import html
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pmdviz.engine.recipe import Recipe

WIDTH, HEIGHT = 400, 290
LEFT, RIGHT, TOP, BOTTOM = 54, 14, 28, 46
DOT = 1.6  # px, the radius at size 1
LEAST_DOT, DOT_RATIO = 0.3, 1.25  # radii are rounded to powers, so that a path holds all dots of one radius
ROUND = ("dots", "points")
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
MOST_TICKS = 6


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

    def ticks(self) -> list[float]:
        """Round numbers within the range."""
        if self.log:
            return self._log_ticks()
        rough = (self.high - self.low) / MOST_TICKS
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(step * power for step in STEPS if step * power >= rough * (1 - 1e-9))
        first = math.ceil(self.low / step - 1e-9)
        return [k * step for k in range(first, math.floor(self.high / step + 1e-9) + 1)]

    def _log_ticks(self) -> list[float]:
        decades = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        few = math.log10(self.high / self.low) < 2.5
        found = [a * 10.0**k for k in decades for a in ((1, 2, 5) if few else (1,))]
        return [x for x in found if self.low * (1 - 1e-9) <= x <= self.high * (1 + 1e-9)]


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
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{html.escape(told(panel))}">'
        f'<clipPath id="{name}"><rect {frame}/></clipPath>'
        f'<text class="title" x="{LEFT}" y="16">{html.escape(panel["title"])}</text>'
        f'{_grid(panel, across, up)}<g clip-path="url(#{name})">{"".join(inside)}</g></svg>'
    )
    return Drawn(svg, changing)


def told(panel: Mapping[str, Any]) -> str:
    """The picture in words, for who cannot see it."""
    names = ", ".join(layer["name"] for layer in panel["layers"] if layer["name"])
    return f"{panel['title']}: {panel['y']['label']} against {panel['x']['label']}" + (f"; {names}" if names else "")


def _grid(panel: Mapping[str, Any], across: Scale, up: Scale) -> str:
    """Grid lines, numbers and labels."""
    bottom, middle = HEIGHT - BOTTOM, (TOP + HEIGHT - BOTTOM) / 2
    lines = [f"M{across(x):.1f} {TOP}V{bottom}" for x in across.ticks()]
    lines += [f"M{LEFT} {up(y):.1f}H{WIDTH - RIGHT}" for y in up.ticks()]
    words = [f'<text class="x" x="{across(x):.1f}" y="{bottom + 16}">{_number(x)}</text>' for x in across.ticks()]
    words += [f'<text class="y" x="{LEFT - 6}" y="{up(y) + 4:.1f}">{_number(y)}</text>' for y in up.ticks()]
    center = (LEFT + WIDTH - RIGHT) / 2
    labels = (
        f'<text class="x" x="{center:.0f}" y="{HEIGHT - 8}">{html.escape(panel["x"]["label"])}</text>'
        f'<text class="x" transform="translate(13 {middle:.0f}) rotate(-90)">{html.escape(panel["y"]["label"])}</text>'
    )
    return f'<path class="grid" d="{"".join(lines)}"/>{"".join(words)}{labels}'


def _number(value: float) -> str:
    return f"{value:g}".replace("-", "−") if abs(value) > 1e-12 else "0"


def legend(panels: Sequence[Mapping[str, Any]]) -> str:
    """The names of the layers with their colours, each once."""
    entries = {layer["name"]: layer for panel in panels for layer in panel["layers"] if layer["name"]}
    items = [
        f'<li><svg class="key" viewBox="0 0 28 12" aria-hidden="true"><path class="{layer["kind"]} {layer["colour"]}" '
        f'd="{"M14 6h0" if layer["kind"] in ROUND else "M1 6H27"}"/></svg>{html.escape(name)}</li>'
        for name, layer in entries.items()
    ]
    return f'<ul class="legend">{"".join(items)}</ul>'


# What a picture of the essay is: one slider, panels of lines and dots for each of its values, and rows of numbers.

DIGITS = 5  # that are kept of a number: far below what an eye sees in a picture of 400 px
POINT = 6.0  # size of a measured point


class Axis(NamedTuple):
    """One axis: its label and its range, in the units of what is drawn."""

    label: str
    low: float
    high: float
    log: bool = False


class Layer(NamedTuple):
    """A line, dots, or a vertical marker, in one of the colours of `scenes.style`.

    `kind` is line, marker, dots (particles, which lie on one another) or points (measured values). `columns` holds
    {x (n,), y (n,)} once where nothing changes, else once for each value of the slider. Dots and points have `size`
    (n,), to which their areas are proportional: of particles how many times the mean weight each has.
    """

    name: str  # in the legend; "" for what needs no name
    colour: str
    columns: Sequence[Mapping[str, Any]]
    kind: str = "line"


class Panel(NamedTuple):
    """One set of axes."""

    title: str
    x: Axis
    y: Axis
    layers: Sequence[Layer]


class Found(NamedTuple):
    """What a picture computes: its panels, and rows, name -> one number for each value of the slider."""

    panels: Sequence[Panel]
    rows: Mapping[str, Sequence[float]]


class Picture(NamedTuple):
    """A picture before it is computed."""

    name: str  # in the prose: {name.row:format}
    title: str
    slider: str  # label of the one variable
    values: Sequence[float]
    shown: str  # the format of a value, such as "g"
    start: int  # place of the value that is seen first
    said: str  # what a screen reader is told of a value, in the form of the prose
    recipe: Callable[[], Recipe]  # what "Turn it yourself" opens
    compute: Callable[[], Found]


def static(**columns: Any) -> list[Mapping[str, Any]]:
    """Columns that are the same for every value."""
    return [columns]


def marker(at: Sequence[float], low: float, high: float) -> Layer:
    """A vertical line at the value of the slider."""
    return Layer("", "muted", [{"x": [x, x], "y": [low, high]} for x in at], "marker")


def found(panels: Sequence[Panel], rows: Mapping[str, Sequence[float]], **fixed: float) -> Found:
    """Panels and rows; of `fixed` the same number for every value."""
    count = len(next(iter(rows.values())))
    return Found(panels, {**rows, **{name: [float(value)] * count for name, value in fixed.items()}})


def rounded(value: Any) -> Any:
    """Numbers as they are kept: so many digits, None for what is not finite."""
    if isinstance(value, Mapping):
        return {name: rounded(each) for name, each in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return rounded(value._asdict())
    if isinstance(value, (list, tuple, np.ndarray)):
        return [rounded(each) for each in value]
    if isinstance(value, (bool, str)):
        return value
    return float(f"{float(value):.{DIGITS}g}") if np.isfinite(value) else None
