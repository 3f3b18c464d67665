"""How well held-out data are predicted: by the mean over draws of q of p(row | theta)."""

from __future__ import annotations

from typing import Any

import numpy as np

from pmdviz.methods import Method
from pmdviz.metrics.base import Applies, Measurable, Metric
from pmdviz.targets import Target


def mean_log_density(frame: Measurable) -> float:
    """Mean over the held-out rows of log E_q p(row | theta), in nats."""
    values = frame.target.row_log_likelihood(frame.draws, frame.target.test_data)  # (n, rows)
    peak = values.max(axis=0)
    return float((peak + np.log(np.exp(values - peak).mean(axis=0))).mean())


def _predictions(frame: Measurable) -> tuple[np.ndarray, np.ndarray]:
    target = frame.target
    return target.row_mean(frame.draws, target.test_data).mean(axis=0), target.outcomes(target.test_data)


def _accuracy(frame: Measurable) -> float:
    probability, outcomes = _predictions(frame)
    return float(((probability > 0.5) == (outcomes > 0.5)).mean())


def _rmse(frame: Measurable) -> float:
    mean, outcomes = _predictions(frame)
    return float(np.sqrt(((mean - outcomes) ** 2).mean()))


def _loss(frame: Measurable) -> float:
    return -mean_log_density(frame)


def _predicts(kind: str) -> Applies:
    def applies(target: Target, method: Method) -> bool:
        return "predictive" in target.offers and target.test_data is not None and target.predicts == kind

    return applies


def _metric(order: int, kind: str, name: str, title: str, unit: str, about: str, high: float, **rest: Any) -> None:
    """A metric of targets that predict a `kind` of outcome, on a linear axis of its own from 0 to `high`."""
    look = {"axis": name, "axis_title": title[0].upper() + title[1:], "log": False, "limits": (0.0, high)}
    applies = _predicts(kind)
    Metric(name=name, title=title, unit=unit, about=about, applies=applies, order=order, colour="ink", **look, **rest)


_metric(
    40, "class", "accuracy", "accuracy", "share", "of held-out rows whose class is predicted", 1, measure=_accuracy,
    ranks=False,
)  # fmt: skip
_metric(
    41, "class", "log_loss", "log loss", "nats a row", "mean of -log E_q p(class) over held-out rows", 2, measure=_loss
)
_metric(
    42, "number", "rmse", "RMSE", "units of y", "root mean squared error of E_q y on held-out rows", 10, measure=_rmse
)
_metric(43, "number", "nlpd", "NLPD", "nats a row", "mean of -log E_q p(y) over held-out rows", 10, measure=_loss)
