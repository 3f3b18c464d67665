"""The charts of `bench dimension` and `claims-logistic` as SVG, legible on light and on dark pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np

LEFT, TOP, GAP = 58, 84, 17  # pixels: the axes' left end, the first panel, and between two names
COLOURS = (  # on white, on black
    *(("#0b57d0", "#7fb2ff"), ("#c2410c", "#ff9f6b"), ("#7048c6", "#b9a2ff"), ("#ad1457", "#ff8fc0")),
    *(("#2e7d32", "#7ed083"), ("#5f6368", "#c4c7cc"), ("#8a6d00", "#e3c34d"), ("#007a8a", "#54d1e0")),
    *(("#795548", "#d7b9ab"), ("#0097c4", "#63d2f5"), ("#202124", "#f1f3f4")),
)
STYLE = """text { font: 13px system-ui, sans-serif; fill: #202124 } .title { font-weight: 600; font-size: 15px }
.back { fill: #fff } .grid { stroke: #8885; stroke-width: 1 } .lead { stroke: #888; stroke-width: 1 }
polyline { fill: none } polyline, circle { stroke-width: 2 } .open { fill: #fff }
.band { stroke: none; opacity: 0.18 }"""
DARK = "text { fill: #e8eaed } .back { fill: #16181d } .open { fill: #16181d }"


class Line(NamedTuple):
    """Points by name; a band from lowest to highest, or dots of which some are filled."""

    name: str
    y: Sequence[float]
    x: Sequence[float]
    band: tuple[Sequence[float], Sequence[float]] | None = None
    filled: Sequence[bool] = ()


class Chart(NamedTuple):
    """What the panels share: both axes are logarithmic, values beyond the ends are drawn there."""

    title: str
    below: str
    across: str  # the name of x
    x: Sequence[float]
    y: Sequence[float]  # ticks, the ends included
    size: tuple[int, int] = (620, 300)  # of the axes with the lines' names, of a panel
    right: int = 400

    def at(self, x: float) -> float:
        """Pixels from the left."""
        low, high = np.log(self.x[0]), np.log(self.x[-1])
        return float(LEFT + 14 + (np.log(x) - low) / (high - low) * (self.right - LEFT - 28))

    def down(self, y: float, top: float) -> float:
        """Pixels from the top."""
        low, high = np.log(self.y[0]), np.log(self.y[-1])
        value = np.clip(np.log(y) if y == y else high, low, high)
        return float(top + (high - value) / (high - low) * (self.size[1] - 66))


def drawn(chart: Chart, panels: Mapping[str, Sequence[Line]]) -> str:
    """The SVG: a panel under the other, a colour for each name in the order of the first."""
    names = [line.name for line in next(iter(panels.values()))]
    height = TOP + len(panels) * (chart.size[1] + 8)
    light, dark = (
        "\n".join(f".s{k} {{ stroke: {COLOURS[k][d]} }} .f{k} {{ fill: {COLOURS[k][d]} }}" for k in range(len(names)))
        for d in (0, 1)
    )
    view = f'viewBox="0 0 {chart.size[0]} {height}" role="img" aria-label="{chart.title}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {view}>',
        f"<style>{STYLE}\n{light}\n@media (prefers-color-scheme: dark) {{ {DARK}\n{dark} }}</style>",
        f'<rect class="back" width="{chart.size[0]}" height="{height}"/>',
        text(LEFT, 24, chart.title, 'class="title"'),
        text(LEFT, 45, chart.below),
    ]
    for k, (title, lines) in enumerate(panels.items()):
        top = TOP + k * (chart.size[1] + 8)
        parts += [text(LEFT, top - 10, title, 'class="title"'), *_axes(chart, top)]
        ends = [chart.down(line.y[-1], top) for line in lines]
        places = spread(ends, GAP, top, top + chart.size[1] - 66)
        for line, end, place in zip(lines, ends, places, strict=True):
            parts += _line(chart, top, names.index(line.name), line)
            lead = f"M{chart.right - 8} {end:.1f}L{chart.right + 12} {place:.1f}"
            named = text(chart.right + 16, place + 4, line.name, f'class="f{names.index(line.name)}"')
            parts.append(f'<path class="lead" d="{lead}"/>{named}')
    return "\n".join([*parts, "</svg>\n"])


def text(x: float, y: float, words: str, more: str = "") -> str:
    """A text element."""
    return f'<text x="{x:g}" y="{y:.1f}" {more}>{escape(words)}</text>'


def _axes(chart: Chart, top: float) -> list[str]:
    rows = [(chart.down(value, top), f"{value:g}") for value in chart.y]
    bottom = rows[0][0]
    parts = [f'<path class="grid" d="M{LEFT} {y:.1f}H{chart.right}"/>' for y, _ in rows]
    parts += [text(LEFT - 8, y + 4, words, 'text-anchor="end"') for y, words in rows]
    parts += [text(round(chart.at(x), 1), bottom + 20, f"{x:g}", 'text-anchor="middle"') for x in chart.x]
    return [*parts, text((LEFT + chart.right) / 2, bottom + 38, chart.across, 'text-anchor="middle"')]


def _line(chart: Chart, top: float, k: int, line: Line) -> list[str]:
    def path(values: Sequence[float]) -> list[str]:
        return [f"{chart.at(x):.1f},{chart.down(y, top):.1f}" for x, y in zip(line.x, values, strict=True)]

    parts = [f'<polyline class="s{k}" points="{" ".join(path(line.y))}"/>']
    if line.band is not None:
        around = " ".join(path(line.band[1]) + path(line.band[0])[::-1])
        parts.insert(0, f'<polygon class="band f{k}" points="{around}"/>')
    for place, filled in zip(path(line.y), line.filled, strict=False):
        x, y = place.split(",")
        parts.append(f'<circle class="{f"f{k}" if filled else "open"} s{k}" cx="{x}" cy="{y}" r="3.5"/>')
    return parts


def spread(places: Sequence[float], gap: float, least: float, most: float) -> list[float]:
    """Places as near as may be to those given, in their order, at least `gap` apart and within the bounds."""
    order, at = np.argsort(places, kind="stable"), np.clip(np.sort(places), least, most)
    for k in range(1, len(at)):
        at[k] = max(at[k], at[k - 1] + gap)
    at[-1] = min(at[-1], most)
    for k in range(len(at) - 2, -1, -1):
        at[k] = min(at[k], at[k + 1] - gap)
    found = np.empty(len(at))
    found[order] = at
    return found.tolist()


def dimension_chart(figures: Mapping[str, Mapping[str, Any]]) -> str:
    """Error of the mean against d, a line for each method."""
    dimensions = sorted({int(d) for by_d in figures.values() for d in by_d})
    chart = Chart(
        "Error of the mean against d, on a Bayesian linear regression",
        "in posterior sds, median of the runs; filled: a run carried a caveat",
        *("d", dimensions, (1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0, 100.0), (760, 390), 590),
    )
    lines = [
        Line(name, [one["error_of_mean"][0] for one in by_d.values()], [int(d) for d in by_d],
             filled=[bool(one["caveats"]) for one in by_d.values()])
        for name, by_d in figures.items()
    ]  # fmt: skip
    return drawn(chart, {"": lines})


def logistic_chart(
    arrays: Mapping[str, Any], problems: Mapping[str, str], titles: Mapping[str, str], passes: Sequence[float]
) -> str:
    """Log loss of held-out images against passes, a panel for each data set, bands over the runs."""
    below = "nats a row, at the best settings: median; band: lowest to highest run"
    chart = Chart(
        "Log loss of held-out images against passes over the data",
        below,
        "passes",
        passes,
        (0.01, 0.03, 0.1, 0.3, 1, 3),
    )
    panels = {}
    for name, words in ((name, words) for name, words in problems.items() if name in arrays):
        runs = {
            key: arrays[name][key]["best"]["log_loss"].reshape(-1, len(passes)) for key in titles if key in arrays[name]
        }
        panels[words] = [
            Line(titles[key], np.median(v, axis=0), passes, (v.min(axis=0), v.max(axis=0))) for key, v in runs.items()
        ]
    return drawn(chart, panels)
