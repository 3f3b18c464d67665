import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit

from pmdviz.kernels import thinning
from pmdviz.kernels.thinning import thinned


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


@pytest.mark.parametrize("dim", [1, 2, 3, 10])
@pytest.mark.parametrize("n", [1, 2, 7, 64, 100])
@pytest.mark.parametrize("each", [1, 2, 5, 16])
def test_one_of_every_cell(dim, n, each, rng):
    candidates = rng.normal(size=(each * n, dim))
    chosen = thinned(candidates, n, rng.random(n))
    assert chosen.dtype == np.int64 and chosen.shape == (n,)
    assert [len(cell & set(chosen.tolist())) for cell in naive_cells(candidates, n)] == [1] * n


@given(st.integers(1, 40), st.integers(1, 8), st.integers(1, 3), st.integers(0, 5))
def test_every_candidate_is_chosen_for_an_equal_share_of_u(n, each, dim, seed):
    """Ties and coincident candidates among them."""
    candidates = np.random.default_rng(seed).integers(0, 4, size=(each * n, dim)).astype(float)
    found = np.concatenate([thinned(candidates, n, np.full(n, (k + 0.5) / each)) for k in range(each)])
    assert np.array_equal(np.sort(found), np.arange(each * n))


def test_the_ends_of_u():
    candidates = np.arange(12.0)[:, None]
    for u in (0.0, np.nextafter(1.0, 0.0)):
        assert np.array_equal(np.sort(thinned(candidates, 4, np.full(4, u)) // 3), [0, 1, 2, 3])


@pytest.mark.parametrize("order", ["rising", "falling", "equal", "organ pipe"])
def test_sorted_and_equal_candidates_are_no_trouble(order):
    line = np.arange(20_000.0)
    line = {"rising": line, "falling": line[::-1], "equal": 0 * line, "organ pipe": np.minimum(line, line[::-1])}[order]
    chosen = thinned(np.ascontiguousarray(line)[:, None], 2500, np.full(2500, 0.5))
    assert len(np.unique(chosen)) == 2500
    if order == "rising":
        assert np.array_equal(np.sort(chosen) // 8, np.arange(2500))


def test_sums_over_the_chosen_vary_less_and_are_right_on_average():
    """Of a smooth function of points in the plane: unbiased, at a tenth of the independent draws' variance or less."""
    few, many = [], []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        candidates = rng.normal(size=(16 * 256, 2))
        values = np.cos(candidates[:, 0]) + candidates[:, 1]
        few.append(values[thinned(candidates, 256, rng.random(256))].mean())
        many.append(values[:256].mean())
    exact, error = np.exp(-0.5), np.std(few, ddof=1) / np.sqrt(200)
    assert abs(np.mean(few) - exact) < 4 * error
    assert np.var(few) < 0.15 * np.var(many)
    assert np.var(few) > 1 / 16 / 256, "never better than all the candidates"


def test_a_factor_and_a_shift_change_nothing(rng):
    candidates, u = rng.normal(size=(160, 3)), rng.random(10)
    assert np.array_equal(thinned(candidates * 4 - 8, 10, u), thinned(candidates, 10, u))


def test_compiled_and_plain_python_agree(rng):
    columns, u = np.ascontiguousarray(rng.normal(size=(60, 2)).T), rng.random(15)
    np.testing.assert_array_equal(thinning._thinned(columns, 15, u), thinning._thinned.py_func(columns, 15, u))
    order = np.arange(60)
    assert thinning._widest(columns, order, 5, 40) == thinning._widest.py_func(columns, order, 5, 40)
    for place in (0, 1, 30, 59):
        for select in (thinning._select, thinning._select.py_func):
            keys, order = columns[0].copy(), np.arange(60)
            select(keys, order, 0, 59, place)
            assert np.array_equal(columns[0][order], keys)
            assert keys[:place].max(initial=-np.inf) <= keys[place:].min()


def test_called_from_other_compiled_code():
    @njit
    def outer(columns, u):
        return thinning._thinned(columns, 2, u).sum()

    assert outer(np.array([[0.0, 1.0, 2.0, 3.0]]), np.zeros(2)) in {2, 3, 4}


@pytest.mark.parametrize(
    ("shape", "n", "u"),
    [
        ((6, 2), 4, np.zeros(4)),
        ((0, 2), 1, np.zeros(1)),
        ((6, 0), 2, np.zeros(2)),
        ((6, 2), 0, np.zeros(0)),
        ((6, 2), 2, np.zeros(3)),
        ((6, 2), 2, np.array([0.0, 1.0])),
        ((6, 2), 2, np.array([0.0, -0.1])),
        ((6, 2), 2, np.array([0.0, np.nan])),
        ((6,), 2, np.zeros(2)),
    ],
)
def test_what_cannot_be_used_is_refused(shape, n, u):
    with pytest.raises(ValueError, match="candidates|u must"):
        thinned(np.zeros(shape), n, u)


def test_candidates_that_are_not_finite_are_refused():
    with pytest.raises(ValueError, match="finite"):
        thinned(np.array([[0.0], [np.nan]]), 1, np.zeros(1))
