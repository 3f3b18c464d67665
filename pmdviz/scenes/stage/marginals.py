"""Every coordinate on a line of its own: the marginals of the posterior and of the approximation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pmdviz.methods import Method
from pmdviz.scenes.columns import EMPTY_DOTS, MAX_DRAWN, StageColumns
from pmdviz.scenes.stage.base import Pair, Ranges, Scene
from pmdviz.scenes.stage.marginal_columns import Lines, approximate_marginal, reference_marginal
from pmdviz.scenes.tiling import joined
from pmdviz.targets import Target

MOST = 12  # coordinates that are drawn
WIDE = 6.0  # reference sds to either side
HIGH = 0.85  # of a row, that the reference's peak takes


class MarginalsScene(Scene):
    """Marginal densities of the first 12 coordinates, one above the other, in units of the reference's sds.

    Each row is scaled so that the reference's curve is as high as the row; the approximation's by the same number.
    """

    name = "marginals"
    title = "Marginals"
    order = 20
    legend = {"exact": "exact", "approximate": "approximate"}

    def applies(self, target: Target, method: Method) -> bool:
        """To real coordinates, more than one, with something to compare them with."""
        return "reals" in target.offers and target.dim > 1 and target.reference() is not None

    def ranges(self, target: Target, pair: Pair, top: float) -> Ranges:
        """A row of height 1 for each coordinate."""
        return (-WIDE, WIDE), (-0.1, _rows(target) + 0.1)

    def axis_labels(self, target: Target, pair: Pair) -> tuple[str, str]:
        """What a row is."""
        names, rows = target.parameter_names, _rows(target)
        some = "" if rows == target.dim else f", the first {rows} of {target.dim}"
        return (
            "distance from the exact mean (exact sds)",
            f"marginal densities, {names[0]} on top to {names[rows - 1]}{some}",
        )

    def columns(self, frame: Any, pair: Pair, limit: int = MAX_DRAWN) -> StageColumns:
        """Curves."""
        target, reference = frame.target, frame.target.reference()
        exact = [reference_marginal(target, (k,)).lines for k in range(_rows(target))]
        placed = _placing(reference.mean, np.sqrt(np.diag(reference.cov)), exact)
        lines = [approximate_marginal(frame.density, (k,), target.view_box).lines for k in range(_rows(target))]
        return StageColumns(_kept(target, exact, placed), placed(lines), EMPTY_DOTS, 0, len(frame.weights))


def _rows(target: Target) -> int:
    return min(target.dim, MOST)


def _placing(mean: np.ndarray, sds: np.ndarray, exact: list[Lines]) -> Callable[[list[Lines]], Lines]:
    """A function of the rows' curves that puts them one above the other, the first one on top."""
    peaks = [float(line["y"].max()) for line in exact]
    number = len(exact)

    def placed(lines: list[Lines]) -> Lines:
        found = joined(
            {"x": (line["x"] - mean[k]) / sds[k], "y": number - 1 - k + HIGH * np.minimum(line["y"] / peaks[k], 4.0)}
            for k, line in enumerate(lines)
        )
        return {name: values.astype(np.float32) for name, values in found.items()}

    return placed


_drawn: dict[tuple, Lines] = {}


def _kept(target: Target, exact: list[Lines], placed: Callable[[list[Lines]], Lines]) -> Lines:
    """The reference's curves: the SAME arrays at every frame."""
    if target.key not in _drawn:
        while len(_drawn) >= 16:
            _drawn.pop(next(iter(_drawn)), None)
        _drawn[target.key] = placed(exact)
    return _drawn[target.key]
