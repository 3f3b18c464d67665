import errno
import importlib.util
import os
import shutil
import sys
import tomllib
from collections import namedtuple
from pathlib import Path

import pytest

import pmdviz
from pmdviz.errors import InputError
from pmdviz.export import WRITERS, check
from pmdviz.export.options import Look
from tests.export.conftest import KINDS
from tests.support.tables import looped, refused

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
SMALL = {"size": "160x160", "frames": 3}


def small(suffix):
    """Options that make a small file of a kind."""
    given = {"width": 160, "height": 160, "frames": 3}
    return {name: value for name, value in given.items() if name in WRITERS[suffix].options}


@looped("suffix", KINDS)
def test_every_kind_of_file_is_written_and_told_of(run, tmp_path, suffix):
    told, folder = [], tmp_path / suffix[1:]
    folder.mkdir()
    path = run.export(str(folder / f"out{suffix}"), progress=lambda *share: told.append(share), **small(suffix))
    assert path == folder / f"out{suffix}" and path.stat().st_size > 50
    assert [p.name for p in folder.iterdir()] == [path.name]
    if "frames" in WRITERS[suffix].options:
        assert told[-1] == (3, 3) and {total for _, total in told} == {3}
        assert [done for done, _ in told] == sorted(done for done, _ in told)


@looped(
    "given, words",
    [
        ({"size": "wide"}, "size must be WIDTHxHEIGHT in px, or one of 1920x1080, 960x540, square; got 'wide'"),
        ({"size": 960}, "got 960"),
        ({"size": "960x540", "width": 960}, "size already sets width and height; leave out width"),
        ({"layers": "exakt"}, "unknown layer 'exakt'; did you mean 'exact'?"),
        ({"layers": 3}, "layers must be names"),
        ({"frames": 5, "every": 2}, "give frames or every, not both; got frames=5, every=2"),
        ({"frames": 1}, "frames must be at least 2"),
        ({"themes": "dark"}, "unknown export option 'themes'; did you mean 'theme'?"),
    ],
)
def test_an_option_that_cannot_be_used_is_said_in_a_sentence(given, words, tmp_path):
    refused(words, check, tmp_path / "film.gif", given)


@looped("suffix", KINDS)
def test_an_option_without_effect_is_refused(suffix, tmp_path):
    writer, usual = WRITERS[suffix], Look.checked({}).as_dict()
    assert set(writer.options) <= set(usual)
    for name in usual:
        given = {name: usual[name]}
        if name in writer.options:
            assert check(tmp_path / f"x{suffix}", given)[1] == Look.checked({})
        else:
            refused(f"option {name} is not supported for a {suffix} file", check, tmp_path / f"x{suffix}", given)


def test_a_scene_that_cannot_be_drawn_is_said_before_any_work(tmp_path):
    run = pmdviz.run(target="logistic", budget=200, floor=False, num_particles=50)
    race = pmdviz.race(methods=["pmd:num_particles=50"], target="logistic", budget=200, seeds=1)
    for options, words in (
        ({"scene": "lattice"}, "scene 'lattice' cannot be drawn of method .* on target 'logistic'"),
        ({"horizontal": 9}, "numbered 1 to 3; got 9"),
        ({"horizontal": 2}, "horizontal and vertical must be different"),
        ({"scene": "mariginals"}, "did you mean .marginals."),
    ):
        for what in (run, race):
            refused(words, what.export, tmp_path / "film.gif", **options)
    assert not [*tmp_path.iterdir()]


@looped(
    "name, words",
    [
        (None, "got None"),
        (3, "got 3"),
        ("film.gfi", "unknown kind of file: '.gfi'; did you mean '.gif'?"),
        ("film", "unknown kind of file: "),
        (".gif", "a file needs a name before its suffix, such as film.gif; got '"),
        ("a\0.csv", "a file needs a path that ends in its name"),
        ("n" * 300 + ".csv", ": File name too long"),
        ("there/film.gif", "no such folder"),
        ("folder.gif", "it is a folder"),
    ],
)
def test_a_place_that_cannot_be_written_to_is_said_before_the_work(run, tmp_path, name, words):
    (tmp_path / "folder.gif").mkdir(exist_ok=True)
    place, told = tmp_path / name if isinstance(name, str) else name, []
    refused(words, run.export, place, progress=lambda *share: told.append(share))
    assert told == []
    refused("progress must be a function", run.export, tmp_path / "x.csv", progress=3)


def test_a_folder_that_may_not_be_written_to(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK)  # root may write anywhere
    refused("may not write to", check, tmp_path / "film.gif", {})


Usage = namedtuple("Usage", "total used free")


def test_a_disk_that_is_too_full_is_said_before_the_work(run, tmp_path, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(10**9, 10**9 - 20_500_000, 20_500_000))
    words = "up to 13.0 MB may be needed, and 20.5 MB are free, 20.0 MB of which are to"
    refused(words, run.export, tmp_path / "film.gif", progress=lambda *share: pytest.fail("it began"))
    assert run.export(tmp_path / "small.gif", **SMALL).exists()


def test_a_disk_that_fills_up_meanwhile_leaves_no_file(run, tmp_path, monkeypatch):
    def full(*parts):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("pmdviz.export.writers._indexed", full)
    old = tmp_path / "film.gif"
    old.write_bytes(b"the old film")
    refused(r"cannot write '.*film.gif': the disk is full", run.export, old, **SMALL)
    assert old.read_bytes() == b"the old film" and [*tmp_path.iterdir()] == [old]


@looped("suffix", [".gif", ".html"])
def test_cancel_leaves_the_old_file_and_no_other(run, tmp_path, suffix):
    class Cancelled(Exception):
        pass

    def progress(done, total):
        if done == 1:
            raise Cancelled

    old = tmp_path / f"film{suffix}"
    old.write_bytes(b"the old film")
    with pytest.raises(Cancelled):
        run.export(old, progress=progress, **small(suffix))
    assert old.read_bytes() == b"the old film" and [*tmp_path.iterdir()] == [old]
    old.unlink()


@looped("suffix", [suffix for suffix, writer in WRITERS.items() if writer.needs])
def test_a_missing_library_is_said_with_the_cure_before_the_work(tmp_path, monkeypatch, suffix):
    true_find = importlib.util.find_spec
    for module, extra in WRITERS[suffix].needs:

        def find(name, lost=module):
            return None if name == lost else true_find(name)

        with monkeypatch.context() as patch, pytest.raises(InputError) as error:
            patch.setattr(importlib.util, "find_spec", find)
            check(tmp_path / f"film{suffix}", {})
        words = f"writing {suffix} needs {module}; to install it: {sys.executable} -m pip install '"
        assert str(error.value).startswith(words)
        assert str(error.value).removeprefix(words).removesuffix("'") in EXTRAS[extra]
