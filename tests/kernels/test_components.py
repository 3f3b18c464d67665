"""Shares of a mixture's components and sums by them, against their formulas."""

import numpy as np
import pytest

from pmdviz.kernels.components import component_shares, weighted_sums


def drawn(rng, n, K, d):
    """Points, log weights, means, sds, and a rest that is nowhere at the first point."""
    rest = np.append(-np.inf, rng.normal(size=n - 1))
    weights = np.log(rng.dirichlet(np.ones(K)))
    return rng.normal(size=(n, d)), weights, rng.normal(size=(K, d)), np.exp(rng.normal(size=(K, d))), rest


def naive(points, log_weights, means, sds, rest):
    z = (points[:, None] - means) / sds
    parts = log_weights - 0.5 * (z**2).sum(axis=2) - (np.log(sds) + 0.5 * np.log(2 * np.pi)).sum(axis=1)
    log_density = np.logaddexp(np.logaddexp.reduce(parts, axis=1), rest)
    return log_density, np.exp(parts - log_density[:, None]), z


@pytest.mark.parametrize("n, K, d", [(1, 1, 1), (5, 3, 2), (130, 40, 3), (200, 7, 8)])
def test_they_are_the_formulas(rng, n, K, d):
    given = points, _, means, sds, _ = drawn(rng, n, K, d)
    log_density, shares, z = naive(*given)
    found = component_shares(*given)
    np.testing.assert_allclose(found[0], log_density, atol=1e-12)
    np.testing.assert_allclose(found[1], shares, atol=1e-14)
    c = rng.normal(size=n)
    sums = weighted_sums(points, means, sds, shares, c)
    for power, each in enumerate(sums):
        expected = np.einsum("i,ik,ikd->kd", c, shares, z**power)
        np.testing.assert_allclose(
            each, expected if power else expected[:, 0], atol=1e-12 * (1 + np.abs(expected).max())
        )


def test_far_from_all_components_nothing_is_lost(rng):
    """There the density underflows, its log and the shares do not."""
    points, log_weights, means, sds, _ = drawn(rng, 4, 3, 2)
    nowhere = np.full(4, -np.inf)
    expected = naive(points + 1e4, log_weights, means, sds, nowhere)
    found = component_shares(points + 1e4, log_weights, means, sds, nowhere)
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-13)
    np.testing.assert_allclose(found[1].sum(axis=1), 1, atol=1e-14)
