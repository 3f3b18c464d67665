"""Where files go: regular ones are replaced whole, links stay links, and what is no file is written into."""

import errno
import os
import threading
from itertools import product

import pytest

import pmdviz
from pmdviz.errors import InputError
from pmdviz.experiments.workers import Table
from pmdviz.files import atomic_write, check_text_path, check_writable, file_path, finite, static_text, write_text
from tests.support.tables import refused

ROW = {"m": 1}


def write_plain(path):
    write_text(str(path), "hello")


def write_table(path):
    with Table(path, {"m": int}) as table:
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
        with pytest.raises(InputError, match=f"cannot write .*: .*({words})") as error:
            write(tmp_path / name)
        assert "\n" not in str(error.value) and sorted(os.listdir(tmp_path)) == ["file", "folder", "loop"]
    monkeypatch.setenv("HOME", str(tmp_path))
    assert file_path("~/x.json") == tmp_path / "x.json"
    check_text_path("-")
    check_text_path(None)
    refused("got ''", check_text_path, "")
    for given in ("", ".", "..", "a\0b", "\ud800", 3, None, b"x", [], "folder/.."):
        refused("a file needs a path that ends in its name", file_path, given)


def test_nothing_that_json_lacks_is_left_in_mappings_and_lists(tmp_path):
    given = {"a": [1.0, float("nan")], "b": ({"c": -float("inf")}, "words"), "d": 2}
    assert finite(given) == {"a": [1.0, None], "b": [{"c": None}, "words"], "d": 2}
    file = tmp_path / "a.js"
    file.write_text("// == one: what it does\nlet a\n// == two\nlet b\n/* == three */\nlet c\n", encoding="utf-8")
    assert static_text(file).count("let") == 3
    assert static_text(file, "three", "one") == "let c\nlet a\n"
    with pytest.raises(KeyError, match="four"):
        static_text(file, "four")
