"""The smooth map from the real line to the values of a discrete coordinate, and its slope."""

from collections.abc import Callable, Iterator

import numpy as np

from pmdviz.kernels.checks import plain
from pmdviz.kernels.exponential import exp64
from pmdviz.kernels.jit import exp_jit


def smooth_step(x: np.ndarray, steepness: float, low: float, high: float) -> tuple[np.ndarray, np.ndarray]:
    """tanh(steepness x / 2) stretched from `low` to `high`, and its derivative in x, both of the shape of x.

    By e = exp(-|steepness x|): the map is (1 - e) / (1 + e) with the sign of x, the slope of that 2 e / (1 + e)^2 times
    the steepness.
    """
    points = plain(x)
    values, slopes = np.empty(points.shape), np.empty(points.shape)
    half = 0.5 * (high - low)
    _smooth(points.ravel(), float(steepness), 0.5 * (low + high), half, values.ravel(), slopes.ravel())
    return values, slopes


@exp_jit
def _smooth(x, steepness, middle, half, values, slopes):
    for k in range(x.size):
        e = exp64(-abs(steepness * x[k]))
        share = 1.0 / (1.0 + e)
        values[k] = middle + half * np.copysign((1.0 - e) * share, x[k])
        slopes[k] = half * steepness * 2.0 * e * share * share


def warm_up_calls() -> Iterator[tuple[str, str, Callable[[], object]]]:
    """Every function of this file."""
    yield "smooth_steps", "smooth step", lambda: smooth_step(np.zeros((2, 1)), 2.0, -1.0, 1.0)
