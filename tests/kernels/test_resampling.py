import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pmdviz.kernels import resampling
from pmdviz.kernels.resampling import multinomial, residual, stratified, systematic
from tests.kernels.naive import LONG
from tests.support.tables import looped

some_weights = arrays(np.float64, st.integers(1, 40), elements=st.floats(0, 1)).filter(lambda w: w.sum() > 1e-3)
uniform = st.floats(0, 1, exclude_max=True)


def naive(weights, n, u):
    shares = np.cumsum(weights.astype(LONG))
    return np.searchsorted(shares / shares[-1], (np.arange(n) + LONG(u)) / n, side="right")


@looped("num", [1, 2, 63, 64, 65, 1500])
@looped("n", [1, 60, 1500])
def test_against_a_search_in_extended_precision(num, n, rng):
    weights, u = rng.dirichlet(np.ones(num)), rng.random()
    np.testing.assert_array_equal(systematic(weights, n, u), naive(weights, n, u))


@pytest.mark.parametrize("weights", [np.full(10, 0.1), np.full(3, 1 / 3), np.full(7, 1 / 7) * (1 - 1e-12)])
def test_last_index_is_clamped(weights):
    u = np.nextafter(1.0, 0.0)
    for n in (1, 3, 10, 1000, 100_000):
        assert systematic(weights, n, u).max() == weights.size - 1


def test_never_clamped_to_a_particle_without_weight():
    weights = np.array([0.0, 0.1, 0.0, 0.2, 0.7 - 1e-17, 0.0, 0.0])
    for u in (0.0, 0.5, np.nextafter(1.0, 0.0)):
        assert set(systematic(weights, 1000, u)) == {1, 3, 4}


def test_clamped_even_where_the_sum_would_end_early():
    # The plain loop runs off the end: a position as large as the total never lies below the running sum.
    assert resampling._search(np.array([0.5, 0.5]), np.array([0.5, 1.0])).tolist() == [1, 1]


# The other ways. Each takes u (n,) and differs from the others in how much the counts vary.

OTHERS = [stratified, residual, multinomial]


def counts_over(way, weights, n, seeds):
    """Counts (seeds, m) of each particle."""
    found = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        ancestors = way(weights, n, rng.random()) if way is systematic else way(weights, rng.random(n))
        found.append(np.bincount(ancestors, minlength=weights.size))
    return np.array(found)


def test_counts_are_right_on_average_and_vary_as_the_formulas_say():
    """Multinomial: n w (1 - w). Residual: of the r draws left, r v (1 - v) with v the share of what is left of n w.

    Stratified: the sum over strata of o (1 - o), o the overlap of a stratum with the particle's share.
    """
    weights, n, seeds = np.array([0.11, 0.36, 0.29, 0.24]), 9, 3_000
    left = n * weights - np.floor(n * weights)
    missing, shares = round(left.sum()), np.concatenate([[0.0], n * np.cumsum(weights)])
    overlaps = [
        [max(0.0, min(b, k + 1) - max(a, k)) for k in range(n)] for a, b in zip(shares, shares[1:], strict=False)
    ]
    expected = {
        multinomial: n * weights * (1 - weights),
        residual: left * (1 - left / missing),
        stratified: np.sum(np.array(overlaps) * (1 - np.array(overlaps)), axis=1),
        systematic: left * (1 - left),
    }
    for way, variances in expected.items():
        counts = counts_over(way, weights, n, seeds)
        assert (np.abs(counts.mean(axis=0) - n * weights) < 4.5 * np.sqrt(variances / seeds)).all()
        np.testing.assert_allclose(counts.var(axis=0), variances, rtol=0.12, atol=0.01)


@pytest.mark.parametrize("way", OTHERS)
@given(some_weights, st.integers(1, 60), st.integers(0, 20))
def test_ancestors_rise_and_have_weight(way, weights, n, seed):
    ancestors = way(weights, np.random.default_rng(seed).random(n))
    assert ancestors.dtype == np.int64 and ancestors.shape == (n,)
    assert (np.diff(ancestors) >= 0).all() and (weights[ancestors] > 0).all()


def test_shares_that_are_whole_but_for_rounding_leave_nothing_to_chance():
    weights = np.arange(1.0, 10.0)
    for seed in range(20):  # four of the shares, divided and multiplied, come out just below
        assert np.bincount(residual(weights, np.random.default_rng(seed).random(45))).tolist() == [*range(1, 10)]


@pytest.mark.parametrize("way", OTHERS)
def test_the_other_ways_at_the_ends_of_u(way):
    weights = np.array([0.0, 0.2, 0.0, 0.7, 0.1, 0.0])
    for u in (0.0, np.nextafter(1.0, 0.0)):
        assert set(way(weights, np.full(1000, u))) <= {1, 3, 4}
    assert way(np.array([0.0, 1e308, 0.0]), np.full(3, 0.5)).tolist() == [1, 1, 1]
