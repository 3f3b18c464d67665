"""Rules for the smoothing kernel, against the covariance of standard Gaussians and the best kernels there are."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from pmdviz.densities.bandwidth import (
    EFFECTIVE_NEIGHBOURS,
    LOCAL_SCALE,
    NEIGHBOUR_FRACTION,
    RULES,
    covariance,
    isotropic,
    local,
    local_scale,
    median,
    neighbourhood_covariance,
)
from pmdviz.methods import METHODS
from tests.support.tables import looped

FACTOR = 0.75  # the default


def equal(m):
    return np.full(m, 1 / m)


def standard(m, d, seed):
    return np.random.default_rng([m, d, seed]).standard_normal((m, d))


@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_plain_rules_are_a_number_the_median_distance_and_the_weighted_covariance(d):
    specs = METHODS["pmd"].Knobs.specs()
    assert {*RULES, "shaped"} == set(specs["bandwidth_rule"].choices) == set(specs["bandwidth"].default_by[1])
    for m in (2, 3, 40, 500):
        particles = standard(m, d, 0)
        assert np.array_equal(isotropic(particles, equal(m), 0.2, np.ones(d)), 0.2 * np.eye(d))
        expected = 0.1 * np.median(pdist(particles)) * np.eye(d)
        np.testing.assert_allclose(median(particles, equal(m), 0.1, np.ones(d)), expected, rtol=1e-12)
    particles, weights = standard(300, d, 1), np.random.default_rng(2).dirichlet(np.ones(300))
    kernel = covariance(particles, weights, 0.35, np.ones(d))
    expected = 0.35**2 * 300 ** (-2 / (d + 4)) * np.cov(particles.T, aweights=weights, ddof=0).reshape(d, d)
    np.testing.assert_allclose(kernel @ kernel.T, expected, rtol=1e-6)


@looped("rule", ["covariance", "local"])
@looped("d", [1, 2, 3])
@looped("smoothness", [0.0, 1.0, 2.0, 50.0])
def test_smoothness_decides_how_fast_h_falls(rule, d, smoothness):
    particles = standard(200, d, 0)
    usual = RULES[rule](particles, equal(200), 0.5, np.ones(d))
    factor = 200 ** (1 / (d + 4) - 1 / (d + 2 * smoothness))
    np.testing.assert_allclose(RULES[rule](particles, equal(200), 0.5, np.ones(d), smoothness), factor * usual)


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_local_measures_a_standard_gaussian_as_one(d):
    """The mean over draws of S is the identity, within four standard errors and the rounding of the table."""
    found = np.array([neighbourhood_covariance(standard(3000, d, s), equal(3000), np.ones(d)) for s in range(12)])
    found /= LOCAL_SCALE[d]
    means, errors = found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(12)
    assert (np.abs(means - np.eye(d)) < 4 * errors + 0.03).all()


def test_local_shrinks_with_m_and_grows_with_c():
    particles = standard(1000, 2, 0)
    one = local(particles, equal(1000), 1.0, np.ones(2))
    np.testing.assert_allclose(local(particles, equal(1000), 0.5, np.ones(2)), 0.5 * one, rtol=1e-12)
    S = neighbourhood_covariance(particles, equal(1000), np.ones(2)) / local_scale(2)
    np.testing.assert_allclose(one @ one.T, 1000 ** (-2 / 6) * S, rtol=1e-6)
    assert np.array_equal(one, np.tril(one))


def test_local_measures_the_modes_and_not_the_gap():
    """Two modes of sd 0.25, ever farther apart: the same kernel."""
    base, sign = 0.25 * standard(1000, 1, 0), np.where(np.arange(1000) % 2, 1.0, -1.0)[:, None]
    near, far = (local(base + gap * sign, equal(1000), FACTOR, np.ones(1))[0, 0] for gap in (2, 20))
    assert far == pytest.approx(near, rel=0.02)


def test_a_neighbourhood_needs_25_effective_particles():
    """A few particles with nearly all of the weight are not taken for a mode of their own."""
    particles, weights = standard(1000, 1, 3), np.full(1000, 1e-4)
    weights[:5] = 0.9 / 5
    heavy = neighbourhood_covariance(particles, weights / weights.sum(), np.ones(1))[0, 0]
    counted = neighbourhood_covariance(particles, equal(1000), np.ones(1))[0, 0]
    assert EFFECTIVE_NEIGHBOURS == 25 and heavy > 0.1 * counted
    row = neighbourhood_covariance(np.arange(1000.0)[:, None], equal(1000), np.ones(1))[0, 0]
    assert NEIGHBOUR_FRACTION == 0.1 and row == pytest.approx(100**2 / 12, rel=0.01), "a hundred neighbours in a row"


@looped("m", [1, 2, 3, 4, 10])
@looped("d", [1, 2, 5])
def test_few_or_coincident_particles_still_have_a_kernel(m, d):
    for particles in (standard(m, d, 0), np.zeros((m, d))):
        weights = np.zeros(m)
        weights[0] = 1.0
        for rule in RULES.values():
            for w in (weights, equal(m)):
                kernel = rule(particles, w, 0.5, 2 * np.ones(d))
                assert np.isfinite(kernel).all() and (np.diag(kernel) > 0).all()
