from pmdviz.engine.recipe import Recipe
from pmdviz.experiments.race.recipe import compared
from pmdviz.methods import METHODS


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
