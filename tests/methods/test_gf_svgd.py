"""Gradient-free SVGD: the formula of its step, where few particles rest, and the surrogate's width that is best."""

from functools import partial

import numpy as np
import pytest

from pmdviz.errors import TargetError
from pmdviz.methods import METHODS
from pmdviz.methods.base import checked_log_density
from pmdviz.methods.stein import leaders_width, squared_width
from pmdviz.methods.stein.svgd import (
    TITLES,
    GaussianSurrogate,
    KernelSurrogate,
    growth,
    log_ratios,
    made_surrogate,
)
from pmdviz.targets import make_target
from tests.support.engine import advanced
from tests.support.tables import looped

GF = METHODS["gf_svgd"]
ONE = {"num_components": 1, "spread": 0.0}
PLANE = {**ONE, "variance": 2.0, "q0_mean": -6.0, "q0_sd": 2**0.5}
run = partial(advanced, "gf_svgd")


def force_by_pairs(x, scores, w, h):
    """sum_j w_j [k s_j + grad_j k], pair by pair."""
    out = np.zeros_like(x)
    for i in range(len(x)):
        for j in range(len(x)):
            k = np.exp(-((x[i] - x[j]) ** 2).sum() / h)
            out[i] += w[j] * k * (scores[j] + 2 / h * (x[i] - x[j]))
    return out


@pytest.mark.parametrize("weighting, sign", [("ratios", 1), ("inverted", -1)])
def test_a_step_is_the_weighted_force_of_the_surrogate_without_a_gradient_of_the_target(weighting, sign):
    target = make_target("mixture", num_data=10)
    target._grad_log_likelihood = target.declared = None  # asked for, it would fail
    knobs = {"num_particles": 20, "surrogate": "gaussian", "surrogate_mean": 0.5, "surrogate_sd": 0.7}
    knobs = GF.Knobs.checked({**knobs, "optimiser": "plain", "weighting": weighting})
    state = GF.init(np.random.default_rng(0), target, knobs)
    after, info = GF.step(np.random.default_rng(1), state, target, target.data, knobs)
    x, sd = state.particles, 0.7 * target.scale
    log_rho = (-0.5 * ((x - 0.5) / sd) ** 2).sum(axis=1)
    log_w = sign * (log_rho - target.log_joint(x))
    w = np.exp(log_w - log_w.max())
    expected = force_by_pairs(x, -(x - 0.5) / sd**2, w / w.sum(), squared_width(x, knobs, target))
    moved = (after.particles - x) / (info.step_size * target.scale**2)
    np.testing.assert_allclose(moved, expected, rtol=1e-9, atol=1e-10)
    assert info.gradient_evaluations == 0 and info.density_evaluations == 200
    parts = info.paths()
    np.testing.assert_allclose(sum(line[:, 1] - line[:, 0] for line in parts.values()), expected, rtol=1e-9, atol=1e-9)
    assert info.scalars["surrogate_ess"] == pytest.approx(w.sum() ** 2 / (w**2).sum())


def test_with_the_target_itself_as_the_surrogate_it_is_svgd():
    knobs = {"num_particles": 30, "length_scale_rule": "thesis"}
    one = run(40, "gmm", options=PLANE, **knobs, surrogate="gaussian")
    other = advanced("svgd", 40, "gmm", PLANE, batch_size=1, **knobs)
    np.testing.assert_allclose(one.frame.particles, other.frame.particles, atol=1e-6)


@looped("name", TITLES)
def test_a_surrogate_s_score_is_the_gradient_of_its_log_density(name):
    target, rng = make_target("gaussian", dim=3), np.random.default_rng(0)
    x, y, e = rng.normal(size=(25, 3)), rng.normal(size=(4, 3)), 1e-5
    knobs = GF.Knobs.checked({"surrogate": name, "surrogate_width": 3.0})
    rho = made_surrogate(x, rng.normal(size=25), knobs, target)
    steps = [(rho.log_density(y + e * a) - rho.log_density(y - e * a)) / (2 * e) for a in np.eye(3)]
    np.testing.assert_allclose(rho.score(y), np.transpose(steps), atol=1e-7)


def test_surrogates_are_what_their_names_say():
    target, rng = make_target("gaussian", dim=2), np.random.default_rng(0)
    x, log_p = rng.normal(size=(40, 2)), rng.normal(size=40)
    knobs = GF.Knobs.checked({"surrogate_ratio": 1.5})
    moments = made_surrogate(x, log_p, knobs, target)
    np.testing.assert_allclose(moments.cov, 1.5 * np.cov(x.T, ddof=0), rtol=1e-6)
    np.testing.assert_allclose(moments.mean, x.mean(axis=0))
    h = leaders_width(x, 12.0)
    squared = ((x[:, None] - x) ** 2).sum(axis=2)
    assert h == pytest.approx(12 * np.median(squared[np.triu_indices(40, 1)]) / (2 * np.log(41)), rel=0.02)
    for name, masses in (("kernels", np.ones(40)), ("density", np.exp(log_p))):
        found = np.exp(made_surrogate(x, log_p, knobs.replaced(surrogate=name), target).log_density(x))
        expected = np.exp(-squared / h) @ masses
        np.testing.assert_allclose(found / found[0], expected / expected[0], rtol=1e-10)
    pair = GaussianSurrogate(np.arange(3.0), np.diag([1.0, 2.0, 3.0])).marginal((2, 0))
    assert pair.mean.tolist() == [2, 0] and pair.cov.tolist() == [[3, 0], [0, 1]]
    assert KernelSurrogate(x, log_p, 1.0).marginal((1,)).centres.shape == (40, 1)


def test_annealed_the_target_of_a_step_is_the_tempered_one():
    options = {"annealing": "on", "num_temperatures": 4, "power": 2.0, "num_particles": 20, "surrogate": "kernels"}
    session = run(2, "mixture", {"num_data": 20}, **options)
    frame, state, target = session.frame, session.frame.state, session.target
    expected = target.log_prior(state.before) + 0.25 * target.log_likelihood(state.before, target.data)
    np.testing.assert_allclose(state.log_p, expected, rtol=1e-12)
    assert frame.info.scalars["temperature"] == 0.25 and frame.caveat.startswith("β = 0.25: ")
    rho = GF.surrogate(state, frame.knobs, frame.target)
    np.testing.assert_array_equal(rho.centres, state.before)
    np.testing.assert_allclose(state.log_ratios, log_ratios(rho.log_density(state.before), state.log_p, state.before))


def test_a_density_that_is_not_positive_is_a_sentence():
    points, fine = np.zeros((3, 2)), np.zeros(3)
    broken = np.array([0.0, -np.inf, 0.0])
    with pytest.raises(TargetError, match="surrogate has density 0 there, where the target has mass; choose one"):
        log_ratios(broken, fine, points)
    with pytest.raises(TargetError, match=r"at theta = \(0, 0\): the target has density 0 there and no weight"):
        log_ratios(fine, broken, points)
    assert np.exp(log_ratios(np.array([-1e6, 0.0, 0.0]), fine, points)).tolist() == [0, 0.5, 0.5]
    target = make_target("gaussian", num_data=5)
    with pytest.raises(TargetError, match="is nan at"):
        target._log_likelihood = lambda theta, batch: np.full(len(theta), np.nan)
        checked_log_density(target, points, target.data, 1.0)


def test_particles_that_leave_end_the_run():
    knobs = {"surrogate": "flat", "num_particles": 30, "eta": 1e6, "kappa": 0.1}  # steps of one prior sd
    session = run(400, "gmm", options={**ONE, "q0_sd": 0.2, "variance": 50.0}, **knobs)
    frame = session.frame
    assert session.ended == "diverged" and frame.caveat.startswith("particles diverged: ") and frame.iteration < 400
    assert growth(frame.particles, frame.target.scale) > 100
