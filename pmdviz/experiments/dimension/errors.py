"""How far a run's end is from the answer, and how far as many exact draws are: the same metrics of both."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pmdviz.engine.frame import Frame
from pmdviz.metrics import METRICS
from pmdviz.metrics.draws import NUM_DRAWS
from pmdviz.targets import Target
from pmdviz.targets.reference.base import Reference

OF_ANY = ("mean_error", "sd_ratio_min", "sd_ratio_max", "kl_moments", "mmd", "sliced_w")
OF_WEIGHTS = ("ess", "khat")
COLUMNS = (*OF_ANY, *OF_WEIGHTS)


class Moments(NamedTuple):
    """What the metrics of moments ask of a density."""

    mean: np.ndarray  # (d,)
    cov: np.ndarray  # (d, d)
    few: bool  # whether the draws are fewer than a covariance takes


class ExactDraws(NamedTuple):
    """Draws of the reference where metrics expect a frame."""

    target: Target
    reference: Reference
    density: Moments
    draws: np.ndarray  # (1000, d)


def of_frame(frame: Frame) -> dict[str, float]:
    """Every error; NaN where one is unavailable."""
    return {name: _number(frame.metric(name)) for name in COLUMNS}


def of_exact_draws(target: Target, num: int, seed: int) -> dict[str, float]:
    """The same of `num` iid draws of the reference: what no method with as many particles beats."""
    reference, rng = target.reference(), np.random.default_rng([seed, num])
    draws = reference.sample(rng, num)
    density = Moments(draws.mean(axis=0), np.cov(draws.T).reshape(2 * (target.dim,)), num < target.dim + 2)
    shown: Any = ExactDraws(target, reference, density, reference.sample(rng, NUM_DRAWS))
    found = {name: _number(METRICS[name].measure(shown)) for name in OF_ANY}
    return {**found, **dict.fromkeys(OF_WEIGHTS, np.nan), "ess": float(num)}


def _number(value: float | None) -> float:
    return np.nan if value is None else float(value)
