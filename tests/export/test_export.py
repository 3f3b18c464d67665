"""Files of a run: kinds, refusals, full disks, cancelling; and tables, Python and recipes that repeat it."""

import csv
import errno
import importlib.util
import os
import shutil
import sys
import tomllib
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest

import pmdviz
from pmdviz.data.cells import read_cells
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.errors import InputError
from pmdviz.export import WRITERS, check
from pmdviz.export.films import UNITS
from pmdviz.export.options import Look
from pmdviz.export.writers import table_csv
from pmdviz.lab.loop.runner import Runner
from tests.export.conftest import KINDS
from tests.support.tables import looped, refused

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = PROJECT["optional-dependencies"]
SMALL = {"size": "160x160", "frames": 3}


def small(suffix):
    given = {"width": 160, "height": 160, "frames": 3}
    return {name: value for name, value in given.items() if name in WRITERS[suffix].options}


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


def test_a_folder_or_a_disk_without_room_is_said_before_the_work_and_later_leaves_no_file(tmp_path, monkeypatch, run):
    with monkeypatch.context() as patch:
        patch.setattr(os, "access", lambda path, mode: mode != os.W_OK)  # root may write anywhere
        refused("may not write to", check, tmp_path / "film.gif", {})
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(10**9, 10**9 - 20_500_000, 20_500_000))
    words = "up to 13.0 MB may be needed, and 20.5 MB are free, 20.0 MB of which are to"
    refused(words, run.export, tmp_path / "film.gif", progress=lambda *share: pytest.fail("it began"))
    run.export(tmp_path / "small.gif", **SMALL).unlink()

    def full(*parts):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("pmdviz.export.writers._indexed", full)
    old = tmp_path / "film.gif"
    old.write_bytes(b"the old film")
    refused(r"cannot write '.*film.gif': the disk is full", run.export, old, **SMALL)
    assert old.read_bytes() == b"the old film" and [*tmp_path.iterdir()] == [old]


Usage = namedtuple("Usage", "total used free")


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


def read(path):
    units, *rows = path.read_text(encoding="utf-8").splitlines()
    names, *values = csv.reader(rows)
    table = np.array([[float(cell) if cell else np.nan for cell in row] for row in values])
    return units, dict(zip(names, table.T, strict=True))


def test_history_and_particles_are_all_of_them_to_the_last_bit(run, tmp_path):
    units, columns = read(run.export(tmp_path / "history.csv"))
    assert columns.keys() == run.history.keys()
    for name, column in columns.items():
        np.testing.assert_array_equal(column, run.history[name])
    assert "tv: 0 to 1" in units and units.startswith("# ")
    path = run.export(tmp_path / "particles.csv", table="particles")
    units, columns = read(path)
    again = read_cells(path.read_bytes())  # what is exported can be brought as a table
    assert again.names == (*columns,) and np.array_equal(again.columns[0].numbers, run.particles[:, 0])
    assert [*columns] == ["theta1", "theta2", "weight", "log_density"]
    np.testing.assert_array_equal(np.stack([columns["theta1"], columns["theta2"]], axis=1), run.particles)
    np.testing.assert_array_equal(columns["weight"], run.weights)
    np.testing.assert_allclose(columns["log_density"], run.log_density(run.particles))
    assert "log_density: nats" in units
    spins = pmdviz.run(target="ising", method="gibbs", budget=20, budget_unit="evaluations", floor=False)
    columns = read(spins.export(tmp_path / "spins.csv", table="particles"))[1]
    assert [*columns][0] == "theta1" and [*columns][-1] == "weight"
    assert table_csv({"tv": np.array([0.5, np.nan, np.inf]), "n": np.array([1, 2, 3])}).splitlines()[1:] == [
        "tv,n", "0.5,1", ",2", "inf,3",
    ]  # fmt: skip


@pytest.mark.ci
@looped("table", ["history", "particles"])
def test_parquet_holds_the_same_numbers_and_their_units(run, tmp_path, table):
    parquet = pytest.importorskip("pyarrow.parquet")
    found = parquet.read_table(run.export(tmp_path / "table.parquet", table=table))
    same = read(run.export(tmp_path / "table.csv", table=table))[1]
    assert found.column_names == [*same]
    for name in same:
        np.testing.assert_array_equal(found.column(name).to_numpy(), same[name])
        assert found.schema.field(name).metadata[b"unit"].decode() == UNITS.get(name, "")


FEW = {"target_options": {"num_data": 200}, "seed": 5}


def stopped(at):
    """An endless session with knob changes at 30 and 46, stopped at `at`."""
    session = Session(Recipe(**FEW, num_particles=150, batch_size=20, budget=None))
    session.advance(30)
    session.set(eta=1.5)
    session.advance(at - 30)
    if at >= 46:
        session.set(batch_size=10)
    return session


def executed(text):
    space = {}
    exec(text, space)  # noqa: S102 - our own lines are what is tested
    return space["run"]


def assert_same(run, session):
    """Particles, weights and history of a run are those of the session as it stands, bit for bit."""
    seen = session.run
    assert run.final.iteration == session.frame.iteration and run.final.visited == session.frame.visited
    assert run.particles.tobytes() == seen.particles.tobytes() and run.weights.tobytes() == seen.weights.tobytes()
    for name in set(seen.history) - {"seconds"}:
        assert run.history[name].tobytes() == seen.history[name].tobytes(), name


def test_a_finished_run_keeps_its_budget_and_the_last_row_is_the_frame_that_is_seen():
    run = pmdviz.run(method="gibbs", budget=500, floor=False, **FEW)
    assert run.final.visited == 600 and run.to_recipe() == run.recipe
    session = stopped(43)
    own, run = session.history.columns["iteration"].tolist(), session.run
    assert run.history["iteration"].tolist() == [*own, 43] and run.history["tv"][-1] == run.final.metrics["tv"]
    assert session.history.columns["iteration"].tolist() == own
    runner = Runner(stopped(46).recipe)
    runner.advance(3)
    snapshot = runner.snapshot()
    assert_same(executed(snapshot.run.to_python()), runner.session)
    assert np.array_equal(snapshot.history["tv"], runner.session.run.history["tv"])


@looped("back", [0, 30])
def test_after_going_back_the_later_changes_are_in_no_export_but_the_whole(back, tmp_path):
    session = stopped(46)
    session.seek(back)
    run = session.run
    assert_same(executed(run.export(tmp_path / "seen.py").read_text()), session)
    seen = Recipe.from_json(run.export(tmp_path / "seen.json").read_text())
    assert [at for at, _ in seen.changes] == [at for at in (30, 46) if at <= back]
    whole = Recipe.from_json(run.export(tmp_path / "whole.json", whole=True).read_text())
    assert whole == run.recipe == session.recipe and [at for at, _ in whole.changes] == [30, 46]
    assert run.export(tmp_path / "whole.py", whole=True).read_text() == run.recipe.to_python()
