import csv
import json

import numpy as np
import pytest

import pmdviz
from pmdviz.export.tables import UNITS
from pmdviz.export.writers.csv import table_csv
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
    units, columns = read(run.export(tmp_path / "particles.csv", table="particles"))
    assert [*columns] == ["theta1", "theta2", "weight", "log_density"]
    np.testing.assert_array_equal(np.stack([columns["theta1"], columns["theta2"]], axis=1), run.particles)
    np.testing.assert_array_equal(columns["weight"], run.weights)
    np.testing.assert_allclose(columns["log_density"], run.log_density(run.particles))
    assert "log_density: nats" in units


def test_what_cannot_be_had_is_an_empty_cell_or_no_column(tmp_path):
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
    scope: dict = {}
    exec(run.export(tmp_path / "run.py").read_text(encoding="utf-8"), scope)
    assert scope["run"].particles.tobytes() == run.particles.tobytes()
    assert scope["run"].history["tv"].tobytes() == run.history["tv"].tobytes()
