"""Help for the tests of chains: a run, its draws, and where they are."""

import numpy as np

from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session


def run_chain(method, iterations, target="gaussian", options=None, seed=0, **knobs):
    """A session of so many iterations without a budget; nothing is measured on the way."""
    options = {"target_options": options} if options else {}
    recipe = Recipe(target, method, seed=seed, budget=None, **options, **knobs)
    session = Session(recipe, metrics_every=10**9)
    session.advance(iterations)
    return session


def all_draws(session):
    """Every draw (n, d), without the start."""
    state = session.frame.state
    return np.concatenate([state.older, state.newer])[1:]
