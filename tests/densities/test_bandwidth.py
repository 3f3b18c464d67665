"""Rules for the smoothing kernel, and the shaped kernel: it leaves moments alone, integrates to 1, chooses clusters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.spatial.distance import pdist

from pmdviz.densities.bandwidth import (
    LOCAL_SCALE,
    RULES,
    WIDTHS,
    Shape,
    chosen_shape,
    local_scale,
    neighbourhood_covariance,
    shaped_density,
)
from pmdviz.densities.density import Grid, ShapedDensity, normalise
from pmdviz.methods import METHODS
from pmdviz.methods.particles import from_density
from tests.support.tables import looped


def equal(m):
    return np.full(m, 1 / m)


def standard(m, d, seed=0):
    return np.random.default_rng([m, d, seed]).standard_normal((m, d))


@pytest.mark.parametrize("d", [1, 2, 5])
def test_the_plain_rules_are_a_number_the_median_distance_and_the_weighted_covariance(d):
    specs = METHODS["pmd"].Knobs.specs()
    assert {*RULES, "shaped"} == set(specs["bandwidth_rule"].choices) == set(specs["bandwidth"].default_by[1])
    for m in (2, 3, 40, 500):
        particles = standard(m, d, 0)
        assert np.array_equal(RULES["isotropic"](particles, equal(m), 0.2, np.ones(d)), 0.2 * np.eye(d))
        expected = 0.1 * np.median(pdist(particles)) * np.eye(d)
        np.testing.assert_allclose(RULES["median"](particles, equal(m), 0.1, np.ones(d)), expected, rtol=1e-12)
    particles, weights = standard(300, d, 1), np.random.default_rng(2).dirichlet(np.ones(300))
    kernel = RULES["covariance"](particles, weights, 0.35, np.ones(d))
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
    if rule == "local":
        S = neighbourhood_covariance(particles, equal(200), np.ones(d)) / local_scale(d)
        np.testing.assert_allclose(usual @ usual.T, 0.25 * 200 ** (-2 / (d + 4)) * S, rtol=1e-6)


@pytest.mark.parametrize("d", [1, 2, 3, 5])
def test_local_measures_a_standard_gaussian_as_one(d):
    """The mean over draws of S is the identity, within four standard errors and the rounding of the table."""
    found = np.array([neighbourhood_covariance(standard(3000, d, s), equal(3000), np.ones(d)) for s in range(12)])
    found /= LOCAL_SCALE[d]
    means, errors = found.mean(axis=0), found.std(axis=0, ddof=1) / np.sqrt(12)
    assert (np.abs(means - np.eye(d)) < 4 * errors + 0.03).all()


ONES = np.ones(2)


def modes(m=1500, apart=6.0, seed=0):
    x = standard(m, 2, seed) @ np.array([[1.0, 0.8], [0.0, 0.3]])
    return x + apart * second(m)[:, None]


def second(m):
    return np.arange(m) >= m // 2


def density_of(x, log_weights, factor=1.0):
    return shaped_density(x, log_weights, chosen_shape(x, np.exp(log_weights)), factor, np.ones(x.shape[1]))


def moments(x, w):
    w = w / w.sum()
    return w @ x, np.cov(x.T, aweights=w, ddof=0).reshape(x.shape[1], -1)


@given(st.integers(1, 4), st.integers(1, 3), st.floats(0.05, 1.9), st.integers(0, 2**32))
def test_each_cluster_of_q_has_the_moments_of_its_particles(d, k, width, seed):
    rng = np.random.default_rng(seed)
    m = 40 * k
    x, lw, labels = rng.standard_normal((m, d)) + 5, normalise(0.5 * rng.standard_normal(m)), np.arange(m) % k
    q = shaped_density(x, lw, Shape(labels, 0.5), width, np.ones(d))
    for c in range(k):
        s = labels == c
        w = q.weights[s] / q.weights[s].sum()
        mean, covariance = moments(x[s], q.weights[s])
        np.testing.assert_allclose(w @ q.centres[s], mean, atol=1e-10)
        of_centres = moments(q.centres[s], q.weights[s])[1]
        np.testing.assert_allclose(of_centres + q.factors[c] @ q.factors[c].T, covariance, atol=1e-10)
    for found, expected in zip((q.mean, q.cov), moments(x, q.weights), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-10)
    smeared = shaped_density(x, lw, Shape(labels, 0.5), 2 * width + 2, np.ones(d))  # wider than a cluster
    assert (np.diag(smeared.cov) > np.diag(q.cov)).all()


def test_the_density_is_the_sum_of_its_kernels_integrates_to_1_and_is_what_the_grid_shows():
    x, lw = modes(60), normalise(standard(60, 1)[:, 0])
    q, points = density_of(x, lw), 3 * standard(9, 2)
    kernels = zip(q.weights, q.centres, q.choleskys, strict=True)
    expected = sum(w * stats.multivariate_normal(c, L @ L.T).pdf(points) for w, c, L in kernels)
    np.testing.assert_allclose(np.exp(q.log_density(points)), expected, rtol=1e-9)
    assert q.kernel_peak == pytest.approx(max(np.exp(-np.log(np.diag(L)).sum()) for L in q.factors) / (2 * np.pi))
    lw = normalise(standard(1500, 1)[:, 0])
    q = shaped_density(modes(), lw, Shape(second(1500).astype(int), 0.6), 1.0, ONES)
    assert len(q.parts) == 2
    grid = Grid(((-7.0, 13.0), (-7.0, 13.0)), 501)
    drawn = q.on_grid(grid)
    assert drawn.sum() * grid.cell_volume == pytest.approx(1, abs=1e-9)
    np.testing.assert_allclose(drawn.ravel(), np.exp(q.log_density(grid.points)), atol=1e-12)


@looped("m", [1, 2, 3, 4, 10])
@looped("d", [1, 2, 5])
def test_few_or_coincident_particles_still_have_a_kernel_and_a_density(m, d):
    for x in (standard(m, d), np.zeros((m, d))):
        for w in (np.eye(m)[0], equal(m)):
            for rule in RULES.values():
                kernel = rule(x, w, 0.5, 2 * np.ones(d))
                assert np.isfinite(kernel).all() and (np.diag(kernel) > 0).all()
            with np.errstate(divide="ignore"):
                q = density_of(x, np.log(w))
            assert isinstance(q, ShapedDensity) and np.isfinite(q.log_density(x[:1])).all()
            assert np.isfinite(from_density(np.random.default_rng(0), q, 5)).all()


def test_as_many_clusters_as_there_are_modes_and_a_few_outliers_have_none():
    """Akaike's price lets a Gaussian of two dimensions be split now and then; a gap is never reached over.

    Kernels of few outliers would be a thousandth as wide as all others; many are a cluster like any other.
    """
    of_one = [chosen_shape(modes(apart=0.0, seed=k), equal(1500)).labels.max() + 1 for k in range(8)]
    assert np.mean(of_one) < 1.8
    side = second(1500)
    for k in range(8):
        labels = chosen_shape(modes(seed=k), equal(1500)).labels
        assert labels.max() >= 1 and all(side[labels == c].mean() in (0.0, 1.0) for c in range(labels.max() + 1))
    assert not chosen_shape(with_outliers(10), equal(1500)).labels.any()
    labels = chosen_shape(with_outliers(120), equal(1500)).labels
    assert len({*labels[:120]}) == 1 and labels[0] not in labels[120:]
    whole = chosen_shape(standard(1500, 20), equal(1500))  # without a price of covariances it would be split
    assert not whole.labels.any() and whole.width == WIDTHS[-1]


def with_outliers(n):
    x = standard(1500, 2)
    x[:n] = np.column_stack([np.linspace(8.0, 9.0, n), 8 + 1e-3 * standard(n, 1)[:, 0]])
    return x


def test_clusters_do_not_hang_on_units_and_are_kept_unless_one_has_become_too_light():
    x = modes()
    first = chosen_shape(x, equal(1500))
    other = chosen_shape(x * np.array([1e-4, 1e5]) + 7, equal(1500))
    assert np.array_equal(first.labels, other.labels) and first.width == other.width
    again = chosen_shape(x, equal(1500), last=first)
    assert again.labels is first.labels and again.width == first.width
    split = first._replace(labels=np.arange(1500) // 10 % 4)  # as no search would have it
    assert chosen_shape(x, equal(1500), last=split).labels is split.labels
    light = first._replace(labels=(np.arange(1500) < 20).astype(int))
    assert np.array_equal(chosen_shape(x, equal(1500), last=light).labels, first.labels)
