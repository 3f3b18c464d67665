"""A function of one input: its mean and twice its sd under q and under the exact posterior, over the data."""

from __future__ import annotations

from typing import Any

import numpy as np

from pmdviz.methods import Method
from pmdviz.scenes.columns import EMPTY_DOTS, EMPTY_LINE, MAX_DRAWN, StageColumns, drawn_rows
from pmdviz.scenes.stage.base import Pair, Ranges, Scene
from pmdviz.scenes.tiling import joined
from pmdviz.targets import Target

POINTS, DRAWS = 161, 1000  # inputs at which the band is drawn, and draws of the exact posterior that it is made from
SDS = 2.0
MARGIN = 0.04  # of the data's extent, to every side
DOT = 5.0  # px
DATA = 500  # dots: more would hide the band
SEED = 0  # of the exact posterior's draws

KEPT = 16  # bands

Line = dict[str, np.ndarray]
_drawn: dict[tuple, Line] = {}


class BandScene(Scene):
    """Mean ± 2 sd of E(y | x, θ) over q, and over the exact posterior; inducing inputs as a rug below.

    Any target that predicts a number from one input has it.
    """

    name = "band"
    title = "Function"
    order = 4
    legend = {
        "exact": "exact mean ± 2 sd",
        "approximate": "approximate mean ± 2 sd",
        "particles": "inducing inputs",
        "others": "data",
    }

    def applies(self, target: Target, method: Method) -> bool:
        """To regressions of one input."""
        return target.predicts == "number" and len(target.input_names) == 1

    def ranges(self, target: Target, pair: Pair, top: float) -> Ranges:
        """Where the data are."""
        x, y = target.inputs(target.data_rows)[:, 0], target.outcomes(target.data_rows)
        return _widened(x), _widened(y)

    def axis_labels(self, target: Target, pair: Pair) -> tuple[str, str]:
        """The input's name."""
        return target.input_names[0], "y"

    def columns(self, frame: Any, pair: Pair, limit: int = MAX_DRAWN) -> StageColumns:
        """Two bands, data and rug."""
        target = frame.target
        seen = target.inputs(target.data_rows)[:, 0]
        x = np.linspace(seen.min(), seen.max(), POINTS)
        reference = target.reference()
        exact = EMPTY_LINE if reference is None else _kept(target, x)
        rows = target.data_rows[drawn_rows(np.full(target.num_data, 1 / target.num_data), min(limit, DATA))]
        others = {"x": target.inputs(rows)[:, 0].astype(np.float32), "y": target.outcomes(rows).astype(np.float32)}
        number = len(frame.weights)
        return StageColumns(exact, _band(target, frame.draws, x), _rug(frame), number, number, others=others)


def _widened(values: np.ndarray) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    side = MARGIN * (high - low) or 1.0
    return low - side, high + side


def _band(target: Target, draws: np.ndarray, x: np.ndarray) -> Line:
    """Mean, and the mean less and plus two sds, with gaps of NaN."""
    values = target.row_mean(draws, target.rows_at(x[:, None]))
    mean, reach = values.mean(axis=0), SDS * values.std(axis=0)
    at = x.astype(np.float32)
    return joined({"x": at, "y": curve.astype(np.float32)} for curve in (mean, mean - reach, mean + reach))


def _kept(target: Target, x: np.ndarray) -> Line:
    """The exact posterior's band: the SAME arrays at every frame."""
    if target.key not in _drawn:
        while len(_drawn) >= KEPT:
            _drawn.pop(next(iter(_drawn)), None)
        draws = target.reference().sample(np.random.default_rng(SEED), DRAWS)
        _drawn[target.key] = _band(target, draws, x)
    return _drawn[target.key]


def _rug(frame: Any) -> dict[str, np.ndarray]:
    """The heaviest particle's inducing inputs, where particles are such."""
    if not hasattr(frame.target, "inducing_inputs") or frame.method.family != "structured":
        return EMPTY_DOTS
    inputs = frame.target.inducing_inputs(frame.state.particles[int(np.argmax(frame.weights))])[:, 0]
    x = inputs.astype(np.float32)
    low = _widened(frame.target.outcomes(frame.target.data_rows))[0]
    nan = np.full(len(x), np.nan, np.float32)
    y, size = np.full(len(x), low, np.float32), np.full(len(x), DOT, np.float32)
    return {"x": x, "y": y, "size": size, "weight": nan, "log_density": nan}
