"""How well held-out data are predicted: by the mean over draws of q of p(row | theta)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pmdviz.densities.points import Points
from pmdviz.kernels.resampling import systematic
from pmdviz.methods import Method
from pmdviz.metrics.base import Applies, Measurable, Metric
from pmdviz.metrics.plane import DASHED
from pmdviz.targets import Target

MOST_POINTS = 1000  # of q that are asked one by one; of more, as of a density, so many draws
Average = Callable[[np.ndarray], np.ndarray]


def points_of(frame: Measurable) -> tuple[np.ndarray, Average]:
    """Points (n, d) that stand for q, and what averages over them values (n, ...) -> (...).

    Of few weighted points these themselves, without the noise of draws; each may be a whole net. Of a target that is
    judged `by_points` the particles or the chain's draws, whatever q smooths them with.
    """
    if frame.target.by_points and frame.method.family != "parametric":
        q = next(iter(frame.densities.values()))
        if len(q.particles) > MOST_POINTS:
            rows = systematic(q.weights, MOST_POINTS, 0.5)
            return q.particles[rows], lambda values: values.mean(axis=0)
        return _weighted(q.particles, q.weights)
    q = frame.density
    if isinstance(q, Points) and len(q.particles) <= MOST_POINTS:
        return _weighted(q.particles, q.weights)
    return frame.draws, lambda values: values.mean(axis=0)


def _weighted(points: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, Average]:
    """Those (n, d) that have any weight: one without, however well it predicts, is no scale for the others."""
    alive = weights > 0
    weights = weights[alive]
    return points[alive], lambda values: np.einsum("n,n...->...", weights, values)


def mean_log_density(frame: Measurable) -> float:
    """Mean over the held-out rows of log E_q p(row | theta), in nats."""
    points, average = points_of(frame)
    values = frame.target.row_log_likelihood(points, frame.target.test_data)  # (n, rows)
    peak = values.max(axis=0)
    return float((peak + np.log(average(np.exp(values - peak)))).mean())


def _misclassification(frame: Measurable) -> float:
    return 1.0 - _accuracy(frame)


def _pps(frame: Measurable) -> float:
    target, (points, average) = frame.target, points_of(frame)
    return -float(average(target.row_log_likelihood(points, target.test_data).mean(axis=1)))


def _pps_seed(frame: Measurable) -> float:
    target, (points, average) = frame.target, points_of(frame)
    residual = target.outcomes(target.test_data) - average(target.row_mean(points, target.test_data))
    variance = float(average(target.noise_variance(points)))
    return 0.5 * float(np.log(variance) + (residual**2).mean() / variance)


def _accuracy(frame: Measurable) -> float:
    target, (points, average) = frame.target, points_of(frame)
    chances = average(target.class_probabilities(points, target.test_data))
    return float((chances.argmax(axis=1) == target.outcomes(target.test_data)).mean())


def _single_accuracy(frame: Measurable) -> float:
    target, (points, average) = frame.target, points_of(frame)
    chosen = target.class_probabilities(points, target.test_data).argmax(axis=2)
    return float(average((chosen == target.outcomes(target.test_data)).astype(float)).mean())


def _rmse(frame: Measurable) -> float:
    target, (points, average) = frame.target, points_of(frame)
    mean = average(target.row_mean(points, target.test_data))
    return float(np.sqrt(((mean - target.outcomes(target.test_data)) ** 2).mean()))


def _loss(frame: Measurable) -> float:
    return -mean_log_density(frame)


def _predicts(*kinds: str, also: str = "predictive") -> Applies:
    def applies(target: Target, method: Method) -> bool:
        return {"predictive", also} <= target.offers and target.test_data is not None and target.predicts in kinds

    return applies


CLASSES, NUMBER = ("class", "classes"), ("number",)


def _untraced(target: Target, method: Method) -> bool:
    return False


def _metric(
    order: int, kinds: tuple[str, ...], name: str, title: str, unit: str, about: str, high: float, **rest: Any
) -> None:
    """A metric of targets that predict one of `kinds` of outcome, on a linear axis from 0 to `high`, its own if new."""
    look = {"axis": name, "axis_title": title[0].upper() + title[1:], "log": False, "limits": (0.0, high)}
    look |= {"colour": "ink"} | rest
    look = {"applies": _predicts(*kinds)} | look
    Metric(name=name, title=title, unit=unit, about=about, order=order, **look)


_metric(
    40, CLASSES, "accuracy", "accuracy", "share", "of held-out rows whose class is predicted", 1, measure=_accuracy,
    ranks=False,
)  # fmt: skip
_metric(
    41, CLASSES, "log_loss", "log loss", "nats a row", "mean of -log E_q p(class) over held-out rows", 2, measure=_loss
)
_metric(
    42, NUMBER, "rmse", "RMSE", "units of y", "root mean squared error of E_q y on held-out rows", 10, measure=_rmse
)
_metric(43, NUMBER, "nlpd", "NLPD", "nats a row", "mean of -log E_q p(y) over held-out rows", 10, measure=_loss)
_metric(
    44, ("classes",), "single_accuracy", "accuracy of a single point", "share",
    "mean over q of the share of held-out rows whose class one theta alone predicts", 1, measure=_single_accuracy,
    ranks=False, short="single accuracy", axis="accuracy", dash=DASHED, colour="particles",
)  # fmt: skip
_metric(
    45, CLASSES, "misclassification", "misclassification", "share", "of held-out rows whose class is not predicted", 1,
    measure=_misclassification, traced=_untraced,
)  # fmt: skip
_metric(
    46, CLASSES + NUMBER, "pps", "PPS, a mean over q", "nats a row",
    "mean over q of the mean of -log p(y | theta) over held-out rows: never below NLPD, whose mean is within the log",
    10, measure=_pps, traced=_untraced, short="PPS",
)  # fmt: skip
_metric(
    47, NUMBER, "pps_seed", "PPS as published", "nats a row",
    "half of log s² + (y - η)²/s² on held-out rows, at the means over q of η and s²; without log 2π, as in the tables "
    "of Tran, Tseng, Kohn 2023",
    10, measure=_pps_seed, traced=_untraced, applies=_predicts(*NUMBER, also="noise_variance"),
)  # fmt: skip
