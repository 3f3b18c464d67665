import pytest

from pmdviz.engine.recipe import Recipe
from pmdviz.errors import InputError
from pmdviz.experiments.race.recipe import compared, differing, telling
from pmdviz.methods import METHODS
from pmdviz.presets import PRESETS


def basic(knobs):
    return [name for name, spec in knobs.specs().items() if spec.basic]


@pytest.mark.parametrize("name", ["two_modes", *(pytest.param(n, marks=pytest.mark.nightly) for n in [*PRESETS][1:])])
def test_both_have_exactly_their_knobs_and_titles_that_differ(name):
    recipe = PRESETS[name].recipe
    now = recipe.start_knobs()
    for knob in basic(now):
        value = next(telling(now.specs()[knob], now.as_dict()[knob]), None)
        try:
            other = now.replaced(**{knob: value})
            race = compared(recipe, now, recipe.method, other)
            mine, theirs = race.recipes
        except InputError:  # a batch larger than the data; the page then takes the next value
            continue
        assert (mine.knobs, theirs.knobs) == (now.as_dict(), other.as_dict())
        assert (race.target, race.seeds, race.budget) == (recipe.make_target(), (recipe.seed,), recipe.budget)
        assert race.budget_unit == recipe.budget_unit and mine.seed == theirs.seed == recipe.seed
        if knob in differing(now, other):
            assert race.entrants[0].title != race.entrants[1].title


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
    recipe = Recipe("mixture", "pmd", seed=5, budget=None)
    now = recipe.start_knobs()
    race = compared(recipe, now, "pmd", now.replaced(bandwidth=2))
    made: dict = {}
    exec(race.to_live_python(), made)
    assert made["race"].recipe == race
