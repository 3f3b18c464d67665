"""Compiled chains against the same steps written with the targets' own functions."""

from statistics import NormalDist

import numpy as np
import pytest

from pmdviz.kernels.chains import hamiltonian, langevin, uniforms_of
from pmdviz.methods.mcmc.hmc import acceptance, trajectory
from pmdviz.targets import make_target
from tests.support.engine import compiled_targets
from tests.support.tables import looped

SCHEDULE = (3, 0.02, 5.0, 0.55)  # t of the first step, a, b, g
FAR = 1e6


def settings():
    """Targets whose gradient is compiled, and options."""
    others = [("gaussian", {"prior_sd": 3.0}), ("mixture", {"p": 0.2, "sigma_x": 0.7})]
    return [(name, {}) for name in sorted(compiled_targets())] + others


@looped("name, options", settings)
def test_langevin_steps_are_the_formula(name, options, rng):
    target = make_target(name, num_data=30, **options)
    rows, noise = rng.integers(30, size=(40, 7)), rng.standard_normal((40, target.dim))
    theta, (first, a, b, g) = target.sample_prior(rng, 1)[0], SCHEDULE
    draws, last, made = langevin(target.model, theta, target.data[rows], SCHEDULE, noise, np.full(target.dim, FAR))
    for t in range(40):
        step = a * (b + first + t) ** -g
        gradient = target.grad_log_joint(theta[None], target.data[rows[t]])[0]
        np.testing.assert_allclose(draws[t], theta + step / 2 * gradient + np.sqrt(step) * noise[t], rtol=1e-11)
        theta = draws[t]
    np.testing.assert_allclose(last, gradient, rtol=1e-9, atol=1e-9)
    assert made == 40


def test_langevin_steps_stop_where_one_goes_too_far():
    target, noise = make_target("bimodal1d", num_data=5), np.zeros((9, 1))
    noise[6] = 1e4
    batches, reach = np.tile(target.data, (9, 1)), np.full(1, 5.0)
    draws, _, made = langevin(target.model, np.ones(1), batches, SCHEDULE, noise, reach)
    assert made == 6 and (np.abs(draws[:6]) <= 5).all() and abs(draws[6, 0]) > 5
    noise[2] = np.nan
    assert langevin(target.model, np.ones(1), batches, SCHEDULE, noise, reach)[2] == 2


def start_of(target, theta):
    return theta, target.log_joint(theta[None])[0], target.grad_log_joint(theta[None])[0]


@looped("name, options", settings)
def test_trajectories_are_those_of_the_leapfrog_and_the_accept_step(name, options, rng):
    target = make_target(name, num_data=30, **options)
    num, d, time_step = 40, target.dim, 0.12
    momenta, uniforms, lengths = rng.standard_normal((num, d)), rng.random(num) ** 0.02, rng.integers(1, 6, num)
    theta, value, gradient = start_of(target, target.reference().sample(rng, 1)[0])
    unit = target.scale
    found = hamiltonian(target.model, target.data, (theta, value, gradient), momenta, lengths, uniforms,
                        time_step, unit, FAR * unit, 10**9)  # fmt: skip
    for t in range(num):
        end = trajectory(target, theta, gradient, momenta[t], time_step, lengths[t], target.data)
        after = target.log_joint(end.theta[None])[0]
        chance = acceptance(value, after, momenta[t], end.momentum)
        assert found.chances[t] == pytest.approx(chance, rel=1e-6, abs=1e-9)
        assert found.accepted[t] == (uniforms[t] < chance)
        if found.accepted[t]:
            theta, value, gradient = end.theta, after, end.gradient
        np.testing.assert_allclose(found.draws[t], theta, rtol=1e-7, atol=1e-9)
    assert found.made == num and np.array_equal(found.num_gradients, lengths) and (found.num_values == 1).all()
    assert 0 < found.accepted.sum() < num and not found.diverged.any()
    assert found.log_joint == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(found.gradient, gradient, rtol=1e-6, atol=1e-7)


def test_a_trajectory_that_diverges_is_refused_and_the_next_starts_where_it_was(rng):
    target = make_target("gaussian", num_data=30)
    start, ones, momenta = start_of(target, np.zeros(2)), np.ones(2), np.array([[1e9, 0.0], [0.1, 0.1]])
    found = hamiltonian(target.model, target.data, start, momenta, np.array([4, 4]), np.zeros(2), 0.05, ones,
                        FAR * ones, 10**9)  # fmt: skip
    assert found.diverged.tolist() == [True, False] == (found.chances == 0).tolist()
    assert found.num_gradients.tolist() == [0, 4] and found.num_values.tolist() == [0, 1]
    alone = hamiltonian(target.model, target.data, start, momenta[1:], np.array([4]), np.zeros(1), 0.05, ones,
                        FAR * ones, 10**9)  # fmt: skip
    assert np.array_equal(found.draws[0], start[0]) and np.array_equal(found.draws[1], alone.draws[0])


def test_no_trajectory_is_begun_once_enough_was_asked(rng):
    target = make_target("gaussian", num_data=30)
    start, ones = start_of(target, np.zeros(2)), np.ones(2)
    for most, made in ((1, 1), (5, 1), (6, 2), (10, 2), (11, 3), (10**9, 8)):
        found = hamiltonian(target.model, target.data, start, np.ones((8, 2)), np.full(8, 4), np.zeros(8), 0.01, ones,
                            FAR * ones, most)  # fmt: skip
        assert found.made == made, "each asks for four gradients and a value"


def test_normals_become_uniforms(rng):
    normals = np.concatenate([rng.standard_normal(100), [-40.0, 40.0, 0.0]])
    np.testing.assert_allclose(uniforms_of(normals), [NormalDist().cdf(z) for z in normals], rtol=1e-9, atol=1e-300)
