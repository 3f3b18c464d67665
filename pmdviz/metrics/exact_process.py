"""How far the mean of a sparse Gaussian process lies from the exact process of all data."""

from __future__ import annotations

import numpy as np

from pmdviz.methods import Method
from pmdviz.metrics.base import Measurable, Metric
from pmdviz.targets import Target


def distance_to_process(frame: Measurable) -> float:
    """sqrt of the mean over the target's M points of (E_q f - E(f | all data))^2."""
    exact, _ = frame.target.exact_process
    return float(np.sqrt(((frame.target.values(frame.density.mean[None])[0] - exact) ** 2).mean()))


def _applies(target: Target, method: Method) -> bool:
    return bool(getattr(target, "has_exact_process", False))


Metric(
    name="process_error",
    title="RMSE to the exact process",
    short="RMSE to exact",
    unit="units of y",
    about="root mean squared difference between the mean of q and the mean of the exact Gaussian process",
    measure=distance_to_process,
    applies=_applies,
    axis="process_error",
    limits=(1e-3, 10.0),
    colour="ink",
    order=9,  # before the errors of the whitened values, which say little of the function
)
