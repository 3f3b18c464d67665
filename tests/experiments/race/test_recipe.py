"""A race's recipe: what comes out runs the same race again."""

import json

import numpy as np
import pytest

import pmdviz
from pmdviz.errors import InputError
from pmdviz.experiments.race import RaceRecipe, race

FEW = {"target_options": {"num_data": 200, "sigma_x": 1.5}, "budget": 400}
METHODS = ["pmd:num_particles=60"] * 2 + [("sgld", {"batch_size": np.int64(40)}), "smc:num_particles=9"]


@pytest.fixture(scope="module")
def result():
    return race(METHODS, seeds=[3, 1], points=2, **FEW)


def plain(result):
    return [{name: value for name, value in row.items() if name != "seconds"} for row in result.rows]


def test_json_goes_there_and_back_and_runs_the_same_race(result):
    text = result.recipe.to_json()
    again = RaceRecipe.from_json(text)
    assert again == result.recipe and again.to_json() == text and hash(again) == hash(result.recipe)
    assert json.loads(text)["methods"][2] == "sgld:batch_size=40"
    assert plain(race(again)) == plain(result)
    assert [one.label for one in again.entrants][1] == "pmd:num_particles=60 #2"
    assert again != RaceRecipe.from_dict({**json.loads(text), "budget": 401})


def test_python_runs_the_same_race(result):
    text = result.to_python()
    assert len(text.splitlines()) <= 15
    scope: dict = {}
    exec(text, scope)
    assert plain(scope["race"]) == plain(result)
    assert scope["race"].recipe == result.recipe


def test_a_long_race_comes_from_its_file(tmp_path, monkeypatch):
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


def dose(dim=1):
    return pmdviz.custom_target(
        log_prior=lambda theta: -0.5 * (theta**2).sum(axis=1),
        log_likelihood=lambda theta, batch: -0.5 * ((theta[:, :1] - batch[:, 0]) ** 2).sum(axis=1),
        sample_prior=lambda rng, m: rng.standard_normal((m, dim)),
        data=np.linspace(0, 1, 40)[:, None], dim=dim, name="dose",
    )  # fmt: skip


def test_your_own_target_is_named_and_checked():
    mine = dose()
    recipe = race(["pmd:num_particles=20"], mine, budget=80).recipe
    text = recipe.to_json()
    assert RaceRecipe.from_json(text, targets={"dose": mine}) == recipe
    with pytest.raises(InputError, match="needs the custom target 'dose'"):
        RaceRecipe.from_json(text)
    scope = {"dose": mine}
    exec(recipe.to_python(), scope)
    assert scope["race"].target is mine


def test_what_cannot_be_used_is_said():
    for text, words in [
        ("[]", "a race is an object with the keys pmdviz_race"),
        ("{", "not a recipe in JSON"),
        ('{"methods": ["pmd"]}', "a race needs budget"),
        ('{"method": "pmd"}', "unknown key of a race: 'method'; did you mean 'methods'?"),
        ('{"pmdviz_race": 4, "methods": ["pmd"], "budget": 5}', "format 3 and before; given: format 4"),
        ('{"methods": ["pmdd"], "budget": 5}', "did you mean 'pmd'?"),
        ('{"methods": 3, "budget": 5}', "methods must be a list of entrants"),
        ('{"methods": ["pmd"], "budget": null}', "budget must be a whole number"),
        ('{"methods": ["pmd"], "budget": 5, "target_options": 3}', "target_options must be an object"),
    ]:
        with pytest.raises(InputError) as error:
            RaceRecipe.from_json(text)
        assert words in str(error.value) and "\n" not in str(error.value)


def test_a_recipe_says_all_of_a_race(result):
    with pytest.raises(InputError, match="already says all of the race"):
        race(result.recipe, budget=900)
