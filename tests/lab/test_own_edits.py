"""Data added and removed one by one: an own table of the present data, whose name says so."""

import numpy as np
import pytest

from pmdviz.data.tables import hold
from pmdviz.errors import InputError
from pmdviz.lab.panels.own_data.edits import (
    ADD,
    LAST,
    POINT,
    Edit,
    can_be_edited,
    edited,
    edited_options,
    row_names,
    rug,
    tidy,
)
from pmdviz.targets import TARGETS, make_target

SETTINGS = {
    "mixture": {"num_data": 30},
    "bimodal1d": {"num_data": 30},
    "gaussian": {"num_data": 30, "dim": 2},
}


def after(target, *edits):
    """The target of the table that the edits make, which is kept with it."""
    table = edited(target, edits)
    return make_target(target.name, **{**target.options.as_dict(), **edited_options(target, table)}), table


@pytest.mark.parametrize("name", SETTINGS)
def test_nothing_edited_is_the_same_posterior_and_an_added_datum_changes_it(name):
    target = make_target(name, **SETTINGS[name])
    assert can_be_edited(target)
    theta = target.sample_prior(np.random.default_rng(0), 5)
    same, first = after(target)
    np.testing.assert_allclose(same.log_joint(theta), target.log_joint(theta), rtol=1e-9)
    datum = tuple([1.0] * len(row_names(target)))
    more, second = after(target, Edit(ADD, datum))
    assert more.num_data == target.num_data + 1
    assert not np.allclose(more.log_joint(theta), target.log_joint(theta))
    assert second.name == f"{name} edited.csv"
    assert first.columns == row_names(target)


def test_the_last_datum_goes_and_comes_again():
    target = make_target("mixture", num_data=30)
    fewer, table = after(target, Edit(LAST))
    np.testing.assert_array_equal(fewer.data, target.data[:-1])
    again, other = after(fewer, Edit(ADD, (float(target.data[-1]),)))
    np.testing.assert_array_equal(again.data, target.data)
    assert other.name == table.name == "mixture edited.csv"


def test_a_click_on_a_datum_removes_it_and_one_beside_it_adds():
    target = make_target("gaussian", num_data=30, dim=2)
    x, y = target.data[7]
    fewer, kept = after(target, Edit(POINT, (x + 0.05, y), (0.1, 0.1)))
    np.testing.assert_array_equal(kept.rows, np.delete(target.data, 7, axis=0))
    assert fewer.num_data == 29
    far, rows = after(target, Edit(POINT, (x + 9.0, y), (0.1, 0.1)))
    assert far.num_data == 31
    assert rows.rows[-1, 0] == x + 9.0


def test_a_click_above_the_data_of_a_histogram_always_adds():
    target = make_target("mixture", num_data=30)
    more, kept = after(target, Edit(POINT, (float(target.data[3]),), ()))
    assert more.num_data == len(kept.rows) == 31


def test_a_class_is_added_and_one_row_is_held_out():
    target = make_target("logistic", num_data=30, dim=3)
    assert can_be_edited(target)
    more, kept = after(target, Edit(ADD, (4.0, 5.0, 1.0)))
    np.testing.assert_array_equal(kept.rows[:30, :2], target.data[:, 1:3])
    np.testing.assert_array_equal(kept.rows[:30, 2], target.data[:, 3] > 0)
    np.testing.assert_array_equal(kept.rows[30], [4, 5, 1])
    assert (more.num_data, len(more.test_data), len(kept.rows)) == (31, 1, 32)


def test_of_a_persons_own_table_the_names_stay():
    table = hold("heights.csv", ["height", "weight"], np.arange(12.0).reshape(6, 2) ** 1.5)
    target = make_target("linear", data=table.pin, num_data=6, dim=2)
    assert can_be_edited(target)
    _, kept = after(target, Edit(ADD, (5.0, 7.0)))
    assert kept.columns == ("height", "weight")
    assert kept.name == "heights edited.csv"
    np.testing.assert_array_equal(kept.rows, [*table.rows, (5, 7)])
    assert edited(make_target("linear", data=kept.pin, num_data=7, dim=2), [Edit(LAST)]).name == "heights edited.csv"


def test_what_cannot_be_done_gets_a_sentence():
    target = make_target("mixture", num_data=1)
    with pytest.raises(InputError, match="the last datum stays"):
        edited(target, [Edit(LAST)])
    with pytest.raises(InputError, match="has 1 numbers here; given: 2"):
        edited(target, [Edit(ADD, (1.0, 2.0))])


def test_where_a_table_would_change_the_parameters_nothing_is_edited():
    assert not can_be_edited(make_target("linear", dim=1))  # a table brings an intercept
    assert not can_be_edited(make_target("gaussian", dim=3))
    assert [name for name in TARGETS if TARGETS[name].table is None and can_be_edited(make_target(name))] == []


def test_dots_at_the_foot_of_a_histogram_are_the_data():
    target = make_target("mixture", num_data=30)
    np.testing.assert_array_equal(rug(target, 1.0)["x"], target.data)
    assert len(rug(make_target("gaussian", dim=2), 1.0)["x"]) == 0


def test_a_place_on_an_axis_has_few_digits():
    assert tidy(1.23456789, 10.0) == 1.23
    assert tidy(123456.789, 1e6) == 123457
    assert tidy(0.000123456, 0.001) == 0.000123
