import numpy as np

from pmdviz.kernels.neighbourhoods import pooled_local_covariance
from tests.kernels.naive import LONG
from tests.support.tables import looped


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


def test_ties_go_to_the_lower_index():
    particles, weights = np.array([[0.0], [1.0], [-1.0], [1.0]]), np.array([1.0, 1.0, 1.0, 0.0])
    result = pooled_local_covariance(particles, weights, np.array([0]), np.ones(1), 3)
    np.testing.assert_allclose(result, [[2 / 3]])  # 0, 1 and -1, not the second 1


def test_neighbourhoods_without_weight_are_left_out():
    particles, weights = np.array([[0.0], [1.0], [10.0], [14.0]]), np.array([0.0, 0.0, 1.0, 1.0])
    assert pooled_local_covariance(particles, weights, np.array([0, 2]), np.ones(1), 2) == [[4.0]]
    assert pooled_local_covariance(particles, weights, np.array([0]), np.ones(1), 2) == [[0.0]]
