"""Recipes of earlier formats mean what they meant, whatever the defaults of today are."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.recipe_parts import FORMAT, KNOBS, METHOD_KNOBS
from pmdviz.engine.session import Session
from pmdviz.experiments.race.recipe import RaceRecipe
from pmdviz.methods.pmd.knobs import PMDKnobs
from tests.support.tables import looped

FIRST = json.loads((Path(__file__).parents[1] / "fixtures" / "format_1.json").read_text())


def test_a_recipe_of_format_1_is_the_same_however_it_is_written():
    """With all knobs written out, as a link, and with those left out that had their defaults."""
    for run in FIRST["runs"]:
        written = (Recipe.from_dict(run["recipe"]), Recipe.from_dict(run["full"]), Recipe.from_link(run["link"]))
        assert len({*written}) == 1, run["recipe"]


@pytest.mark.nightly
def test_a_recipe_of_format_1_runs_as_it_did_to_rounding():
    for run in FIRST["runs"]:
        session = Session(Recipe.from_dict(run["recipe"]), metrics_every=10)
        frame = session.advance(10**6)
        assert (frame.iteration, frame.visited) == (run["iteration"], run["visited"]), run["recipe"]
        np.testing.assert_allclose(frame.density.mean, run["mean"], rtol=1e-6, atol=1e-9)


@looped("method, burn_in", [("gibbs", 50), ("sgld", 1000), ("hmc", 100), ("mala", 500)])
@looped("version", [1, 2])
def test_chains_of_earlier_formats_keep_their_burn_in(method, burn_in, version):
    """As a number of draws; of today's a share. Format 2 left the budget to the method, and it is what it was."""
    early = Recipe.from_dict({"pmdviz_recipe": version, "method": method})
    assert early.knobs["burn_in"] == burn_in and early.knobs.get("leapfrog_steps", 10) == 10
    rows = {"gibbs": 1000, "sgld": 10, "hmc": 6500, "mala": 2000}[method] * (burn_in + 400)
    assert early.budget == (20_000 if version == 1 else max(20_000, int(float(f"{rows:.1e}"))))
    today = Recipe.from_dict({"method": method})
    assert today == Recipe(method=method) and today.knobs["burn_in"] == 0.2
    assert Recipe.from_link(early.to_link()) == early != today
    given = Recipe.from_dict({"pmdviz_recipe": version, "method": method, "knobs": {"burn_in": 7}})
    assert given.knobs["burn_in"] == 7


@pytest.fixture
def other_defaults(monkeypatch):
    """As if the defaults had changed: those of PMD are other ones for as long as the test runs."""
    specs = PMDKnobs.specs()
    today = {"step_limit": 0.25, "bandwidth_rule": "shaped", "bandwidth": 1.0}
    monkeypatch.setattr(PMDKnobs, "_specs", {k: replace(s, default=today.get(k, s.default)) for k, s in specs.items()})


@looped("run", FIRST["runs"][:4])
def test_what_format_1_leaves_out_means_what_it_meant(run, other_defaults):
    knobs = run["recipe"].get("knobs", {})
    old = {"step_limit": 0.0, "bandwidth_rule": "local", "bandwidth": 0.75, "budget": 20_000} | knobs
    for recipe in (Recipe.from_dict(run["recipe"]), Recipe.from_dict(run["full"]), Recipe.from_link(run["link"])):
        assert recipe.knobs["step_limit"] == 0.0
        assert recipe.knobs["bandwidth_rule"] == old["bandwidth_rule"]
        assert "bandwidth" in knobs or recipe.knobs["bandwidth"] == (0.1 if "bandwidth_rule" in knobs else 0.75)
    today = Recipe.from_dict({**run["recipe"], "pmdviz_recipe": FORMAT})
    assert today.knobs["step_limit"] == 0.25 and today.to_dict()["pmdviz_recipe"] == FORMAT
    again = Recipe.from_link(Recipe.from_dict(run["recipe"]).to_link())
    assert again.knobs["step_limit"] == 0.0, "a link of today says it"


def test_a_race_of_format_1_is_run_with_its_knobs(other_defaults):
    plain = {"pmdviz_race": 1, "methods": ["pmd:step_limit=0.5", "pmd", "sgld"], "budget": 100}
    first, second, third = RaceRecipe.from_dict(plain).entrants
    assert dict(first.knobs) == {"step_limit": "0.5", "bandwidth_rule": "local"}
    assert dict(second.knobs) == KNOBS[1] and dict(third.knobs) == METHOD_KNOBS[1]["sgld"]
    assert dict(RaceRecipe.from_dict({**plain, "pmdviz_race": FORMAT}).entrants[1].knobs) == {}
    assert RaceRecipe.from_json(RaceRecipe.from_dict(plain).to_json()) == RaceRecipe.from_dict(plain)
