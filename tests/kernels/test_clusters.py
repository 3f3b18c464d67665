"""Clusters by hard EM: found where they are, without chance, and by a few particles as by all."""

import numpy as np
import pytest

from pmdviz.kernels.clusters import clustered, moments, pooled_local_covariance
from tests.kernels.naive import LONG
from tests.support.tables import looped


def two(m=300, gap=8.0, seed=0):
    """A long cluster and a round one, a third and two thirds of the points."""
    rng = np.random.default_rng(seed)
    side = np.arange(m) % 3 == 0
    points = rng.standard_normal((m, 2)) * np.where(side[:, None], [4.0, 0.2], [1.0, 1.0])
    points[side, 1] += gap
    return points, side


def clusters(points, centres, k=2):
    return clustered(points, np.full(len(points), 1 / len(points)), np.array(centres), k)


def agree(labels, side):
    return max(np.mean((labels == 1) == side), np.mean((labels == 0) == side))


def test_two_clusters_of_unlike_shape_are_found_whatever_the_first_seed_and_labels_have_no_gaps():
    points, side = two()
    for first in (0, 1, 2, 150):
        labels = clusters(points, [first, *range(0, 300, 10)])
        assert labels.dtype == np.int64 and agree(labels, side) > 0.99
    assert not clusters(points, range(9), 1).any(), "one cluster is all"
    for k in (2, 3, 4):
        labels = clusters(points, range(0, 300, 10), k)
        assert np.array_equal(np.unique(labels), np.arange(labels.max() + 1)) and labels.max() < k


def test_clusters_that_cross_are_told_apart_by_their_slant():
    rng = np.random.default_rng(3)
    z, side = rng.standard_normal((600, 2)) * [3.0, 0.1], np.arange(600) < 300
    points = np.where(side[:, None], z @ [[1, 1], [-1, 1]], z @ [[1, -1], [1, 1]]) / np.sqrt(2)
    far = np.abs(z[:, 0]) > 1  # where they cross nobody can tell
    assert agree(clusters(points, range(0, 600, 10))[far], side[far]) > 0.95


@pytest.mark.parametrize("d", [1, 2, 7])
def test_moments_are_numpy_s(d):
    rng = np.random.default_rng(d)
    points, weights = 1e6 + rng.standard_normal((90, d)), rng.random(90)
    weights /= weights.sum()
    mean, covariance = moments(points, weights)
    np.testing.assert_allclose(mean, weights @ points, rtol=1e-14)
    np.testing.assert_allclose(covariance, np.cov((points - 1e6).T, aweights=weights, ddof=0).reshape(d, d), atol=1e-9)


def naive(particles, weights, centres, scale, count, share=1.0, effective=1.0):
    found = []
    for centre in centres:
        distances = (((particles - particles[centre]).astype(LONG) / scale) ** 2).sum(axis=1)
        near = np.argsort(distances, kind="stable")[:count]
        held = np.cumsum(weights[near])
        enough = (held >= share * weights.sum()) & (held**2 >= effective * np.cumsum(weights[near] ** 2))
        near = near[: np.argmax(enough) + 1] if share < 1 and enough.any() else near
        w, x = weights[near].astype(LONG), particles[near].astype(LONG)
        if w.sum() > 0:
            mean = (w[:, None] * x).sum(axis=0) / w.sum()
            found.append(((w[:, None, None] * (x - mean)[:, :, None] * (x - mean)[:, None, :]).sum(axis=0)) / w.sum())
    return np.mean(found, axis=0) if found else np.zeros((particles.shape[1],) * 2)


@looped("dim", [1, 2, 3, 5, 10])
@looped("num", [1, 2, 63, 64, 65, 1500])
def test_against_the_formula_in_extended_precision(num, dim, rng):
    particles, weights = rng.normal(size=(num, dim)), rng.dirichlet(np.ones(num))
    centres, scale = rng.integers(0, num, 20), rng.uniform(0.1, 3, dim)
    for count in {1, (num + 9) // 10, num}:
        result = pooled_local_covariance(particles, weights, centres, scale, count)
        np.testing.assert_allclose(result, naive(particles, weights, centres, scale, count), rtol=1e-11, atol=1e-14)


@looped("share, effective", [(0.1, 1.0), (0.1, 25.0), (0.4, 60.0), (0.2, 3.0), (0.02, 500.0)])
def test_a_neighbourhood_ends_where_it_holds_enough(share, effective, rng):
    particles, weights = rng.normal(size=(800, 2)), rng.dirichlet(np.full(800, 0.3))
    centres, rest = rng.integers(0, 800, 20), (np.ones(2), 300, share, effective)
    result = pooled_local_covariance(particles, weights, centres, *rest)
    np.testing.assert_allclose(result, naive(particles, weights, centres, *rest), rtol=1e-11)
    changed = np.abs(result - pooled_local_covariance(particles, weights, centres, np.ones(2), 300)).max()
    assert changed < 1e-12 if effective == 500 else changed > 1e-3


def test_ties_go_to_the_lower_index_and_neighbourhoods_without_weight_are_left_out():
    particles, weights = np.array([[0.0], [1.0], [-1.0], [1.0]]), np.array([1.0, 1.0, 1.0, 0.0])
    result = pooled_local_covariance(particles, weights, np.array([0]), np.ones(1), 3)
    np.testing.assert_allclose(result, [[2 / 3]])  # 0, 1 and -1, not the second 1
    particles, weights = np.array([[0.0], [1.0], [10.0], [14.0]]), np.array([0.0, 0.0, 1.0, 1.0])
    assert pooled_local_covariance(particles, weights, np.array([0, 2]), np.ones(1), 2) == [[4.0]]
    assert pooled_local_covariance(particles, weights, np.array([0]), np.ones(1), 2) == [[0.0]]
