"""Targets that a server offers: loaded by name in every process, in menus, links and recipes."""

import os
import sys

import numpy as np
import pytest

import pmdviz
from pmdviz.cli.main import main
from pmdviz.engine.recipe import Recipe
from pmdviz.errors import InputError
from pmdviz.experiments.race import RaceRecipe
from pmdviz.lab.links import read
from pmdviz.serve import server
from pmdviz.targets import get_target, offered
from tests.support.tables import looped

MODULE = """
import numpy as np
import pmdviz

ROWS = np.random.default_rng(0).normal(1.5, 0.5, 30)


def heights(name="heights"):
    return pmdviz.custom_target(
        name=name,
        dim=1,
        data=ROWS,
        log_prior=lambda theta: -0.5 * theta[:, 0] ** 2 - 0.5 * np.log(2 * np.pi),
        log_likelihood=lambda theta, rows: -2 * ((rows - theta) ** 2).sum(axis=1),
        sample_prior=lambda rng, m: rng.standard_normal((m, 1)),
    )


def broken():
    raise RuntimeError("no file\\nof heights")


target = heights()
again = heights()
USED = pmdviz.run(method="pmd", target="gaussian", num_particles=20, budget=40)  # asks for targets as it is imported
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A module of one's own in the current folder; gone from the process afterwards."""
    (tmp_path / "own_models.py").write_text(MODULE)
    (tmp_path / "leaves.py").write_text("import sys\nsys.exit('enough')\n")
    (tmp_path / "wrong.py").write_text("def f(:\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv(offered.VARIABLE, "")
    monkeypatch.setattr(offered, "_loaded", ("", {}))
    yield "own_models:target"
    for name in ("own_models", "leaves", "wrong"):
        sys.modules.pop(name, None)


@pytest.fixture
def heights(place):
    """The target, offered."""
    offered.offer([place])
    return offered.offered()["heights"]


def test_it_is_loaded_by_its_place_once_and_found_by_its_name(heights):
    assert os.environ[offered.VARIABLE] == "own_models:target"
    assert get_target("heights", {}) is heights is offered.offered()["heights"]
    assert "heights" in offered.titles() and offered.names() == {"heights": "heights"}
    assert pmdviz.run(target="heights", num_particles=50, budget=600).final.metrics["tv"] < 0.5
    with pytest.raises(InputError, match="target_options go with the name of a built-in target"):
        Recipe("heights", target_options={"dim": 2})


def test_it_is_had_by_the_environment(place, monkeypatch):
    monkeypatch.setenv(offered.VARIABLE, "own_models:heights")
    text = Recipe("heights").to_json()
    assert Recipe.from_json(text).custom is offered.offered()["heights"]


def test_a_link_and_a_file_open_where_it_is_offered_and_say_elsewhere_what_is_missing(heights, monkeypatch):
    recipe = Recipe("heights", num_particles=50)
    assert Recipe.from_link(recipe.to_link()) == recipe and Recipe.from_link(recipe.to_link()).custom is heights
    assert Recipe.from_json(recipe.to_json()) == recipe and len(recipe.to_link()) < 700
    race = RaceRecipe.checked("pmd,smc", "heights")
    assert RaceRecipe.from_link(race.to_link()) == race and RaceRecipe.from_json(race.to_json()).target is heights
    text, race_text = recipe.to_link(), race.to_link()
    monkeypatch.setenv(offered.VARIABLE, "")
    for opened in ({"run": [text]}, {"race": [race_text]}):
        with pytest.raises(InputError) as error:
            read(opened)
        assert error.value.on_page.startswith("this run needs the model 'heights', which is not offered here")
    for shared in (recipe, race):
        with pytest.raises(InputError, match="a link cannot hold your own target 'heights'"):
            shared.to_link()


def test_another_target_of_that_name_is_not_taken_for_it_nor_a_link_to_one(heights, monkeypatch):
    other = sys.modules["own_models"].heights()
    assert offered.choice_of(heights) == "heights" and offered.choice_of(other) is other
    with pytest.raises(InputError, match="a link cannot hold your own target 'heights'"):
        Recipe(other).to_link()
    text = Recipe("heights").to_link()
    sys.modules["own_models"].ROWS = np.arange(5.0)
    monkeypatch.setenv(offered.VARIABLE, "own_models:heights")
    with pytest.raises(InputError, match=r"'heights' does not match the recipe \(.*data_hash"):
        Recipe.from_link(text)


@looped(
    "given, words",
    [
        ("own_models", "--target must be MODULE:OBJECT, such as my_models:heights; given: 'own_models'"),
        ("../own_models:target", "--target must be MODULE:OBJECT"),
        ("own_models:target()", "--target must be MODULE:OBJECT"),
        ("nowhere:target", "--target nowhere:target cannot be loaded: ModuleNotFoundError: No module named 'nowhere'"),
        ("own_models:nothing", "cannot be loaded: AttributeError: module 'own_models' has no attribute 'nothing'"),
        ("own_models:broken", "cannot be loaded: RuntimeError: no file of heights"),
        ("own_models:ROWS", "own_models:ROWS must be made with pmdviz.custom_target, or be a function that gives one"),
        ("own_models:target.sample_prior", "cannot be loaded: TypeError"),
        ("own_models:target own_models:again", "two targets have the name 'heights'"),
        ("leaves:x", "cannot be loaded: SystemExit: enough"),
        ("wrong:f", "cannot be loaded: SyntaxError"),
    ],
)
def test_what_cannot_be_offered_ends_the_start_with_one_sentence(place, given, words, monkeypatch, capsys):
    monkeypatch.setattr(server, "chosen_port", lambda *asked: pytest.fail("it went on"))
    assert main(["serve", *(word for one in given.split() for word in ("--target", one))]) == 2
    said = capsys.readouterr().err
    assert said.startswith("pmdviz: ") and words in said and said.count("\n") == 1
