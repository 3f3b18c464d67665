"""Clusters by hard EM: found where they are, without chance, and by a few particles as by all."""

import numpy as np
import pytest

from pmdviz.kernels.clusters import clustered, moments


def two(m=300, gap=8.0, seed=0):
    """A long cluster and a round one, a third and two thirds of the points."""
    rng = np.random.default_rng(seed)
    side = np.arange(m) % 3 == 0
    points = rng.standard_normal((m, 2)) * np.where(side[:, None], [4.0, 0.2], [1.0, 1.0])
    points[side, 1] += gap
    return points, side


def equal(m):
    return np.full(m, 1 / m)


def agree(labels, side):
    return max(np.mean((labels == 1) == side), np.mean((labels == 0) == side))


def test_two_clusters_of_unlike_shape_are_found_whatever_the_first_seed():
    points, side = two()
    for first in (0, 1, 2, 150):
        labels = clustered(points, equal(300), np.array([first, *range(0, 300, 10)]), 2)
        assert labels.dtype == np.int64 and agree(labels, side) > 0.99


def test_clusters_that_cross_are_told_apart_by_their_slant():
    rng = np.random.default_rng(3)
    z, side = rng.standard_normal((600, 2)) * [3.0, 0.1], np.arange(600) < 300
    points = np.where(side[:, None], z @ [[1, 1], [-1, 1]], z @ [[1, -1], [1, 1]]) / np.sqrt(2)
    far = np.abs(z[:, 0]) > 1  # where they cross nobody can tell
    labels = clustered(points, equal(600), np.arange(0, 600, 10), 2)
    assert agree(labels[far], side[far]) > 0.95


def test_one_cluster_is_all_and_labels_have_no_gaps():
    points, _ = two()
    assert not clustered(points, equal(300), np.arange(9), 1).any()
    for k in (2, 3, 4):
        labels = clustered(points, equal(300), np.arange(0, 300, 10), k)
        assert np.array_equal(np.unique(labels), np.arange(labels.max() + 1)) and labels.max() < k


def test_many_particles_take_the_clusters_that_a_few_have_learned():
    points, side = two(m=30_000)
    learned = np.zeros(30_000)
    learned[::50] = 1 / 600
    labels = clustered(points, equal(30_000), np.arange(0, 30_000, 1000), 2, learned)
    assert labels.shape == (30_000,) and agree(labels, side) > 0.99


@pytest.mark.parametrize("d", [1, 2, 7])
def test_moments_are_numpy_s(d):
    rng = np.random.default_rng(d)
    points, weights = 1e6 + rng.standard_normal((90, d)), rng.random(90)
    weights /= weights.sum()
    mean, covariance = moments(points, weights)
    np.testing.assert_allclose(mean, weights @ points, rtol=1e-14)
    np.testing.assert_allclose(covariance, np.cov((points - 1e6).T, aweights=weights, ddof=0).reshape(d, d), atol=1e-9)
