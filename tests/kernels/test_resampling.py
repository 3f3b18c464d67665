"""Which particles are drawn, kept or held back, and clusters and neighbourhoods of them."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pmdviz.kernels.clusters import clustered, moments, pooled_local_covariance
from pmdviz.kernels.resampling import CLOSE, largest_step, multinomial, residual, stratified, systematic, thinned
from tests.kernels.naive import LONG
from tests.support.tables import looped

some_weights = arrays(np.float64, st.integers(1, 40), elements=st.floats(0, 1)).filter(lambda w: w.sum() > 1e-3)


def naive(weights, n, u):
    shares = np.cumsum(weights.astype(LONG))
    return np.searchsorted(shares / shares[-1], (np.arange(n) + LONG(u)) / n, side="right")


@looped("num", [1, 2, 63, 64, 65, 1500])
@looped("n", [1, 60, 1500])
def test_against_a_search_in_extended_precision(num, n, rng):
    weights, u = rng.dirichlet(np.ones(num)), rng.random()
    np.testing.assert_array_equal(systematic(weights, n, u), naive(weights, n, u))


OTHERS = [stratified, residual, multinomial]


def test_counts_are_right_on_average_and_vary_as_the_formulas_say():
    """Residual: r draws are left; stratified: the sum over strata of their overlaps with the particle's share."""
    weights, n, seeds = np.array([0.11, 0.36, 0.29, 0.24]), 9, 3_000
    left, ends, k = n * weights - np.floor(n * weights), n * np.cumsum(weights)[:, None], np.arange(n)
    overlaps = np.clip(np.minimum(ends, k + 1) - np.maximum(ends - n * weights[:, None], k), 0, None)
    expected = {
        multinomial: n * weights * (1 - weights),
        residual: left * (1 - left / round(left.sum())),
        stratified: (overlaps * (1 - overlaps)).sum(axis=1),
        systematic: left * (1 - left),
    }
    for way, variances in expected.items():
        rngs = [np.random.default_rng(seed) for seed in range(seeds)]
        drawn = [way(weights, n, rng.random()) if way is systematic else way(weights, rng.random(n)) for rng in rngs]
        counts = np.array([np.bincount(ancestors, minlength=weights.size) for ancestors in drawn])
        assert (np.abs(counts.mean(axis=0) - n * weights) < 4.5 * np.sqrt(variances / seeds)).all()
        np.testing.assert_allclose(counts.var(axis=0), variances, rtol=0.12, atol=0.01)


@pytest.mark.parametrize("way", OTHERS)
@given(some_weights, st.integers(1, 60), st.integers(0, 20))
def test_ancestors_rise_and_have_weight(way, weights, n, seed):
    ancestors = way(weights, np.random.default_rng(seed).random(n))
    assert ancestors.dtype == np.int64 and ancestors.shape == (n,)
    assert (np.diff(ancestors) >= 0).all() and (weights[ancestors] > 0).all()


def test_rounding_leaves_nothing_to_chance_and_draws_nothing_without_weight():
    weights = np.arange(1.0, 10.0)
    for seed in range(20):  # four of the shares, divided and multiplied, come out just below
        assert np.bincount(residual(weights, np.random.default_rng(seed).random(45))).tolist() == [*range(1, 10)]
    weights = np.array([0.0, 0.1, 0.0, 0.2, 0.7 - 1e-17, 0.0, 0.0])
    for u in (0.0, 0.5, np.nextafter(1.0, 0.0)):
        assert set(systematic(weights, 1000, u)) == {1, 3, 4}
        assert all(set(way(weights, np.full(1000, u))) <= {1, 3, 4} for way in OTHERS)
    for weights, n in product(
        (np.full(10, 0.1), np.full(3, 1 / 3), np.full(7, 1 / 7) * (1 - 1e-12)), (1, 3, 1000, 10**5)
    ):
        assert systematic(weights, n, np.nextafter(1.0, 0.0)).max() == weights.size - 1, "the last index is clamped"
    assert all(way(np.array([0.0, 1e308, 0.0]), np.full(3, 0.5)).tolist() == [1, 1, 1] for way in OTHERS)


def naive_cells(candidates, n):
    """The cells as sets of indices, by full sorts; candidates must differ in every coordinate."""

    def split(indices, num):
        if num == 1:
            return [set(indices.tolist())]
        inside = candidates[indices]
        widest = inside.var(axis=0).argmax()
        ordered = indices[np.argsort(inside[:, widest], kind="stable")]
        place = num // 2 * (len(candidates) // n)
        return split(ordered[:place], num // 2) + split(ordered[place:], num - num // 2)

    return split(np.arange(len(candidates)), n)


@looped("dim", [1, 2, 3, 10])
@looped("n", [1, 2, 7, 64])
@looped("each", [1, 2, 5])
def test_one_of_every_cell(dim, n, each, rng):
    candidates = rng.normal(size=(each * n, dim))
    chosen = thinned(candidates, n, rng.random(n))
    assert chosen.dtype == np.int64 and chosen.shape == (n,)
    assert [len(cell & set(chosen.tolist())) for cell in naive_cells(candidates, n)] == [1] * n


@given(st.integers(1, 40), st.integers(1, 8), st.integers(1, 3), st.integers(0, 5))
def test_every_candidate_is_chosen_for_an_equal_share_of_u(n, each, dim, seed):
    candidates = np.random.default_rng(seed).integers(0, 4, size=(each * n, dim)).astype(float)
    found = np.concatenate([thinned(candidates, n, np.full(n, (k + 0.5) / each)) for k in range(each)])
    assert np.array_equal(np.sort(found), np.arange(each * n))


NATS = st.floats(-1e5, 1e5, allow_subnormal=False)


def ess(log_weights):
    w = np.exp(log_weights - log_weights.max())
    return w.sum() ** 2 / (w * w).sum()


@st.composite
def lines(draw):
    m = draw(st.integers(1, 30))
    slope = draw(arrays(np.float64, m, elements=st.one_of(NATS, st.just(-np.inf))))
    start = draw(arrays(np.float64, m, elements=st.one_of(st.floats(-30, 0), st.just(-np.inf))))
    return start, slope


@given(lines(), st.floats(1e-6, 1.0), st.floats(0.01, 0.99))
def test_at_least_the_share_of_the_ess_is_left(line, most, share):
    start, slope = line
    counts = (start > -np.inf) & (slope > -np.inf)
    if not counts.any():
        with pytest.raises(ValueError, match="no particle has a weight"):
            largest_step(start, slope, most, share)
        return
    g = largest_step(start, slope, most, share)
    assert 0 < g <= most
    start, slope = start[counts], slope[counts]
    assert ess(start + g * slope) >= share * ess(start) * (1 - 1e-9)
    if g < most:
        assert ess(start + g / (1 - 2 * CLOSE) * slope) <= share * ess(start) * (1 + 1e-9), "and not much less far"


def test_steps_far_below_the_rounding_of_one_are_found():
    g = largest_step(np.zeros(1000), np.linspace(0, -1e12, 1000), 1.0, 0.5)
    assert 0 < g < 1e-10
    assert ess(g * np.linspace(0, -1e12, 1000)) == pytest.approx(500, rel=1e-3)


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


def test_two_clusters_are_found_by_their_shape_or_slant_whatever_the_first_seed():
    points, side = two()
    for first in (0, 1, 2, 150):
        labels = clusters(points, [first, *range(0, 300, 10)])
        assert labels.dtype == np.int64 and agree(labels, side) > 0.99
    assert not clusters(points, range(9), 1).any(), "one cluster is all"
    for k in (2, 3, 4):
        labels = clusters(points, range(0, 300, 10), k)
        assert np.array_equal(np.unique(labels), np.arange(labels.max() + 1)) and labels.max() < k
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


def naive_covariance(particles, weights, centres, scale, count, share=1.0, effective=1.0):
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
        given = particles, weights, centres, scale, count
        np.testing.assert_allclose(pooled_local_covariance(*given), naive_covariance(*given), rtol=1e-11, atol=1e-14)


@looped("share, effective", [(0.1, 1.0), (0.1, 25.0), (0.4, 60.0), (0.2, 3.0), (0.02, 500.0)])
def test_a_neighbourhood_ends_where_it_holds_enough(share, effective, rng):
    particles, weights = rng.normal(size=(800, 2)), rng.dirichlet(np.full(800, 0.3))
    centres, rest = rng.integers(0, 800, 20), (np.ones(2), 300, share, effective)
    result = pooled_local_covariance(particles, weights, centres, *rest)
    np.testing.assert_allclose(result, naive_covariance(particles, weights, centres, *rest), rtol=1e-11)
    changed = np.abs(result - pooled_local_covariance(particles, weights, centres, np.ones(2), 300)).max()
    assert changed < 1e-12 if effective == 500 else changed > 1e-3


def test_ties_go_to_the_lower_index_and_neighbourhoods_without_weight_are_left_out():
    particles, weights = np.array([[0.0], [1.0], [-1.0], [1.0]]), np.array([1.0, 1.0, 1.0, 0.0])
    result = pooled_local_covariance(particles, weights, np.array([0]), np.ones(1), 3)
    np.testing.assert_allclose(result, [[2 / 3]])  # 0, 1 and -1, not the second 1
    particles, weights = np.array([[0.0], [1.0], [10.0], [14.0]]), np.array([0.0, 0.0, 1.0, 1.0])
    assert pooled_local_covariance(particles, weights, np.array([0, 2]), np.ones(1), 2) == [[4.0]]
    assert pooled_local_covariance(particles, weights, np.array([0]), np.ones(1), 2) == [[0.0]]
