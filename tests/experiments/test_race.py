"""Races: their recipes, rows, levels and histories, and what cannot race."""

import json

import numpy as np
import pytest

import pmdviz
from pmdviz.engine.recipe import Recipe
from pmdviz.errors import TargetError
from pmdviz.experiments.race import RaceRecipe, race
from pmdviz.experiments.race.recipe import compared, entrants, split
from pmdviz.kernels.pool import set_threads
from pmdviz.methods import METHODS
from pmdviz.methods.base import DEFAULT_BUDGET
from pmdviz.targets import make_target
from tests.support.own import own_target, plain
from tests.support.tables import refused

FEW = {"target_options": {"num_data": 200, "sigma_x": 1.5}, "budget": 400}


def test_rows_and_summary():
    names = ["pmd:num_particles=60", "smc:num_particles=60", "sgld"]
    result = race(names, seeds=3, **FEW)
    assert ["khat" in row for row in result.rows] == [True] * 6 + [False] * 3, "of weighted particles alone"
    assert [(row["method"], row["seed"]) for row in result.rows] == [(name, k) for name in names for k in range(3)]
    assert all(len(row["mode_masses"]) == 2 and 0 <= sum(row["mode_masses"]) <= 1 for row in result.rows)
    assert [entry["method"] for entry in result.summary] == names
    tv = [row["tv"] for row in result.rows[:3]]
    assert result.summary[0]["tv_mean"] == pytest.approx(np.mean(tv))
    assert result.summary[0]["tv_sd"] == pytest.approx(np.std(tv, ddof=1)) and result.summary[0]["runs"] == 3
    assert result.rows[3]["visited"] == 200 and result.rows[0]["visited"] == 400
    run = pmdviz.run(method="pmd", seed=1, num_particles=60, floor=False, **FEW)
    assert result.rows[1]["tv"] == run.final.metrics["tv"]
    assert result.rows[1]["density_evaluations"] == run.final.density_evaluations


def test_neither_threads_nor_other_entrants_change_a_row():
    alone = plain(race(["pmd:num_particles=600"], seeds=2, **FEW))
    try:
        set_threads(3)
        together = plain(race(["sgld", "pmd:num_particles=600"], seeds=2, **FEW))
    finally:
        set_threads(None)
    assert together[2:] == alone


@pytest.mark.ci
def test_runs_in_one_mode_are_counted_run_by_run():
    apart = {"data_seed": 3, "num_data": 400, "sigma_x": 1.5}
    result = race(["sgld", "pmd:num_particles=1500"], target_options=apart, budget=20_000, seeds=3)
    assert [entry["runs_in_one_mode"] for entry in result.summary] == [3, 0]


def test_histories_are_measured_as_often_as_asked_and_progress_rises_to_the_end():
    few = race(["pmd:num_particles=60"], seeds=1, **FEW)
    many = race(["pmd:num_particles=60"], seeds=1, points=2, **FEW)
    key = ("pmd:num_particles=60", 0)
    assert few.histories[key]["iteration"].tolist() == [0, 4]
    assert many.histories[key]["iteration"].tolist() == [0, 2, 4]
    assert plain(few) == plain(many)
    told = []
    race(["pmd:num_particles=60", "smc:num_particles=60"], seeds=2, progress=lambda *said: told.append(said), **FEW)
    shares = [share for share, _ in told]
    assert shares == sorted(shares) and shares[-1] == 1.0
    assert "PMD, particles m = 60, seed 0" in [words for _, words in told]


def test_your_own_target_races_too_and_above_two_dimensions_there_are_no_modes():
    result = pmdviz.race(["pmd:num_particles=100", "smc:num_particles=100"], own_target(), budget=80, seeds=2)
    assert len(result.rows) == 4 and all(row["mode_masses"][0] > 0.9 for row in result.rows)
    assert len(result.modes) == 1 and "2 entrants, 2 seeds on 'dose'" in repr(result)
    refused("entrant sgld: method 'sgld' needs a gradient", pmdviz.race, ["sgld"], own_target())
    result = race(["pmd:num_particles=50"], own_target(dim=3), budget=200)
    assert result.rows[0]["mode_masses"] is None and result.modes is None
    assert result.summary[0]["runs_in_one_mode"] is None and result.summary[0]["tv_sd"] is None


def test_what_cannot_be_used_is_said_before_anything_runs_and_a_failing_target_names_entrant_and_seed():
    for given, words in [
        ({"seeds": 0}, "seeds must be a whole number at least 1"),
        ({"seeds": [1, 1]}, "different ones"),
        ({"seeds": [-1]}, "a seed must be"),
        ({"seeds": "many"}, "seeds must be a number of seeds or a list"),
        ({"budget": None}, "budget must be"),
        ({"points": -1}, "points must be"),
        ({"clock": "time"}, "clock must be one of data, evaluations; got 'time'"),
    ]:
        refused(words, race, ["pmd"], progress=lambda *said: pytest.fail("it ran"), **given)

    def log_likelihood(theta, batch):
        return np.where(np.abs(theta[:, 0]) < 3.5, 0.0, np.nan) * len(batch)

    bad = own_target(name="edge", log_likelihood=log_likelihood, bounds=[(-3, 3)])
    with pytest.raises(TargetError, match=r"pmd:num_particles=20000, seed 0: log_likelihood of target 'edge' is nan"):
        race(["pmd:num_particles=20000"], bad, budget=50)


def test_in_the_plane_they_are_ranked_by_tv_and_without_data_they_race_by_evaluations():
    made = RaceRecipe.checked(["pmd:num_particles=60", "sgld"], "mixture", budget=200)
    assert [metric.name for metric in made.shown] == ["tv", "kl_forward"]
    assert "ess" not in [metric.name for metric in made.metrics], "sgld has no weights"
    made = pmdviz.race(["gibbs"], "ising", budget=2_000, points=3)
    assert [metric.name for metric in made.recipe.shown] == ["mean_error", "marginal_tv"]
    assert made.recipe.budget_unit == "evaluations" and "2,000 evaluations each" in repr(made)
    refused("entrant pmd: method 'pmd' needs real coordinates, which target 'ising'", race, ["gibbs", "pmd"], "ising")


def test_a_run_is_a_race_of_one_with_its_changes_and_seeds():
    recipe = Recipe("mixture", "pmd", seed=4, num_particles=50, changes=[(2, {"bandwidth": 2.0})], **FEW)
    (alone,) = race(recipe).rows
    final = pmdviz.run(recipe, floor=False).final
    assert (alone["method"], alone["seed"]) == ("pmd:num_particles=50@2:bandwidth=2.0", 4)
    assert alone["tv"] == final.metrics["tv"] and alone["visited"] == final.visited
    several = race(recipe, seeds=[4, 7], points=3)
    assert [row["seed"] for row in several.rows] == [4, 7] and several.rows[0]["tv"] == alone["tv"]
    both = RaceRecipe.checked([recipe, "smc"], "gaussian", budget=100)
    assert [one.method for one in both.entrants] == ["pmd", "smc"] and both.recipes[0].changes == recipe.changes
    refused("already says all of the race", race, recipe, budget=900)


def test_the_unit_is_written_where_it_is_not_data():
    plain, counted = (
        RaceRecipe.checked(FOUR, clock=clock, target_options=FEW["target_options"]) for clock in ("data", "evaluations")
    )
    assert "budget_unit" not in json.loads(plain.to_json()) and plain.budget == DEFAULT_BUDGET
    assert json.loads(counted.to_json())["budget_unit"] == "evaluations" and plain != counted
    assert counted.budget == 60 * DEFAULT_BUDGET, "of pmd's 60 particles"
    refused("already says all of the race", pmdviz.race, plain, clock="evaluations")


FOUR = ["pmd:num_particles=60", "sgld:batch_size=20", "gibbs", "svi"]


def test_a_race_by_evaluations_replays_bit_for_bit_and_stops_everybody_at_as_many():
    made = race(FOUR, budget=24_000, clock="evaluations", seeds=[4], points=3, target_options=FEW["target_options"])
    again = race(RaceRecipe.from_json(made.recipe.to_json()))
    assert plain(again) == plain(made)
    for key, history in made.histories.items():
        for name in set(history) - {"seconds"}:
            np.testing.assert_array_equal(history[name], again.histories[key][name])
    scope: dict = {}
    exec(made.to_python(), scope)
    assert scope["race"].recipe == made.recipe and plain(scope["race"]) == plain(made)
    spent = [row["density_evaluations"] + row["gradient_evaluations"] for row in made.rows]
    assert min(spent) >= 24_000 and spent[:2] == [24_000] * 2
    assert made.rows[0]["visited"] == 400 < made.rows[1]["visited"]


TWO_ALIKE = ["pmd:num_particles=60"] * 2 + [("sgld", {"batch_size": np.int64(40)}), "smc:num_particles=9"]


@pytest.fixture(scope="module")
def result():
    return race(TWO_ALIKE, seeds=[3, 1], points=2, **FEW)


def test_json_and_python_run_the_same_race(result):
    text = result.recipe.to_json()
    again = RaceRecipe.from_json(text)
    assert again == result.recipe and again.to_json() == text and hash(again) == hash(result.recipe)
    assert json.loads(text)["methods"][2] == "sgld:batch_size=40"
    assert plain(race(again)) == plain(result)
    assert [one.label for one in again.entrants][1] == "pmd:num_particles=60 #2"
    assert again != RaceRecipe.from_dict({**json.loads(text), "budget": 401})
    text = result.to_python()
    assert len(text.splitlines()) <= 15
    scope: dict = {}
    exec(text, scope)
    assert plain(scope["race"]) == plain(result)
    assert scope["race"].recipe == result.recipe
    refused("already says all of the race", race, result.recipe, budget=900)


def test_your_own_target_is_named_and_a_long_race_comes_from_its_file(tmp_path, monkeypatch):
    mine = own_target()
    recipe = race(["pmd:num_particles=20"], mine, budget=80).recipe
    text = recipe.to_json()
    assert RaceRecipe.from_json(text, targets={"dose": mine}) == recipe
    refused("needs the custom target 'dose'", RaceRecipe.from_json, text)
    scope = {"dose": mine}
    exec(recipe.to_python(), scope)
    assert scope["race"].target is mine
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pmdviz, "race", lambda *given, **more: given or more)
    usual = {"methods": ["pmd"], "target": "mixture", "target_options": None, "budget": 1, "seeds": 1}
    for parts in ({"methods": ["pmd"] * 100}, {"seeds": range(2, 99)}):
        recipe = RaceRecipe.checked(**{**usual, **parts})
        text = recipe.to_python()
        assert len(text.splitlines()) <= 15 and max(map(len, text.splitlines())) <= 200
        (tmp_path / "race.json").write_text(recipe.to_json(), encoding="utf-8")
        scope: dict = {}
        exec(text, scope)
        made = scope["race"]
        assert made == (recipe,) or RaceRecipe.checked(target_options=None, **made) == recipe


def test_what_cannot_race_is_one_sentence():
    for text, words in [
        ("[]", "a race is an object with the keys pmdviz_race"),
        ("{", "not a recipe in JSON"),
        ('{"methods": ["pmd"]}', "a race needs budget"),
        ('{"method": "pmd"}', "unknown key of a race: 'method'; did you mean 'methods'?"),
        ('{"pmdviz_race": 3, "methods": ["pmd"], "budget": 5}', "format 4; this one has format 3: make it again"),
        ('{"methods": ["pmd"], "budget": 5, "target_options": 3}', "target_options must be an object"),
    ]:
        refused(words, RaceRecipe.from_json, text)
    for given, words in [
        ([], "at least 1 and at most 100 methods; got 0"),
        (["pdm"], "unknown method 'pdm'; did you mean 'pmd'"),
        (["pmd:bandwidt=1"], "unknown knob of method 'pmd': 'bandwidt'; did you mean 'bandwidth'"),
        ("pmd,bandwidth=1", "after a colon"),
        (["pmd:bandwidth=1,bandwidth=2"], "bandwidth is given twice"),
        ([("pmd", 3)], "or a pair"),
        ([7], "or a pair"),
        (7, "methods must be a list"),
    ]:
        refused(words, entrants, given)
    words = "entrant gibbs: method 'gibbs' needs exact conditionals"
    refused(words, entrants(["gibbs"])[0].recipe, make_target("bimodal1d"), 0, 100)


def test_what_differs_comes_first_in_labels_and_titles():
    text, pair = entrants(["pmd:warm_start=true, bandwidth=0.5", ("pmd", {"warm_start": True, "bandwidth": 0.5})])
    one, other = (entrant.recipe(make_target("mixture"), 0, 100) for entrant in (text, pair))
    assert one == other and one.knobs["warm_start"] is True and one.knobs["bandwidth"] == 0.5
    several = "pmd,pmd:warm_start=true,bandwidth=0.5, smc"
    assert split(several) == ["pmd", "pmd:warm_start=true,bandwidth=0.5", "smc"]
    found = entrants(["pmd", "smc:jitter=1.5", ("pmd", {"warm_start": True}), "pmd", "pmd"])
    assert [one.label for one in found] == ["pmd", "smc:jitter=1.5", "pmd:warm_start=true", "pmd #2", "pmd #3"]
    assert [one.label for one in entrants([found[3], "smc", found[0]])] == ["pmd", "smc", "pmd #2"]  # named anew
    recipe = Recipe("mixture", "pmd", num_particles=500, seed=3)
    now = recipe.start_knobs()
    race = compared(recipe, now, "pmd", now.replaced(bandwidth=2))
    titles = [one.title for one in race.entrants]
    assert titles == ["PMD, bandwidth h = 1, particles m = 500", "PMD, bandwidth h = 2, particles m = 500"]
    recipe = Recipe("mixture", "pmd", budget=None)
    smc = METHODS["smc"]
    race = compared(recipe, recipe.start_knobs(), "smc", smc.fitted(smc.Knobs.defaults(), recipe.make_target()))
    assert [one.label for one in race.entrants] == ["pmd", "smc"] and race.budget is None
    race = compared(recipe.replaced(seed=5), now, "pmd", now.replaced(bandwidth=2))
    made: dict = {}
    exec(race.to_live_python(), made)
    assert made["race"].recipe == race and race.recipes[1].knobs["bandwidth"] == 2


def test_knobs_changed_on_the_way_are_part_of_an_entrant():
    text = "pmd:num_particles=60@3:bandwidth=0.5,eta=1@5:bandwidth=2"
    triple = ("pmd", {"num_particles": 60}, [(5, {"bandwidth": 2}), (3, {"bandwidth": 0.5, "eta": 1})])
    assert split(f"{text},smc") == [text, "smc"]
    one, other = entrants([text, triple])
    assert one.text == other.text == text and other.label == f"{text} #2"
    assert one.title.endswith("bandwidth h = 2 from iteration 5")
    made = race([text], seeds=[3], **FEW)
    alone = made.recipe.recipes[0]
    assert [at for at, _ in alone.changes] == [3, 5] and alone.knobs_at(5).bandwidth == 2
    assert pmdviz.run(alone, floor=False).final.metrics["tv"] == made.rows[0]["tv"]
    assert RaceRecipe.from_json(made.recipe.to_json()) == made.recipe
    for given in ("pmd@x:bandwidth=1", "pmd@0:bandwidth=1", "pmd@3", ("pmd", {}, 3), "pmd@3:width=1"):
        refused("", RaceRecipe.checked, [given])
