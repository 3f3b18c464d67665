"""SGLD, psgld and adam_sgld: their updates by formula, and the bias that each is known to leave."""

import numpy as np
import pytest

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.errors import TargetError
from pmdviz.methods import METHODS
from pmdviz.targets import make_target
from tests.support.engine import sized_targets
from tests.support.tables import looped

CONSTANT = {"b": 0.0, "g": 0.0}  # then ε is a


def steps(name, target, given):
    """Three steps of a chain: its state, what is told, gradient and noise of each, and θ before the first."""
    method, target = METHODS[name], make_target(target, num_data=30)
    knobs = method.Knobs.checked(given)
    state = method.init(np.random.default_rng(0), target, knobs)
    theta = target.sample_prior(np.random.default_rng(0), 1)[0]
    for t in (1, 2, 3):
        batch, noise = target.data[5 * t : 5 * t + 5], np.random.default_rng(t).standard_normal(target.dim)
        gradient = target.grad_log_joint(theta[None], batch)[0]
        state, info = method.step(np.random.default_rng(t), state, target, batch, knobs)
        assert (info.visited, info.gradient_evaluations) == (5, 5)
        yield t, state, info, gradient, noise, theta
        theta = state.newer[-1]


@looped("name", lambda: sized_targets("gradient"))
def test_a_step_of_sgld_is_the_formula(name):
    for t, state, info, gradient, noise, theta in steps("sgld", name, {"a": 0.02, "b": 3.0, "g": 0.5}):
        epsilon = 0.02 * (3.0 + t) ** -0.5
        np.testing.assert_allclose(
            state.newer[-1], theta + epsilon / 2 * gradient + np.sqrt(epsilon) * noise, rtol=1e-12
        )
        assert info.step_size == info.numbers["ε"] == pytest.approx(epsilon, rel=1e-14)
        np.testing.assert_allclose(info.terms["noise"], [np.sqrt(epsilon) * noise], rtol=1e-12)


@looped("name", lambda: sized_targets("gradient"))
def test_a_step_of_psgld_is_the_algorithm(name):
    square = 0.0
    for _, state, info, gradient, noise, theta in steps(
        "psgld", name, dict(a=0.002, memory=0.9, damping=0.01, **CONSTANT)
    ):
        square = 0.9 * square + 0.1 * (gradient / 30) ** 2
        precondition = 1 / (0.01 + np.sqrt(square))
        expected = theta + 0.001 * precondition * gradient + np.sqrt(0.002 * precondition) * noise
        np.testing.assert_allclose(state.newer[-1], expected, rtol=1e-12)
        np.testing.assert_allclose(state.mean_square, square, rtol=1e-12)
        np.testing.assert_allclose(info.terms["drift"], [0.001 * precondition * gradient], rtol=1e-12)
        assert info.step_size == 0.002


@looped("name", lambda: sized_targets("gradient"))
def test_a_step_of_adam_sgld_is_the_algorithm(name):
    """The push is that of the steps before: in the first there is none."""
    given = {"a": 0.002, "drift": 5.0, "gradient_memory": 0.8, "square_memory": 0.95, "damping": 0.01, **CONSTANT}
    m = v = 0.0
    for _, state, info, gradient, noise, theta in steps("adam_sgld", name, given):
        push = 0.005 * m / np.sqrt(v + 0.01)
        expected = theta + 0.001 * gradient + push + np.sqrt(0.002) * noise
        np.testing.assert_allclose(info.terms["push"], np.broadcast_to(push, (1, len(theta))), rtol=1e-9, atol=1e-12)
        m, v = 0.8 * m + 0.2 * gradient, 0.95 * v + 0.05 * gradient**2
        np.testing.assert_allclose(state.newer[-1], expected, rtol=1e-12)
        np.testing.assert_allclose(state.mean, m, rtol=1e-12)
        np.testing.assert_allclose(state.mean_square, v, rtol=1e-12)


def test_a_step_that_is_too_large_is_an_error_in_words():
    session = Session(Recipe("gaussian", "sgld", a=100.0, budget=None, **CONSTANT))
    with pytest.raises(TargetError, match="the chain diverged on target 'gaussian'.* use a step size smaller than 100"):
        session.advance(100)
    assert np.isfinite(session.frame.metrics["mean_error"])
