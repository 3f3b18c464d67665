"""Stochastic gradient Langevin dynamics against its update, its stationary variance, and what it cannot do."""

import numpy as np
import pytest

import pmdviz
from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.errors import InputError, TargetError
from pmdviz.methods import METHODS
from pmdviz.methods.mcmc.sgld import langevin_step
from pmdviz.targets import make_target
from tests.support.chains import all_draws, mode_mass, run_chain, without_gradient
from tests.support.engine import errors_from, sized_targets

SGLD = METHODS["sgld"]
CONSTANT = {"b": 0.0, "g": 0.0}  # then the step is a


@pytest.mark.parametrize("name", sized_targets("gradient"))
def test_one_step_is_the_formula(name):
    target, knobs = make_target(name, num_data=30), SGLD.Knobs.checked({"a": 0.02, "b": 3.0, "g": 0.5})
    state = SGLD.init(np.random.default_rng(0), target, knobs)
    start = np.random.default_rng(0)
    theta = target.sample_prior(start, 1)[0]
    for t in (1, 2, 3):
        batch, epsilon = target.data[5 * t : 5 * t + 5], 0.02 * (3.0 + t) ** -0.5
        state, info = SGLD.step(np.random.default_rng(t), state, target, batch, knobs)
        noise = np.random.default_rng(t).standard_normal(target.dim)
        theta = theta + epsilon / 2 * target.grad_log_joint(theta[None], batch)[0] + np.sqrt(epsilon) * noise
        np.testing.assert_allclose(state.newer[-1], theta, rtol=1e-12)
        assert info.step_size == pytest.approx(epsilon, rel=1e-14)


def test_the_step_size_falls_as_it_says():
    knobs = SGLD.Knobs.checked({"a": 0.5, "b": 10.0, "g": 1.0})
    assert langevin_step(1, knobs) == pytest.approx(0.5 / 11)
    assert langevin_step(90, knobs) == pytest.approx(0.005)
    assert langevin_step(90, knobs.replaced(g=0.0)) == 0.5


def stationary_variance(target, epsilon, batch_size):
    """v (d,) = (1 + ε V / 4) / (A (1 - ε A / 4)), V the variance of the gradient of a batch with replacement.

    From v = (1 - ε A / 2)² v + ε + (ε / 2)² V for a Gaussian posterior of precision A.
    """
    o = target.options
    precision = 1 / o.prior_sd**2 + o.num_data / o.sigma_x**2
    noise = (o.num_data / o.sigma_x**2) ** 2 * target.data.var(axis=0) / batch_size if batch_size else 0.0
    return (1 + epsilon * noise / 4) / (precision * (1 - epsilon * precision / 4))


@pytest.mark.parametrize("epsilon, batch_size", [(0.2, None), (0.2, 2), (0.05, 5)])
def test_the_stationary_variance_is_that_of_its_step_and_batch(epsilon, batch_size):
    """The bias of SGLD, in full: without a batch (None: all data) that of the discretised diffusion alone."""
    batches = {"batch_size": batch_size, "batches": "replacement"} if batch_size else {"batch_size": 20}
    means, variances = [], []
    for seed in range(24):
        session = run_chain("sgld", 1500, seed=seed, a=epsilon, **CONSTANT, **batches)
        draws, exact = all_draws(session)[200:], session.target.exact
        means.append(draws.mean(axis=0))
        variances.append(((draws - exact.mean) ** 2).mean(axis=0))
    expected = stationary_variance(session.target, epsilon, batch_size)
    for k in range(2):
        assert abs(errors_from(np.array(means)[:, k], exact.mean[k])) < 4
        assert abs(errors_from(np.array(variances)[:, k], np.broadcast_to(expected, 2)[k])) < 4
    assert (expected > exact.cov[0, 0] * 1.05).all(), "a bias that the test could miss"


def test_a_step_that_is_too_large_is_an_error_in_words():
    session = Session(Recipe("gaussian", "sgld", a=100.0, budget=None, **CONSTANT))
    with pytest.raises(TargetError, match="the chain diverged on target 'gaussian'.* use a step size smaller than 100"):
        session.advance(100)
    assert np.isfinite(session.frame.metrics["tv"])


def test_a_target_without_a_gradient_says_so():
    with pytest.raises(InputError) as caught:
        pmdviz.run(target=without_gradient(), method="sgld", budget=100)
    words = "method 'sgld' needs a gradient of its log density, which target 'flat' does not offer"
    assert str(caught.value) == words


def test_a_custom_target_with_a_gradient_runs():
    run = pmdviz.run(target=without_gradient(grad_log_prior=lambda theta: -theta,
                                             grad_log_likelihood=lambda theta, x: x.sum() - len(x) * theta),
                     method="sgld", budget=100, batch_size=2)  # fmt: skip
    assert run.frames[-1].visited == 100


@pytest.mark.slow
@pytest.mark.parametrize("data_seed", range(3))
def test_every_run_on_the_mixture_sits_in_one_mode(data_seed):
    options = {"num_data": 400, "sigma_x": 1.5, "data_seed": data_seed}
    for seed in range(8):
        mass = mode_mass(run_chain("sgld", 2000, "mixture", options, seed=seed))
        assert min(mass, 1 - mass) < 0.02
