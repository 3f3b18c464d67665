import os
import subprocess
import sys

import numpy as np
import pytest

from pmdviz import InputError
from pmdviz.experiments.workers import Table, table_path

KINDS = {"m": int, "policy": str, "warm": bool, "tv": float}
ROWS = [
    {"m": 10, "policy": "ess", "warm": True, "tv": 0.1 + 0.2},
    {"m": 20, "policy": 'a "word", with a comma\nand a line', "warm": False, "tv": float("nan")},
    {"m": 2**40, "policy": "", "warm": False, "tv": float("inf")},
]


KINDS_OF_FILES = pytest.mark.parametrize("name", ["t.csv", pytest.param("t.parquet", marks=pytest.mark.ci)])


@KINDS_OF_FILES
def test_rows_come_back_as_they_were(tmp_path, name):
    with Table(tmp_path / name, KINDS) as table:
        for row in ROWS:
            table.add(row)
    with Table(tmp_path / name, KINDS) as table:
        np.testing.assert_equal(table.rows, ROWS)
    assert sorted(os.listdir(tmp_path)) == [name]  # neither a lock nor a half-written file stays


@KINDS_OF_FILES
def test_the_file_is_whole_after_every_row(tmp_path, name):
    with Table(tmp_path / name, KINDS) as table:
        for count, row in enumerate(ROWS, start=1):
            table._next = 0.0
            table.add(row)
            other = Table(tmp_path / name, KINDS)
            np.testing.assert_equal(other._read(), ROWS[:count])


def test_rows_stay_when_the_work_fails_and_sorted_ones_keep_those_of_other_sweeps(tmp_path):
    with pytest.raises(ZeroDivisionError), Table(tmp_path / "t.csv", KINDS) as table:
        table._next = float("inf")
        table.add(ROWS[0])
        _ = 1 / 0
    with Table(tmp_path / "t.csv", KINDS) as table:
        assert len(table.rows) == 1
    with Table(tmp_path / "sorted.csv", KINDS) as table:
        for m in (4, 9, 3, 8, 1):
            table.add({**ROWS[0], "m": m})
        table.sort([1, 3, 4], lambda row: row["m"])
        assert [row["m"] for row in table.rows] == [9, 8, 1, 3, 4]


def test_writing_slows_down_with_what_it_costs_and_no_suffix_means_parquet(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("pmdviz.experiments.workers.time.monotonic", lambda: now[0])
    with Table(tmp_path / "t.csv", KINDS) as table:
        written = []
        monkeypatch.setattr(table, "write", lambda: written.append(len(table.rows)))
        table._next = 5.0
        table.add(ROWS[0])
        now[0] = 5.0
        table.add(ROWS[0])
    assert written == [2, 2]  # not after the first row, after the second, and at the end
    monkeypatch.setattr("pmdviz.experiments.workers._has_pyarrow", lambda: True)
    assert table_path(tmp_path / "t").name == "t.parquet"
    monkeypatch.setattr("pmdviz.experiments.workers._has_pyarrow", lambda: False)
    assert table_path(tmp_path / "t").name == "t.csv"
    with pytest.raises(InputError, match="needs pyarrow"):
        table_path("t.parquet")


def test_a_file_that_cannot_be_used_is_one_sentence(tmp_path):
    for name, text, words in [
        ("t.csv", "a,b\n1,2\n", "its columns are a, b"),
        ("t.csv", "", "its columns are none"),
        ("t.csv", "m,policy,warm,tv\n1,ess\n", "a row is cut short"),
        ("t.csv", "m,policy,warm,tv\nx,ess,True,0.5\n", "cannot read"),
        ("t.csv", "m,policy,warm,tv\n1,ess,True,0.5\n1,ess,True,0.5,7\n", "line 3 has more values than the header"),
        ("t.csv", "m,policy,warm,tv,tv\n1,ess,True,0.5,0.6\n", r"header names the column 'tv' twice \(line 1\)"),
        ("t.csv", b"\xff\xfe\x00", "cannot read"),
        ("t.txt", None, "written as .parquet or .csv"),
        ("no/folder/t.csv", None, "cannot write"),
    ]:
        content = text.encode() if isinstance(text, str) else text
        if content is not None:
            (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match=words) as error, Table(tmp_path / name, KINDS):
            pass
        assert "\n" not in str(error.value)
        assert content is None or (tmp_path / name).read_bytes() == content


@pytest.mark.ci
def test_a_file_that_is_not_parquet_is_one_sentence(tmp_path):
    (tmp_path / "t.parquet").write_text("no parquet at all")
    with pytest.raises(InputError, match="cannot read"), Table(tmp_path / "t.parquet", KINDS):
        pass


LOCKED = """
import sys
from pmdviz.experiments.workers import Table
with Table(sys.argv[1], {"m": int}):
    print("mine", flush=True)
    sys.stdin.read()
"""


def test_two_processes_do_not_write_one_table(tmp_path):
    path = tmp_path / "t.csv"
    with subprocess.Popen(
        [sys.executable, "-c", LOCKED, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline() == "mine\n"
        with pytest.raises(InputError, match="written by another process"), Table(path, {"m": int}):
            pass
        other.kill()
    with Table(path, {"m": int}) as table:  # what a killed process held is free
        assert table.rows == []
