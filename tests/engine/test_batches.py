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


def test_whole_is_all_rows_in_their_order_and_takes_no_random_numbers():
    one, other = stream(), stream()
    data = np.arange(23.0)
    assert one.draw(23, "whole") == slice(None)
    assert np.shares_memory(data[one.draw(23, "whole")], data)
    assert np.array_equal(one.draw(5, "replacement"), other.draw(5, "replacement"))


def test_passes_are_shuffled_anew():
    one = stream(50)
    first, second = one.draw(50, "epochs"), one.draw(50, "epochs")
    assert not np.array_equal(first, second)
    assert not np.array_equal(first, np.arange(50))
    assert not np.array_equal(first, stream(50, seed=1).draw(50, "epochs"))


def test_all_orders_are_equally_likely():
    counts = np.zeros((4, 4))
    for seed in range(2000):
        counts[np.arange(4), stream(4, seed).draw(4, "epochs")] += 1
    assert np.abs((counts - 500) / np.sqrt(2000 * 0.25 * 0.75)).max() < 4.5


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


def test_how_a_pass_is_cut_does_not_change_its_order():
    whole, parts = stream(), stream()
    cut = np.concatenate([parts.draw(n, "epochs") for n in (1, 22, 30, 7)])
    assert np.array_equal(whole.draw(60, "epochs"), cut)


def test_an_epoch_is_numpys_permutation():
    """In four bytes per row instead of eight, but the same rows in the same order."""
    for num_data in (1, 2, 10, 70_000):
        rows = BatchStream(np.random.default_rng(3), num_data).draw(num_data, "epochs")
        assert np.array_equal(rows, np.random.default_rng(3).permutation(num_data)) and rows.dtype == np.uint32
