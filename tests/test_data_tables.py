"""Tables that a person brings, hostile ones too, and files that are written whole or not at all."""

import builtins
import bz2
import codecs
import errno
import gc
import gzip
import io
import json
import lzma
import os
import pickle
import random
import threading
import zipfile
from functools import partial
from itertools import product

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import pmdviz
from pmdviz.data.cells import LONGEST_NAME, MOST_ROWS, read_cells
from pmdviz.data.tables import Table, file_name, held, hold, holding, packed, tables_in, texts_in
from pmdviz.errors import InputError
from pmdviz.experiments import workers
from pmdviz.files import atomic_write, check_text_path, check_writable, file_path, finite, static_text, write_text
from tests.support.tables import refused

GOOD = "height,weight\n170,65\n180,80\n165.5,61\n"
FORMULAS = (
    "=cmd|'/C calc'!A0", "=1+1", "-2+3", "@SUM(A1:A9)", '=HYPERLINK("http://x","y")', "=IMPORTXML(1)",
    "__import__('os').system('id')", "{{7*7}}", "%s%n%x", "'; DROP TABLE runs; --", "../../etc/passwd",
)  # fmt: skip
NAMES = (
    "<script>alert(1)</script>", '<img src=x onerror="alert(1)">', "\u202eevil", "zero\u200bwidth", "a\u0301" * 30,
    "\U0001f600", "عمود", "列", "name\u2028line", "x" * 5000, "NaN", "inf", "1_000", "1e400", "\u0661\u0662", "#",
    "\ufeff", "a,b", "javascript:alert(1)", "\\u0000", "\x7f", "con", "\ud800", "\udfff\ud800", " ", "\u00a0",
)  # fmt: skip
NUMBERS = (
    "1e400", "-1e999", "9" * 400, "1" * 199, "0x1p3", "1__0", "１２", "1e", "--1", "1.2.3", "NaN", "-inf", "1,5", "∞",
    "½", "0" * 199, "1 000", "1'000", "٣", "1j", "True", "5e-324", "-0",
)  # fmt: skip


class Bomb:
    def __reduce__(self):
        return exec, ("raise SystemExit('a pickle was opened')",)


def saved(write):
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def zipped(content):
    def write(file):
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("x.csv", content)

    return saved(write)


def other_files():
    zeros = b"0" * 2_000_000
    yield from (zipped(GOOD), zipped(zeros), gzip.compress(zeros), bz2.compress(zeros), lzma.compress(zeros))
    yield from (pickle.dumps(Bomb(), protocol) for protocol in range(6))
    yield saved(lambda file: np.save(file, np.eye(3)))
    yield saved(lambda file: np.save(file, np.array([Bomb()], object), allow_pickle=True))
    yield from (b"%PDF-1.7\n1 0 obj", b"\x89PNG\r\n\x1a\n" + bytes(99), b"\x7fELF" + bytes(60), b"PAR1" + bytes(9))
    yield from (b"SQLite format 3\x00", b"{}", b'{"a": [1, 2]}', b"[1, 2, 3]", b"<html><body onload=alert(1)>")
    yield from (b"#!/bin/sh\nrm -rf /\n", b"import os\nos.abort()\n", b"!!python/object/apply:os.abort []\n")


def encodings():
    """A good table in encodings of which some are not meant for it, and bytes that are none."""
    for name in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-7", "cp1252", "cp037"):
        yield GOOD.replace("height", "hauteur").encode(name)
    good = GOOD.encode()
    yield from (b"\xff\xfe" + good, b"\xfe\xff" + good, b"\xff\xfe\x00", b"\xef\xbb\xbf", b"\xef\xbb\xbf" * 3 + good)
    yield from (
        b"\xc3\x28,\xa0\xa1\n1,2\n",
        b"\xed\xa0\x80\n1\n",
        b"caf\xe9\n1\n",  # codespell:ignore
        bytes(range(256)),
    )


def shapes():
    """Tables that are too large, too wide or ragged, and texts without one."""
    yield from ("", " ", "\n" * 1000, ",", ",,,\n,,,", "\t\t", "a", "a,b", "1", "a\n", "a,b\n\n\n", "\r\r\r", "\r\n")
    yield from ("1," * 999_999 + "1", "1," * 199 + "1", "1," * 200 + "1", "a," * 300 + "a\n" + "1," * 300 + "1")
    yield from ("1\n" * 99_999, "1\n" * 100_001, "1\n" * 1_900_000, "\n" * 3_900_000, "1,2\n" * 3 + "1\n", "1\n1,2\n")
    yield from ("a,b\n1,2,3\n", "a,b,c\n1,2\n", "1;2,3\n4,5;6\n", "1\t2,3\n1,2\t3\n", "a;b\n1,5;2\n", "1, 2\n3 ,4")
    yield from ("1" * 3_900_000, "1" * 5_000_000, "x" * 201, "é" * 3_000_000, "a" * 3_900_000 + "\n1")


def quotes():
    yield from ('"' * 10_000_000, '"' * 3_900_001, '"a\n1', '"a"b\n1', 'a"b"\n1', '""""\n1', '"1","2"\n"3","4"')
    yield from ('"a\nb",c\n1,2\n', '"a,b",c\n1,2\n', "'a,b',c\n1,2\n", '"' + "1\n" * 50_000, '\\"a\n1\n', 'a,"\n1,2\n')


def controls():
    for code in (0, 1, 7, 8, 11, 12, 14, 27, 28, 31, 127, 0x80, 0x85, 0x9F, 0x200E, 0x2029, 0xFFFE):
        yield f"a{chr(code)}b\n1\n2\n"
        yield f"a\n1{chr(code)}\n2\n"


def random_texts():
    draw = random.Random(0)
    for size in (3, 10, 30, 100, 300, 1000) * 5:
        yield "".join(draw.choices('01.,;\t|"\n\r e-+aé=\u202e', k=size))
        yield bytes(draw.choices(range(256), k=size))


def hostile_files():
    cells = [f"{one}\n1\n2\n" for one in (*FORMULAS, *NAMES)] + [f"a\n1\n{one}\n" for one in (*FORMULAS, *NUMBERS)]
    families = (other_files(), encodings(), shapes(), quotes(), controls(), random_texts(), cells)
    return [one for family in families for one in family]


LONGEST_SENTENCE = 300
finite_numbers = st.floats(allow_nan=False, allow_infinity=False)
rows_of = st.integers(1, 4).flatmap(
    lambda k: st.lists(st.lists(finite_numbers, min_size=k, max_size=k), min_size=1, max_size=6)
)
names = st.text(st.characters(), max_size=60)


@example([[0.0] * 4], ["", "", "−", "0−"], "")  # minus signs
@given(rows_of, st.lists(names, min_size=4, max_size=4), names)
def test_a_table_comes_back_from_its_own_text(rows, columns, name):
    table = hold(name, columns[: len(rows[0])], np.array(rows))
    plain = packed([table])
    with holding(plain):
        back = held(table.pin)
    assert back is table and [*plain] == [table.pin]
    cells = read_cells(table.text)
    read = np.column_stack([column.numbers for column in cells.columns])
    assert cells.names == table.columns and np.array_equal(read, table.rows)
    assert hold(table.name, cells.names, read).pin == table.pin


@given(rows_of, st.data())
def test_the_digits_change_when_a_number_does(rows, data):
    rows = np.array(rows)
    table = hold("x.csv", [f"c{k}" for k in range(rows.shape[1])], rows)
    at = tuple(data.draw(st.integers(0, n - 1)) for n in rows.shape)
    changed = rows.copy()
    changed[at] = data.draw(finite_numbers.filter(lambda value: value != rows[at]))
    other = hold("x.csv", table.columns, changed)
    assert other.pin != table.pin and other.name == table.name
    assert hold("y.csv", table.columns, rows).pin.partition("#")[2] == table.pin.partition("#")[2]
    with pytest.raises(InputError, match="were changed: their digits"), holding({table.pin: other.text}):
        pass


@given(st.lists(names, min_size=1, max_size=5))
def test_names_of_columns_can_be_shown_and_none_is_a_number_or_a_formula(columns):
    table = hold("x.csv", columns, np.zeros((1, len(columns))))
    assert len({*table.columns}) == len(columns)
    for name in table.columns:
        assert name.isprintable() and 0 < len(name) <= LONGEST_NAME and name[0] not in "=+-@" and not {*name} & {*'#,"'}
        with pytest.raises(ValueError):
            float(name)


def test_names_of_files_and_too_many_rows():
    assert len(hold("long.csv", ["x"], np.zeros((MOST_ROWS, 1))).rows) == MOST_ROWS
    refused("at most 100,000 rows", hold, "longer.csv", ["x"], np.zeros((MOST_ROWS + 1, 1)))
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


def test_a_table_is_held_while_somebody_keeps_it_and_found_wherever_work_names_it():
    table = hold("kept.csv", ["a"], [[1.0], [2.5]])
    pin = table.pin
    assert hold("kept.csv", ["a"], [[1], [2.5]]) is table and held(pin) is table
    with pytest.raises(ValueError):
        table.rows[0, 0] = 3.0
    del table
    assert held(pin) is None
    sent, pin = (lambda table: (pickle.dumps(table), table.pin))(hold("sent.csv", ["a", "b"], [[1.0, 2.0]]))
    assert held(pin) is None
    arrived = pickle.loads(sent)
    assert isinstance(arrived, Table) and held(pin) is arrived
    tables = [hold(f"{k}.csv", ["a"], [[float(k)]]) for k in range(4)]
    a, b, c, d = (table.pin for table in tables)
    piece = {"options": {"data": a}, "more": [(b, 3), None]}, partial(max, c, key=d), 7
    assert {*tables_in(texts_in(piece))} == {*tables}
    assert tables_in(["0.csv#000000000000", "no pin", a, a]) == (tables[0],)


def test_what_a_text_says():
    nan, cells = np.nan, read_cells("\ufeffGröße; Gewicht ;Art\r\n1,5;60;a\r\n\r\n 1,7 ; NA;b\r\n")
    assert cells.names == ("Größe", "Gewicht", "Art") and len(cells) == 2
    assert cells.columns[0].numbers.tolist() == [1.5, 1.7] and np.isnan(cells.columns[1].numbers[1])
    assert cells.columns[2].misfit == "'a' in line 2" and not cells.columns[1].misfit
    half = [float(k) for k in range(60)]
    late = "x;y\n" + "".join(f"{k};{k}\n" for k in range(60)) + "1,5;1\n"
    for text, expected in {
        "1,2\n3,4\n": {"column 1": [1, 3], "column 2": [2, 4]},
        "a,a,\n1,2,3\n": {"a": [1], "a (2)": [2], "column 3": [3]},
        "1\t2\n3\t4": {"column 1": [1, 3], "column 2": [2, 4]},
        "1,5\n2,5\n": {"column 1": [1, 2], "column 2": [5, 5]},
        late: {"x": [*half, 1.5], "y": [*half, 1]},
        "x;y\n1.234,5;2\n2.000;,5\n": {"x": [1234.5, 2000], "y": [2, 0.5]},
        "x\n1,5\n,5\n": {"x": [1.5, 0.5]},
        "1,5;2,5\n3,5;4\n": {"column 1": [1.5, 3.5], "column 2": [2.5, 4]},
        'x,y\n"1,234",2\n"2,345.5",3\n': {"x": [1234, 2345.5], "y": [2, 3]},
        "  a    b\n  1.5   2\n  2.5   3\n": {"a": [1.5, 2.5], "b": [2, 3]},
        '"a" "b c"\n1.5 2\n2.5 3\n': {"a": [1.5, 2.5], "b c": [2, 3]},
        '"a"\t"b"\n"1"\t1.5\t2\n"2"\t2.5\t3\n': {"row": [1, 2], "a": [1.5, 2.5], "b": [2, 3]},
        '"a" "b"\n"Mazda" 1.5 2\n"Fiat" 2.5 3\n': {"row": [nan, nan], "a": [1.5, 2.5], "b": [2, 3]},
        "# theta1: units; a, b, c\nx,y\n1,2\n# in between\n3,4\n": {"x": [1, 3], "y": [2, 4]},
        "# x,y\n1,2\n3,4\n": {"x": [1, 3], "y": [2, 4]},  # as NumPy writes names
        "#,y\n1,2\n3,4\n": {"column 1": [1, 3], "y": [2, 4]},
        "sep=;\nx;y\n1,5;2\n": {"x": [1.5], "y": [2]},
        "x,y\n1,2\n#N/A,3\n<NA>,5\n--,1\nNaN,7\n": {"x": [1, nan, nan, nan, nan], "y": [2, 3, 5, 1, 7]},
        "x,y\n\u22121.5,2\n": {"x": [-1.5], "y": [2]},
        "x,y\n1,2\n3,4\n\x1a": {"x": [1, 3], "y": [2, 4]},
        "x,about\n1," + "words " * 40 + "\n3,b\n": {"x": [1, 3], "about": [nan, nan]},
        b"x,name\n1,foo\x85bar\n3,z\n": {"x": [1, 3], "name": [nan, nan]},
        "x,y\n1,2\n3,4\n".encode("utf-16"): {"x": [1, 3], "y": [2, 4]},
        "x,y\r1,2\r3,4\r": {"x": [1, 3], "y": [2, 4]},
        "x,y\nTrue,1\n,2\nFalse,3\n": {"x": [1, nan, 0], "y": [1, 2, 3]},
        'a,c\n"x\ny",2\nz,3\n': {"a": [nan, nan], "c": [2, 3]},
        "a\n1\ninf\n": {"a": [1, nan]},
    }.items():
        columns = read_cells(text).columns
        assert [column.name for column in columns] == [*expected], text
        for column in columns:
            np.testing.assert_array_equal(column.numbers, expected[column.name], err_msg=repr(text))
    assert read_cells(b"x,name\n1,foo\x85bar\n3,z\n").columns[1].said == "two words: foo…bar, z"
    x = read_cells("x;y\n1,234;2\n12,345;3\n").columns[0]
    assert x.numbers.tolist() == [1.234, 12.345] and x.said == "numbers (1,234 read as 1.234)"


def test_what_cannot_be_read_is_named_by_its_line_and_data_of_a_recipe_get_a_sentence():
    for text, words in {
        "a,b\n1,2\n\n# c\n3\n": "line 5 has 1 cells, and the first has 2",
        "a b\n1 2\n\n3 4 5\n": "line 4 has 3 cells",
        'a,b\n1,2\n"1,2\n': "the quote that opens in line 3 does not close",
        "a;b\n1;2\n3\n": "line 3 has 1 cells",
        "a,b\n": "names of columns and no rows",
        "# only\n": "the table is empty",
    }.items():
        refused(words, read_cells, text)
    assert read_cells("a,b\n1,2\n\n# c\n3,x\n").columns[1].misfit == "'x' in line 5"
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
    numbers = np.column_stack([column.numbers for column in cells.columns])
    whole = numbers[np.isfinite(numbers).all(axis=1)]
    if len(whole):
        table = hold("x.csv", cells.names, whole)
        with holding(packed([table])):
            assert held(table.pin) is table
    return ""


@pytest.mark.ci
def test_hostile_files_are_tables_or_get_a_sentence_and_nothing_is_run(monkeypatch):
    files = hostile_files()
    said_of("a,b\n1,x\n2,\n")  # what is imported once
    for name in ("utf-8-sig", "utf-16", "cp1252"):
        codecs.lookup(name)

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


def test_units_go_with_a_table_into_its_pin_and_a_recipe():
    rows, cm, inch = np.array([[-1.0], [1.0]]), ((170.0, 10.0),), ((67.0, 4.0),)
    one, other = (hold("x.csv", ["x"], rows, units=units) for units in (cm, inch))
    assert one.pin != other.pin and (one.units, other.units) == (cm, inch) and one.text == other.text
    again = hold("x.csv", ["x"], rows, "pmdviz.read_table('x.csv')", cm)
    assert (again.pin, again.units, again.origin) == (one.pin, cm, "pmdviz.read_table('x.csv')")
    plain, pin = json.loads(json.dumps(packed([one]))), one.pin
    del one, again
    gc.collect()
    assert held(pin) is None
    with holding(plain):
        assert held(pin).units == cm
    units = [[[170.0, 9.0]], [[170.0, 0.0]], [[170.0]], 5, None, [["a", "b"]], [[1e999, 1]], [[10**400, 1]], {}]
    broken = [{}, {"text": 5}, {"units": [[1, 2]]}, {"text": plain[pin]["text"]}]
    for content in [*({**plain[pin], "units": one} for one in units), *broken]:
        with pytest.raises(InputError, match="units|digits|CSV text"), holding({pin: content}):
            pass


ROW = {"m": 1}


def write_plain(path):
    write_text(str(path), "hello")


def write_table(path):
    with workers.table_at(path, {"m": int}) as table:
        table.add(ROW)


def write_export(path):
    pmdviz.run(target="gaussian", num_particles=5, budget=40, floor=False).export(path)


WRITTEN = {"text": (write_plain, "x.json"), "table": (write_table, "x.csv"), "export": (write_export, "x.py")}


@pytest.mark.parametrize("kind", WRITTEN)
def test_a_link_stays_a_link_and_what_it_names_is_replaced(tmp_path, kind):
    write, name = WRITTEN[kind]
    (tmp_path / "far").mkdir()
    (tmp_path / "near").mkdir()
    far, near = tmp_path / "far" / name, tmp_path / "near" / name
    near.symlink_to(far)
    for _ in range(2):  # the first time it names nothing yet
        write(near)
        assert near.is_symlink() and not far.is_symlink() and far.stat().st_size > 0
        assert os.listdir(far.parent) == os.listdir(near.parent) == [name]


def test_a_fifo_gets_a_text_while_it_is_read_and_is_not_waited_for_as_a_table(tmp_path):
    fifo, got = tmp_path / "fifo", []
    os.mkfifo(fifo)
    reader = threading.Thread(target=lambda: got.append(fifo.read_text()), daemon=True)
    reader.start()
    write_text(str(fifo), "x" * 1_000_000)
    reader.join(30)
    assert got == ["x" * 1_000_000 + "\n"]
    os.mkfifo(tmp_path / "t.csv")
    refused(r"cannot read '.*t.csv' as a table of a sweep: it is not a regular file", write_table, tmp_path / "t.csv")
    assert sorted(os.listdir(tmp_path)) == ["fifo", "t.csv"]


def test_what_fails_on_the_way_leaves_the_old_file_and_no_other(tmp_path):
    (tmp_path / "x").write_text("old")
    with pytest.raises(KeyboardInterrupt), atomic_write(tmp_path / "x") as part:
        part.write_text("new")
        raise KeyboardInterrupt
    with pytest.raises(InputError, match=r"cannot write '.*x': the disk is full"), atomic_write(tmp_path / "x") as part:
        part.write_text("new")
        raise OSError(errno.ENOSPC, "No space left on device")
    assert os.listdir(tmp_path) == ["x"] and (tmp_path / "x").read_text() == "old"


PLACES = {
    "file/x.json": "Not a directory|no such folder",
    "n" * 300: "File name too long",
    "nowhere/x.json": "No such file|no such folder",
    "folder": "Is a directory|it is a folder",
    "loop": "Too many levels",
}


def test_a_place_or_a_name_that_cannot_be_written_to_is_one_sentence(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for write, (name, words) in product((write_plain, check_writable), PLACES.items()):
        refused(f"cannot write .*: .*({words})", write, tmp_path / name)
        assert sorted(os.listdir(tmp_path)) == ["file", "folder", "loop"]
    monkeypatch.setenv("HOME", str(tmp_path))
    assert file_path("~/x.json") == tmp_path / "x.json"
    check_text_path("-")
    check_text_path(None)
    refused("got ''", check_text_path, "")
    for path in ("", ".", "..", "a\0b", "\ud800", 3, None, b"x", [], "folder/.."):
        refused("a file needs a path that ends in its name", file_path, path)


def test_nothing_that_json_lacks_is_left_in_mappings_and_lists(tmp_path):
    given = {"a": [1.0, float("nan")], "b": ({"c": -float("inf")}, "words"), "d": 2}
    assert finite(given) == {"a": [1.0, None], "b": [{"c": None}, "words"], "d": 2}
    file = tmp_path / "a.js"
    file.write_text("// == one: what it does\nlet a\n// == two\nlet b\n/* == three */\nlet c\n", encoding="utf-8")
    assert static_text(file).count("let") == 3
    assert static_text(file, "three", "one") == "let c\nlet a\n"
    with pytest.raises(KeyError, match="four"):
        static_text(file, "four")
