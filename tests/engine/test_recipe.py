"""A recipe has one canonical form, comes back from it, refuses all else, and carries a person's own table."""

import ast
import contextlib
import gc
import json
import math
import pickle
import string

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pmdviz
from pmdviz.data import files as data_files
from pmdviz.data.tables import held, hold
from pmdviz.engine.recipe import FORMAT, KEYS, MAX_CHANGES, MAX_DATA, Recipe
from pmdviz.engine.session import Session
from pmdviz.errors import InputError
from pmdviz.experiments.race import RaceRecipe
from pmdviz.experiments.workers import results
from pmdviz.targets import LARGE_TABLES, large_targets, small_targets
from tests.support.engine import changes_of, columns, drive, recipes
from tests.support.tables import looped, refused

SMALL = {"target": "gaussian", "num_particles": 20, "budget": 100}
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


QUICK = ("bimodal1d", "gaussian", "gmm", "ising", "linear", "mixture")  # made in an instant


@st.composite
def recipes_with_changes(draw, targets=QUICK):
    recipe = draw(recipes(targets))
    for at in sorted(draw(st.lists(st.integers(1, 30), max_size=5))):
        with contextlib.suppress(InputError):
            recipe = recipe.replaced(changes=[*recipe.changes, (at, draw(changes_of(recipe)))])
    return recipe


@given(recipes_with_changes())
def test_a_recipe_comes_back_from_its_json_its_link_and_its_python_in_few_lines(recipe):
    text = recipe.to_json()
    again = Recipe.from_json(text)
    assert again == recipe and hash(again) == hash(recipe) and again.to_json() == text
    assert Recipe.from_json(recipe.to_json(indent=2).encode()) == recipe
    link = recipe.to_link()
    assert Recipe.from_link(link) == recipe and Recipe.from_link(link).to_link() == link
    assert {*link} <= {*string.ascii_letters, *string.digits, *"-_."}
    there = {"budget_unit": recipe.budget_unit != "data", "data": bool(recipe.tables)}
    assert [*json.loads(text, parse_constant=pytest.fail)] == [key for key in KEYS if there.get(key, True)]
    assert again.knobs_at(10**9).as_dict() == recipe.knobs_at(10**9).as_dict()
    code = recipe.to_python()
    assert code.count("\n") <= 15
    constants = [node.value for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Constant)]
    assert max(len(str(value)) for value in constants) <= 200
    names = {}
    exec(code.replace("pmdviz.run(recipe)", "None"), names)
    assert names["recipe"] == recipe


def test_its_python_names_an_option_that_its_data_would_have_set_otherwise():
    recipe = Recipe("regression_net", target_options={"data": "breast_cancer", "response": "real"}, method="importance")
    assert "'response': 'real'" in recipe.to_python()
    assert "response" not in recipe.replaced(target_options={"data": "breast_cancer"}).to_python()


@looped("method, changes", [("pmd", [(2, {"eta": 1.0}), (4, {"num_particles": 12})]), ("sgld", [(3, {"thinning": 2})])])
def test_its_python_gives_the_same_bytes_with_changes_on_the_way(method, changes):
    knobs = {"num_particles": 20} if method == "pmd" else {"burn_in": 2}
    session, names = Session(Recipe("gaussian", method, budget=80, seed=3, changes=changes, **knobs)), {}
    drive(session)
    exec(session.recipe.to_python().replace("pmdviz.run(recipe)", "pmdviz.run(recipe, floor=False)"), names)
    assert names["run"].particles.tobytes() == session.frame.particles.tobytes()
    assert names["run"].weights.tobytes() == session.frame.weights.tobytes()
    assert columns(names["run"].history) == columns(session.history)


def test_the_batch_fits_the_data_by_itself_but_never_against_what_was_given():
    seven = {"target": "gaussian", "target_options": {"num_data": 7}}
    assert Recipe(**seven).knobs["batch_size"] == 7
    assert Recipe("mixture", target_options={"num_data": 1}).knobs["batch_size"] == 1
    for given_parts in ({"batch_size": 8}, {"changes": [(3, {"batch_size": 8})]}):
        refused("batch_size .* at most 7 .* got 8", Recipe, **seven, **given_parts)


def test_a_part_is_a_part_of_what_decides_but_for_the_versions():
    assert Recipe.from_json('{"target": "gaussian", "knobs": {"eta": 3}}') == Recipe("gaussian", eta=3) != Recipe()
    usual = Recipe(**SMALL)
    others = [{"target": "bimodal1d"}, {"seed": 1}, {"budget": 101}, {"budget": None}, {"eta": 1}]
    others += [{"target_options": {"data_seed": 1}}, {"changes": [(1, {"eta": 1})]}, {"budget_unit": "evaluations"}]
    assert len({usual, *(Recipe(**{**SMALL, **other}) for other in others)}) == len(others) + 1
    assert usual != usual.to_json()
    old = Recipe.from_json('{"made_with": {"numpy": "1.0"}}')
    assert json.loads(old.to_json())["made_with"] == {"numpy": "1.0"}
    assert old == Recipe() and hash(old) == hash(Recipe())
    assert Recipe().made_with["pmdviz"] == pmdviz.__version__


def test_replaced_changes_the_parts_named_and_changes_are_sorted_joined_and_cleared():
    recipe = Recipe(**SMALL, eta=1, changes=[(3, {"eta": 2})])
    other = recipe.replaced(seed=4, knobs={"kappa": 0.5})
    assert (other.seed, other.knobs["kappa"], other.knobs["eta"], other.changes) == (4, 0.5, 1, recipe.changes)
    recipe = Recipe("mixture", target_options={"num_data": 50})
    for changes, kept in [({"seed": 4}, True), ({"target": "mixture"}, True), ({"target": "banana"}, False)]:
        assert (recipe.replaced(**changes).target_options["num_data"] == 50) is kept, changes
    nothing = [(6, {"kappa": 0.5}), (7, {"n0": 20})]
    recipe = Recipe(changes=[(9, {"eta": 3}), (4, {"kappa": 0.5}), (9, {"eta": 1}), *nothing])
    assert recipe.changes == ((4, {"kappa": 0.5}), (9, {"eta": 1.0}))
    recipe = Recipe(eta=1, changes=[(4, {"eta": 2}), (9, {"eta": 3})])
    assert [recipe.knobs_at(at).eta for at in (0, 3, 4, 8, 9, 100)] == [1, 1, 2, 2, 3, 3]


def test_what_is_not_a_change_is_refused():
    for at in (0, -1, 1.5, "x", None, True, math.nan):
        refused("iteration", Recipe, changes=[(at, {"eta": 1})])
    for changes in (5, None, "ab", [5], [(1,)], [(1, 2, 3)], [(1, [])], [(1, {2: 3})], {"ab": 1}):
        refused("change", Recipe, changes=changes)
    later = (5, {"batches": "replacement"})
    refused("warm_start", Recipe, warm_start=True, changes=[later])  # against the knobs in force then
    Recipe(warm_start=True, changes=[(4, {"warm_start": False}), later])
    many = [(k + 1, {"eta": 1}) for k in range(MAX_CHANGES + 1)]
    refused(f"{MAX_CHANGES:,} changes here; got {MAX_CHANGES + 1:,}", Recipe, changes=many)


def test_a_part_that_cannot_be_used_is_named():
    for given_parts, words in [
        ({"target": "mixtrue"}, "unknown target 'mixtrue'; did you mean 'mixture'?"),
        ({"target": 5}, "target must be a name or a target; got 5"),
        ({"method": "pmdd"}, "unknown method 'pmdd'; did you mean 'pmd'?"),
        ({"method": None}, "unknown method None"),
        ({"target_options": {"sigmax": 1}}, "unknown option of target 'mixture': 'sigmax'; did you mean 'sigma_x'?"),
        ({"target_options": [1]}, "target_options must be an object"),
        ({"self": 5}, "unknown knob of method 'pmd': 'self'"),
        ({"target_options": {"name": 5}}, "unknown option of target 'mixture': 'name'"),
        ({"target_options": {"self": 5}}, "unknown option of target 'mixture': 'self'"),
        ({"budget": 0}, "budget must be a whole number at least 1"),
        ({"seed": -1}, "seed must be a whole number at least 0"),
        ({"seed": 2**53}, "at most 9,007,199,254,740,991; got 9007199254740992"),
        ({"made_with": 3}, "made_with must be an object of names and values; got 3"),
        ({"made_with": {"numpy": {2}}}, "made_with must give versions as texts, as in {'numpy': '2.0'}; got "),
        ({"warm_start": True, "batches": "replacement"}, "warm_start = true needs batches = 'epochs'"),
    ]:
        refused(words, Recipe, **given_parts)
    for given_parts, words in [
        ({"knobs": 3}, "knobs must be an object of names and values; got 3"),
        ({"knobs": {"seed": 3}}, "unknown knob of method 'pmd': 'seed'"),
        ({"eta": 3}, "unknown part of a recipe 'eta'"),
        ({"method": 3}, "unknown method 3"),
    ]:
        refused(words, Recipe(**SMALL).replaced, **given_parts)
    for raw in ("1_0", "\u0661\u0662", "\uff11", "1_000.0"):  # only plain digits are numbers
        for values in ({"seed": raw}, {"num_particles": raw}, {"eta": raw}):
            refused("must be a", Recipe, **values)
    with pytest.raises(AttributeError):
        Recipe().seed = 3


def test_what_is_not_a_recipe_is_refused_in_a_line():
    for text in (
        *("", "{", "[]", "null", "3", '"x"', "{'a': 1}", "[" * 100_000, "9" * 5000, "{}{}", b"\xff\xfe", "\ud800"),
        *('{"seed": NaN}', '{"seed": Infinity}', '{"method": []}', '{"target": {}}', '{"target": {"custom": 5}}'),
        *('{"knobs": []}', '{"knobs": {"self": 1}}', '{"knobs": {"target": "gaussian"}}', '{"made_with": []}'),
        *('{"changes": [[1, {"self": 2}]]}', '{"target_options": {"name": 1}}', '{"extra": 1}', None, 5),
    ):
        refused("", Recipe.from_json, text)
    for text, key in [
        ('{"seed": 1, "seed": 2}', "seed"),
        ('{"knobs": {"eta": 1, "kappa": 1, "eta": 1}}', "eta"),
        ('{"recipe": {"seed": 1}, "recipe": {}}', "recipe"),
    ]:
        refused(f"a recipe must give each key once; remove one of the two '{key}'", Recipe.from_json, text)
    text = Recipe(**SMALL).to_json()
    for encoding in ("utf-16", "utf-8", "utf-8-sig"):  # the first has its byte order mark
        assert Recipe.from_json(text.encode(encoding)) == Recipe(**SMALL), encoding
    for encoding in ("utf-16-le", "utf-32", "utf-32-be"):
        refused("not a recipe in JSON", Recipe.from_json, text.encode(encoding))
    for version in (0, FORMAT - 1, FORMAT + 1, "4", None, [], {}, True, 4.0):
        words = f"reads recipes of format {FORMAT}; this one has format .*: make it"
        refused(words, Recipe.from_json, json.dumps({"pmdviz_recipe": version}))


def taken_or_refused(text):
    try:
        return Recipe.from_json(text)
    except InputError as error:
        assert "\n" not in str(error)


@given(st.data())
def test_a_recipe_with_a_part_of_rubbish_is_taken_or_refused_never_worse(data):
    plain = Recipe(**SMALL, changes=[(3, {"eta": 1.0})]).to_dict()
    text, place = json.dumps(plain), data.draw(st.integers(0, 300))
    key = data.draw(st.sampled_from(KEYS))
    if isinstance(plain.get(key), dict) and data.draw(st.booleans()):
        plain[key] = {**plain[key], data.draw(st.sampled_from([*plain[key], "x"])): data.draw(json_values)}
    else:
        plain[key] = data.draw(json_values)
    if (recipe := taken_or_refused(json.dumps(plain))) is not None:
        assert Recipe.from_json(recipe.to_json()) == recipe
        recipe.to_json().encode()
    for damaged in (text[:place], text[:place] + data.draw(st.text(max_size=3)) + text[place + 1 :]):
        taken_or_refused(damaged)


def recipe_of(n, seed=0, **parts):
    rows = np.round(np.random.default_rng(seed).normal(170, 10, (n, 1)) / 10, 3)
    table = hold(f"heights {seed}.csv", ["height"], rows)
    return Recipe("mixture", target_options={"data": table.pin}, budget=200, num_particles=50, **parts)


def forgotten(pin):
    small_targets.cache_clear()
    large_targets.cache_clear()
    gc.collect()
    return held(pin) is None


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
