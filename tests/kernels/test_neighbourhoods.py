import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from pmdviz.kernels import neighbourhoods, pool
from pmdviz.kernels.neighbourhoods import pooled_local_covariance
from tests.kernels.naive import LONG


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


@pytest.mark.parametrize("dim", [1, 2, 3, 5, 10])
@pytest.mark.parametrize("num", [1, 2, 63, 64, 65, 1500])
def test_against_the_formula_in_extended_precision(num, dim, rng):
    particles, weights = rng.normal(size=(num, dim)), rng.dirichlet(np.ones(num))
    centres, scale = rng.integers(0, num, 20), rng.uniform(0.1, 3, dim)
    for count in {1, (num + 9) // 10, num}:
        result = pooled_local_covariance(particles, weights, centres, scale, count)
        np.testing.assert_allclose(result, naive(particles, weights, centres, scale, count), rtol=1e-11, atol=1e-14)


def test_all_neighbours_give_the_covariance(rng):
    particles, weights = rng.normal(size=(200, 3)), rng.dirichlet(np.ones(200))
    result = pooled_local_covariance(particles, weights, np.array([5]), np.ones(3), 200)
    np.testing.assert_allclose(result, np.cov(particles.T, aweights=weights, ddof=0), rtol=1e-12)


def test_the_scale_decides_who_is_near():
    particles = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 10.0]])
    near_in_x = pooled_local_covariance(particles, np.ones(3), np.array([0]), np.array([1.0, 1.0]), 2)
    near_in_y = pooled_local_covariance(particles, np.ones(3), np.array([0]), np.array([1.0, 100.0]), 2)
    np.testing.assert_allclose(near_in_x, [[0.25, 0], [0, 0]])
    np.testing.assert_allclose(near_in_y, [[0, 0], [0, 25.0]])


@pytest.mark.parametrize(("share", "effective"), [(0.1, 1.0), (0.1, 25.0), (0.4, 60.0), (0.2, 3.0), (0.02, 500.0)])
def test_a_neighbourhood_ends_where_it_holds_enough(share, effective, rng):
    particles, weights = rng.normal(size=(800, 2)), rng.dirichlet(np.full(800, 0.3))
    centres, rest = rng.integers(0, 800, 20), (np.ones(2), 300, share, effective)
    result = pooled_local_covariance(particles, weights, centres, *rest)
    np.testing.assert_allclose(result, naive(particles, weights, centres, *rest), rtol=1e-11)
    changed = np.abs(result - pooled_local_covariance(particles, weights, centres, np.ones(2), 300)).max()
    assert changed < 1e-12 if effective == 500 else changed > 1e-3


def test_equal_weights_count_the_neighbours(rng):
    particles = rng.normal(size=(600, 2))
    counted = pooled_local_covariance(particles, np.ones(600), np.arange(9), np.ones(2), 60)
    held = pooled_local_covariance(particles, np.full(600, 1 / 600), np.arange(9), np.ones(2), 60, 0.1, 25.0)
    np.testing.assert_allclose(held, counted, rtol=1e-12)


def test_ties_go_to_the_lower_index():
    particles, weights = np.array([[0.0], [1.0], [-1.0], [1.0]]), np.array([1.0, 1.0, 1.0, 0.0])
    result = pooled_local_covariance(particles, weights, np.array([0]), np.ones(1), 3)
    np.testing.assert_allclose(result, [[2 / 3]])  # 0, 1 and -1, not the second 1


def test_two_far_modes_do_not_see_the_gap(rng):
    particles = np.concatenate([rng.normal(size=(500, 2)), rng.normal(size=(500, 2)) + 1e6])
    centres = np.arange(0, 1000, 50)
    result = pooled_local_covariance(particles, np.ones(1000), centres, np.ones(2), 100)
    assert np.abs(result).max() < 2.0
    np.testing.assert_allclose(result, naive(particles, np.ones(1000), centres, np.ones(2), 100), rtol=1e-7)


def test_neighbourhoods_without_weight_are_left_out():
    particles, weights = np.array([[0.0], [1.0], [10.0], [14.0]]), np.array([0.0, 0.0, 1.0, 1.0])
    assert pooled_local_covariance(particles, weights, np.array([0, 2]), np.ones(1), 2) == [[4.0]]
    assert pooled_local_covariance(particles, weights, np.array([0]), np.ones(1), 2) == [[0.0]]


def test_coincident_particles_have_no_spread():
    result = pooled_local_covariance(np.full((50, 2), 0.1), np.full(50, 0.02), np.arange(50), np.ones(2), 5)
    np.testing.assert_array_equal(result, np.zeros((2, 2)))


@given(st.integers(0, 2**32 - 1), st.floats(0.1, 10), st.floats(-1e3, 1e3))
def test_shifted_and_stretched(seed, factor, shift):
    rng = np.random.default_rng(seed)
    particles, weights, centres = rng.normal(size=(30, 2)), rng.random(30), rng.integers(0, 30, 5)
    plain = pooled_local_covariance(particles, weights, centres, np.ones(2), 6)
    moved = pooled_local_covariance(particles * factor + shift, weights * 3, centres, np.full(2, factor), 6)
    np.testing.assert_allclose(moved, plain * factor**2, rtol=1e-8, atol=1e-9)
    assert np.linalg.eigvalsh(plain).min() > -1e-12


def test_same_bits_for_any_number_of_threads(rng, threads, monkeypatch):
    monkeypatch.setattr(pool, "SERIAL_BELOW", 0)
    particles, weights = rng.normal(size=(1500, 3)), rng.random(1500)
    threads(lambda: pooled_local_covariance(particles, weights, np.arange(60), np.ones(3), 150))


def test_compiled_and_plain_python_agree(rng):
    particles, weights, centres = rng.normal(size=(12, 2)), rng.random(12), np.array([0, 5])
    columns = np.ascontiguousarray(particles.T)
    distances = neighbourhoods._distances(columns, centres)
    np.testing.assert_allclose(distances, neighbourhoods._distances.py_func(columns, centres), rtol=1e-12)
    limit = np.sort(distances[0])[3]
    chosen = neighbourhoods._nearest(distances[0], limit, 4)
    np.testing.assert_array_equal(chosen, neighbourhoods._nearest.py_func(distances[0], limit, 4))
    for enough, effective in ((0.1, 1.0), (1.0, 3.0), (99.0, 1.0)):
        held = neighbourhoods._extent(weights, enough, effective)
        assert held == neighbourhoods._extent.py_func(weights, enough, effective)
    compiled, plain = np.zeros((2, 2)), np.zeros((2, 2))
    neighbourhoods._covariance(particles, weights, chosen, particles[0], compiled)
    neighbourhoods._covariance.py_func(particles, weights, chosen, particles[0], plain)
    np.testing.assert_allclose(compiled, plain, rtol=1e-12)


def test_called_from_other_compiled_code():
    @njit
    def outer(columns, centres):
        return neighbourhoods._distances(columns, centres)

    np.testing.assert_array_equal(outer(np.array([[0.0, 3.0], [0.0, 4.0]]), np.array([0])), [[0.0, 25.0]])


@pytest.mark.parametrize(
    "change",
    [
        {"centres": np.array([3])},
        {"centres": np.array([-1])},
        {"centres": np.array([], dtype=np.int64)},
        {"num_neighbours": 0},
        {"num_neighbours": 4},
        {"weights": np.array([-1.0, 1.0, 1.0])},
        {"weights": np.ones(2)},
        {"scale": np.array([1.0, 0.0])},
        {"scale": np.ones(3)},
        {"particles": np.full((3, 2), np.nan)},
    ],
)
def test_what_cannot_be_used_is_refused(change):
    good = {
        "particles": np.zeros((3, 2)), "weights": np.ones(3), "centres": np.array([0]), "scale": np.ones(2),
        "num_neighbours": 2,
    }  # fmt: skip
    with pytest.raises(ValueError, match="centres|weights|scale|particles"):
        pooled_local_covariance(**{**good, **change})
