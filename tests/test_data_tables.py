"""Tables that a person brings: what is read of a text, and what a table is called."""

import builtins
import os
import pickle
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmdviz.data.cells import LONGEST_NAME, read_cells
from pmdviz.data.parts import holding, packed, tables_in, texts_in
from pmdviz.data.tables import Table, file_name, held, hold
from pmdviz.errors import InputError
from tests.support.hostile_tables import hostile_files

LONGEST_SENTENCE = 300
finite = st.floats(allow_nan=False, allow_infinity=False)
rows_of = st.integers(1, 4).flatmap(
    lambda k: st.lists(st.lists(finite, min_size=k, max_size=k), min_size=1, max_size=6)
)
names = st.text(st.characters(), max_size=60)


@given(rows_of, st.lists(names, min_size=4, max_size=4), names)
def test_a_table_comes_back_from_its_own_text(rows, columns, name):
    table = hold(name, columns[: len(rows[0])], np.array(rows))
    plain = packed([table])
    with holding(plain):
        back = held(table.pin)
    assert back is table and [*plain] == [table.pin]
    cells = read_cells(table.text)
    read = np.column_stack([cells.numbers(k) for k in range(len(cells.columns))])
    assert cells.columns == table.columns and np.array_equal(read, table.rows)
    assert hold(table.name, cells.columns, read).pin == table.pin


@given(rows_of, st.data())
def test_the_digits_change_when_a_number_does(rows, data):
    rows = np.array(rows)
    table = hold("x.csv", [f"c{k}" for k in range(rows.shape[1])], rows)
    at = tuple(data.draw(st.integers(0, n - 1)) for n in rows.shape)
    changed = rows.copy()
    changed[at] = data.draw(finite.filter(lambda value: value != rows[at]))
    other = hold("x.csv", table.columns, changed)
    assert other.pin != table.pin and other.name == table.name
    assert hold("y.csv", table.columns, rows).pin.partition("#")[2] == table.pin.partition("#")[2]
    with pytest.raises(InputError, match="changed on the way"), holding({table.pin: other.text}):
        pass


@given(st.lists(names, min_size=1, max_size=5))
def test_names_of_columns_can_be_shown_and_none_is_a_number_or_a_formula(columns):
    table = hold("x.csv", columns, np.zeros((1, len(columns))))
    assert len({*table.columns}) == len(columns)
    for name in table.columns:
        assert name.isprintable() and 0 < len(name) <= LONGEST_NAME and name[0] not in "=+-@" and not {*name} & {*'#,"'}
        with pytest.raises(ValueError):
            float(name)


def test_a_name_of_a_file_is_a_name_alone():
    for name, expected in [
        ("../../etc/x.csv", "x.csv"),
        ("C:\\data\\heights.txt", "heights.csv"),
        ("", "table.csv"),
        ("<b>.csv", "b.csv"),
        ("\u202egnp.csv", "gnp.csv"),
        ("a" * 99, "a" * LONGEST_NAME + ".csv"),
        (".csv", "table.csv"),
        ("größe 2-b_c.csv", "größe 2-b_c.csv"),
    ]:
        assert file_name(name) == expected == file_name(expected)


def test_a_table_is_held_while_somebody_keeps_it():
    table = hold("kept.csv", ["a"], [[1.0], [2.5]])
    pin = table.pin
    assert hold("kept.csv", ["a"], [[1], [2.5]]) is table and held(pin) is table
    with pytest.raises(ValueError):
        table.rows[0, 0] = 3.0
    del table
    assert held(pin) is None


def test_where_a_table_arrives_it_is_held():
    sent, pin = (lambda table: (pickle.dumps(table), table.pin))(hold("sent.csv", ["a", "b"], [[1.0, 2.0]]))
    assert held(pin) is None
    arrived = pickle.loads(sent)
    assert isinstance(arrived, Table) and held(pin) is arrived


def test_tables_are_found_wherever_a_piece_of_work_names_them():
    tables = [hold(f"{k}.csv", ["a"], [[float(k)]]) for k in range(4)]
    a, b, c, d = (table.pin for table in tables)
    piece = {"options": {"data": a}, "more": [(b, 3), None]}, partial(max, c, key=d), 7
    assert {*tables_in(texts_in(piece))} == {*tables}
    assert tables_in(["0.csv#000000000000", "no pin", a, a]) == (tables[0],)


def test_what_a_text_says():
    cells = read_cells("\ufeffGröße; Gewicht ;Art\r\n1,5;60;a\r\n\r\n 1,7 ; NA;b\r\n")
    assert cells.columns == ("Größe", "Gewicht", "Art") and cells.decimal_comma and len(cells.rows) == 2
    assert cells.numbers(0).tolist() == [1.5, 1.7] and np.isnan(cells.numbers(1)[1])
    assert cells.first_misfit(2) == "'a' in row 1" and not cells.first_misfit(1)
    assert read_cells("1,2\n3,4\n").columns == ("column 1", "column 2")
    assert read_cells("a,a,\n1,2,3\n").columns[0] == "a" and len({*read_cells("a,a,\n1,2,3\n").columns}) == 3
    assert read_cells("1\t2\n3\t4").numbers(1).tolist() == [2.0, 4.0]
    assert not read_cells("1,5\n2,5\n").decimal_comma


def test_data_of_a_recipe_that_cannot_be_read_get_a_sentence():
    for plain in [
        None, [], "x", {"x.csv#000000000000": 5}, {"x.csv#000000000000": "a\n1\n"}, {"x": "a\n1\n"}, {"": ""},
        {"x.csv#000000000000": "a\nb\n"}, {str(k): "a\n1\n" for k in range(5)}, {"../x.csv#000000000000": "a\n1\n" * 9},
    ]:  # fmt: skip
        with pytest.raises(InputError) as error, holding(plain):
            pass
        assert len(str(error.value)) < LONGEST_SENTENCE, plain


def said_of(content):
    """What is said of a file that is no table; "" of one, whose numbers are held and come back."""
    try:
        cells = read_cells(content)
    except InputError as error:
        return str(error)
    numbers = np.column_stack([cells.numbers(k) for k in range(len(cells.columns))])
    whole = numbers[np.isfinite(numbers).all(axis=1)]
    if len(whole):
        table = hold("x.csv", cells.columns, whole)
        with holding(packed([table])):
            assert held(table.pin) is table
    return ""


@pytest.mark.ci
def test_hostile_files_are_tables_or_get_a_sentence_and_nothing_is_run(monkeypatch):
    files = hostile_files()

    def refused(*_):
        raise AssertionError("something was executed or opened")

    for place, name in ((builtins, "eval"), (builtins, "exec"), (builtins, "open"), (os, "system")):
        monkeypatch.setattr(place, name, refused)
    monkeypatch.setattr(pickle, "loads", refused)
    said = [said_of(content) for content in files]
    assert 50 < said.count("") < 200
    for sentence in said:
        assert len(sentence) < LONGEST_SENTENCE and "\n" not in sentence and "Traceback" not in sentence
        assert sentence.isprintable()
