"""A power law through all points of a sweep: log-log least squares."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pmdviz.errors import InputError


class Fit(NamedTuple):
    """error = exp(intercept) x^slope. The standard error takes the points' residuals for independent."""

    slope: float
    standard_error: float
    intercept: float
    num_points: int
    left_out: int  # points without a logarithm: errors that are 0 or unknown

    def at(self, x: Any) -> np.ndarray:
        """The law at x."""
        return np.exp(self.intercept + self.slope * np.log(np.asarray(x, float)))

    def __str__(self) -> str:
        return f"slope {self.slope:.3f} ± {self.standard_error:.3f} ({self.num_points:,} points)"


def fitted(x: Any, y: Any) -> Fit:
    """The least-squares line of log y over log x, with the standard error of its slope.

    All points count, each once; those that are not positive or not finite have no logarithm and are left out and
    counted. Raises InputError unless three points at two different x remain.
    """
    x, y = np.asarray(x, float), np.asarray(y, float)
    kept = np.isfinite(x) & np.isfinite(y) & (x > 0) & (y > 0)
    log_x, log_y, n = np.log(x[kept]), np.log(y[kept]), int(kept.sum())
    if n < 3 or np.ptp(log_x) == 0:
        raise InputError(f"a slope needs three points or more at two different x; there are {n} that can be used")
    centred = log_x - log_x.mean()
    spread = float((centred**2).sum())
    slope = float((centred * log_y).sum() / spread)
    intercept = float(log_y.mean() - slope * log_x.mean())
    residuals = log_y - intercept - slope * log_x
    error = float(np.sqrt((residuals**2).sum() / (n - 2) / spread))
    return Fit(slope, error, intercept, n, int(len(x) - n))
