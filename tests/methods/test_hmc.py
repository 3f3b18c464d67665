"""Hamiltonian Monte Carlo: its trajectories, its accept step, its tuning, and exact posteriors."""

import numpy as np
import pytest

from pmdviz.engine.recipe import Recipe
from pmdviz.methods import METHODS
from pmdviz.methods.mcmc import hmc
from pmdviz.methods.mcmc.hmc import FIRST_TIME_STEP, GENTLE, Plan, Tuning, acceptance, trajectory, tuned
from pmdviz.targets import make_target
from tests.support.chains import all_draws
from tests.support.engine import advanced, sized_targets
from tests.support.tables import looped

HMC = METHODS["hmc"]


@looped("name", lambda: sized_targets("gradient"))
def test_a_trajectory_that_goes_too_far_asks_for_no_gradient_there(name):
    target, rng = make_target(name, num_data=30), np.random.default_rng(4)
    theta, momentum = target.sample_prior(rng, 1)[0], 1e9 * np.sign(rng.standard_normal(target.dim))
    end = trajectory(target, theta, target.grad_log_joint(theta[None])[0], momentum, 0.02, 30, target.data)[-1]
    assert end.diverged and end.num_gradients == 0


def test_acceptance_is_that_of_the_energy():
    assert acceptance(-3.0, -3.5, np.array([1.0, 0.0]), np.array([0.0, 0.0])) == 1.0
    assert acceptance(-3.0, -3.5, np.array([0.0]), np.array([1.0])) == pytest.approx(np.exp(-1.0))
    assert acceptance(-3.0, -np.inf, np.zeros(1), np.zeros(1)) == 0.0
    assert acceptance(-np.inf, -3.0, np.zeros(1), np.zeros(1)) == 1.0


@pytest.mark.parametrize("plan", [Plan(100, 1.0, 0.05), GENTLE], ids=["of a count", "of a share"])
def test_dual_averaging_is_its_formula(plan):
    """x_{t+1} = μ - √t/γ · 1/(t + t0) Σ (δ - α), written as its sum instead of as a recursion."""
    tuning, missing = Tuning(), np.random.default_rng(0).normal(size=30)
    steps = []
    for t in range(1, 31):
        tuning = tuned(tuning, missing[t - 1], plan)
        weights = np.array(
            [1 / (s + 10) * np.prod([1 - 1 / (r + 10) for r in range(s + 1, t + 1)]) for s in range(1, t + 1)]
        )
        steps.append(np.log(plan.towards) - np.sqrt(t) / plan.gamma * (weights @ missing[:t]))
        assert tuning.log_step == pytest.approx(steps[-1], rel=1e-10)
    averaged = np.log(FIRST_TIME_STEP)
    for t, value in enumerate(steps, start=1):
        averaged = t**-0.75 * value + (1 - t**-0.75) * averaged
    assert tuning.averaged == pytest.approx(averaged, rel=1e-10)


@pytest.mark.parametrize("method", ["hmc", "mala"])
@pytest.mark.parametrize("compiled", [True, False])
def test_value_and_gradient_in_one_pass_count_once_and_change_no_draw(method, compiled, monkeypatch):
    if not compiled:
        monkeypatch.setattr(hmc, "LEAP_PAIRS", 1)
    apart, together = (advanced(method, 30, one_pass=each) for each in (False, True))
    assert np.array_equal(all_draws(apart), all_draws(together))
    frame, asked = together.frame, apart.frame
    assert frame.visited == frame.gradient_evaluations == asked.gradient_evaluations and frame.density_evaluations == 0
    assert asked.visited - frame.visited == asked.density_evaluations == 20 * 31, "30 ends and the start, 20 data each"
    assert Recipe(method=method).budget > Recipe(method=method, one_pass=True).budget
    frame = advanced("mala", budget=2_010, one_pass=True).frame
    assert (frame.iteration, frame.visited) == (100, 2_020), "20 for the start and 20 a draw"


def test_trajectories_have_every_length_up_to_the_knob():
    knobs = HMC.Knobs.checked({"leapfrog_steps": 4})
    assert np.bincount(HMC.lengths((np.arange(2000) + 0.5) / 2000, knobs)).tolist() == [0, 500, 500, 500, 500]
    assert HMC.lengths(np.array([0.0, 1.0]), knobs).tolist() == [1, 4]
