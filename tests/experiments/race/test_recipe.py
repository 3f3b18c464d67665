import json

import numpy as np
import pytest

import pmdviz
from pmdviz.engine.recipe import Recipe
from pmdviz.experiments.race import RaceRecipe, race
from pmdviz.experiments.race.recipe import compared, entrants, split
from pmdviz.methods import METHODS
from pmdviz.targets import make_target
from tests.support.own import own_target, plain
from tests.support.tables import refused

FEW = {"target_options": {"num_data": 200, "sigma_x": 1.5}, "budget": 400}
FOUR = ["pmd:num_particles=60"] * 2 + [("sgld", {"batch_size": np.int64(40)}), "smc:num_particles=9"]


@pytest.fixture(scope="module")
def result():
    return race(FOUR, seeds=[3, 1], points=2, **FEW)


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


def test_texts_and_pairs_say_the_same_and_labels_tell_what_differs():
    text, pair = entrants(["pmd:warm_start=true, bandwidth=0.5", ("pmd", {"warm_start": True, "bandwidth": 0.5})])
    one, other = (entrant.recipe(make_target("mixture"), 0, 100) for entrant in (text, pair))
    assert one == other and one.knobs["warm_start"] is True and one.knobs["bandwidth"] == 0.5
    several = "pmd,pmd:warm_start=true,bandwidth=0.5, smc"
    assert split(several) == ["pmd", "pmd:warm_start=true,bandwidth=0.5", "smc"]
    assert [one.method for one in entrants(several)] == ["pmd", "pmd", "smc"]
    found = entrants(["pmd", "smc:jitter=1.5", ("pmd", {"warm_start": True}), "pmd", "pmd"])
    assert [one.label for one in found] == ["pmd", "smc:jitter=1.5", "pmd:warm_start=true", "pmd #2", "pmd #3"]
    assert [one.label for one in entrants([found[3], "smc", found[0]])] == ["pmd", "smc", "pmd #2"]  # named anew


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


def test_what_differs_comes_first_in_both_titles_and_the_python_makes_the_same_race():
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
