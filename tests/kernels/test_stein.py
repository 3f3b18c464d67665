"""Kernels of Stein's identity: forces, the leaders' map, weights on the simplex and the widths of kernels."""

import numpy as np
import pytest
from scipy import optimize
from scipy.spatial.distance import pdist

from pmdviz.kernels import stein
from pmdviz.kernels.clusters import median_distance
from pmdviz.kernels.stein import LEADERS, imq_force, matched_force, sampled_median_distance, soft_means, stein_force
from pmdviz.kernels.stein import TILE as PARTICLES
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
def test_a_force_is_the_formula(rng, force, m, dim, h):
    x, s = rng.normal(size=(m, dim)), 3 * rng.normal(size=(m, dim))
    scale = np.abs(s).max() + 2 / h * np.abs(x).max()
    for w in (np.full(m, 1 / m), rng.dirichlet(np.ones(m))):
        found, expected = force(x, s, h, w), naive(x, s, h, w, force is imq_force)
        np.testing.assert_allclose(found, expected, atol=4e-15 * scale)
        if np.ptp(w) == 0:
            np.testing.assert_allclose(force(x, s, h), expected, atol=4e-15 * scale)


def test_more_particles_than_a_tile_and_a_far_origin_lose_no_digits(rng):
    x, s = rng.normal(size=(PARTICLES + 3, 2)), rng.normal(size=(PARTICLES + 3, 2))
    differences = x[:5, None] - x[None]
    r = (differences**2).sum(axis=-1) / 0.5
    for force, k, slope in ((stein_force, np.exp(-r), np.exp(-r)), (imq_force, (1 + r) ** -0.5, (1 + r) ** -1.5 / 2)):
        expected = (k @ s + 4 * (slope[..., None] * differences).sum(axis=1)) / len(x)
        np.testing.assert_allclose(force(x, s, 0.5)[:5], expected, atol=1e-13)
    x, s = np.round(rng.normal(size=(50, 2)), 6), rng.normal(size=(50, 2))
    np.testing.assert_allclose(stein_force(x + 1e6, s, 0.5), stein_force(x, s, 0.5), atol=1e-8)


@looped("m", [2, 30, 200, 201, 1000, 2000, 30_000])
def test_the_sampled_median_is_that_of_few_pairs_and_near_that_of_many(rng, m):
    """Within 4 standard errors of a rank among 20,000 pairs: the density of |x - y| at its median is 0.42 here."""
    points = rng.normal(size=(m, 2))
    found, standard_error = sampled_median_distance(points), 0.5 / np.sqrt(20_000) / 0.42
    if m <= 200:
        assert found == median_distance(points)
    else:
        assert abs(found - np.sqrt(4 * np.log(2))) < 4 * standard_error + 4 / np.sqrt(m)
    if m <= 2000:
        assert abs(found - median_distance(points)) < 6 * standard_error


@looped("dim", [1, 3, 4, 10, 101])
@looped("m", [2, 3, 4, 41])
def test_the_force_of_few_points_is_the_formula_with_the_width_of_the_median(rng, m, dim):
    x, s, w = 100 + rng.normal(size=(m, dim)), 3 * rng.normal(size=(m, dim)), rng.dirichlet(np.ones(m))
    force, h = matched_force(x, s, w, 3.0)
    squares = ((x[:, None] - x) ** 2).sum(axis=-1)[np.triu_indices(m, 1)]
    assert h == pytest.approx(3 * np.median(squares) / (2 * np.log(m + 1)), rel=1e-12)
    np.testing.assert_allclose(force, naive(x, s, h, w, imq=False), atol=1e-11)


def test_coincident_points_and_a_lone_one_have_a_force_and_are_no_distance_apart():
    force, h = matched_force(np.ones((5, 3)), np.full((5, 3), 2.0), np.full(5, 0.2), 1.0)
    np.testing.assert_allclose(force, 2.0)
    assert h > 0
    np.testing.assert_allclose(matched_force(np.ones((1, 2)), np.ones((1, 2)), np.ones(1), 1.0)[0], 1.0)
    assert median_distance(np.zeros((5, 2))) == 0.0
    assert median_distance(np.array([[0.0], [0.0], [0.0], [0.0], [3.0]])) == 0.0
    assert median_distance(np.array([[0.0], [0.0], [3.0]])) == 3.0
    assert median_distance(np.array([[0.0], [0.0], [1.0], [5.0]]), 1) == 4.0, "of 1, 1, 4, 5, 5 the one in the middle"


@looped("dim", [1, 2, 3, 7])
@looped("num", [2, 3, 4, 5, 60, 301])
def test_median_distances_are_scipys_and_pairs_of_copies_can_be_left_out(num, dim, rng):
    points = rng.normal(size=(num, dim))
    for copies in (1, 2, 5):
        found = median_distance(np.repeat(points, copies, axis=0), num * copies * (copies - 1) // 2)
        assert found == pytest.approx(np.median(pdist(points)), rel=1e-13)


def naive_transport(points, leaders, scores, h):
    y, x, s, c = points.astype(LONG), leaders.astype(LONG), scores.astype(LONG), 2 / LONG(h)
    u = x[None] - y[:, None]
    k = np.exp(-(u**2).sum(axis=-1) / LONG(h))[..., None]
    force = (k * (s - c * u)).mean(axis=1)
    outer = c * k[..., None] * (s[None, :, :, None] * u[:, :, None] - c * u[..., None] * u[:, :, None])
    return force, outer.mean(axis=1) + c * k.mean(axis=1)[..., None] * np.eye(y.shape[1])


@looped("n, dim, num", [(70, dim, num) for dim in (1, 2, 3, 4, 7) for num in (1, 2, 63, 200)] + [(5, 2, LEADERS + 3)])
@looped("h", [1e-2, 0.7, 50.0])
def test_the_leaders_force_and_jacobian_are_the_formulas(rng, n, num, dim, h):
    points, leaders, scores = rng.normal(size=(n, dim)), rng.normal(size=(num, dim)), 3 * rng.normal(size=(num, dim))
    found = force, jacobian = stein.transport(points, leaders, scores, h)
    for one, part in zip(found, naive_transport(points, leaders, scores, h), strict=True):
        expected = part.astype(float)
        np.testing.assert_allclose(one, expected, atol=3e-15 * np.abs(expected).max() + 1e-15, rtol=1e-13)
    again, diagonal = stein.transport_diagonal(points, leaders, scores, h)
    np.testing.assert_array_equal(again, force)
    np.testing.assert_allclose(diagonal, np.diagonal(jacobian, axis1=1, axis2=2), rtol=1e-14)


@looped("dim", [1, 2, 3, 4, 6, 20])
def test_determinants_are_numpys_and_zero_where_a_map_flattens(rng, dim):
    jacobian = rng.normal(size=(100, dim, dim))
    jacobian[:2] = 0.0
    jacobian[1, -1, -1] = -2.0
    logs, signs = stein.log_determinants(jacobian, 0.5)
    np.testing.assert_array_equal([logs[:2], signs[:2]], [[0.0, -np.inf], [1.0, 0.0]])
    expected = np.linalg.slogdet(np.eye(dim) + 0.5 * jacobian[2:])
    np.testing.assert_allclose(logs[2:], expected.logabsdet, atol=1e-10 * dim)
    np.testing.assert_array_equal(signs[2:], expected.sign)
    assert {-1.0, 1.0} == {*signs[2:]}


@looped("dim", [1, 2, 3, 8])
@looped("step", [0.05, 0.2, 0.7])
def test_a_map_is_monotone_by_the_eigenvalues_of_its_symmetric_part(rng, dim, step):
    for scale in (0.3, 1.0, 3.0):
        jacobian = scale * rng.normal(size=(6, dim, dim))
        lowest = np.linalg.eigvalsh(0.5 * step * (jacobian + jacobian.transpose(0, 2, 1)))[:, 0].min() + 1
        for least in (lowest - 1e-9, lowest + 1e-9):
            assert stein.is_monotone(jacobian, step, least) == (least < lowest)


def naive_means(points, centres, log_masses, h):
    y, x = points.astype(LONG), centres.astype(LONG)
    exponents = log_masses.astype(LONG) - ((y[:, None] - x) ** 2).sum(axis=2) / LONG(h)
    top = exponents.max(axis=1, keepdims=True)
    shares = np.exp(exponents - top)
    total = shares.sum(axis=1)
    return (top[:, 0] + np.log(total)).astype(float), (shares @ x / total[:, None]).astype(float)


@looped("dim", [1, 2, 5])
@looped("n, m, far", [(1, 1, 0.0), (7, 90, 0.0), (130, 3, 0.0), (3, 20, 1e4)])  # where far, nothing may underflow
@looped("h", [1e-3, 0.7, 50.0])
def test_soft_means_are_the_formula(rng, dim, n, m, far, h):
    centres, log_masses = rng.normal(size=(m, dim)), 30 * rng.normal(size=m)
    points = rng.normal(size=(n, dim)) + far
    logs, means = soft_means(points, centres, log_masses, h)
    expected = naive_means(points, centres, log_masses, h)
    np.testing.assert_allclose(logs, expected[0], rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(means, expected[1], atol=1e-6 if far else 1e-11 if h > 0.1 else 1e-9)


def by_search(z, metric):
    """tau of u_i = max(0, z_i - tau / D_i) with sum 1, by bisection."""
    ends = (z * metric).min() - metric.max() - 1, (z * metric).max()
    tau = optimize.brentq(lambda t: np.maximum(0, z - t / metric).sum() - 1, *ends, xtol=1e-15, rtol=1e-15)
    return np.maximum(0, z - tau / metric)


@looped("n", [1, 2, 5, 200])
@looped("spread", [0.0, 2.0])
@looped("size", [1e-3, 1.0, 30.0])
def test_the_nearest_point_is_that_of_a_search(rng, n, spread, size):
    for _ in range(5):
        z, metric = size * rng.normal(size=n), np.exp(spread * rng.normal(size=n))
        u = stein.nearest_on_simplex(z, metric)
        np.testing.assert_allclose(u, by_search(z, metric), atol=1e-10)
        assert u.min() >= 0 and u.sum() == pytest.approx(1, abs=1e-14)


def some_matrix(rng, n=12, dim=2):
    x, w = rng.normal(size=(n, dim)), np.exp(0.7 * rng.normal(size=n))
    return w[:, None] * stein.stein_matrix(x, -x / 2, 1.0) * w + 1e-6 * np.eye(n)


def at_start(n):
    return stein.Descent(np.full(n, 1 / n), np.full(n, 1 / n), 1.0, np.inf, np.inf)


def arrived(K, metric, most=300):
    found = at_start(len(K))
    for _ in range(most):
        found = stein.descended(K, metric, found, 10)
        if found.gap <= 1e-10 * found.value:
            return found
    raise AssertionError(f"no end: {found.gap / found.value}")


@pytest.mark.parametrize("scaled", [False, True])
def test_descent_arrives_where_scipy_does(rng, scaled):
    total = {"type": "eq", "fun": lambda u: u.sum() - 1, "jac": np.ones_like}
    given = {"method": "SLSQP", "bounds": [(0, 1)] * 12, "options": {"ftol": 1e-15, "maxiter": 1000}}
    for _ in range(3):
        K = some_matrix(rng)
        found = arrived(K, np.diag(K) if scaled else np.ones(len(K)))
        value, slope = lambda u, K=K: u @ K @ u, lambda u, K=K: 2 * K @ u
        theirs = optimize.minimize(value, np.full(12, 1 / 12), jac=slope, constraints=total, **given)
        np.testing.assert_allclose(found.u, theirs.x, atol=2e-5)
        assert found.value == pytest.approx(found.u @ K @ found.u) and found.value <= theirs.fun * (1 + 1e-9)


def test_the_gap_bounds_how_far_the_least_value_is(rng):
    K = some_matrix(rng, 40)
    least = arrived(K, np.diag(K)).value
    found, values = at_start(40), []
    for _ in range(20):
        found = stein.descended(K, np.diag(K), found, 3)
        slope = 2 * K @ found.u
        assert found.gap == pytest.approx(slope @ found.u - slope.min(), rel=1e-9, abs=1e-12)
        assert found.value - found.gap <= least * (1 + 1e-9) and found.value >= least * (1 - 1e-9)
        values.append(found.value)
    assert values[-1] < 1.05 * least < 0.5 * values[0]
