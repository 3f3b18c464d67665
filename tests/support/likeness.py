"""How alike two pictures are: the structural similarity of Wang, Bovik, Sheikh and Simoncelli (2004), Eq. 13."""

from __future__ import annotations

import numpy as np

SIDE = 7  # px of the square window
C1, C2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
LUMA = np.array([0.299, 0.587, 0.114])


def grey(picture: np.ndarray) -> np.ndarray:
    """Luminance (height, width), 0 to 255, of a picture (height, width, 3 or more)."""
    return picture[..., :3] @ LUMA


def _mean(values: np.ndarray) -> np.ndarray:
    """Means over all windows of `SIDE` x `SIDE` px."""
    total = np.pad(values, ((1, 0), (1, 0))).cumsum(axis=0).cumsum(axis=1)
    box = total[SIDE:, SIDE:] - total[:-SIDE, SIDE:] - total[SIDE:, :-SIDE] + total[:-SIDE, :-SIDE]
    return box / SIDE**2


def similarity(one: np.ndarray, two: np.ndarray) -> float:
    """Mean structural similarity of two pictures of one shape (height, width, 3 or more), at most 1 (equal)."""
    x, y = grey(one), grey(two)
    mean_x, mean_y = _mean(x), _mean(y)
    var_x, var_y = _mean(x * x) - mean_x**2, _mean(y * y) - mean_y**2
    covariance = _mean(x * y) - mean_x * mean_y
    likeness = (2 * mean_x * mean_y + C1) * (2 * covariance + C2)
    return float(np.mean(likeness / ((mean_x**2 + mean_y**2 + C1) * (var_x + var_y + C2))))
