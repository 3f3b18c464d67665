"""Importance sampling from the prior: the weights are the likelihood, exactly, and it ends after one pass."""

import numpy as np

from pmdviz.densities.density import normalise
from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session
from tests.support.engine import sized_targets
from tests.support.tables import looped

GAUSSIAN = {"target_options": {"num_data": 20}, "budget": None}


def run(target="gaussian", method="importance", **parts):
    session = Session(Recipe(target, method, **{**GAUSSIAN, **parts}), metrics_every=10**9)
    while not session.done:
        session.advance()
    return session


@looped("target", lambda: sized_targets("reals"))
def test_after_its_pass_the_weights_are_the_likelihood_of_all_data(target):
    session = run(target, num_particles=200, batch_size=7)
    expected = normalise(session.target.log_likelihood(session.frame.particles, session.target.data))
    np.testing.assert_allclose(session.frame.state.log_weights, expected, atol=1e-9)


def test_it_ends_after_one_pass_and_says_why():
    session = run(num_particles=50, batch_size=7)
    assert (session.frame.iteration, session.frame.visited) == (3, 20), "batches of 7, 7 and 6"
    assert session.ended == "one pass only"
    assert session.frame.info.words.startswith("batch of 6 · 20 of 20 data seen · ESS ")
