"""Preconditioned SGLD against its update, plain SGLD where nothing is preconditioned, and its stationary variance."""

import numpy as np
import pytest
from scipy.optimize import brentq

from pmdviz.methods import METHODS
from pmdviz.targets import make_target
from tests.support.chains import all_draws, run_chain
from tests.support.engine import errors_from, sized_targets

PSGLD = METHODS["psgld"]
CONSTANT = {"b": 0.0, "g": 0.0}  # then ε is a


@pytest.mark.parametrize("name", sized_targets("gradient"))
def test_one_step_is_the_algorithm(name):
    knobs = PSGLD.Knobs.checked({"a": 0.002, "memory": 0.9, "damping": 0.01, **CONSTANT})
    target, square = make_target(name, num_data=30), 0.0
    state = PSGLD.init(np.random.default_rng(0), target, knobs)
    theta = target.sample_prior(np.random.default_rng(0), 1)[0]
    for t in (1, 2, 3):
        batch, noise = target.data[5 * t : 5 * t + 5], np.random.default_rng(t).standard_normal(target.dim)
        state, info = PSGLD.step(np.random.default_rng(t), state, target, batch, knobs)
        gradient = target.grad_log_joint(theta[None], batch)[0]
        square = 0.9 * square + 0.1 * (gradient / 30) ** 2
        precondition = 1 / (0.01 + np.sqrt(square))
        theta = theta + 0.001 * precondition * gradient + np.sqrt(0.002 * precondition) * noise
        np.testing.assert_allclose(state.newer[-1], theta, rtol=1e-12)
        np.testing.assert_allclose(state.mean_square, square, rtol=1e-12)
        assert (info.visited, info.gradient_evaluations, info.step_size) == (5, 5, 0.002)


@pytest.mark.parametrize("target", ["gaussian", "mixture"])
def test_a_constant_preconditioner_makes_it_sgld(target):
    """α = 1 keeps V at 0, and G is 1/λ."""
    given = {"a": 0.01, "batch_size": 10}
    plain = all_draws(run_chain("sgld", 200, target, **given))
    same = all_draws(run_chain("psgld", 200, target, memory=1.0, damping=1.0, **given))
    np.testing.assert_allclose(same, plain, rtol=1e-9)
    half = all_draws(run_chain("psgld", 200, target, memory=1.0, damping=2.0, a=0.02, batch_size=10))
    np.testing.assert_allclose(half, plain, rtol=1e-9)


def stationary_variance(target, k, epsilon, batch_size):
    """v of coordinate k on a Gaussian posterior, the preconditioner at its mean: V = E (∇/N)², ε G in place of ε.

    v = (1 + εG W/4) / (A (1 - εG A/4)) as for SGLD, W the variance of the batch's gradient; E ∇² = W + A² v.
    """
    o = target.options
    precision = 1 / o.prior_sd**2 + o.num_data / o.sigma_x**2
    noise = (o.num_data / o.sigma_x**2) ** 2 * target.data[:, k].var() / batch_size

    def found(v):
        step = epsilon / np.sqrt((noise + precision**2 * v) / o.num_data**2)
        return (1 + step * noise / 4) / (precision * (1 - step * precision / 4))

    return brentq(lambda v: found(v) - v, 0.1 / precision, 100 / precision)


@pytest.mark.parametrize("epsilon, batch_size", [(0.05, 2), (0.02, 10)])
def test_the_stationary_variance_is_that_of_its_step_and_batch(epsilon, batch_size):
    """With a long memory, so that the preconditioner hardly moves."""
    given = {"batch_size": batch_size, "batches": "replacement", "memory": 0.998}
    moments = []
    for seed in range(10):
        session = run_chain("psgld", 5000, seed=seed, a=epsilon, **CONSTANT, **given)
        draws = all_draws(session)[3000:] - session.target.exact.mean
        moments.append([*draws.mean(axis=0), *(draws**2).mean(axis=0)])
    for k in range(2):
        expected, exact = stationary_variance(session.target, k, epsilon, batch_size), session.target.exact.cov[k, k]
        assert abs(errors_from(np.array(moments)[:, k], 0.0)) < 4
        assert abs(errors_from(np.array(moments)[:, 2 + k], expected)) < 4
        assert expected > 1.05 * exact, "a bias that the test could miss"


def test_coordinates_of_unlike_scales_get_unlike_steps():
    """The flat coordinate of `banana` moves further in a step than the steep one, whatever the model's units."""
    state = run_chain("psgld", 300, "banana").frame.state
    assert np.isfinite(state.newer).all()
    root = np.sqrt(state.mean_square)
    assert root.max() > 1.2 * root.min() > 0
