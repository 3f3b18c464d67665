"""k-hat: how heavy the tail of importance weights is (Vehtari, Simpson, Gelman, Yao, Gabry 2024, section 3).

A generalised Pareto distribution of shape k is fitted to the largest weights, as Zhang and Stephens 2009 do it. Above
`largest_trusted` a mean over the weighted particles is not to be trusted.
"""

from __future__ import annotations

import numpy as np

FEWEST, FEWEST_POINTS = 5, 25  # weights that a tail is fitted to; all weights: 5 are then the largest fifth
FAINT = 300.0  # nats below the largest weight from which one does not count
PRIOR_SHAPE, PRIOR_COUNT = 0.5, 10  # of k: as good as so many more weights
PRIOR_SCALE = 3.0  # of the fit: as in Zhang and Stephens


def largest_trusted(m: int) -> float:
    """min(1 - 1 / log10 m, 0.7): the largest k-hat of m weights whose mean is to be trusted (the paper's Eq. 13)."""
    return min(1 - 1 / np.log10(m), 0.7)


def k_hat(log_weights: np.ndarray) -> float:
    """The shape of the tail of weights whose logs are (m,), in any order; infinite where too few are left for one.

    The tail is the largest fifth, or 3 sqrt(m) weights where these are fewer. Where they are all equal it has none: -1.
    Fewer than 25 weights have too short a tail for a fit: NaN.
    """
    m = len(log_weights)
    if m < FEWEST_POINTS:
        return np.nan
    count = int(min(np.ceil(m / 5), np.ceil(3 * np.sqrt(m))))
    top = np.sort(np.partition(log_weights, m - count - 1)[m - count - 1 :]) - log_weights.max()
    excess = np.exp(top[1:]) - np.exp(max(top[0], -FAINT))
    tail = excess[excess > 0]
    if len(tail) < FEWEST:
        return -1.0 if top[0] > -FAINT else np.inf
    k = _fitted_shape(tail)
    return float((len(tail) * k + PRIOR_COUNT * PRIOR_SHAPE) / (len(tail) + PRIOR_COUNT))


def _fitted_shape(x: np.ndarray) -> float:
    """k of a generalised Pareto distribution of x (n,), ascending and above 0: a mean over a grid of its likelihood."""
    n = len(x)
    size = 30 + int(np.sqrt(n))
    quartile = x[int(n / 4 + 0.5) - 1]
    theta = 1 / x[-1] + (1 - np.sqrt(size / (np.arange(1, size + 1) - 0.5))) / (PRIOR_SCALE * quartile)
    k = np.log1p(-theta[:, None] * x).mean(axis=1)
    log_likelihood = n * (np.log(-theta / k) - k - 1)
    share = np.exp(log_likelihood - log_likelihood.max())
    return float(np.log1p(-(theta @ share / share.sum()) * x).mean())
