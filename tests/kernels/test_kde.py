import resource
import sys
import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from pmdviz.kernels import kde, pairs, pool
from pmdviz.kernels.kde import kde_log_density
from tests.kernels.naive import log_density, random_kernel, weighted

seeds = st.integers(0, 2**32 - 1)


@pytest.mark.parametrize("dim", [1, 2, 3, 4, 5, 6, 7, 10, 16, 50])
@pytest.mark.parametrize("num", [1, 2, 63, 64, 65, 1500])
def test_against_the_formula_in_extended_precision(num, dim, rng):
    particles, log_weights = weighted(rng, num, dim)
    cholesky, points = random_kernel(rng, dim), rng.normal(size=(67, dim)) * 3
    truth = log_density(particles, log_weights, cholesky, points)
    np.testing.assert_allclose(kde_log_density(particles, log_weights, cholesky, points), truth, rtol=1e-12, atol=1e-12)


def test_more_than_one_tile(rng):
    particles, log_weights = weighted(rng, 2 * pairs.TILE + 1, 2)
    truth = log_density(particles, log_weights, np.eye(2), particles[:9])
    result = kde_log_density(particles, log_weights, np.eye(2), particles[:9])
    np.testing.assert_allclose(result, truth, rtol=1e-12)


@pytest.mark.parametrize("dim", [1, 2, 3, 5])
def test_where_the_sum_is_about_to_underflow(dim, rng):
    particles, log_weights = weighted(rng, 50, dim)
    points = np.zeros((201, dim))
    points[:, 0] = np.linspace(30, 45, 201)  # whitened: the exponential ends at 37.6
    truth = log_density(particles, log_weights, np.eye(dim), points)
    np.testing.assert_allclose(kde_log_density(particles, log_weights, np.eye(dim), points), truth, rtol=1e-12)


@pytest.mark.parametrize("dim", [1, 2, 3, 5])
@pytest.mark.parametrize("distance", [1e3, 1e6, 1e100])
def test_far_away_the_density_is_exact(dim, distance, rng):
    particles, log_weights = weighted(rng, 30, dim)
    cholesky, points = random_kernel(rng, dim), np.full((2, dim), distance) * [[1.0], [-1.0]]
    truth = log_density(particles, log_weights, cholesky, points)
    np.testing.assert_allclose(kde_log_density(particles, log_weights, cholesky, points), truth, rtol=1e-12)


def test_beyond_all_squares_still_finite():
    assert kde_log_density(np.zeros((1, 2)), np.zeros(1), np.eye(2), np.full((1, 2), 1e300))[0] < -1e300


def test_a_particle_of_tiny_weight_rules_its_own_neighbourhood():
    particles, log_weights, points = np.array([[0.0], [1e3]]), np.array([0.0, -2000.0]), np.array([[1e3], [1e3 + 1]])
    result = kde_log_density(particles, log_weights, np.eye(1), points)
    np.testing.assert_allclose(result, [-2000 - 0.5 * np.log(2 * np.pi), -2000.5 - 0.5 * np.log(2 * np.pi)], rtol=1e-14)


def test_far_from_the_origin_no_digits_are_lost(rng):
    particles = 1e8 + np.round(rng.normal(size=(200, 2)) * 1e-3, 6)
    points, log_weights = particles[:50] + 2**-12, np.full(200, -np.log(200))
    cholesky = np.array([[1e-3, 0], [5e-4, 2e-4]])
    truth = log_density(particles, log_weights, cholesky, points)
    np.testing.assert_allclose(kde_log_density(particles, log_weights, cholesky, points), truth, atol=1e-10)


def test_particles_of_weight_zero_are_ignored(rng):
    particles, log_weights = weighted(rng, 40, 2)
    log_weights[5:] = -np.inf
    points = rng.normal(size=(20, 2))
    result = kde_log_density(particles, log_weights, np.eye(2), points)
    np.testing.assert_array_equal(result, kde_log_density(particles[:5], log_weights[:5], np.eye(2), points))


def test_one_surviving_particle_is_a_gaussian():
    particles, log_weights = np.arange(10.0).reshape(5, 2), np.full(5, -np.inf)
    log_weights[3] = 0.0
    result = kde_log_density(particles, log_weights, 2 * np.eye(2), np.array([[6.0, 7.0], [8.0, 7.0]]))
    peak = -np.log(2 * np.pi * 4)
    np.testing.assert_allclose(result, [peak, peak - 0.5], rtol=1e-15)


def test_coincident_particles_are_one(rng):
    points = rng.normal(size=(9, 3))
    many = kde_log_density(np.ones((1500, 3)), np.full(1500, -np.log(1500)), np.eye(3), points)
    np.testing.assert_allclose(many, kde_log_density(np.ones((1, 3)), np.zeros(1), np.eye(3), points), rtol=1e-12)


def test_no_points():
    assert kde_log_density(np.zeros((3, 2)), np.zeros(3), np.eye(2), np.empty((0, 2))).shape == (0,)


@given(seeds, st.floats(-50, 50), st.sampled_from([1, 2, 3, 5]))
def test_a_factor_on_the_weights_is_a_factor_on_the_density(seed, shift, dim):
    rng = np.random.default_rng(seed)
    particles, log_weights = weighted(rng, 20, dim)
    points = rng.normal(size=(5, dim))
    plain = kde_log_density(particles, log_weights, np.eye(dim), points)
    lifted = kde_log_density(particles, log_weights + shift, np.eye(dim), points)
    np.testing.assert_allclose(lifted, plain + shift, rtol=1e-12, atol=1e-12)


@given(seeds, st.sampled_from([1, 2, 3, 5]))
def test_a_linear_map_changes_the_density_by_its_determinant(seed, dim):
    rng = np.random.default_rng(seed)
    particles, log_weights = weighted(rng, 20, dim)
    factor, points = random_kernel(rng, dim), rng.normal(size=(5, dim))
    plain = kde_log_density(particles, log_weights, np.eye(dim), points)
    mapped = kde_log_density(particles @ factor.T, log_weights, factor, points @ factor.T)
    log_det = np.log(np.diagonal(factor)).sum()
    np.testing.assert_allclose(mapped, plain - log_det, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("dim", [1, 2, 3, 5])
def test_same_bits_for_any_number_of_threads(dim, rng, threads):
    particles, log_weights = weighted(rng, 1500, dim)
    assert len(particles) ** 2 > pool.SERIAL_BELOW
    threads(lambda: kde_log_density(particles, log_weights, random_kernel(np.random.default_rng(1), dim), particles))


@pytest.mark.parametrize("dim", [1, 2, 3, 4, 5, 7])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_compiled_and_plain_python_agree(dim, dtype, rng):
    columns, base = rng.normal(size=(dim, 12)).astype(dtype), -rng.random(12).astype(dtype)
    targets, buffers = rng.normal(size=(4, dim)).astype(dtype), np.empty((2, 12), dtype)
    compiled, plain = np.zeros(3), np.zeros(3)
    pairs.add_rows(columns, base, targets, compiled, 0, 3, buffers)
    pairs.add_rows.py_func(columns, base, targets, plain, 0, 3, buffers)
    np.testing.assert_allclose(compiled, plain, rtol={np.float64: 1e-12, np.float32: 2e-5}[dtype])


def test_faint_rows_compiled_and_in_plain_python_agree(rng):
    columns, base, targets = rng.normal(size=(2, 12)), -rng.random(12), rng.normal(size=(3, 2)) * 1e3
    results = []
    for function in (pairs.redo_faint, pairs.redo_faint.py_func):
        sums, tops = np.zeros(3), np.zeros(3)
        function(columns, base, targets, sums, tops, 0, 3)
        results.append(np.log2(sums) + tops)
    np.testing.assert_allclose(*results, rtol=1e-12)


def test_called_from_other_compiled_code(rng):
    @njit
    def outer(columns, base, targets):
        out = np.empty(targets.shape[0])
        pairs.add_rows(columns, base, targets, out, 0, targets.shape[0], np.empty((2, 0)))
        return out

    particles, log_weights = weighted(rng, 70, 2)
    whitened = np.ascontiguousarray(particles.T) * kde.SCALE
    result = np.log(outer(whitened, log_weights / np.log(2), particles * kde.SCALE)) - np.log(2 * np.pi)
    np.testing.assert_allclose(result, kde_log_density(particles, log_weights, np.eye(2), particles), rtol=1e-12)


# float32 inside.


@pytest.mark.parametrize("dim", [1, 2, 3, 4, 5, 10])
@pytest.mark.parametrize("num", [1, 63, 64, 65, 5000])
def test_single_precision_is_good_to_1e_5_nats(num, dim, rng):
    particles, log_weights = weighted(rng, num, dim)
    cholesky, points = random_kernel(rng, dim), rng.normal(size=(67, dim)) * 2
    found = kde_log_density(particles, log_weights, cholesky, points, single=True)
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, kde_log_density(particles, log_weights, cholesky, points), rtol=0, atol=1e-5)


def test_single_precision_really_is_single(rng):
    particles, log_weights = weighted(rng, 500, 2)
    found = kde_log_density(particles, log_weights, np.eye(2), particles, single=True)
    assert (found != kde_log_density(particles, log_weights, np.eye(2), particles)).any()


@pytest.mark.parametrize("distance", [10.0, 30.0, 50.0, 90.0])
def test_rows_faint_in_single_precision_are_done_in_double(distance, rng):
    particles, log_weights = weighted(rng, 50, 2)
    points = np.concatenate([particles[:3], np.full((5, 2), distance / 2**0.5)])
    found = kde_log_density(particles, log_weights, np.eye(2), points, single=True)
    np.testing.assert_allclose(found, kde_log_density(particles, log_weights, np.eye(2), points), rtol=1e-6)


def test_where_single_precision_would_be_worse_it_is_not_used(rng):
    particles, log_weights = weighted(rng, 50, 2)
    far = np.concatenate([particles, particles + 1000.0])
    both = np.concatenate([log_weights, log_weights]) - np.log(2)
    found = kde_log_density(far, both, np.eye(2), far, single=True)
    np.testing.assert_array_equal(found, kde_log_density(far, both, np.eye(2), far))


@pytest.mark.parametrize("dim", [2, 5])
def test_single_precision_has_the_same_bits_for_any_number_of_threads(dim, rng, threads):
    particles, log_weights = weighted(rng, 1500, dim)
    threads(lambda: kde_log_density(particles, log_weights, np.eye(dim), particles, single=True))


@pytest.mark.parametrize("dim", [2, 5])
def test_no_matrix_of_particles_by_points(dim, rng):
    particles, log_weights = weighted(rng, 8000, dim)  # the matrix would be 512 MB
    kde_log_density(particles[:2], log_weights[:2], np.eye(dim), particles[:2])
    resident = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    tracemalloc.start()
    kde_log_density(particles, log_weights, np.eye(dim), particles)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    unit = 1 if sys.platform == "darwin" else 1024
    assert peak < 10e6  # bytes that NumPy allocated
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - resident) * unit < 100e6  # and compiled code


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"particles": np.zeros((3, 3))}, "cholesky must have shape"),
        ({"particles": np.zeros(3)}, "particles must have shape"),
        ({"particles": np.full((3, 2), np.nan)}, "particles must be finite"),
        ({"log_weights": np.zeros(2)}, "log_weights must have shape"),
        ({"log_weights": np.array([0, 0, np.nan])}, "log_weights must be finite"),
        ({"log_weights": np.array([0, 0, np.inf])}, "log_weights must be finite"),
        ({"log_weights": np.full(3, -np.inf)}, "no particle has a weight"),
        ({"cholesky": np.zeros((2, 2))}, "positive diagonal"),
        ({"cholesky": np.eye(3)[:, :2]}, "positive diagonal"),
        ({"points": np.zeros((4, 1))}, "points must have shape"),
        ({"points": np.full((4, 2), np.inf)}, "points must be finite"),
    ],
)
def test_what_cannot_be_used_is_named(change, words):
    good = {
        "particles": np.zeros((3, 2)), "log_weights": np.zeros(3), "cholesky": np.eye(2), "points": np.zeros((4, 2))
    }  # fmt: skip
    with pytest.raises(ValueError, match=words):
        kde_log_density(**{**good, **change})
