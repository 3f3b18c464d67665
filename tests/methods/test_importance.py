"""Importance sampling from the prior: the weights are the likelihood, exactly, and it ends after one pass."""

import numpy as np
import pytest

from pmdviz.densities.density import normalise
from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session
from tests.support.engine import errors_from, sized_targets

GAUSSIAN = {"target_options": {"num_data": 20}, "budget": None}


def run(target="gaussian", method="importance", **parts):
    session = Session(Recipe(target, method, **{**GAUSSIAN, **parts}), metrics_every=10**9)
    while not session.done:
        session.advance()
    return session


@pytest.mark.parametrize("target", sized_targets("reals"))
def test_after_its_pass_the_weights_are_the_likelihood_of_all_data(target):
    session = run(target, num_particles=200, batch_size=7)
    expected = normalise(session.target.log_likelihood(session.frame.particles, session.target.data))
    np.testing.assert_allclose(session.frame.state.log_weights, expected, atol=1e-9)


def test_it_ends_after_one_pass_and_says_why():
    session = run(num_particles=50, batch_size=7)
    assert (session.frame.iteration, session.frame.visited) == (3, 20), "batches of 7, 7 and 6"
    assert session.ended == "one pass only"
    assert session.frame.info.words.startswith("batch of 6 · 20 of 20 data seen · ESS ")


def test_the_draws_never_move():
    session = Session(Recipe("gaussian", "importance", num_particles=50, **GAUSSIAN))
    first = session.frame.particles.tobytes()
    assert session.advance(2).particles.tobytes() == first and session.frame.rejuvenations == 0


def test_batch_by_batch_it_is_the_posterior_of_the_data_seen():
    session = Session(Recipe("gaussian", "importance", num_particles=50, batch_size=5, **GAUSSIAN))
    whole = np.zeros(50)
    for _ in range(4):
        before = np.log(session.frame.weights)
        whole += np.log(session.advance().weights) - before
    expected = session.target.log_likelihood(session.frame.particles, session.target.data)
    np.testing.assert_allclose(whole - whole[0], expected - expected[0], atol=1e-9)


def test_mean_and_covariance_of_the_weighted_particles():
    means, variances = [], []
    for seed in range(40):
        q, exact = (session := run(seed=seed, num_particles=4000)).frame.density, session.target.exact
        centred = q.particles - exact.mean
        means.append((q.weights @ centred).mean())
        variances.append((q.weights @ centred**2).mean())
    assert abs(errors_from(means, 0.0)) < 4
    assert abs(errors_from(variances, exact.cov[0, 0])) < 4


def test_it_is_the_worst_case_a_few_draws_carry_all_the_weight():
    """On the separated mixture the ESS of 1500 draws is below 40, where smc keeps hundreds."""
    options = {"num_data": 400, "sigma_x": 1.5}
    few = [run("mixture", seed=s, target_options=options).frame.metrics["ess"] for s in range(4)]
    many = [run("mixture", "smc", seed=s, target_options=options).frame.metrics["ess"] for s in range(4)]
    assert max(few) < 40 and min(many) > 300
