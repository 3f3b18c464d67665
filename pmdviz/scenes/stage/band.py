"""Functions of one input with bands of twice their sd: of Gaussian processes and of nets."""

from __future__ import annotations

from typing import Any

import numpy as np

from pmdviz.methods import Method
from pmdviz.metrics.predictive import points_of
from pmdviz.scenes.columns import EMPTY_DOTS, EMPTY_LINE, MAX_DRAWN, StageColumns, drawn_rows
from pmdviz.scenes.paths import Segments, segment_columns
from pmdviz.scenes.stage.base import Pair, Ranges, Scene
from pmdviz.scenes.tiling import joined
from pmdviz.streams import stream
from pmdviz.targets import Target

POINTS, DRAWS = 161, 1000  # inputs at which the band is drawn, and draws of the exact posterior that it is made from
SDS = 2.0
MARGIN = 0.04  # of the data's extent, to every side
DOT = 5.0  # px
DATA = 500  # dots: more would hide the band

KEPT = 16  # bands

Line = dict[str, np.ndarray]
_drawn: dict[tuple, Line] = {}


class BandScene(Scene):
    """Mean ± 2 sd of E(y | x, θ) over q and exactly; the function that the data are of; inducing inputs as a rug.

    Any target that predicts a number from one input has it. Exact is the posterior of θ, or where the target has one
    the process of all data that θ is a sparse approximation of (`process_at`).
    """

    name = "band"
    title = "Function"
    order = 4
    legend = {
        "prior": "true function",
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
        """Two bands, the true function, data and rug."""
        target = frame.target
        seen = target.inputs(target.data_rows)[:, 0]
        x = np.linspace(seen.min(), seen.max(), POINTS)
        rows = target.data_rows[drawn_rows(np.full(target.num_data, 1 / target.num_data), min(limit, DATA))]
        others = {"x": target.inputs(rows)[:, 0].astype(np.float32), "y": target.outcomes(rows).astype(np.float32)}
        number = len(frame.weights)
        approximate, rug = band(x, *moments_under_q(frame, x)), _rug(frame)
        return StageColumns(
            _kept(target, x), approximate, rug, number, number, others=others, prior=true_line(target, x)
        )


def _widened(values: np.ndarray) -> tuple[float, float]:
    low, high = float(values.min()), float(values.max())
    side = MARGIN * (high - low) or 1.0
    return low - side, high + side


def _moments(target: Target, draws: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and sd over draws."""
    values = target.row_mean(draws, target.rows_at(x[:, None]))
    return values.mean(axis=0), values.std(axis=0)


def moments_under_q(frame: Any, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean and sd of E(y | x, theta) over the points that stand for q, at inputs x (n,)."""
    target, (points, average) = frame.target, points_of(frame)
    values = target.row_mean(points, target.rows_at(x[:, None]))
    mean = average(values)
    return mean, np.sqrt(average((values - mean) ** 2))


def band(x: np.ndarray, mean: np.ndarray, sd: np.ndarray) -> Line:
    """Mean, and the mean less and plus two sds, with gaps of NaN."""
    return joined(line(x, curve) for curve in (mean, mean - SDS * sd, mean + SDS * sd))


def line(x: np.ndarray, y: np.ndarray) -> Line:
    """A curve as columns."""
    return {"x": x.astype(np.float32), "y": y.astype(np.float32)}


def _kept(target: Target, x: np.ndarray) -> Line:
    """The exact band: the SAME arrays at every frame."""
    if target.key not in _drawn:
        while len(_drawn) >= KEPT:
            _drawn.pop(next(iter(_drawn)), None)
        _drawn[target.key] = _exact(target, x)
    return _drawn[target.key]


def _exact(target: Target, x: np.ndarray) -> Line:
    process = target.process_at(x[:, None]) if hasattr(target, "process_at") else None
    if process is not None:
        return band(x, *process)
    if target.reference() is None:
        return EMPTY_LINE
    return band(x, *_moments(target, target.reference().sample(stream("pictures"), DRAWS), x))


def true_line(target: Target, x: np.ndarray) -> Line:
    """The function that the data are of, where it is known."""
    return line(x, target.true_function(x[:, None])) if hasattr(target, "true_function") else EMPTY_LINE


def _rug(frame: Any) -> dict[str, np.ndarray]:
    """The heaviest particle's inducing inputs, where the state has such."""
    given = getattr(frame.state, "conditionals", None)
    if given is None:
        return EMPTY_DOTS
    x = frame.target.inducing_inputs(given.particles[int(np.argmax(frame.weights))])[:, 0].astype(np.float32)
    low = _widened(frame.target.outcomes(frame.target.data_rows))[0]
    nan = np.full(len(x), np.nan, np.float32)
    y, size = np.full(len(x), low, np.float32), np.full(len(x), DOT, np.float32)
    return {"x": x, "y": y, "size": size, "weight": nan, "log_density": nan}


# What a net predicts from one input, noise included, and beside it the function of the mean particle.


class PredictiveBandScene(BandScene):
    """Mean ± 2 sd of y over q, with the noise; E(y | x, mean of θ) as a curve of its own; the data.

    The curve of the mean of θ is what a method sees that puts the mean particle in place of the others. Where
    particles are nets whose hidden units stand in different orders it is far from the mean of their curves.
    """

    name = "predictive_band"
    title = "Predictions"
    order = 3
    legend = {
        "prior": "true function",
        "approximate": "predicted y, mean ± 2 sd",
        "paths": "function of the mean of θ",
        "others": "data",
    }

    def applies(self, target: Target, method: Method) -> bool:
        """To regressions of one input with a noise variance of their own."""
        return super().applies(target, method) and "noise_variance" in target.offers

    def columns(self, frame: Any, pair: Pair, limit: int = MAX_DRAWN) -> StageColumns:
        """The band with noise, the curve of the mean, the true function and data."""
        drawn, target = super().columns(frame, pair, limit), frame.target
        seen = target.inputs(target.data_rows)[:, 0]
        x = np.linspace(seen.min(), seen.max(), POINTS)
        points, average = points_of(frame)
        mean, sd = moments_under_q(frame, x)
        noise = float(average(target.noise_variance(points)))
        curve = target.row_mean(average(points)[None], target.rows_at(x[:, None]))[0]
        way = np.column_stack([x, curve])
        paths = segment_columns([Segments(np.stack([way[:-1], way[1:]], axis=1), 0)])
        return drawn._replace(approximate=band(x, mean, np.sqrt(sd**2 + noise)), paths=paths)
