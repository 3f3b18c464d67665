"""The weighted force of few points in many dimensions: against the formula in extended precision, and its width."""

import numpy as np
import pytest

from pmdviz.kernels.distances import median_distance
from pmdviz.kernels.stein.few_points import matched_force
from tests.kernels.naive import LONG
from tests.support.tables import looped


def naive_force(points, scores, weights, h):
    x, s, w = points.astype(LONG), scores.astype(LONG), weights.astype(LONG)
    differences = x[:, None] - x[None]
    k = np.exp(-(differences**2).sum(axis=-1) / LONG(h)) * w
    return k @ s + 2 / LONG(h) * (k[..., None] * differences).sum(axis=1)


@looped("dim", [1, 3, 4, 10, 101])
@looped("m", [2, 3, 4, 41])
def test_it_is_the_formula_with_the_width_of_the_median(rng, m, dim):
    x, s = 100 + rng.normal(size=(m, dim)), 3 * rng.normal(size=(m, dim))
    w = rng.dirichlet(np.ones(m))
    force, h = matched_force(x, s, w, 3.0)
    squares = ((x[:, None] - x) ** 2).sum(axis=-1)[np.triu_indices(m, 1)]
    assert h == pytest.approx(3 * np.median(squares) / (2 * np.log(m + 1)), rel=1e-12)
    assert h == pytest.approx(3 * median_distance(x) ** 2 / (2 * np.log(m + 1)), rel=0.3)
    np.testing.assert_allclose(force, naive_force(x, s, w, h).astype(float), atol=1e-11)


def test_coincident_points_and_a_lone_one_have_a_force_too():
    force, h = matched_force(np.ones((5, 3)), np.full((5, 3), 2.0), np.full(5, 0.2), 1.0)
    np.testing.assert_allclose(force, 2.0)
    assert h > 0
    np.testing.assert_allclose(matched_force(np.ones((1, 2)), np.ones((1, 2)), np.ones(1), 1.0)[0], 1.0)
