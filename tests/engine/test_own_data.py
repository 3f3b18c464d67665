"""A recipe with a person's own table: JSON, link and Python carry it or say where it is."""

import gc
import json
import pickle

import numpy as np
import pytest

from pmdviz.data import files as data_files
from pmdviz.data.tables import held, hold
from pmdviz.engine.recipe import MAX_DATA, Recipe
from pmdviz.engine.session import Session
from pmdviz.experiments.race import RaceRecipe
from pmdviz.experiments.workers import results
from pmdviz.targets import LARGE_TABLES, large_targets, small_targets
from tests.support.engine import digest, drive
from tests.support.tables import refused


def recipe_of(n, seed=0, **parts):
    rows = np.round(np.random.default_rng(seed).normal(170, 10, (n, 1)) / 10, 3)
    table = hold(f"heights {seed}.csv", ["height"], rows)
    return Recipe("mixture", target_options={"data": table.pin}, budget=200, num_particles=50, **parts)


def forgotten(pin):
    small_targets.cache_clear()
    large_targets.cache_clear()
    gc.collect()
    return held(pin) is None


def last_frame(recipe):
    session = Session(recipe)
    drive(session)
    return digest(session)


@pytest.mark.ci
def test_the_json_of_a_recipe_carries_its_table():
    recipe = recipe_of(3000, seed=1)
    text, pin, expected = recipe.to_json(), recipe.target_options["data"], last_frame(recipe)
    assert [*json.loads(text)["data"]] == [pin] and recipe.target_options["num_data"] == 3000
    del recipe
    assert forgotten(pin)
    again = Recipe.from_json(text)
    assert again.to_json() == text and again.tables[0].pin == pin and last_frame(again) == expected
    plain = json.loads(text)
    plain["data"][pin] = plain["data"][pin].replace("17", "18", 1)
    refused("digits do not fit", Recipe.from_dict, plain)


def test_a_link_carries_a_small_table_and_a_sentence_says_where_a_large_one_is(monkeypatch):
    small, large = recipe_of(60, seed=2), recipe_of(3000, seed=3)
    links, pins = [one.to_link() for one in (small, large)], [one.target_options["data"] for one in (small, large)]
    assert len(small.tables[0].text) < MAX_DATA < len(large.tables[0].text)
    assert all(len(link) < 2000 for link in links)
    del small, large
    assert all(forgotten(pin) for pin in pins)
    assert Recipe.from_link(links[0]).make_target().num_data == 60
    refused(r"'heights 3.csv' cannot be read: No such file", Recipe.from_link, links[1])
    monkeypatch.setattr(data_files, "_forbidden", True)
    refused(r"'heights 3.csv' are not here: a link holds data up to 2 kB; .* JSON", Recipe.from_link, links[1])
    refused("a served page cannot read files", Recipe, "mixture", target_options={"data": "/etc/x.csv"})


def test_the_python_of_a_recipe_reads_the_table_beside_it(tmp_path, monkeypatch):
    recipe = recipe_of(60, seed=4, changes=[(1, {"bandwidth": 0.3})])
    code, text, pin = recipe.to_python(), recipe.tables[0].text, recipe.target_options["data"]
    expected = recipe.to_json()
    assert "heights 4.csv" in code and "num_data" not in code  # which follows the table
    del recipe
    assert forgotten(pin)
    monkeypatch.chdir(tmp_path)
    refused("cannot be read", exec, code, {})
    (tmp_path / "heights 4.csv").write_text(text.replace("\n", "\r\n"))  # however it is written
    names = {}
    exec(code, names)
    assert {**json.loads(names["recipe"].to_json()), "data": 0} == {**json.loads(expected), "data": 0}
    assert np.array_equal(names["run"].target.data, [float(line) for line in text.split()[1:]])
    (tmp_path / "heights 4.csv").write_text(text + "99\n")
    refused("has changed since the recipe was made", data_files._pin, *data_files._split(pin))
    changes = [(k, {"bandwidth": 0.1 + k / 100}) for k in range(1, 40)]  # too many for lines
    assert "from_link" in recipe_of(60, seed=5, changes=changes).to_python()
    assert "from_json" in recipe_of(3000, seed=5, changes=changes).to_python()


def test_of_large_tables_few_are_kept_when_nobody_uses_them():
    large_targets.cache_clear()
    pins = []
    for k in range(6):
        table = hold(f"large {k}.csv", ["a"], np.arange(LARGE_TABLES // 8 + 1.0)[:, None] + k)
        assert Recipe("mixture", target_options={"data": table.pin}).make_target().num_data > 60_000
        pins.append(table.pin)
        del table
    gc.collect()
    assert [held(pin) is None for pin in pins] == [True, True, False, False, False, False]
    large_targets.cache_clear()


@pytest.mark.ci
def test_worker_processes_are_given_the_table():
    recipe = recipe_of(60, seed=7)
    pin, rows = recipe.target_options["data"], recipe.tables[0].rows

    def rows_named(piece):  # sent as it is
        return data_files.content_of([*(piece.values() if isinstance(piece, dict) else piece)][-1]).rows

    named = [{"data": pin}, [pin], (recipe.tables[0].name, pin)]
    assert all(np.array_equal(found, rows) for _, found, _ in results(rows_named, named, 2, lambda: None))
    sent = pickle.dumps(recipe)
    del recipe
    assert forgotten(pin) and pickle.loads(sent).make_target().num_data == 60


@pytest.mark.parametrize("n", [40, 4000])  # the second is too large for a link
def test_a_scaled_table_has_its_units_in_json_in_links_and_in_python(n, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    units = ((170.0, 9.25),)
    table = hold(f"scaled {n}.csv", ["height"], np.linspace(-1.7, 1.7, n).round(5)[:, None], units=units)
    pin, options, names = table.pin, {"data": table.pin}, {}
    recipe = Recipe("mixture", target_options=options, budget=8, num_particles=20)
    race = RaceRecipe.checked(["pmd"], "mixture", options, 400)
    texts, link, codes = (recipe.to_json(), race.to_json()), recipe.to_link(), (recipe.to_python(), race.to_python())
    race_link = race.to_link() if n == 40 else None
    for name, text in zip(("recipe", "race"), texts, strict=True):
        (tmp_path / f"{name}.json").write_text(text, encoding="utf-8")
    del table, recipe, race
    assert forgotten(pin)
    assert Recipe.from_json(texts[0]).tables[0].units == units and Recipe.from_json(texts[0]).to_json() == texts[0]
    assert RaceRecipe.from_json(texts[1]).target.tables[0].units == units
    if n == 40:
        assert forgotten(pin) and Recipe.from_link(link).tables[0].units == units
        assert forgotten(pin) and RaceRecipe.from_link(race_link).target.tables[0].units == units
    for code in codes:
        exec(code, names)
    assert names["run"].target.tables[0].units == units and names["race"] is not None
