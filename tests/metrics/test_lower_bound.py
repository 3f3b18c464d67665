"""The entropy by nearest neighbours against exact entropies, and the bound against the exact one of a mean field."""

import numpy as np
import pytest

import pmdviz
from pmdviz.densities.density import KernelDensity
from pmdviz.densities.product import ProductDensity
from pmdviz.metrics.predictive import MOST_COORDINATES, knn_entropy, lower_bound
from tests.support.engine import errors_from
from tests.support.tables import looped

RUNS = 30


def entropy(cov):
    return 0.5 * np.linalg.slogdet(2 * np.pi * np.e * np.atleast_2d(cov))[1]


@looped("dim, n, k", [(1, 300, 1), (2, 1000, 1), (1, 300, 3), (2, 1000, 3)])
def test_the_entropy_of_a_gaussian(dim, n, k):
    rng = np.random.default_rng(dim)
    factor = np.tril(rng.standard_normal((dim, dim))) + 2 * np.eye(dim)
    found = [knn_entropy(rng.standard_normal((n, dim)) @ factor.T, k) for _ in range(RUNS)]
    assert abs(errors_from(found, entropy(factor @ factor.T))) < 4 and np.std(found) < 0.1
    wide = [knn_entropy(rng.standard_normal((400, MOST_COORDINATES))) for _ in range(2)]
    assert np.mean(wide) == pytest.approx(entropy(np.eye(MOST_COORDINATES)), abs=0.3), "a ball falls off in its middle"


def test_points_that_coincide_have_none():
    assert np.isnan(knn_entropy(np.zeros((50, 2))))
    assert np.isnan(knn_entropy(np.repeat(np.arange(10.0), 5)[:, None]))
    assert np.isnan(knn_entropy(np.arange(3.0)[:, None]))


def of_blocks(rng, blocks, sds, n):
    parts = [KernelDensity(s * rng.standard_normal((n, len(b))), np.full(n, -np.log(n)), np.eye(len(b)))
             for b, s in zip(blocks, sds, strict=True)]  # fmt: skip
    return ProductDensity(blocks, tuple(parts))


@pytest.mark.parametrize("rho", [0.0, 0.6, 0.9])
def test_the_bound_of_the_best_mean_field(rho):
    """log Z = 0, q* has variances 1 - rho^2, and the bound is -KL(q* || p) = log(1 - rho^2) / 2."""
    target, rng = pmdviz.target("correlated_gaussian", correlation=rho), np.random.default_rng(1)
    sd = np.sqrt(1 - rho**2)
    found = [lower_bound(of_blocks(rng, ((0,), (1,)), (sd, sd), 500), target) for _ in range(RUNS)]
    assert abs(errors_from(found, 0.5 * np.log(1 - rho**2))) < 4
    assert np.std(found) < 0.15


def test_it_falls_where_q_is_too_narrow():
    """KL(q || p) = s^2 - 1 - 2 log s a pair for q = N(0, s^2 I): the bound that is for stopping alone rises."""
    target, rng = pmdviz.target("correlated_gaussian", correlation=0.0), np.random.default_rng(2)
    found = [lower_bound(of_blocks(rng, ((0, 1),), (0.5,), 1000), target) for _ in range(RUNS)]
    assert abs(errors_from(found, -(0.25 - 1 - 2 * np.log(0.5)))) < 4
