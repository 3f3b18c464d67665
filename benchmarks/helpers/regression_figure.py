"""The figure of `bench claims-logistic` as SVG: log loss against passes, a panel a data set, bands over the runs."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

import numpy as np

from benchmarks.helpers.claims_rules import Measured
from benchmarks.helpers.dimension_figure import DARK, STYLE, spread
from benchmarks.helpers.regression_problems import PASSES, PROBLEMS, TITLES

WIDTH, PANEL = 640, 300
LEFT, RIGHT, TOP = 58, 400, 84
LEAST, MOST = 0.01, 3.0  # nats a row, the ends of the axis; what is beyond is drawn at the end
GAP = 17  # between two names
COLOURS = {  # on white, on black
    "pmd": ("#0b57d0", "#7fb2ff"),
    "pmd warm": ("#0097c4", "#63d2f5"),
    "pmd, paper's steps": ("#7048c6", "#b9a2ff"),
    "pmd as printed": ("#ad1457", "#ff8fc0"),
    "jaakkola_jordan": ("#2e7d32", "#7ed083"),
    "svi": ("#5f6368", "#c4c7cc"),
    "sgld": ("#c2410c", "#ff9f6b"),
    "smc": ("#8a6d00", "#e3c34d"),
    "npv": ("#795548", "#d7b9ab"),
    "svgd": ("#007a8a", "#54d1e0"),
    "reference": ("#202124", "#f1f3f4"),
}


def drawn(arrays: Mapping[str, Measured]) -> str:
    """The SVG of the runs, legible on light and on dark pages."""
    height = TOP + len(arrays) * (PANEL + 8) - 4
    words = "Log loss of held-out images against passes over the data"
    colours = [
        "\n".join(f".s{k} {{ stroke: {c[d]} }} .f{k} {{ fill: {c[d]} }}" for k, c in enumerate(COLOURS.values()))
        for d in (0, 1)
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{words}">',
            f"<style>{STYLE} .band {{ stroke: none; opacity: 0.18 }}\n{colours[0]}",
            f"@media (prefers-color-scheme: dark) {{ {DARK}\n{colours[1]} }}</style>",
            f'<rect class="back" width="{WIDTH}" height="{height}"/>',
            f'<text class="title" x="{LEFT}" y="24">{words}</text>',
            f'<text x="{LEFT}" y="45">nats a row, at the best settings: median; band: lowest to highest run</text>',
            *(part for k, name in enumerate(arrays) for part in _panel(k, name, arrays[name])),
            "</svg>\n",
        ]
    )


def _panel(row: int, name: str, measured: Measured) -> list[str]:
    top = TOP + row * (PANEL + 8)
    bottom = top + PANEL - 66
    across = LEFT + 10 + (np.log(PASSES) - np.log(PASSES[0])) / np.log(PASSES[-1] / PASSES[0]) * (RIGHT - LEFT - 20)
    medians = {key: np.median(_runs(measured, key), axis=0) for key in TITLES if key in measured}
    places = {key: _down(values[-1], top, bottom) for key, values in medians.items()}
    named = dict(zip(places, spread([*places.values()], GAP, top, bottom), strict=True))
    parts = [
        f'<text class="title" x="{LEFT}" y="{top - 10}">{PROBLEMS[name].words}</text>',
        *_axes(across, top, bottom),
    ]
    for key in places:
        k = [*COLOURS].index(key)
        parts.append(_line(k, medians[key], _runs(measured, key), across, top, bottom))
        lead = f"M{RIGHT - 8} {places[key]:.1f}L{RIGHT + 12} {named[key]:.1f}"
        parts.append(f'<path class="lead" d="{lead}"/><text class="f{k}" x="{RIGHT + 16}" y="{named[key] + 4:.1f}">')
        parts.append(f"{escape(TITLES[key])}</text>")
    return parts


def _runs(measured: Measured, key: str) -> np.ndarray:
    """Log loss of every run, (runs, budgets)."""
    values = measured[key]["best"]["log_loss"]
    return values.reshape(-1, values.shape[2])


def _down(loss: float, top: float, bottom: float) -> float:
    share = np.log(np.clip(np.nan_to_num(loss, nan=MOST), LEAST, MOST) / LEAST) / np.log(MOST / LEAST)
    return float(bottom - share * (bottom - top))


def _axes(across: np.ndarray, top: float, bottom: float) -> list[str]:
    rows = [(_down(value, top, bottom), f"{value:g}") for value in (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)]
    grid = [f'<path class="grid" d="M{LEFT} {y:.1f}H{RIGHT}"/>' for y, _ in rows]
    left = [f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{words}</text>' for y, words in rows]
    below = [
        f'<text x="{x:.1f}" y="{bottom + 20}" text-anchor="middle">{passes:g}</text>'
        for x, passes in zip(across, PASSES, strict=True)
    ]
    return [
        *grid,
        *left,
        *below,
        f'<text x="{(LEFT + RIGHT) / 2}" y="{bottom + 38}" text-anchor="middle">passes</text>',
    ]


def _line(k: int, median: np.ndarray, runs: np.ndarray, across: np.ndarray, top: float, bottom: float) -> str:
    def path(values: np.ndarray) -> list[str]:
        return [f"{x:.1f},{_down(v, top, bottom):.1f}" for x, v in zip(across, values, strict=True)]

    band = " ".join(path(runs.max(axis=0)) + path(runs.min(axis=0))[::-1])
    line = " ".join(path(median))
    return f'<polygon class="band f{k}" points="{band}"/><polyline class="s{k}" points="{line}"/>'
