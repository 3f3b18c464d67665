"""Bulk ESS: how many independent draws the draws of chains are worth for the middle of the posterior."""

from __future__ import annotations

import numpy as np

from pmdviz.metrics.base import Metric
from pmdviz.metrics.rank_normal import FEWEST, halves, is_chain, normal_scores, worst


def bulk_ess(chains: np.ndarray) -> float | None:
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


def correlation_time(chains: np.ndarray) -> float:
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


def autocovariances(chains: np.ndarray) -> np.ndarray:
    """1/n sum_t (x_t - mean)(x_t+k - mean) of each chain of (C, n), for k = 0 .. n - 1, by the Fourier transform."""
    n = chains.shape[1]
    centred = chains - chains.mean(axis=1, keepdims=True)
    spectrum = np.fft.rfft(centred, 2 * n, axis=1)
    return np.fft.irfft(spectrum * spectrum.conj(), 2 * n, axis=1)[:, :n] / n


Metric(
    name="bulk_ess",
    title="bulk ESS",
    unit="draws",
    about="independent draws that those of the chains are worth (Vehtari et al. 2021), the fewest over the coordinates",
    measure=lambda frame: worst(frame, bulk_ess, min),
    applies=is_chain,
    ranks=False,
    order=32,
    axis="bulk_ess",
    axis_title="Bulk ESS",
    axis_label="bulk effective sample size (draws)",
    limits=(1.0, 1e5),
    colour="particles",
)
