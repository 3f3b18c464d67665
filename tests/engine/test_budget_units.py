"""A budget counts data, or evaluations; both replay bit for bit."""

import numpy as np
import pytest

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.experiments.race.recipe import RaceRecipe
from pmdviz.methods import METHODS, usual_target
from pmdviz.methods.base import DEFAULT_BUDGET
from pmdviz.scenes.words import observations_used
from tests.support.engine import digest
from tests.support.tables import looped, refused

CHEAP = {"num_data": 60}


def ended(recipe):
    session = Session(recipe, metrics_every=10**6)
    session.advance(10**6)
    return session


QUICK = ("pmd", "smc_mcmc", "svgd", "hmc", "gibbs")


@pytest.mark.parametrize(
    "method", [name if name in QUICK else pytest.param(name, marks=pytest.mark.nightly) for name in METHODS]
)
def test_a_run_stops_at_the_first_step_that_spends_its_budget(method):
    knobs = {"num_particles": 30} if "num_particles" in METHODS[method].Knobs.specs() else {}
    recipe = Recipe(
        usual_target(method), method, target_options=CHEAP, budget=9_000, budget_unit="evaluations", **knobs
    )
    session = ended(recipe)
    frame = session.frame
    assert frame.spent == frame.evaluations == frame.density_evaluations + frame.gradient_evaluations
    if session.ended:
        return
    assert frame.spent >= 9_000 > frame.spent - frame.info.cost.evaluations
    again = Session(Recipe.from_json(recipe.to_json()), metrics_every=10**6)
    while not again.done:
        again.advance(7)
    assert digest(again) == digest(session)


def test_the_unit_travels_with_the_recipe():
    recipe = Recipe("mixture", "smc", budget=5_000_000, budget_unit="evaluations")
    assert Recipe.from_json(recipe.to_json()) == Recipe.from_link(recipe.to_link()) == recipe
    assert recipe != Recipe("mixture", "smc", budget=5_000_000)
    assert "budget_unit='evaluations'" in recipe.to_python()
    names = {}
    exec(recipe.to_python().replace("pmdviz.run(recipe)", "recipe"), {}, names)
    assert names["recipe"] == recipe
    assert recipe.replaced(method="pmd").budget_unit == "evaluations"
    assert "budget_unit" not in Recipe("mixture", "smc").to_dict(), "recipes in data are written as ever"
    usual = Recipe("mixture", "pmd", num_particles=200)
    assert Recipe("mixture", "pmd", num_particles=200, budget_unit="evaluations").budget == 200 * usual.budget


@looped("method", ["hmc", "mala", "gibbs", "random_walk"])
def test_a_default_budget_follows_burn_in_thinning_and_data(method):
    usual = Recipe(method=method, target_options={"num_data": 500})
    assert usual.knobs["burn_in"] == 0.2  # of which are left 400 of 500 draws
    for knobs, draws in (({"burn_in": 2000, "thinning": 3}, 2000 + 1200), ({"burn_in": 0.5}, 800)):
        made = Recipe(method=method, target_options={"num_data": 500}, **knobs)
        assert made.budget == pytest.approx(usual.budget * draws / 500, rel=0.06)
    assert Recipe(method=method).budget == pytest.approx(2 * usual.budget, rel=0.06)


def test_a_target_without_data_counts_evaluations():
    recipe = Recipe("ising", "gibbs")
    assert recipe.budget_unit == "evaluations"
    session = ended(recipe.replaced(budget=100))
    assert session.frame.iteration == 100 and observations_used(session.frame) == "100 of 100 evaluations"
    assert recipe.replaced(target="mixture").budget_unit == "data"
    assert Recipe("mixture", "gibbs").replaced(target="ising").budget_unit == "evaluations"
    refused("'ising' has no data", Recipe, "ising", "gibbs", budget_unit="data")


def test_a_run_as_it_stands_ends_where_it_stands():
    session = Session(Recipe("mixture", "pmd", num_particles=50, budget=10**6, budget_unit="evaluations"))
    session.advance(7)
    recipe = session.run.to_recipe()
    assert (recipe.budget, recipe.budget_unit) == (7 * 100 * 50, "evaluations")
    again = ended(recipe)
    assert again.extend(5_000).budget == 40_000 and not again.done
    refused("at least the 35,000 evaluations made", again.limit, 34_999)
    assert again.frame.iteration == 7 and np.array_equal(again.frame.particles, session.frame.particles)


def test_a_density_without_data_is_run_for_500_steps_where_nobody_says_more():
    for target, method in [("gmm", "pmd"), ("funnel", "svgd"), ("rbm", "pmd"), ("correlated_gaussian", "black_box_is")]:
        recipe = Recipe(target, method)
        assert recipe.budget == recipe.default_budget == 500 * recipe.knobs["num_particles"], (target, method)
    assert RaceRecipe.checked(["pmd:num_particles=60", "svgd:num_particles=20"], "gmm").budget == 500 * 60
    assert Recipe("mixture").budget == DEFAULT_BUDGET
