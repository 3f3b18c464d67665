"""The kernel of GF-KSD on discrete states with the latent points integrated out, for any number of values.

Under p0 = N(0, I) the line of each coordinate is cut into K bins of equal mass. With k(x, y) = exp(-|x - y|^2 / h), a
product over the coordinates, and the score -x of p0, kappa is sum_i kappa_1(x_i, y_i) prod_{j != i} k_1(x_j, y_j),

    kappa_1(x, y) = k_1(x, y) [x y - (2/h) (x - y)^2 + 2/h - (4/h^2) (x - y)^2],

and given the states the coordinates are independent. So E(kappa | z, z') needs two K x K tables of one coordinate,

    A[a, b] = E(k_1 | bins a, b),    S[a, b] = E(kappa_1 | bins a, b),    Kbar = w w' sum_i S_i prod_{j != i} A_j.

sum_b S[a, b] = 0, as E_p0 kappa_1 = 0: Kbar has mean 0 under p where w = 1/p. Ours; the binary case by hand before.
"""

from __future__ import annotations

from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from pmdviz.experiments.goodness_of_fit.states import pair_sums

REACH = 9.0  # sds of N(0, 1) beyond which there is 1e-19 of it
NODES = 16  # of Gauss-Legendre in each panel
WIDEST = 0.5  # panel, in sds and in square roots of h


class Tables(NamedTuple):
    """What one coordinate gives."""

    kernel: np.ndarray  # (K, K) A
    stein: np.ndarray  # (K, K) S


@lru_cache(maxsize=64)
def tables_of(num_values: int, h: float) -> Tables:
    """A and S for K values, to about 1e-13."""
    x, mass, bins = nodes_of(num_values, h)
    kernel, stein = np.zeros((num_values, num_values)), np.zeros((num_values, num_values))
    for a in range(num_values):
        own = bins == a
        squared = (x[own, None] - x) ** 2
        k = np.exp(-squared / h) * mass[own, None] * mass
        kappa = k * (x[own, None] * x - (2 / h + 4 / h**2) * squared + 2 / h)
        for table, values in ((kernel, k), (stein, kappa)):
            table[a] = np.add.reduceat(values.sum(axis=0), np.searchsorted(bins, np.arange(num_values)))
    return Tables(kernel, stein)


def nodes_of(num_values: int, h: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes (Q,) on the line, ascending, their share of the mass of their bin, and the number of that bin."""
    quantile = NormalDist().inv_cdf
    edges = [-REACH, *(quantile(k / num_values) for k in range(1, num_values)), REACH]
    roots, weights = np.polynomial.legendre.leggauss(NODES)
    widest, found = WIDEST * min(1.0, np.sqrt(h)), []
    for number, (low, high) in enumerate(zip(edges, edges[1:], strict=False)):
        ends = np.linspace(low, high, 1 + int(np.ceil((high - low) / widest)))
        half = 0.5 * np.diff(ends)
        x = ((ends[:-1] + half)[:, None] + half[:, None] * roots).ravel()
        mass = (half[:, None] * weights).ravel() * np.exp(-0.5 * x**2)
        found.append((x, mass / mass.sum(), np.full(len(x), number)))
    x, mass, bins = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return x, mass, bins


def integrated_kernel(codes: np.ndarray, weights: np.ndarray, num_values: int, h: float) -> np.ndarray:
    """Kbar (n, n) of states with `codes` (n, d), `weights` (n,) proportional to 1/p, and h > 0 in units of p0."""
    tables = tables_of(num_values, float(h))
    smallest = np.finfo(float).tiny  # bins that no kernel joins
    joined = np.maximum(tables.kernel, smallest)
    product = np.exp(pair_sums(codes, np.log(joined)))
    return np.outer(weights, weights) * product * pair_sums(codes, tables.stein / joined)
