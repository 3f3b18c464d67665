import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pmdviz.kernels.thinning import thinned
from tests.support.tables import looped


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
    """Ties and coincident candidates among them."""
    candidates = np.random.default_rng(seed).integers(0, 4, size=(each * n, dim)).astype(float)
    found = np.concatenate([thinned(candidates, n, np.full(n, (k + 0.5) / each)) for k in range(each)])
    assert np.array_equal(np.sort(found), np.arange(each * n))


def test_the_ends_of_u():
    candidates = np.arange(12.0)[:, None]
    for u in (0.0, np.nextafter(1.0, 0.0)):
        assert np.array_equal(np.sort(thinned(candidates, 4, np.full(4, u)) // 3), [0, 1, 2, 3])


@looped("order", ["rising", "falling", "equal", "organ pipe"])
def test_sorted_and_equal_candidates_are_no_trouble(order):
    line = np.arange(20_000.0)
    line = {"rising": line, "falling": line[::-1], "equal": 0 * line, "organ pipe": np.minimum(line, line[::-1])}[order]
    chosen = thinned(np.ascontiguousarray(line)[:, None], 2500, np.full(2500, 0.5))
    assert len(np.unique(chosen)) == 2500
    if order == "rising":
        assert np.array_equal(np.sort(chosen) // 8, np.arange(2500))
