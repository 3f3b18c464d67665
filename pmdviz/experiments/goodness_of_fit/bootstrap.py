"""Null distributions: quadratic forms of a kernel matrix with random contrasts, and the p-value that they give.

    S = 1/(n (n-1)) sum_{i != j} U_ij,    S* = sum_{i != j} (u_i - 1/n) U_ij (u_j - 1/n),    n u ~ Multinomial(n, 1/n)

is the bootstrap of a degenerate U-statistic (Arcones, Gine 1992; Liu, Lee, Jordan 2016). Han 2019, (0.127), prints
u ~ Multinomial(n, 1/n), not divided by n: u - 1/n has mean 1 - 1/n then, S* is near n^2 S, and nothing is rejected.

Contrasts are whole numbers times a scale, and the matrix off its diagonal is rounded to whole numbers of 2^-30 times
its largest entry: sums of whole numbers below 2^53 are exact, so BLAS gives the same bits for any number of threads,
and what is equal by symmetry is equal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

LEVELS = 2.0**30  # of the entries of a kernel matrix
SLACK = 1e-12  # relative: statistics so near are the same but for rounding


class Contrasts(NamedTuple):
    """c = whole * scale, one a row: the first of the sample, the others of null draws."""

    whole: np.ndarray  # (m + 1, N) floats that are whole numbers
    scale: np.ndarray  # (m + 1,) of c'Uc


def bootstrap_contrasts(rng: np.random.Generator, n: int, draws: int, divided: bool = True) -> Contrasts:
    """u - 1/n for `draws` draws of u, after the contrast that gives S; not `divided`: as printed."""
    counts = rng.multinomial(n, np.full(n, 1 / n), size=draws).astype(float)
    whole = np.vstack([np.ones(n), counts - 1 if divided else n * counts - 1])
    return Contrasts(whole, np.append(1 / (n * (n - 1)), np.full(draws, 1 / n**2)))


def permutation_contrasts(rng: np.random.Generator, n: int, draws: int) -> Contrasts:
    """1 for the points of one sample and -1 for those of the other, n each: as they are, then shuffled."""
    signs = np.repeat([1.0, -1.0], n)
    whole = np.vstack([signs, rng.permuted(np.tile(signs, (draws, 1)), axis=1)])
    return Contrasts(whole, np.ones(draws + 1))


def quadratic_forms(contrasts: Contrasts, matrix: np.ndarray) -> np.ndarray:
    """sum_{i != j} c_i U_ij c_j of every contrast, (m + 1,), for U (N, N)."""
    off = matrix.copy()
    np.fill_diagonal(off, 0.0)  # before its largest entry is looked for: the diagonal may be 1e10 times all others
    largest = np.abs(off).max() or 1.0
    rounded = np.rint(off * (LEVELS / largest))
    sums = np.einsum("mi,mi->m", contrasts.whole @ rounded, contrasts.whole)
    return contrasts.scale * sums * (largest / LEVELS)


def p_value(values: np.ndarray) -> float:
    """(1 + #{S* >= S}) / (m + 1) for values (m + 1,), the first of them S."""
    observed = values[0] - SLACK * abs(values[0])
    return float((1 + np.count_nonzero(values[1:] >= observed)) / len(values))


def combined(values: np.ndarray) -> np.ndarray:
    """One statistic (m + 1,) from B statistics (m + 1, B) of the same draws: minus the log of the least p-value.

    Each draw's p-values are its ranks among all m + 1; a single column stays as it is.
    """
    if values.shape[1] == 1:
        return values[:, 0]
    order = np.sort(values, axis=0)
    pairs = zip(order.T, values.T, strict=True)
    below = np.stack([np.searchsorted(known, own - SLACK * np.abs(own)) for known, own in pairs], axis=1)
    return -np.log((len(values) - below).min(axis=1) / len(values))
