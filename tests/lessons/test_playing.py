"""What is played without a page is the run that a page would show."""

import numpy as np

from pmdviz import Recipe, Session
from pmdviz.lessons.lesson import Race
from pmdviz.lessons.playing import begun_with, controls_of, play, play_race
from pmdviz.presets import NoScope, RaceScope, RunScope, scope_of
from tests.support.tables import refused

PLAIN = Recipe("gaussian", budget=100, num_particles=50, batch_size=10)


def test_what_is_changed_before_the_start_is_the_recipes_own_and_what_cannot_be_is_refused():
    known = controls_of(PLAIN)
    assert (known["num_particles"], known["dim"], known["seed"], known["budget"]) == (
        "knobs", "target_options", "seed", "budget"
    )  # fmt: skip
    refused("unknown control 'num_particle'; did you mean 'num_particles'", begun_with, PLAIN, {"num_particle": 3})
    found = begun_with(PLAIN, {"num_particles": 60, "dim": 3, "seed": 4, "budget": 200})
    assert found == Recipe("gaussian", target_options={"dim": 3}, budget=200, seed=4, num_particles=60, batch_size=10)
    refused("'dim' acts from the start of a run; put it at iteration 0", play, PLAIN, {3: {"dim": 3}})
    refused("the run ends after 10 iterations, before .* iteration 11", play, PLAIN, {11: {"bandwidth": 2.0}})
    refused("needs a budget", play, PLAIN.replaced(budget=None))


def test_what_is_changed_on_the_way_is_as_if_turned_there():
    session = Session(PLAIN)
    session.advance(4)
    session.set(bandwidth=2.0, batch_size=5)
    session.advance(1000)
    found = play(PLAIN, {4: {"bandwidth": 2.0, "batch_size": 5}})
    assert found.recipe == session.recipe and found.final.iteration == session.frame.iteration
    assert np.array_equal(found.particles, session.frame.particles)
    assert np.array_equal(found.history["tv"], session.run.history["tv"])


def test_names_of_a_race_have_their_entrant_in_front_and_without_a_run_there_are_numbers_alone():
    race = Race({"few": "pmd:num_particles=50", "more": "pmd:num_particles=100"}, {"target": "gaussian", "budget": 100})
    runs = play_race(race)
    scope = scope_of(runs)
    assert isinstance(scope, RaceScope)
    assert scope.value("few.tv") == RunScope(runs["few"]).value("tv") != scope.value("more.tv")
    assert (scope.value("few.num_particles"), scope.value("more.num_particles")) == (50, 100)
    assert np.array_equal(runs["few"].particles, play(race.recipe.recipes[0]).particles)
    for name, words in {"tv": "unknown entrant of this race 'tv'", "few": "such as few.tv", "few.tvs": "'tvs'"}.items():
        refused(words, scope.value, name)
    assert isinstance(scope_of(None), NoScope) and list(NoScope().rows()) == []
    refused("no run is on show here that has 'tv'", scope_of(None).value, "tv")
