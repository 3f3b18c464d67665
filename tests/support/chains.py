"""Help for the tests of chains: a run, its draws, and where they are."""

import numpy as np

from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session
from tests.support.engine import errors_from


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


def moment_errors(method, iterations, runs=24, skip=100, **parts):
    """How many standard errors mean (d,) and covariance (d, d) of the draws lie from the exact ones.

    The errors are taken over independent runs, so they hold whatever the draws of one run have to do with each other.
    """
    means, covariances = [], []
    for seed in range(runs):
        session = run_chain(method, iterations, seed=seed, **parts)
        draws, exact = all_draws(session)[skip:], session.target.exact
        centred = draws - exact.mean
        means.append(draws.mean(axis=0))
        covariances.append((centred.T @ centred / len(draws)).ravel())
    found, expected = np.hstack([means, covariances]), np.concatenate([exact.mean, exact.cov.ravel()])
    return np.array([errors_from(values, value) for values, value in zip(found.T, expected, strict=True)])


def mode_mass(session):
    """Share of the judged draws with theta_2 > 0: one of the two modes of `mixture`."""
    return float((session.frame.densities["kde"].particles[:, 1] > 0).mean())
