"""Adaptive-drift SGLD against its update, plain SGLD without a drift, and the bias that the drift is known to leave."""

import numpy as np
import pytest
from scipy.linalg import solve_discrete_lyapunov
from scipy.optimize import brentq

from pmdviz.methods import METHODS
from pmdviz.targets import make_target
from tests.support.chains import all_draws, run_chain
from tests.support.engine import errors_from, sized_targets

ADAM = METHODS["adam_sgld"]
CONSTANT = {"b": 0.0, "g": 0.0}  # then ε is a


@pytest.mark.parametrize("name", sized_targets("gradient"))
def test_one_step_is_the_algorithm(name):
    """The push is that of the steps before: in the first there is none."""
    given = {"a": 0.002, "drift": 5.0, "gradient_memory": 0.8, "square_memory": 0.95, "damping": 0.01, **CONSTANT}
    knobs, target, m, v = ADAM.Knobs.checked(given), make_target(name, num_data=30), 0.0, 0.0
    state = ADAM.init(np.random.default_rng(0), target, knobs)
    theta = target.sample_prior(np.random.default_rng(0), 1)[0]
    for t in (1, 2, 3):
        batch, noise = target.data[5 * t : 5 * t + 5], np.random.default_rng(t).standard_normal(target.dim)
        state, info = ADAM.step(np.random.default_rng(t), state, target, batch, knobs)
        gradient = target.grad_log_joint(theta[None], batch)[0]
        theta = theta + 0.001 * (gradient + 5 * m / np.sqrt(v + 0.01)) + np.sqrt(0.002) * noise
        m, v = 0.8 * m + 0.2 * gradient, 0.95 * v + 0.05 * gradient**2
        np.testing.assert_allclose(state.newer[-1], theta, rtol=1e-12)
        np.testing.assert_allclose(state.mean, m, rtol=1e-12)
        np.testing.assert_allclose(state.mean_square, v, rtol=1e-12)
        assert (info.visited, info.gradient_evaluations, info.step_size) == (5, 5, 0.002)


@pytest.mark.parametrize("target", ["gaussian", "logistic"])
def test_without_a_drift_it_is_sgld(target):
    given = {"a": 0.01, "batch_size": 10}
    plain = all_draws(run_chain("sgld", 200, target, **given))
    same = all_draws(run_chain("adam_sgld", 200, target, drift=0.0, **given))
    np.testing.assert_allclose(same, plain, rtol=1e-9)


def stationary_variance(epsilon, drift, precision, noise, memory=0.9):
    """Of the draws on a Gaussian posterior with v at its mean A² var + W, W = `noise` the variance of the gradient.

    (θ, m) is then linear: θ <- θ + ε/2 (-Aθ + w + c m) + √ε ξ and m <- β m + (1 - β)(-Aθ + w), c = a/√v.
    """

    def found(v):
        c, gain = drift / np.sqrt(precision**2 * v + noise), np.array([epsilon / 2, 1 - memory])
        move = np.array([[1.0, epsilon / 2 * c], [0.0, memory]]) - precision * np.outer(gain, [1.0, 0.0])
        return solve_discrete_lyapunov(move, noise * np.outer(gain, gain) + np.diag([epsilon, 0.0]))[0, 0]

    return brentq(lambda v: found(v) - v, 0.01 / precision, 100 / precision)


@pytest.mark.parametrize("drift", [0.0, 0.25, 2.5])
def test_the_bias_that_is_left_as_steps_go_to_zero(drift):
    """r² + a s r = 1."""
    precision = 4.0
    r = np.sqrt(stationary_variance(1e-6, drift, precision, 0.0) * precision)
    assert r**2 + drift * r / np.sqrt(precision) == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("epsilon, batch_size, drift", [(0.03, 20, 4.0), (0.01, 4, 10.0)])
def test_the_stationary_variance_is_that_of_its_drift_step_and_batch(epsilon, batch_size, drift):
    """With a long memory of squares, so that v hardly moves; with 20 of 20 data there is no noise of batches."""
    given = {"batch_size": batch_size, "batches": "epochs" if batch_size == 20 else "replacement"}
    moments = []
    for seed in range(6):
        knobs = {"a": epsilon, "drift": drift, "square_memory": 0.999, **CONSTANT, **given}
        session = run_chain("adam_sgld", 4500, seed=seed, **knobs)
        draws = all_draws(session)[1500:] - session.target.exact.mean
        moments.append([*draws.mean(axis=0), *(draws**2).mean(axis=0)])
    target = session.target
    precision = 1 / target.exact.cov[0, 0]
    for k in range(2):
        noise = 0.0 if batch_size == 20 else (20 / 2.0**2) ** 2 * target.data[:, k].var() / batch_size
        expected = stationary_variance(epsilon, drift, precision, noise)
        assert abs(errors_from(np.array(moments)[:, k], 0.0)) < 4
        assert abs(errors_from(np.array(moments)[:, 2 + k], expected)) < 4
        plain = stationary_variance(epsilon, 0.0, precision, noise)
        assert expected < 0.85 * plain, "a bias that the test could miss"
