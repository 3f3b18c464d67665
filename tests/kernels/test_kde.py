import numpy as np

from pmdviz.kernels import kde
from pmdviz.kernels.kde import kde_log_density
from tests.kernels.naive import log_density, random_kernel, weighted
from tests.support.tables import looped


@looped("dim", [1, 2, 3, 4, 5, 7, 16])
@looped("num", [1, 2, 64, 65, 600])
def test_against_the_formula_in_extended_precision(num, dim, rng):
    particles, log_weights = weighted(rng, num, dim)
    cholesky, points = random_kernel(rng, dim), rng.normal(size=(67, dim)) * 3
    truth = log_density(particles, log_weights, cholesky, points)
    np.testing.assert_allclose(kde_log_density(particles, log_weights, cholesky, points), truth, rtol=1e-12, atol=1e-12)


def test_more_than_one_tile(rng):
    particles, log_weights = weighted(rng, 2 * kde.TILE + 1, 2)
    truth = log_density(particles, log_weights, np.eye(2), particles[:9])
    result = kde_log_density(particles, log_weights, np.eye(2), particles[:9])
    np.testing.assert_allclose(result, truth, rtol=1e-12)


@looped("dim", [1, 2, 3, 5])
@looped("distance", [30, 37, 38, 40, 45, 1e3, 1e100])  # whitened by the identity, the exponential ends at 37.6
def test_far_away_the_density_is_exact(dim, distance, rng):
    particles, log_weights = weighted(rng, 30, dim)
    points = np.zeros((2, dim))
    points[:, 0] = distance, -distance
    for cholesky in (random_kernel(rng, dim), np.eye(dim)):
        truth = log_density(particles, log_weights, cholesky, points)
        np.testing.assert_allclose(kde_log_density(particles, log_weights, cholesky, points), truth, rtol=1e-12)


def test_a_particle_of_tiny_weight_rules_its_own_neighbourhood():
    particles, log_weights, points = np.array([[0.0], [1e3]]), np.array([0.0, -2000.0]), np.array([[1e3], [1e3 + 1]])
    result = kde_log_density(particles, log_weights, np.eye(1), points)
    np.testing.assert_allclose(result, [-2000 - 0.5 * np.log(2 * np.pi), -2000.5 - 0.5 * np.log(2 * np.pi)], rtol=1e-14)


def test_particles_of_weight_zero_are_ignored_and_far_from_the_origin_no_digits_are_lost(rng):
    particles = 1e8 + np.round(rng.normal(size=(200, 2)) * 1e-3, 6)
    points, log_weights = particles[:50] + 2**-12, np.full(200, -np.log(200))
    cholesky = np.array([[1e-3, 0], [5e-4, 2e-4]])
    truth = log_density(particles, log_weights, cholesky, points)
    np.testing.assert_allclose(kde_log_density(particles, log_weights, cholesky, points), truth, atol=1e-10)
    few = np.where(np.arange(200) < 5, log_weights, -np.inf)
    of_few = kde_log_density(particles[:5], log_weights[:5], cholesky, points)
    np.testing.assert_array_equal(kde_log_density(particles, few, cholesky, points), of_few)


@looped("dim", [1, 2, 3, 4, 5, 10])
@looped("num", [1, 63, 64, 65, 1500])
def test_single_precision_is_good_to_1e_5_nats(num, dim):
    rng = np.random.default_rng(20_261_121)
    particles, log_weights = weighted(rng, num, dim)
    cholesky, points = random_kernel(rng, dim), rng.normal(size=(67, dim)) * 2
    found = kde_log_density(particles, log_weights, cholesky, points, single=True)
    assert found.dtype == np.float64
    exact = kde_log_density(particles, log_weights, cholesky, points)
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-5)
    assert num == 1 or (found != exact).any(), "it really is single"


@looped("distance", [10.0, 30.0, 50.0, 90.0])
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
