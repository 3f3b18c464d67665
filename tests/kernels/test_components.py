"""Sums over the kernels of a density, and of one but its own, against their formulas."""

import numpy as np
import pytest
from scipy.special import logsumexp

from pmdviz.kernels.kde import kernels_of, leave_one_out
from pmdviz.kernels.mixture import component_shares, weighted_sums
from tests.support.tables import looped


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


def without_own(points, log_weights, judged, own, h):
    """The definition, pair by pair."""
    d = points.shape[1]
    apart = judged[:, None] - np.sqrt(1 - h * h) * points[None]
    e = log_weights - 0.5 * (apart**2).sum(axis=2) / h**2 - 0.5 * d * np.log(2 * np.pi * h * h)
    e[own >= 0, own[own >= 0]] = -np.inf
    return logsumexp(e, axis=1)


def some(d, m=70, n=31):
    rng = np.random.default_rng([d, m])
    own = np.where(np.arange(n) % 3 == 0, -1, rng.permutation(m)[:n])
    points, log_weights = rng.standard_normal((m, d)), np.log(rng.dirichlet(np.ones(m)))
    return points, log_weights, np.where(own[:, None] >= 0, points[own], rng.standard_normal((n, d))), own


@looped("d", [1, 2, 3, 4, 5, 8, 50])
@looped("h", [0.3, 0.95])
def test_it_is_the_sum_without_the_own_kernel(d, h):
    given = some(d)
    exact, quick = (leave_one_out(kernels_of(*given), h, exact=way) for way in (True, False))
    np.testing.assert_allclose(exact, without_own(*given, h), rtol=1e-11)
    seen = quick > -np.inf
    np.testing.assert_allclose(quick[seen], exact[seen], atol=1e-4)
    assert seen.any() or d == 50 and h == 0.3


def test_a_particle_of_weight_zero_is_no_kernel():
    points, log_weights, judged, own = some(2)
    log_weights[5:] = -np.inf
    few = points[:5], log_weights[:5], judged, np.where(own < 5, own, -1)
    of_all, of_few = (leave_one_out(kernels_of(*given), 0.8) for given in ((points, log_weights, judged, own), few))
    np.testing.assert_allclose(of_all, of_few, atol=1e-4)


def test_far_points_are_for_the_exact_sum():
    points, log_weights = np.zeros((3, 2)), np.log(np.full(3, 1 / 3))
    far, none = np.array([[30.0, 0.0], [0.0, 0.0]]), np.array([-1, -1])
    quick, exact = (leave_one_out(kernels_of(points, log_weights, far, none), 0.5, way) for way in (False, True))
    assert quick[0] == -np.inf and np.isfinite(quick[1])
    np.testing.assert_allclose(exact, without_own(points, log_weights, far, none, 0.5), rtol=1e-12)
