"""Marginal curves on the two edges of a plane picture: thin strips that share its axes."""

from __future__ import annotations

import numpy as np

from pmdviz.scenes.tiling import joined

WIDE = 0.13  # of a strip, in sides of the picture without it
HIGH = 0.85  # of the highest exact curve, in strips

Span = tuple[float, float]
Two = tuple[np.ndarray, np.ndarray]  # of the first coordinate and of the second


def with_strips(x: Span, y: Span) -> tuple[Span, Span]:
    """The ranges of a picture with room for the strips above and to the right of it."""
    return (x[0], x[1] + WIDE * (x[1] - x[0])), (y[0], y[1] + WIDE * (y[1] - y[0]))


def marginals(axes: Two, density: np.ndarray) -> Two:
    """The densities of either coordinate alone, of a density (len(y), len(x)) on equal cells."""
    dx, dy = (float(axis[1] - axis[0]) for axis in axes)
    return density.sum(axis=0) * dy, density.sum(axis=1) * dx


def marginal_lines(axes: Two, curves: Two, box: tuple[Span, Span], tops: Span) -> dict[str, np.ndarray]:
    """Both curves as lines in the strips beyond a box; where they are as high as `tops` they fill `HIGH` of theirs.

    Higher ones are cut at the picture's edge.
    """
    shown = [(axis >= low) & (axis <= high) for axis, (low, high) in zip(axes, box, strict=True)]
    (x, y), (x0, x1), (y0, y1) = (axis[some] for axis, some in zip(axes, shown, strict=True)), *box
    high = [np.minimum(HIGH * c[some] / (top or 1.0), 1.0) for c, some, top in zip(curves, shown, tops, strict=True)]
    above = {"x": x, "y": y1 + WIDE * (y1 - y0) * high[0]}
    beside = {"x": x1 + WIDE * (x1 - x0) * high[1], "y": y}
    return {name: values.astype(np.float32) for name, values in joined([above, beside]).items()}
