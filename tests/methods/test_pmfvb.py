"""PMFVB: the step by its formula, the Gaussian's stationary moments, Laplace's, two minimisers, and when it stops."""

from functools import cache

import numpy as np
import pytest

from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.lab.loop.forecast import step_seconds
from pmdviz.methods import METHODS
from pmdviz.methods.mean_field.pmfvb import BOUND_EVERY, WINDOW, lower_bound
from pmdviz.targets import make_target

PMFVB = METHODS["pmfvb"]
E12 = {"dim": 4, "num_data": 200, "prior_sd": 2.0, "truth": "prior"}
TWO = {"arrangement": "diagonal", "num_components": 2, "spread": 1.5, "variance": 0.3, "q0_sd": 0.5}
RHO, H = 0.9, 0.1
NARROW = {"correlation": RHO, "q0_sd": 1.0}


def run(steps, target="correlated_gaussian", seed=0, options=None, **knobs):
    recipe = Recipe(target, "pmfvb", target_options=options or {}, seed=seed, budget=None, **knobs)
    session = Session(recipe, metrics_every=10**9)
    session.advance(steps)
    return session


def log_joint(target):
    """Of `logistic` and `gmm`, from their formulas alone."""
    if target.data is None:
        squares = lambda x: ((x[:, None] - target.means) ** 2).sum(axis=2)  # noqa: E731
        return lambda x: np.log(np.exp(-squares(x) / (2 * target.options.variance)).sum(axis=1))
    x, y = target.data[:, :-1], target.data[:, -1]
    prior = lambda w: -0.5 * (w**2).sum(axis=1) / target.prior_sd**2  # noqa: E731
    return lambda w: prior(w) + (y * (w @ x.T) - np.logaddexp(0, w @ x.T)).sum(axis=1)


@pytest.mark.parametrize("grouping, blocks", [("target", [[0, 1], [2, 3]]), ("single", [[0], [1], [2], [3]])])
def test_a_step_is_the_mean_over_others_one_block_after_the_other(grouping, blocks):
    """Gradients by finite differences of the log density; the second block sees where the first has come to."""
    target = make_target("logistic", dim=4, num_data=30)
    knobs = PMFVB.Knobs.checked({"num_particles": 20, "num_others": 6, "grouping": grouping, "step_size": 0.05})
    state = PMFVB.init(np.random.default_rng(0), target, knobs)
    after, info = PMFVB.step(np.random.default_rng(1), state, target, target.data_rows, knobs)
    rng, theta, f, tiny = np.random.default_rng(1), state.particles.copy(), log_joint(target), 1e-5
    for block in blocks:
        others, slopes = theta[rng.choice(20, 6, replace=False)], np.empty((20, len(block)))
        for i in range(20):
            points = others.copy()
            points[:, block] = theta[i, block]
            for place, k in enumerate(block):
                move = tiny * np.eye(4)[k]
                slopes[i, place] = ((f(points + move) - f(points - move)) / (2 * tiny)).mean()
        theta[:, block] += 0.025 * slopes + np.sqrt(0.05) * rng.standard_normal(slopes.shape, np.float32)
    np.testing.assert_allclose(after.particles, theta, atol=1e-7)
    np.testing.assert_allclose(sum(info.terms.values()), after.particles - state.particles, atol=1e-12)
    assert info.visited == 30 and info.gradient_evaluations == 20 * 6 * len(blocks) * 30
    assert info.density_evaluations == 20 * 30, "the lower bound, at the first step"


def test_all_parameters_together_are_unadjusted_langevin_dynamics():
    target = make_target("gmm", **TWO)
    knobs = PMFVB.Knobs.checked({"num_particles": 20, "grouping": "joint"})
    state = PMFVB.init(np.random.default_rng(0), target, knobs)
    after, info = PMFVB.step(np.random.default_rng(1), state, target, target.data_rows, knobs)
    rng = np.random.default_rng(1)
    noise = 0.1 * rng.standard_normal((20, 2), np.float32).astype(float)
    expected = state.particles + 0.005 * target.grad_log_joint(state.particles) + noise
    np.testing.assert_allclose(after.particles, expected, atol=1e-12)
    assert info.gradient_evaluations == 20


@cache
def gaussian_particles(grouping, seed):
    return run(250, seed=seed, options=NARROW, grouping=grouping, num_particles=5000, step_size=H).frame.particles


def test_each_coordinate_alone_has_the_variance_given_the_other_and_the_bias_of_its_step():
    """Within the cloud the others' mean is the same for all: v / (1 - h/4v), v = 1 - rho^2, is 15 % above v."""
    v = 1 - RHO**2
    found = [gaussian_particles("single", seed).var(axis=0, ddof=1) for seed in (0, 1)]
    assert abs(np.mean(found) / (v / (1 - H / (4 * v))) - 1) < 4 * np.sqrt(2 / (4 * 5000))
    assert np.sqrt(v / (1 - H / (4 * v))) / np.sqrt(v) > 1.07, "a bias that the test could miss"
    for seed in (0, 1):
        correlation = np.corrcoef(gaussian_particles("single", seed).T)[0, 1]
        assert abs(correlation) < 4 / np.sqrt(5000)


def test_a_run_with_patience_ends_where_the_bound_has_stalled_and_says_so():
    session = run(3000, "logistic", options=E12, patience=100, num_particles=100)
    state = session.frame.state
    assert session.ended and "has not risen for 100 steps" in session.ended
    assert 100 <= state.iteration - state.best_at < 100 + BOUND_EVERY and state.iteration < 2000
    assert len(state.bounds) == WINDOW // BOUND_EVERY
    assert not run(300, "logistic", options=E12, num_particles=100).ended
    assert not PMFVB.ended(state._replace(best_at=0), session.frame.knobs, session.target), "no whole window yet"


def test_the_bound_is_known_at_some_steps_and_is_its_formula():
    session, found = run(0, "logistic", options=E12, num_particles=50), []
    for _ in range(11):
        frame = session.advance(1)
        found.append((frame.info.scalars["stopping_bound"], frame.info.density_evaluations))
        if frame.iteration % BOUND_EVERY == 1:
            target, x = frame.target, frame.particles
            constant = -4 * np.log(2 * np.sqrt(2 * np.pi)) + np.log(50)
            assert found[-1][0] == pytest.approx(log_joint(target)(x).mean() + constant, rel=1e-10)
            assert lower_bound(target, x, target.data_rows) == found[-1][0]
    assert [asked > 0 for _, asked in found] == [k % BOUND_EVERY == 0 for k in range(11)]
    assert found[0][0] == found[BOUND_EVERY - 1][0] != found[BOUND_EVERY][0]


def test_the_work_follows_the_number_of_blocks():
    target, m = make_target("gmm", dim=20), 300
    single, joint = (PMFVB.Knobs.checked({"grouping": grouping}) for grouping in ("single", "joint"))
    assert single.work_on(target).gradients == 20 * 10 * m and joint.work_on(target).gradients == m
    session = run(2, "gmm", options={"dim": 20}, grouping="single")
    assert session.frame.info.gradient_evaluations == single.work_on(target).gradients
    assert step_seconds(single, target) > 5 * step_seconds(single, make_target("gmm", dim=2))
