import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numba import njit

from pmdviz.kernels import resampling
from pmdviz.kernels.resampling import systematic
from tests.kernels.naive import LONG

some_weights = arrays(np.float64, st.integers(1, 40), elements=st.floats(0, 1)).filter(lambda w: w.sum() > 1e-3)
uniform = st.floats(0, 1, exclude_max=True)


def naive(weights, n, u):
    shares = np.cumsum(weights.astype(LONG))
    return np.searchsorted(shares / shares[-1], (np.arange(n) + LONG(u)) / n, side="right")


def test_by_hand():
    assert systematic(np.array([0.1, 0.2, 0.7]), 10, 0.5).tolist() == [0, 1, 1] + [2] * 7
    assert systematic(np.array([0.25, 0.75]), 2, 0.0).tolist() == [0, 1]
    assert systematic(np.array([0.25, 0.75]), 2, 0.6).tolist() == [1, 1]


@pytest.mark.parametrize("num", [1, 2, 63, 64, 65, 1500])
@pytest.mark.parametrize("n", [1, 60, 1500])
def test_against_a_search_in_extended_precision(num, n, rng):
    weights, u = rng.dirichlet(np.ones(num)), rng.random()
    np.testing.assert_array_equal(systematic(weights, n, u), naive(weights, n, u))


@given(some_weights, st.integers(1, 200), uniform)
def test_counts_are_floor_or_ceil_of_the_share(weights, n, u):
    ancestors = systematic(weights, n, u)
    share = n * weights / weights.sum()
    counts = np.bincount(ancestors, minlength=weights.size)
    assert ancestors.dtype == np.int64
    assert ancestors.shape == (n,)
    assert (np.diff(ancestors) >= 0).all()
    assert (counts >= np.floor(share - 1e-9)).all()
    assert (counts <= np.ceil(share + 1e-9)).all()
    assert (weights[ancestors] > 0).all()


def test_mean_counts_are_the_shares(rng):
    weights = np.array([0.05, 0.45, 0.3, 0.2])
    counts = np.zeros(4)
    for u in (np.arange(1000) + 0.5) / 1000:
        counts += np.bincount(systematic(weights, 7, u), minlength=4) / 1000
    np.testing.assert_allclose(counts, 7 * weights, atol=2e-3)


@given(some_weights, uniform, st.floats(1e-300, 1e300))
def test_a_factor_on_all_weights_changes_little(weights, u, factor):
    counts = [np.bincount(systematic(w, 50, u), minlength=w.size) for w in (weights, weights * factor)]
    assert np.abs(counts[0] - counts[1]).max() <= 1


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
    assert resampling._systematic(np.array([0.5, 0.5]), 2, 1.0).tolist() == [1, 1]


def test_one_particle_takes_all():
    assert systematic(np.array([0.0, 3.0, 0.0]), 5, 0.9).tolist() == [1] * 5
    assert systematic(np.array([1e308, 1e308]), 2, 0.5).tolist() == [0, 1]


@given(some_weights, st.integers(1, 50), uniform)
def test_compiled_and_plain_python_agree(weights, n, u):
    np.testing.assert_array_equal(resampling._systematic(weights, n, u), resampling._systematic.py_func(weights, n, u))


def test_called_from_other_compiled_code():
    @njit
    def outer(weights):
        return resampling._systematic(weights, 4, 0.5).sum()

    assert outer(np.array([0.5, 0.5])) == 2


@pytest.mark.parametrize(
    ("weights", "n", "u"),
    [
        ([], 1, 0.5),
        ([0.0, 0.0], 1, 0.5),
        ([-0.1, 1.1], 1, 0.5),
        ([np.nan, 1.0], 1, 0.5),
        ([np.inf, 1.0], 1, 0.5),
        ([[0.5, 0.5]], 1, 0.5),
        ([1.0], 0, 0.5),
        ([1.0], 1, 1.0),
        ([1.0], 1, -0.1),
        ([1.0], 1, np.nan),
    ],
)
def test_what_cannot_be_used_is_refused(weights, n, u):
    with pytest.raises(ValueError, match="weights|systematic"):
        systematic(np.array(weights), n, u)
