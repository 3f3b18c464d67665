"""Streams of batches: every datum once a pass, or independent draws; and back to any earlier moment."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pmdviz.engine.batches import BatchStream

draws = st.lists(st.tuples(st.integers(1, 30), st.sampled_from(["epochs", "epochs", "replacement"])), max_size=12)


def stream(num_data=23, seed=0):
    return BatchStream(np.random.default_rng(seed), num_data)


@given(st.integers(1, 40), st.lists(st.integers(1, 50), min_size=1, max_size=20))
def test_epochs_show_every_datum_once_a_pass(num_data, sizes):
    one = stream(num_data)
    batches = [one.draw(size, "epochs") for size in sizes]
    assert [len(batch) for batch in batches] == sizes
    rows = np.concatenate(batches)
    for start in range(0, len(rows) - num_data + 1, num_data):
        assert sorted(rows[start : start + num_data]) == list(range(num_data))
    assert np.array_equal(stream(num_data).draw(len(rows), "epochs"), rows), "however a pass is cut"


def test_whole_is_all_rows_in_their_order_and_takes_no_random_numbers():
    one, other = stream(), stream()
    data = np.arange(23.0)
    assert one.draw(23, "whole") == slice(None)
    assert np.shares_memory(data[one.draw(23, "whole")], data)
    assert np.array_equal(one.draw(5, "replacement"), other.draw(5, "replacement"))


def test_replacement_draws_every_row_equally_often_and_some_twice():
    rows = stream(20).draw(40_000, "replacement")
    counts = np.bincount(rows, minlength=20)
    assert len(counts) == 20
    assert np.abs((counts - 2000) / np.sqrt(40_000 * 0.05 * 0.95)).max() < 4.5
    assert len(np.unique(stream(20).draw(20, "replacement"))) < 20


@given(draws, draws, draws)
def test_a_stream_goes_back_to_a_mark(before, between, after):
    one = stream()
    for size, kind in before:
        one.draw(size, kind)
    mark = one.mark()
    expected = [one.draw(size, kind).tolist() for size, kind in after]
    for size, kind in between:
        one.draw(size, kind)
    one.restore(mark)
    assert [one.draw(size, kind).tolist() for size, kind in after] == expected
    fresh = stream(seed=9)
    fresh.restore(mark)
    assert [fresh.draw(size, kind).tolist() for size, kind in after] == expected


def test_an_epoch_is_numpys_permutation():
    """In four bytes per row instead of eight, but the same rows in the same order."""
    for num_data in (1, 2, 10, 70_000):
        one, rng = stream(num_data, 3), np.random.default_rng(3)
        for _ in range(2):
            rows = one.draw(num_data, "epochs")
            assert np.array_equal(rows, rng.permutation(num_data)) and rows.dtype == np.uint32
