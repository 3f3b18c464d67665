"""Kernel densities, on grids too, and the exponential in them, in extended precision."""

import numpy as np
import pytest
from scipy.special import logsumexp

from pmdviz.kernels import grid, kde
from pmdviz.kernels.grid import kde_on_grid, kde_on_line
from pmdviz.kernels.jit import exp2, exp2_32, exp2_64, exp64, fast_jit
from pmdviz.kernels.kde import kde_log_density, kernels_of, leave_one_out, whiten
from pmdviz.kernels.mixture import component_shares, weighted_sums
from tests.kernels.naive import LONG, log_density, random_kernel, weighted
from tests.support.tables import looped


@looped("dim", [1, 2, 3, 4, 5, 7, 16])
@looped("num", [1, 2, 64, 65, 600])
def test_against_the_formula_in_extended_precision(num, dim, rng):
    particles, log_weights = weighted(rng, num, dim)
    cholesky, points = random_kernel(rng, dim), rng.normal(size=(67, dim)) * 3
    truth = log_density(particles, log_weights, cholesky, points)
    np.testing.assert_allclose(kde_log_density(particles, log_weights, cholesky, points), truth, rtol=1e-12, atol=1e-12)


def test_tiles_tiny_weights_weights_of_zero_and_far_origins_lose_no_digits(rng):
    particles, log_weights = weighted(rng, 2 * kde.TILE + 1, 2)
    truth = log_density(particles, log_weights, np.eye(2), particles[:9])
    result = kde_log_density(particles, log_weights, np.eye(2), particles[:9])
    np.testing.assert_allclose(result, truth, rtol=1e-12)
    particles, log_weights, points = np.array([[0.0], [1e3]]), np.array([0.0, -2000.0]), np.array([[1e3], [1e3 + 1]])
    result = kde_log_density(particles, log_weights, np.eye(1), points)
    np.testing.assert_allclose(result, [-2000 - 0.5 * np.log(2 * np.pi), -2000.5 - 0.5 * np.log(2 * np.pi)], rtol=1e-14)
    particles = 1e8 + np.round(rng.normal(size=(200, 2)) * 1e-3, 6)
    points, log_weights = particles[:50] + 2**-12, np.full(200, -np.log(200))
    cholesky = np.array([[1e-3, 0], [5e-4, 2e-4]])
    truth = log_density(particles, log_weights, cholesky, points)
    np.testing.assert_allclose(kde_log_density(particles, log_weights, cholesky, points), truth, atol=1e-10)
    few = np.where(np.arange(200) < 5, log_weights, -np.inf)
    of_few = kde_log_density(particles[:5], log_weights[:5], cholesky, points)
    np.testing.assert_array_equal(kde_log_density(particles, few, cholesky, points), of_few)


@looped("dim", [1, 2, 3, 5])
@looped("distance", [30, 37, 38, 40, 45, 1e3, 1e100])  # whitened by the identity, the exponential ends at 37.6
def test_far_away_the_density_is_exact(dim, distance, rng):
    particles, log_weights = weighted(rng, 30, dim)
    points = np.zeros((2, dim))
    points[:, 0] = distance, -distance
    for cholesky in (random_kernel(rng, dim), np.eye(dim)):
        truth = log_density(particles, log_weights, cholesky, points)
        np.testing.assert_allclose(kde_log_density(particles, log_weights, cholesky, points), truth, rtol=1e-12)


@looped("dim", [1, 2, 3, 4, 5, 10])
@looped("num", [1, 63, 64, 65, 1500])
def test_single_precision_is_good_to_1e_5_nats(num, dim, rng):
    particles, log_weights = weighted(rng, num, dim)
    given = particles, log_weights, random_kernel(rng, dim), rng.normal(size=(67, dim)) * 2
    found, exact = kde_log_density(*given, single=True), kde_log_density(*given)
    assert found.dtype == np.float64 and (num == 1 or (found != exact).any()), "it really is single"
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-5)


def test_rows_faint_in_single_precision_are_done_in_double_and_all_where_it_would_be_worse(rng):
    particles, log_weights = weighted(rng, 50, 2)
    for distance in (10.0, 30.0, 50.0, 90.0):
        given = particles, log_weights, np.eye(2), np.concatenate([particles[:3], np.full((5, 2), distance / 2**0.5)])
        np.testing.assert_allclose(kde_log_density(*given, single=True), kde_log_density(*given), rtol=1e-6)
    far = np.concatenate([particles, particles + 1000.0])
    given = far, np.concatenate([log_weights, log_weights]) - np.log(2), np.eye(2), far
    np.testing.assert_array_equal(kde_log_density(*given, single=True), kde_log_density(*given))


GX, GY = np.linspace(-3, 3, 90), np.linspace(-2, 4, 101)  # 101 rows: the last block has 5
KERNELS = {
    "narrow": np.eye(2) * 0.05,
    "one cell": np.eye(2) * 0.01,
    "wide": np.eye(2) * 2.0,
    "full": np.array([[0.3, 0], [0.24, 0.18]]),
    "full, wide": np.array([[2.0, 0], [-1.6, 1.2]]),
    "long, oblique": np.array([[0.4, 0], [0.38, 0.02]]),
    "long, other way": np.array([[0.4, 0], [-0.38, 0.02]]),
    "flat": np.array([[1.0, 0], [0.0, 0.01]]),
    "upright": np.array([[0.01, 0], [0.0, 1.0]]),
}


WAYS = {"as chosen": grid.MAX_FACTOR, "rows": -1.0, "blocks": np.inf}
# The factors of a long oblique kernel overflow: it is never given to the blocks.
CASES = [(kernel, way) for kernel in KERNELS for way in WAYS if not ("long" in kernel and way == "blocks")]


@looped("kernel, way", CASES)
@looped("num", [1, 65, 600])
def test_against_the_log_density(kernel, way, num, rng, monkeypatch):
    monkeypatch.setattr(grid, "MAX_FACTOR", WAYS[way])
    particles, log_weights = weighted(rng, num, 2)
    particles = particles * 1.5 + 0.5  # some lie outside the box
    points = np.stack(np.meshgrid(GX, GY), axis=-1).reshape(-1, 2)
    truth = np.exp(kde_log_density(particles, log_weights, KERNELS[kernel], points)).reshape(GY.size, GX.size)
    found = kde_on_grid(particles, log_weights, KERNELS[kernel], GX, GY)
    # The skipped cells may lack 1.3e-14 of each particle's own peak.
    left_out = 1.3e-14 * np.exp(log_weights).sum() / (2 * np.pi * np.diagonal(KERNELS[kernel]).prod())
    np.testing.assert_allclose(found, truth, rtol=1e-12, atol=left_out)


@looped("num", [1, 2, 65, 1500])
@looped("sd", [0.01, 0.3, 5.0])
def test_line_against_the_log_density(num, sd, rng):
    particles, log_weights = weighted(rng, num, 1)
    gx, cholesky = np.linspace(-2, 3, 257), np.array([[sd]])
    truth = np.exp(kde_log_density(particles, log_weights, cholesky, gx[:, None]))
    result = kde_on_line(particles, log_weights, cholesky, gx)
    np.testing.assert_allclose(result, truth, rtol=1e-12, atol=1.3e-14 / (np.sqrt(2 * np.pi) * sd))


def drawn(rng, n, K, d):
    """Points, log weights, means, sds, and a rest that is nowhere at the first point."""
    rest = np.append(-np.inf, rng.normal(size=n - 1))
    weights = np.log(rng.dirichlet(np.ones(K)))
    return rng.normal(size=(n, d)), weights, rng.normal(size=(K, d)), np.exp(rng.normal(size=(K, d))), rest


def naive(points, log_weights, means, sds, rest):
    z = (points[:, None] - means) / sds
    parts = log_weights - 0.5 * (z**2).sum(axis=2) - (np.log(sds) + 0.5 * np.log(2 * np.pi)).sum(axis=1)
    log_density = np.logaddexp(np.logaddexp.reduce(parts, axis=1), rest)
    return log_density, np.exp(parts - log_density[:, None]), z


@looped("n, K, d", [(1, 1, 1), (5, 3, 2), (130, 40, 3), (200, 7, 8)])
def test_they_are_the_formulas(rng, n, K, d):
    given = points, _, means, sds, _ = drawn(rng, n, K, d)
    log_density, shares, z = naive(*given)
    found = component_shares(*given)
    np.testing.assert_allclose(found[0], log_density, atol=1e-12)
    np.testing.assert_allclose(found[1], shares, atol=1e-14)
    c = rng.normal(size=n)
    for power, each in enumerate(weighted_sums(points, means, sds, shares, c)):
        expected = np.einsum("i,ik,ikd->kd", c, shares, z**power)
        slack = 1e-12 * (1 + np.abs(expected).max())
        np.testing.assert_allclose(each, expected if power else expected[:, 0], atol=slack)


def test_far_from_all_components_nothing_is_lost(rng):
    points, *mixture, _ = drawn(rng, 4, 3, 2)
    given = points + 1e4, *mixture, np.full(4, -np.inf)
    found = component_shares(*given)
    np.testing.assert_allclose(found[0], naive(*given)[0], rtol=1e-13)
    np.testing.assert_allclose(found[1].sum(axis=1), 1, atol=1e-14)


def without_own(points, log_weights, judged, own, h):
    d = points.shape[1]
    apart = judged[:, None] - np.sqrt(1 - h * h) * points[None]
    e = log_weights - 0.5 * (apart**2).sum(axis=2) / h**2 - 0.5 * d * np.log(2 * np.pi * h * h)
    e[own >= 0, own[own >= 0]] = -np.inf
    return logsumexp(e, axis=1)


def made_ready(points, log_weights, judged, own):
    d = points.shape[1]
    columns, rows = (whiten(x, np.zeros(d), np.eye(d)) for x in (points, judged))
    return kernels_of(columns, log_weights, rows, own)


def some(d, m=70, n=31):
    rng = np.random.default_rng([d, m])
    own = np.where(np.arange(n) % 3 == 0, -1, rng.permutation(m)[:n])
    points, log_weights = rng.standard_normal((m, d)), np.log(rng.dirichlet(np.ones(m)))
    return points, log_weights, np.where(own[:, None] >= 0, points[own], rng.standard_normal((n, d))), own


@looped("d", [1, 2, 3, 4, 5, 8, 50])
@looped("h", [0.3, 0.95])
def test_it_is_the_sum_without_the_own_kernel(d, h):
    given = some(d)
    exact, quick = (leave_one_out(made_ready(*given), h, exact=way) for way in (True, False))
    np.testing.assert_allclose(exact, without_own(*given, h), rtol=1e-11)
    seen = quick > -np.inf
    np.testing.assert_allclose(quick[seen], exact[seen], atol=1e-4)
    assert seen.any() or d == 50 and h == 0.3


def test_a_particle_of_weight_zero_is_no_kernel_and_far_points_are_for_the_exact_sum():
    points, log_weights, judged, own = some(2)
    log_weights[5:] = -np.inf
    few = points[:5], log_weights[:5], judged, np.where(own < 5, own, -1)
    of_all, of_few = (leave_one_out(made_ready(*given), 0.8) for given in ((points, log_weights, judged, own), few))
    np.testing.assert_allclose(of_all, of_few, atol=1e-4)
    given = np.zeros((3, 2)), np.log(np.full(3, 1 / 3)), np.array([[30.0, 0.0], [0.0, 0.0]]), np.array([-1, -1])
    quick, exact = (leave_one_out(made_ready(*given), 0.5, way) for way in (False, True))
    assert quick[0] == -np.inf and np.isfinite(quick[1])
    np.testing.assert_allclose(exact, without_own(*given, 0.5), rtol=1e-12)
    with pytest.raises(ValueError, match="columns"):
        made_ready(given[0] * np.nan, *given[1:])


@fast_jit
def fill(x, out, power):
    for i in range(x.size):
        out[i] = exp2(x[i]) if power else exp64(x[i])


def filled(x, power):
    out = np.empty_like(x)
    fill(x, out, power)
    return out


def test_relative_error_over_the_whole_range():
    x = np.concatenate([-np.linspace(0, 707.9, 50_001), -np.geomspace(1e-300, 700, 5_001)])
    assert np.abs(filled(x, False) / np.exp(x.astype(LONG)) - 1).max() < 6e-16
    assert set(filled(-np.geomspace(708.0, 1e308, 99), False)) == {exp64(-708.0)} and exp64(-708.0) > 0.0


@looped("dtype, lowest, tolerance, function, end", [
    (np.float64, 1020.9, 6e-16, exp2_64, -1021.0), (np.float32, 124.9, 2e-7, exp2_32, np.float32(-125.0)),
])  # fmt: skip
def test_powers_of_two_over_the_whole_range_and_at_its_ends(dtype, lowest, tolerance, function, end):
    x = np.concatenate([-np.linspace(0, lowest, 50_001), -np.geomspace(1e-30, 100, 5_001), np.linspace(0, 100, 999)])
    x = x.astype(dtype)
    found = filled(x, True)
    assert found.dtype == dtype
    assert np.abs(found.astype(LONG) / np.exp2(x.astype(LONG)) - 1).max() < tolerance
    one = type(end)(1.0)
    assert function(0 * one) == function(-0.0 * one) == 1.0
    assert function(-one) == 0.5
    assert function(end) == function(end * one * 1000) == 2.0 ** float(end)
