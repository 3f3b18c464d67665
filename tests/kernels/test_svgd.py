"""The Stein forces, of few points too, against their formula in extended precision; the medians for their widths."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from pmdviz.kernels.distances import median_distance
from pmdviz.kernels.stein.few_points import matched_force
from pmdviz.kernels.stein.svgd import TILE, imq_force, sampled_median_distance, stein_force
from tests.kernels.naive import LONG
from tests.support.tables import looped


def naive(particles, scores, h, weights, imq):
    x, s, w = particles.astype(LONG), scores.astype(LONG), weights.astype(LONG)
    differences = x[:, None] - x[None]  # x_i - x_j
    r = (differences**2).sum(axis=-1) / LONG(h)
    k, slope = ((1 + r) ** LONG(-0.5), (1 + r) ** LONG(-1.5) / 2) if imq else (np.exp(-r), np.exp(-r))
    return ((w * k) @ s + 2 / LONG(h) * ((w * slope)[..., None] * differences).sum(axis=1)).astype(float)


@looped("force", [stein_force, imq_force])
@looped("dim", [1, 2, 3, 7])
@looped("m", [1, 2, 63, 110])
@looped("h", [1e-3, 0.7, 50.0])
def test_it_is_the_formula(rng, force, m, dim, h):
    x, s = rng.normal(size=(m, dim)), 3 * rng.normal(size=(m, dim))
    scale = np.abs(s).max() + 2 / h * np.abs(x).max()
    for w in (np.full(m, 1 / m), rng.dirichlet(np.ones(m))):
        found, expected = force(x, s, h, w), naive(x, s, h, w, force is imq_force)
        np.testing.assert_allclose(found, expected, atol=4e-15 * scale)
        if np.ptp(w) == 0:
            np.testing.assert_allclose(force(x, s, h), expected, atol=4e-15 * scale)


def test_more_particles_than_a_tile(rng):
    x, s = rng.normal(size=(TILE + 3, 2)), rng.normal(size=(TILE + 3, 2))
    differences = x[:5, None] - x[None]
    r = (differences**2).sum(axis=-1) / 0.5
    for force, k, slope in ((stein_force, np.exp(-r), np.exp(-r)), (imq_force, (1 + r) ** -0.5, (1 + r) ** -1.5 / 2)):
        expected = (k @ s + 4 * (slope[..., None] * differences).sum(axis=1)) / len(x)
        np.testing.assert_allclose(force(x, s, 0.5)[:5], expected, atol=1e-13)


def test_far_from_the_origin_it_keeps_its_digits(rng):
    x, s = np.round(rng.normal(size=(50, 2)), 6), rng.normal(size=(50, 2))
    np.testing.assert_allclose(stein_force(x + 1e6, s, 0.5), stein_force(x, s, 0.5), atol=1e-8)


@looped("m", [2, 30, 200])
def test_few_pairs_are_all_taken(rng, m):
    points = rng.normal(size=(m, 2))
    assert sampled_median_distance(points) == median_distance(points)


@looped("m", [201, 1000, 2000, 30_000])
def test_the_sampled_median_is_near_the_median(rng, m):
    """Within 4 standard errors of a rank among 20,000 pairs: the density of |x - y| at its median is 0.42 here."""
    points = rng.normal(size=(m, 2))
    standard_error = 0.5 / np.sqrt(20_000) / 0.42
    assert abs(sampled_median_distance(points) - np.sqrt(4 * np.log(2))) < 4 * standard_error + 4 / np.sqrt(m)
    if m <= 2000:
        assert abs(sampled_median_distance(points) - median_distance(points)) < 6 * standard_error


@looped("dim", [1, 3, 4, 10, 101])
@looped("m", [2, 3, 4, 41])
def test_the_force_of_few_points_is_the_formula_with_the_width_of_the_median(rng, m, dim):
    x, s, w = 100 + rng.normal(size=(m, dim)), 3 * rng.normal(size=(m, dim)), rng.dirichlet(np.ones(m))
    force, h = matched_force(x, s, w, 3.0)
    squares = ((x[:, None] - x) ** 2).sum(axis=-1)[np.triu_indices(m, 1)]
    assert h == pytest.approx(3 * np.median(squares) / (2 * np.log(m + 1)), rel=1e-12)
    np.testing.assert_allclose(force, naive(x, s, h, w, imq=False), atol=1e-11)


def test_coincident_points_and_a_lone_one_have_a_force_too():
    force, h = matched_force(np.ones((5, 3)), np.full((5, 3), 2.0), np.full(5, 0.2), 1.0)
    np.testing.assert_allclose(force, 2.0)
    assert h > 0
    np.testing.assert_allclose(matched_force(np.ones((1, 2)), np.ones((1, 2)), np.ones(1), 1.0)[0], 1.0)


@looped("dim", [1, 2, 3, 7])
@looped("num", [2, 3, 4, 5, 60, 301])
def test_median_distances_are_scipys_and_pairs_of_copies_can_be_left_out(num, dim, rng):
    points = rng.normal(size=(num, dim))
    for copies in (1, 2, 5):
        found = median_distance(np.repeat(points, copies, axis=0), num * copies * (copies - 1) // 2)
        assert found == pytest.approx(np.median(pdist(points)), rel=1e-13)


def test_points_that_coincide_are_no_distance_apart():
    assert median_distance(np.zeros((5, 2))) == 0.0
    assert median_distance(np.array([[0.0], [0.0], [0.0], [0.0], [3.0]])) == 0.0
    assert median_distance(np.array([[0.0], [0.0], [3.0]])) == 3.0
    assert median_distance(np.array([[0.0], [0.0], [1.0], [5.0]]), 1) == 4.0, "of 1, 1, 4, 5, 5 the one in the middle"
