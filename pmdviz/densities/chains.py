"""Whether draws of chains agree, and what they are worth: R-hat and bulk ESS.

Source: Vehtari, Gelman, Simpson, Carpenter, Bürkner 2021.
"""

from functools import lru_cache
from statistics import NormalDist

import numpy as np

from pmdviz.kernels.checks import Array

FEWEST = 4  # draws of a chain: two in each half


def halves(chains: Array) -> Array:
    """Each chain of (C, n) as two of half the length, (2 C, n // 2); of an odd number the middle draw is left out."""
    half = chains.shape[1] // 2
    return np.concatenate([chains[:, :half], chains[:, -half:]])


def normal_scores(values: Array) -> Array:
    """Φ⁻¹((r - 3/8) / (S + 1/4)), r the rank of each of the S values, ties having their mean rank (Eq. 14)."""
    order = np.argsort(values, axis=None)
    sorted_values = values.ravel()[order]
    starts = np.flatnonzero(np.append(True, sorted_values[1:] != sorted_values[:-1]))
    count = np.diff(starts, append=values.size)
    scores = np.empty(values.size)
    scores[order] = np.repeat(_scores_by_rank(values.size)[2 * starts + count - 1], count)
    return scores.reshape(values.shape)


@lru_cache(4)
def _scores_by_rank(size: int) -> Array:
    """The scores of the ranks 1, 1.5, 2, ... of so many values: the same for every coordinate."""
    quantile = NormalDist().inv_cdf
    ranks = 1 + 0.5 * np.arange(2 * size - 1)
    return np.array([quantile(share) for share in (ranks - 0.375) / (size + 0.25)])


def rhat(chains: Array) -> float | None:
    """Rank-normalised split R-hat of one coordinate's draws (C, n): the larger of bulk and tail.

    R-hat is sqrt((B/W + n - 1) / n), W the mean variance within the halves of chains and B/n the variance of their
    means; the bulk's uses normal scores of the draws, the tail's their distances from the median. Source:
    Vehtari et al. 2021, Eq. 1-4, 14 and section 4. None with fewer than 4 draws a chain, or where one never moved.
    """
    if chains.shape[1] < FEWEST:
        return None
    split = halves(chains)
    found = [_rhat(normal_scores(values)) for values in (split, np.abs(split - np.median(split)))]
    return float(max(found)) if np.isfinite(found).all() else None


def _rhat(chains: Array) -> float:
    n = chains.shape[1]
    within, between = chains.var(axis=1, ddof=1).mean(), n * chains.mean(axis=1).var(ddof=1)
    return float(np.sqrt((between / within + n - 1) / n)) if within > 0 else np.nan


def bulk_ess(chains: Array) -> float | None:
    """Effective sample size of one coordinate's draws (C, n), by normal scores of the halves of the chains.

    C n / tau, tau = -1 + 2 sum of the autocorrelations over lags, by Geyer's initial monotone sequence, and at least
    1 / log10(C n). Source: Vehtari et al. 2021, Eq. 10-14 and section 4. None with fewer than 4 draws a chain, or
    where no draw differs from another.
    """
    if chains.shape[1] < FEWEST or chains.min() == chains.max():
        return None
    scores = normal_scores(halves(chains))
    tau = max(correlation_time(scores), 1 / np.log10(scores.size))
    return float(scores.size / tau)


def correlation_time(chains: Array) -> float:
    """tau of chains (C, n): sums of two autocorrelations that follow one another, until one is not above 0."""
    n = chains.shape[1]
    covariances = autocovariances(chains).mean(axis=0)
    within = covariances[0] * n / (n - 1)
    rho = 1 - (within - covariances) / (covariances[0] + chains.mean(axis=1).var(ddof=1))
    rho[0] = 1.0
    most = max(0, (n - 3) // 2)
    pairs = rho[: 2 * most + 2].reshape(-1, 2).sum(axis=1)  # rho_2k + rho_2k+1
    ends = np.flatnonzero(pairs <= 0)
    last = int(ends[0]) if len(ends) else most
    odd_one = rho[2 * last] if pairs[last] >= 0 else max(rho[2 * last], 0.0)
    return float(-1 + 2 * np.minimum.accumulate(pairs)[:last].sum() + odd_one)


def autocovariances(chains: Array) -> Array:
    """1/n sum_t (x_t - mean)(x_t+k - mean) of each chain of (C, n), for k = 0 .. n - 1, by the Fourier transform."""
    n = chains.shape[1]
    centred = chains - chains.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centred, 2 * n, axis=1)
    return np.fft.irfft(spectrum * spectrum.conj(), 2 * n, axis=1)[:, :n] / n


# k-hat: how heavy the tail of importance weights is (Vehtari, Simpson, Gelman, Yao, Gabry 2024, section 3).

FEWEST_WEIGHTS, FEWEST_POINTS = 5, 25  # weights that a tail is fitted to; all weights: 5 are then the largest fifth
FAINT = 300.0  # nats below the largest weight from which one does not count
PRIOR_SHAPE, PRIOR_COUNT = 0.5, 10  # of k: as good as so many more weights
PRIOR_SCALE = 3.0  # of the fit: as in Zhang and Stephens


def largest_trusted(m: int) -> float:
    """min(1 - 1 / log10 m, 0.7): the largest k-hat of m weights whose mean is to be trusted (the paper's Eq. 13)."""
    return min(1 - 1 / np.log10(m), 0.7)


def k_hat(log_weights: Array) -> float:
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
    if len(tail) < FEWEST_WEIGHTS:
        return -1.0 if top[0] > -FAINT else np.inf
    k = _fitted_shape(tail)
    return float((len(tail) * k + PRIOR_COUNT * PRIOR_SHAPE) / (len(tail) + PRIOR_COUNT))


def _fitted_shape(x: Array) -> float:
    """k of a generalised Pareto distribution of x (n,), ascending and above 0: a mean over a grid of its likelihood."""
    n = len(x)
    size = 30 + int(np.sqrt(n))
    quartile = x[int(n / 4 + 0.5) - 1]
    theta = 1 / x[-1] + (1 - np.sqrt(size / (np.arange(1, size + 1) - 0.5))) / (PRIOR_SCALE * quartile)
    k = np.log1p(-theta[:, None] * x).mean(axis=1)
    log_likelihood = n * (np.log(-theta / k) - k - 1)
    share = np.exp(log_likelihood - log_likelihood.max())
    return float(np.log1p(-(theta @ share / share.sum()) * x).mean())
