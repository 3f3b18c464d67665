import resource
import sys
import tracemalloc

import numpy as np
import pytest

from pmdviz.kernels import pairs, pool
from pmdviz.kernels.kde import kde_log_density
from tests.kernels.naive import log_density, random_kernel, weighted
from tests.support.tables import looped


@looped("dim", [1, 2, 3, 4, 5, 6, 7, 10, 16, 50])
@looped("num", [1, 2, 63, 64, 65, 1500])
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


@looped("dim", [1, 2, 3, 5])
@looped("distance", [1e3, 1e6, 1e100])
def test_far_away_the_density_is_exact(dim, distance, rng):
    particles, log_weights = weighted(rng, 30, dim)
    cholesky, points = random_kernel(rng, dim), np.full((2, dim), distance) * [[1.0], [-1.0]]
    truth = log_density(particles, log_weights, cholesky, points)
    np.testing.assert_allclose(kde_log_density(particles, log_weights, cholesky, points), truth, rtol=1e-12)


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


@pytest.mark.parametrize("dim", [1, 2, 3, 5])
def test_same_bits_for_any_number_of_threads(dim, rng, threads):
    particles, log_weights = weighted(rng, 1500, dim)
    assert len(particles) ** 2 > pool.SERIAL_BELOW
    threads(lambda: kde_log_density(particles, log_weights, random_kernel(np.random.default_rng(1), dim), particles))


# float32 inside.


@looped("dim", [1, 2, 3, 4, 5, 10])
@looped("num", [1, 63, 64, 65, 5000])
def test_single_precision_is_good_to_1e_5_nats(num, dim):
    rng = np.random.default_rng(20_261_121)
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


@pytest.mark.ci
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


@looped(
    "change, words",
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
