import csv
import json

import numpy as np
import pytest

import pmdviz
from pmdviz.data.cells import read_cells
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.export.films import UNITS
from pmdviz.export.writers import table_csv
from pmdviz.lab.loop.runner import Runner
from tests.support.tables import looped


def read(path):
    """Units, and the columns of numbers."""
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


def test_recipe_and_python_repeat_the_run(run, tmp_path):
    text = run.export(tmp_path / "recipe.json").read_text(encoding="utf-8")
    again = pmdviz.run(pmdviz.Recipe.from_json(text), floor=False)
    assert json.loads(text)["changes"] == [[5, {"bandwidth": 1.2}]]
    assert again.particles.tobytes() == run.particles.tobytes() and again.weights.tobytes() == run.weights.tobytes()
    again = executed(run.export(tmp_path / "run.py").read_text(encoding="utf-8"))
    assert again.particles.tobytes() == run.particles.tobytes()
    assert again.history["tv"].tobytes() == run.history["tv"].tobytes()


SMALL = {"target_options": {"num_data": 200}, "seed": 5}


def stopped(at):
    """An endless session with knob changes at 30 and 46, stopped at `at`."""
    session = Session(Recipe(**SMALL, num_particles=150, batch_size=20, budget=None))
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
    run = pmdviz.run(method="gibbs", budget=500, floor=False, **SMALL)
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
