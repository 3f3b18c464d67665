"""A metric in one file: how large the approximation is."""

import numpy as np

from pmdviz.engine.frame import Frame
from pmdviz.metrics import Metric


def _spread(frame: Frame) -> float:
    return float(np.trace(np.atleast_2d(frame.density.cov)))


Metric(
    name="toy_spread",
    title="toy spread",
    unit="units of θ²",
    about="the trace of the approximation's covariance",
    measure=_spread,
    applies=lambda target, method: "reals" in target.offers,
    axis="toy_spread",
    axis_title="Toy spread",
    colour="approximate",
)
