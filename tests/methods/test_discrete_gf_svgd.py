"""GF-SVGD on discrete states: Gamma's bins, the surrogates and their gradients, the step by its formula, and TV."""

from functools import partial

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import norm, truncnorm

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.methods.stein.discrete_gf_svgd import Base, QuantileBins, ranked, surrogate
from tests.support.engine import advanced, digest, drive, told
from tests.support.tables import looped

session_of = partial(advanced, "discrete_gf_svgd", 0)


@looped("spread, clip", [(0.0, np.inf), (0.0, 1.0), (3.0, np.inf), (3.0, 2.5)])
@looped("count, num_bins", [(2, 0), (3, 0), (5, 10)])
def test_every_value_has_the_same_mass_of_the_base(spread, clip, count, num_bins):
    """By SciPy's distribution functions between the edges; one of those belongs above."""
    signs = QuantileBins((1.0, -1.0), Base())(np.array([-3.0, -1e-300, 0.0, 2.0]))
    np.testing.assert_array_equal(signs, [-1, -1, 1, 1])
    base = Base(spread, clip)
    bins = QuantileBins(tuple(range(count)), base, num_bins)

    def below(x):
        if spread:
            whole = norm.cdf(np.atleast_1d(x)[:, None] - np.linspace(-spread, spread, 5)).mean(axis=1)
            low, high = norm.cdf(np.array([[-clip], [clip]]) - np.linspace(-spread, spread, 5)).mean(axis=1)
            return (whole - low) / (high - low)
        return truncnorm.cdf(x, -clip, clip)

    np.testing.assert_allclose(below(bins.edges), np.arange(1, bins.num_bins) / bins.num_bins, atol=1e-12)
    x = np.linspace(max(-clip, -spread - 9), min(clip, spread + 9), 40_001)
    density = np.exp(base.log_density(x))
    assert np.trapezoid(density, x) == pytest.approx(1, abs=1e-6)
    for value in range(count):
        assert np.trapezoid(density * (bins(x) == value), x) == pytest.approx(1 / count, abs=1e-3)


@pytest.mark.parametrize("spread", [0.0, 4.0])
def test_the_base_s_score_is_the_slope_of_its_log(spread):
    x, step = np.linspace(-5, 5, 21), 1e-5
    base = Base(spread)
    slope = (base.log_density(x + step) - base.log_density(x - step)) / (2 * step)
    np.testing.assert_allclose(base.score(x), slope, atol=1e-8)


@pytest.mark.parametrize("steepness", [1.0, 2.0, 10.0])
def test_the_smooth_surrogate_s_gradient_is_that_of_its_log_density(steepness):
    """log rho = log p0(x) + log ptilde(tanh(tau x / 2)), by central differences on Ising."""
    session = session_of("ising", {"size": 3}, num_particles=6, steepness=steepness)
    target, state, knobs = session.target, session.frame.state, session.frame.knobs
    _, scores = surrogate(target, state.latent, state.particles, target.data_rows, knobs)

    def log_rho(x):
        return target.log_relaxed(np.tanh(0.5 * steepness * x)) - 0.5 * (x**2).sum(axis=1)

    x, step = state.latent, 1e-5
    slopes = [(log_rho(x + step * e) - log_rho(x - step * e)) / (2 * step) for e in np.eye(target.dim)]
    np.testing.assert_allclose(scores, np.stack(slopes, axis=1), atol=1e-7)


@looped("weighting", ["ratios", "ranks", "none"])
@looped("name", ["base", "tanh"])
def test_a_step_is_the_formula(name, weighting):
    """One plain step on Ising, with matrices of all pairs."""
    rule = {"surrogate": name, "weighting": weighting, "clip": 0.0, "length_scale_factor": 2.0}
    session = session_of("ising", {"size": 2}, num_particles=30, optimiser="plain", eta=0.3, **rule)
    target, x = session.target, session.frame.state.latent
    z, soft = np.where(x < 0, -1.0, 1.0), np.tanh(x)
    smooth = name == "tanh"
    log_ratio = (target.log_relaxed(soft) if smooth else 0.0) - target.log_joint(z)
    scores = -x + (target.grad_log_relaxed(soft) * (1 - soft**2) if smooth else 0.0)
    w = {"ratios": softmax(log_ratio), "ranks": 1 / (log_ratio >= log_ratio[:, None]).sum(axis=1), "none": np.ones(30)}[
        weighting
    ]
    w = w / w.sum()
    gaps = x[:, None] - x
    squares = (gaps**2).sum(axis=2)
    h = 2.0 * np.median(np.sqrt(squares[np.triu_indices(30, 1)])) ** 2 / (2 * np.log(31))
    k = np.exp(-squares / h) * w  # k_ij w_j
    force = k @ scores + 2 / h * (k[:, :, None] * gaps).sum(axis=1)
    after = session.advance(1).state
    np.testing.assert_allclose(after.latent, x + 0.3 * force, rtol=1e-9)
    np.testing.assert_array_equal(after.particles, np.where(after.latent < 0, -1.0, 1.0))
    assert after.ess == pytest.approx(1 / (w**2).sum())


def test_ranks_are_one_over_the_share_that_is_at_least_as_large():
    log_w = ranked(np.array([0.0, 3.0, 3.0, -1.0]))
    np.testing.assert_allclose(np.exp(log_w), np.array([1 / 3, 1 / 2, 1 / 2, 1 / 4]) / (1 / 3 + 1 + 1 / 4))


def test_clipped_points_stay_inside_and_ranks_clip_by_default():
    session = session_of("ising", {"size": 3}, weighting="ranks", num_particles=20)
    assert session.frame.knobs.clip == 1.0
    for _ in range(20):
        assert np.abs(session.advance(1).state.latent).max() <= 1.0


@pytest.mark.parametrize("target, options", [("ising", {"size": 3}), ("binary_net", {"num_data": 60, "hidden": 3})])
def test_a_run_is_the_same_however_far_it_leaps(target, options):
    recipe = Recipe(target, "discrete_gf_svgd", target_options=options, num_particles=5, budget=450)
    at_once, one_by_one = Session(recipe, metrics_every=10**6), Session(recipe, metrics_every=10**6)
    drive(at_once), drive(one_by_one, 1)
    assert digest(at_once) == digest(one_by_one) and told(at_once.frame.info) == told(one_by_one.frame.info)
    assert at_once.frame.spent == one_by_one.frame.spent and at_once.frame.iteration > 1
