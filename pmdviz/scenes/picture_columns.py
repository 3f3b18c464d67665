"""The plain arrays of heat maps, histograms, ellipses and the Theory page's pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pmdviz.experiments.base import Ellipses, HeatMap, Histogram
from pmdviz.scenes.chart_columns import MUTED, Entry
from pmdviz.scenes.words import number

MASS = 0.68  # inside an ellipse
RADIUS = float(np.sqrt(-2 * np.log(1 - MASS)))  # in standard deviations, in the plane
SIDES = 72  # of the polygon that is drawn for an ellipse
MOST_POINTS = 5000
SHADES = 255  # odd: 0 is a shade of its own
MARK_DASHES: tuple[tuple[int, ...], ...] = ((), (7, 3), (2, 3), (9, 3, 2, 3))


class HeatColumns(NamedTuple):
    """A matrix as an image."""

    image: np.ndarray  # (rows, columns) float32
    top: float  # the value of the strongest colour; the other end is -top


def heat_columns(picture: HeatMap) -> HeatColumns:
    """The values and the largest of their sizes."""
    values = np.asarray(picture.values, np.float32)
    finite = np.abs(values[np.isfinite(values)])
    top = float(finite.max()) if len(finite) else 0.0
    return HeatColumns(values, top or 1.0)


def heat_legend(picture: HeatMap) -> list[Entry]:
    """What the colours mean, and from where to where."""
    top = heat_columns(picture).top
    return [Entry(f"{picture.value_label}: colours from {number(-top)} to {number(top)}", "colours", MUTED)]


def mixed(one: str, other: str, share: float) -> str:
    """A colour between two of the form #rrggbb."""
    parts = [tuple(int(colour[k : k + 2], 16) for k in (1, 3, 5)) for colour in (one, other)]
    return "#" + "".join(f"{round(a + share * (b - a)):02x}" for a, b in zip(*parts, strict=True))


def diverging(paper: str, below: str, above: str) -> list[str]:
    """Colours from `below` over the paper's to `above`."""
    half = SHADES // 2
    shares = np.abs(np.arange(SHADES) - half) / half
    return [mixed(paper, below if k < half else above, float(share)) for k, share in enumerate(shares)]


def bars(picture: Histogram) -> dict[str, np.ndarray]:
    """The bars of a histogram."""
    edges = np.asarray(picture.edges, float)
    return {"left": edges[:-1], "right": edges[1:], "top": np.asarray(picture.counts, float)}


def histogram_spans(picture: Histogram) -> tuple[tuple[float, float], tuple[float, float]]:
    """The ends of both axes, with room for marks beside the bars."""
    places = [*np.asarray(picture.edges, float), *(place for _, place in picture.marks)]
    known = np.array([place for place in places if np.isfinite(place)])
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    pad = 0.04 * (high - low) or 0.5
    counts = np.asarray(picture.counts, float)
    return (low - pad, high + pad), (0.0, 1.08 * float(counts.max(initial=0.0)) or 1.0)


def marks(picture: Histogram) -> list[dict[str, list[float]]]:
    """A vertical line for each mark, empty where its place is not known."""
    _, (bottom, top) = histogram_spans(picture)
    there = [np.isfinite(place) for _, place in picture.marks]
    return [
        {"x": [place] * 2 if known else [], "y": [bottom, top] if known else []}
        for (_, place), known in zip(picture.marks, there, strict=True)
    ]


def mark_dash(k: int) -> tuple[int, ...]:
    """Dashes of mark k."""
    return MARK_DASHES[k % len(MARK_DASHES)]


def histogram_legend(picture: Histogram) -> list[Entry]:
    """The marks; bars need no words beside the axis."""
    return [Entry(words, "mark", k + 1, mark_dash(k)) for k, (words, _) in enumerate(picture.marks)]


def outlines(means: np.ndarray, covs: np.ndarray) -> dict[str, np.ndarray]:
    """Ellipses around means (k, 2) that hold 68 % of Gaussians with covariances (k, 2, 2), with gaps between them."""
    means, covs = np.asarray(means, float).reshape(-1, 2), np.asarray(covs, float).reshape(-1, 2, 2)
    known = np.isfinite(means).all(axis=1) & np.isfinite(covs).all(axis=(1, 2))
    means, covs = means[known], covs[known]
    angle = np.linspace(0, 2 * np.pi, SIDES + 1)
    circle = np.stack([np.cos(angle), np.sin(angle)])  # (2, n)
    values, vectors = np.linalg.eigh(covs)
    spread = vectors * np.sqrt(np.maximum(values, 0))[:, None, :]
    points = means[:, :, None] + RADIUS * spread @ circle
    gapped = np.concatenate([points, np.full((len(points), 2, 1), np.nan)], axis=2)
    return {"x": gapped[:, 0].ravel(), "y": gapped[:, 1].ravel()}


def ellipse_points(picture: Ellipses) -> dict[str, np.ndarray]:
    """The points, or as many of them as a browser paints at once."""
    points = np.asarray(picture.points, float).reshape(-1, 2)
    points = points[:: -(-len(points) // MOST_POINTS) or 1]
    return {"x": points[:, 0], "y": points[:, 1]}


def square(parts: list[dict[str, np.ndarray]]) -> tuple[tuple[float, float], tuple[float, float]]:
    """The ends of two axes of equal length around all that is drawn."""
    ends = []
    for name in ("x", "y"):
        values = np.concatenate([np.empty(0), *(part[name] for part in parts)])
        values = values[np.isfinite(values)]
        ends.append((float(values.min()), float(values.max())) if len(values) else (-1.0, 1.0))
    half = 0.54 * max(high - low for low, high in ends) or 1.0
    (x0, x1), (y0, y1) = ends
    return ((x0 + x1) / 2 - half, (x0 + x1) / 2 + half), ((y0 + y1) / 2 - half, (y0 + y1) / 2 + half)


def ellipse_legend(picture: Ellipses, colours: Mapping[str, int]) -> list[Entry]:
    """The groups, and the points where there are some; `colours` are numbers by name."""
    signs = [(one.name, "bold" if one.bold else "outline") for one in picture.groups]
    groups = [Entry(name, sign, colours.get(name, k)) for k, (name, sign) in enumerate(signs)]
    return groups + ([Entry("points", "dots", MUTED)] if len(picture.points) else [])


# The plain arrays of the Theory page's pictures.

BELOW, REACH = 0.45, 0.6  # a triangle stands so far below the first mean, over this share of the x axis (in logarithms)
BAND = (0.1, 0.9)


def usable(x: Sequence[float], y: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """The points that have a place on two log axes."""
    xs, ys = np.asarray(x, float), np.asarray(y, float)
    kept = np.isfinite(xs) & np.isfinite(ys) & (xs > 0) & (ys > 0)
    return xs[kept], ys[kept]


def groups(x: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """For each x: the mean over runs, and the band that holds 80 % of them."""
    levels = np.unique(x)
    found = [y[x == level] for level in levels]
    return {
        "x": levels,
        "mean": np.array([values.mean() for values in found]),
        "low": np.array([np.quantile(values, BAND[0]) for values in found]),
        "high": np.array([np.quantile(values, BAND[1]) for values in found]),
    }


def triangle(x: np.ndarray, mean: np.ndarray, slope: float, place: int = 0) -> dict[str, list[Any]]:
    """A slope triangle under the means: its slanted side falls like x^slope; further ones stand lower."""
    left, right = x[0], x[0] * (x[-1] / x[0]) ** REACH
    top = mean[0] * BELOW ** (place + 1)
    bottom = top * (right / left) ** slope
    return {"xs": [left, right, left, left], "ys": [top, bottom, bottom, top]}


def line(x: np.ndarray, intercept: float, slope: float) -> dict[str, np.ndarray]:
    """The fitted law over the x axis."""
    ends = np.array([x.min(), x.max()])
    return {"x": ends, "y": np.exp(intercept + slope * np.log(ends))}


def ticks(low: float, high: float) -> list[float]:
    """1, 2 and 5 times the powers of ten between two ends; over more than two decades the powers alone."""
    first, last = int(np.floor(np.log10(low))), int(np.ceil(np.log10(high)))
    steps = (1,) if np.log10(high / low) > 2.5 else (1, 2, 5)
    found = [step * 10.0**power for power in range(first, last + 1) for step in steps]
    return [tick for tick in found if low <= tick <= high]
