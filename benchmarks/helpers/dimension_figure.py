"""The figure of `bench dimension` as SVG: error of the mean against d, a line a method, with its name at its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

WIDTH, HEIGHT = 760, 440
LEFT, RIGHT, TOP, BOTTOM = 58, 590, 64, 388  # of the axes
LEAST, MOST = 1e-4, 100.0  # posterior sds, the ends of the axis
GAP = 17  # between two names
COLOURS = {  # on white, on black
    "PMD, today": ("#0b57d0", "#7fb2ff"),
    "PMD, limited steps": ("#7048c6", "#b9a2ff"),
    "PMD, format 1": ("#c2410c", "#ff9f6b"),
    "PMD, Algorithm 1": ("#ad1457", "#ff8fc0"),
    "one-pass SMC": ("#8a6d00", "#e3c34d"),
    "tempered SMC": ("#2e7d32", "#7ed083"),
    "SVGD": ("#007a8a", "#54d1e0"),
    "SVI": ("#5f6368", "#c4c7cc"),
    "HMC": ("#202124", "#f1f3f4"),
}
STYLE = """text { font: 13px system-ui, sans-serif; fill: #202124 } .title { font-weight: 600; font-size: 15px }
.back { fill: #fff } .grid { stroke: #8885; stroke-width: 1 } .lead { stroke: #888; stroke-width: 1 }
polyline { fill: none } polyline, circle { stroke-width: 2 } .open { fill: #fff }"""
DARK = "text { fill: #e8eaed } .back { fill: #16181d } .open { fill: #16181d }"


def drawn(figures: Mapping[str, Mapping[str, Any]]) -> str:
    """The SVG of the bench's figures, legible on light and on dark pages."""
    dimensions = sorted({int(d) for by_d in figures.values() for d in by_d})
    across = {d: x for d, x in zip(dimensions, _places(np.log(dimensions), LEFT + 14, RIGHT - 14), strict=True)}
    last = {name: _down(by_d[str(dimensions[-1])]["error_of_mean"][0]) for name, by_d in figures.items()}
    named = dict(zip(last, spread([*last.values()], GAP, TOP, BOTTOM), strict=True))
    lines = [_line(k, by_d, across) + _name(k, name, last, named) for k, (name, by_d) in enumerate(figures.items())]
    words = "Error of the mean against d, on a Bayesian linear regression"
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{words}">',
            f"<style>{STYLE}\n{_colours(0, figures)}",
            f"@media (prefers-color-scheme: dark) {{ {DARK}\n{_colours(1, figures)} }}</style>",
            f'<rect class="back" width="{WIDTH}" height="{HEIGHT}"/>',
            f'<text class="title" x="{LEFT}" y="24">{words}</text>',
            f'<text x="{LEFT}" y="45">in posterior sds, median of the runs; filled: a run carried a caveat</text>',
            *_axes(across),
            *lines,
            "</svg>\n",
        ]
    )


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


def _colours(dark: int, figures: Mapping[str, Any]) -> str:
    pairs = [(k, COLOURS[name][dark]) for k, name in enumerate(figures)]
    return "\n".join(f".s{k} {{ stroke: {c} }} .f{k} {{ fill: {c} }}" for k, c in pairs)


def _places(values: np.ndarray, start: float, end: float) -> np.ndarray:
    return start + (values - values[0]) / (values[-1] - values[0]) * (end - start)


def _down(error: float) -> float:
    share = np.log(min(max(error, LEAST), MOST) / LEAST) / np.log(MOST / LEAST)
    return float(BOTTOM - share * (BOTTOM - TOP))


def _axes(across: Mapping[int, float]) -> list[str]:
    rows = [(_down(value), f"{value:g}") for value in (0.0001, 0.001, 0.01, 0.1, 1.0, 10.0, 100.0)]
    grid = [f'<path class="grid" d="M{LEFT} {y:.1f}H{RIGHT}"/>' for y, _ in rows]
    left = [f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{words}</text>' for y, words in rows]
    below = [f'<text x="{x:.1f}" y="{BOTTOM + 20}" text-anchor="middle">{d}</text>' for d, x in across.items()]
    return [*grid, *left, *below, f'<text x="{(LEFT + RIGHT) / 2}" y="{BOTTOM + 42}" text-anchor="middle">d</text>']


def _line(k: int, by_d: Mapping[str, Any], across: Mapping[int, float]) -> str:
    points = [(across[int(d)], _down(one["error_of_mean"][0]), one["caveats"]) for d, one in by_d.items()]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in points)
    dots = [_dot(f"f{k}" if told else "open", k, x, y) for x, y, told in points]
    return f'<polyline class="s{k}" points="{path}"/>' + "".join(dots)


def _dot(filling: str, k: int, x: float, y: float) -> str:
    return f'<circle class="{filling} s{k}" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>'


def _name(k: int, name: str, last: Mapping[str, float], named: Mapping[str, float]) -> str:
    lead = f'<path class="lead" d="M{RIGHT - 8} {last[name]:.1f}L{RIGHT + 12} {named[name]:.1f}"/>'
    return f'{lead}<text class="f{k}" x="{RIGHT + 16}" y="{named[name] + 4:.1f}">{name}</text>'
