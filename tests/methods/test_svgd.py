"""SVGD, gradient-free SVGD and the one on discrete states: steps by their formulas, widths, surrogates, variances."""

from functools import partial

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import norm

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.errors import TargetError
from pmdviz.kernels.clusters import median_distance
from pmdviz.methods import METHODS
from pmdviz.methods.base import checked_log_density
from pmdviz.methods.stein import KERNELS, forces, kept_variance, squared_width
from pmdviz.methods.stein.discrete_gf_svgd import Base, QuantileBins, ranked, surrogate
from pmdviz.methods.stein.svgd import TITLES, growth, log_ratios, made_surrogate, temperature, tempered_scores
from pmdviz.targets import make_target
from tests.kernels.naive import differences
from tests.support.engine import advanced, digest, drive, told
from tests.support.tables import looped

SVGD = METHODS["svgd"]
run = partial(advanced, "svgd", batch_size=20)  # all data a step: a deterministic flow


@looped("rule", ["liu_wang", "thesis", "median", "local", "given"])
def test_the_width_is_what_its_rule_says(rule):
    particles = np.random.default_rng(0).normal(size=(400, 2))
    knobs = SVGD.Knobs.checked({"length_scale_rule": rule, "median": "exact", "length_scale": 0.7})
    h, squared = squared_width(particles, knobs, make_target("gaussian")), median_distance(particles) ** 2
    thesis = squared / np.log(401) / 2
    expected = {"liu_wang": 2 * thesis, "thesis": thesis, "median": squared, "given": 0.49, "local": 2 * thesis}[rule]
    assert h == pytest.approx(expected, rel=0.15 if rule == "local" else 1e-12)  # on one Gaussian what liu_wang gives


# Nothing is hard here: N(0, I) from N(0, I).
ROUND = {"num_components": 1, "spread": 0.0, "variance": 1.0, "q0_sd": 1.0}


@pytest.mark.parametrize(
    ("rule", "dim", "low", "high"),
    [("thesis", 2, 0.8, 0.9), ("liu_wang", 5, 0.66, 0.75), ("thesis", 10, 0.0, 0.15), ("median", 10, 0.85, 1.0)],
)
def test_the_width_decides_how_much_of_the_variance_is_kept(rule, dim, low, high):
    """Fixed points, measured from three starts: 0.845, 0.711, 0.044, 0.902."""
    options = {**ROUND, "dim": dim}  # a target without data
    frame = run(300, "gmm", batch_size=1, target_options=options, num_particles=100, length_scale_rule=rule).frame
    ratio = frame.particles.var(axis=0).mean()
    assert low < ratio < high
    assert frame.caveat.startswith("variance about") == (ratio < 0.5)
    kept = kept_variance(frame.particles, frame.state.h)
    assert kept == pytest.approx(ratio, rel=0.03)


@looped("rule", ["local", "covariance", "median", "shaped"])
@looped("method", ["pmd", "importance", "svgd", "hmc"])
def test_too_few_points_for_a_density_have_widths_of_their_own_and_no_distance(method, rule):
    knobs = {"burn_in": 0} if method == "hmc" else {"num_particles": 3, "bandwidth_rule": rule}
    frame = advanced(method, 2 if method == "hmc" else 3, "gaussian", {"num_data": 20}, **knobs).frame
    x, w = frame.particles, frame.weights
    centred = x - w @ x
    np.testing.assert_allclose(frame.density.cov, (centred * w[:, None]).T @ centred, atol=1e-12)
    assert [frame.metric(name) for name in ("tv", "kl_forward", "kl_reverse", "cross_entropy")] == [None] * 4
    assert "no density" in frame.no_density


def test_a_step_of_the_inverse_multiquadric_follows_its_force_and_so_do_its_arrows():
    target = make_target("mixture", num_data=50)
    knobs = SVGD.Knobs.checked({"num_particles": 30, "batch_size": 50, "kernel": "imq", "optimiser": "plain"})
    state = SVGD.init(np.random.default_rng(0), target, knobs)
    after, info = SVGD.step(np.random.default_rng(1), state, target, target.data, knobs)
    scores, h = target.grad_log_joint(state.particles), squared_width(state.particles, knobs, target)
    force = KERNELS["imq"].force(state.particles, scores, h)
    moved = (after.particles - state.particles) / (info.step_size * target.scale**2)
    parts = info.paths()
    for found in (moved, sum(lines[:, 1] - lines[:, 0] for lines in parts.values())):
        np.testing.assert_allclose(found, force, rtol=1e-9, atol=1e-9)
    assert info.step_size == pytest.approx(1 / 101) and not after.first.any() and not after.second.any()
    assert not np.allclose(parts["repulsion"], forces(state.particles, scores, h)["repulsion"])


def test_annealing_raises_the_power_of_the_likelihood_step_by_step():
    """The score is grad log prior + beta grad log L, by finite differences of log prior + beta log L."""
    options = {"annealing": "on", "num_temperatures": 4, "power": 2.0, "steps_per_temperature": 3}
    target, knobs = make_target("mixture", num_data=50), SVGD.Knobs.checked({"batch_size": 50, **options})
    betas = [temperature(t, knobs) for t in range(14)]
    np.testing.assert_allclose(betas, np.repeat([1 / 16, 1 / 4, 9 / 16, 1, 1], 3)[:14])
    assert temperature(0, SVGD.Knobs.checked({})) == 1
    theta, beta = np.random.default_rng(0).normal(size=(5, 2)), 0.3
    expected = differences(lambda x: target.log_prior(x) + beta * target.log_likelihood(x, target.data), theta)
    found = tempered_scores(target, theta, target.data, beta)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-5)
    np.testing.assert_array_equal(tempered_scores(target, theta, target.data, 1.0), target.grad_log_joint(theta))
    session = run(3, num_particles=50, annealing="on", num_temperatures=8)
    assert session.frame.caveat.startswith("β = 0.38: ") and "β = 0.375" in session.frame.info.words
    assert session.frame.info.scalars["temperature"] == 0.375
    assert session.advance(5).caveat == "" and session.frame.info.scalars["temperature"] == 1


session_of = partial(advanced, "discrete_gf_svgd", 0)


@looped("spread, clip", [(0.0, np.inf), (0.0, 1.0), (3.0, np.inf), (3.0, 2.5)])
@looped("count, num_bins", [(2, 0), (3, 0), (5, 10)])
def test_every_value_has_the_same_mass_of_the_base(spread, clip, count, num_bins):
    base = Base(spread, clip)
    bins = QuantileBins(tuple(range(count)), base, num_bins)

    def below(x):
        return norm.cdf(np.atleast_1d(x)[:, None] - np.linspace(-spread, spread, 5 if spread else 1)).mean(axis=1)

    low, high = below(-clip), below(clip)
    found = (below(bins.edges) - low) / (high - low)
    np.testing.assert_allclose(found, np.arange(1, bins.num_bins) / bins.num_bins, atol=1e-12)
    x = np.linspace(max(-clip, -spread - 9), min(clip, spread + 9), 40_001)
    density = np.exp(base.log_density(x))
    assert np.trapezoid(density, x) == pytest.approx(1, abs=1e-6)
    for value in range(count):
        assert np.trapezoid(density * (bins(x) == value), x) == pytest.approx(1 / count, abs=1e-3)
    signs = QuantileBins((1.0, -1.0), Base())(np.array([-3.0, -1e-300, 0.0, 2.0]))  # an edge belongs above
    np.testing.assert_array_equal(signs, [-1, -1, 1, 1])


@pytest.mark.parametrize("spread", [0.0, 4.0])
def test_the_base_s_score_is_the_slope_of_its_log(spread):
    x, base = np.linspace(-5, 5, 21)[:, None], Base(spread)
    slope = differences(lambda points: base.log_density(points[:, 0]), x)
    np.testing.assert_allclose(base.score(x[:, 0]), slope[:, 0], atol=1e-8)


@pytest.mark.parametrize("steepness", [1.0, 2.0, 10.0])
def test_the_smooth_surrogate_s_gradient_is_that_of_its_log_density(steepness):
    """log rho = log p0(x) + log ptilde(tanh(tau x / 2)), by central differences on Ising."""
    session = session_of("ising", {"size": 3}, num_particles=6, steepness=steepness)
    target, state = session.target, session.frame.state
    _, scores = surrogate(target, state.latent, state.particles, target.data_rows, session.frame.knobs)
    log_rho = lambda x: target.log_relaxed(np.tanh(0.5 * steepness * x)) - 0.5 * (x**2).sum(axis=1)  # noqa: E731
    np.testing.assert_allclose(scores, differences(log_rho, state.latent), atol=1e-7)


@looped("weighting", ["ratios", "ranks", "none"])
@looped("name", ["base", "tanh"])
def test_a_step_is_the_formula(name, weighting):
    rule = {"surrogate": name, "weighting": weighting, "clip": 0.0, "length_scale_factor": 2.0}
    session = session_of("ising", {"size": 2}, num_particles=30, optimiser="plain", eta=0.3, **rule)
    target, x, smooth = session.target, session.frame.state.latent, name == "tanh"
    z, soft = np.where(x < 0, -1.0, 1.0), np.tanh(x)
    log_ratio = (target.log_relaxed(soft) if smooth else 0.0) - target.log_joint(z)
    scores = -x + (target.grad_log_relaxed(soft) * (1 - soft**2) if smooth else 0.0)
    ranks = 1 / (log_ratio >= log_ratio[:, None]).sum(axis=1)
    w = {"ratios": softmax(log_ratio), "ranks": ranks / ranks.sum(), "none": np.full(30, 1 / 30)}[weighting]
    gaps = x[:, None] - x
    squares = (gaps**2).sum(axis=2)
    h = 2.0 * np.median(squares[np.triu_indices(30, 1)]) / (2 * np.log(31))
    k = np.exp(-squares / h) * w  # k_ij w_j
    force = k @ scores + 2 / h * (k[:, :, None] * gaps).sum(axis=1)
    after = session.advance(1).state
    np.testing.assert_allclose(after.latent, x + 0.3 * force, rtol=1e-9)
    np.testing.assert_array_equal(after.particles, np.where(after.latent < 0, -1.0, 1.0))
    assert after.ess == pytest.approx(1 / (w**2).sum())


def test_ranks_are_one_over_the_share_that_is_at_least_as_large():
    log_w = ranked(np.array([0.0, 3.0, 3.0, -1.0]))
    np.testing.assert_allclose(np.exp(log_w), np.array([1 / 3, 1 / 2, 1 / 2, 1 / 4]) / (1 / 3 + 1 + 1 / 4))


@pytest.mark.parametrize("target, options", [("ising", {"size": 3}), ("binary_net", {"num_data": 60, "hidden": 3})])
def test_a_run_is_the_same_however_far_it_leaps(target, options):
    recipe = Recipe(target, "discrete_gf_svgd", target_options=options, num_particles=5, budget=450)
    at_once, one_by_one = Session(recipe, metrics_every=10**6), Session(recipe, metrics_every=10**6)
    drive(at_once), drive(one_by_one, 1)
    assert digest(at_once) == digest(one_by_one) and told(at_once.frame.info) == told(one_by_one.frame.info)
    assert at_once.frame.spent == one_by_one.frame.spent and at_once.frame.iteration > 1


GF = METHODS["gf_svgd"]
ONE = {"num_components": 1, "spread": 0.0}
gf_run = partial(advanced, "gf_svgd")


@pytest.mark.parametrize("weighting, sign", [("ratios", 1), ("inverted", -1)])
def test_a_step_is_the_weighted_force_of_the_surrogate_without_a_gradient_of_the_target(weighting, sign):
    target = make_target("mixture", num_data=10)
    target._grad_log_likelihood = target.declared = None  # asked for, it would fail
    knobs = {"num_particles": 20, "surrogate": "gaussian", "surrogate_mean": 0.5, "surrogate_sd": 0.7}
    knobs = GF.Knobs.checked({**knobs, "optimiser": "plain", "weighting": weighting})
    state = GF.init(np.random.default_rng(0), target, knobs)
    after, info = GF.step(np.random.default_rng(1), state, target, target.data, knobs)
    x, sd = state.particles, 0.7 * target.scale
    w = softmax(sign * ((-0.5 * ((x - 0.5) / sd) ** 2).sum(axis=1) - target.log_joint(x)))
    h, gaps = squared_width(x, knobs, target), x[:, None] - x
    k = np.exp(-(gaps**2).sum(axis=2) / h) * w  # k_ij w_j
    expected = k @ (-(x - 0.5) / sd**2) + 2 / h * (k[:, :, None] * gaps).sum(axis=1)
    moved = (after.particles - x) / (info.step_size * target.scale**2)
    parts = sum(line[:, 1] - line[:, 0] for line in info.paths().values())
    for found in (moved, parts):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-10)
    assert info.gradient_evaluations == 0 and info.density_evaluations == 200
    assert info.scalars["surrogate_ess"] == pytest.approx(1 / (w**2).sum())


@looped("name", TITLES)
def test_a_surrogate_s_score_is_the_gradient_of_its_log_density(name):
    target, rng = make_target("gaussian", dim=3), np.random.default_rng(0)
    knobs = GF.Knobs.checked({"surrogate": name, "surrogate_width": 3.0})
    rho = made_surrogate(rng.normal(size=(25, 3)), rng.normal(size=25), knobs, target)
    y = rng.normal(size=(4, 3))
    np.testing.assert_allclose(rho.score(y), differences(rho.log_density, y), atol=1e-7)


def test_annealed_the_target_of_a_step_is_the_tempered_one():
    options = {"annealing": "on", "num_temperatures": 4, "power": 2.0, "num_particles": 20, "surrogate": "kernels"}
    session = gf_run(2, "mixture", {"num_data": 20}, **options)
    frame, state, target = session.frame, session.frame.state, session.target
    expected = target.log_prior(state.before) + 0.25 * target.log_likelihood(state.before, target.data)
    np.testing.assert_allclose(state.log_p, expected, rtol=1e-12)
    assert frame.info.scalars["temperature"] == 0.25 and frame.caveat.startswith("β = 0.25: ")
    rho = GF.surrogate(state, frame.knobs, frame.target)
    np.testing.assert_array_equal(rho.centres, state.before)
    np.testing.assert_allclose(state.log_ratios, log_ratios(rho.log_density(state.before), state.log_p, state.before))


def test_a_density_that_is_not_positive_is_a_sentence():
    points, fine, broken = np.zeros((3, 2)), np.zeros(3), np.array([0.0, -np.inf, 0.0])
    with pytest.raises(TargetError, match="surrogate has density 0 there, where the target has mass; choose one"):
        log_ratios(broken, fine, points)
    with pytest.raises(TargetError, match=r"at theta = \(0, 0\): the target has density 0 there and no weight"):
        log_ratios(fine, broken, points)
    assert np.exp(log_ratios(np.array([-1e6, 0.0, 0.0]), fine, points)).tolist() == [0, 0.5, 0.5]
    target = make_target("gaussian", num_data=5)
    target._log_likelihood = lambda theta, batch: np.full(len(theta), np.nan)
    with pytest.raises(TargetError, match="is nan at"):
        checked_log_density(target, points, target.data, 1.0)


def test_particles_that_leave_end_the_run():
    knobs = {"surrogate": "flat", "num_particles": 30, "eta": 1e6, "kappa": 0.1}  # steps of one prior sd
    session = gf_run(400, "gmm", options={**ONE, "q0_sd": 0.2, "variance": 50.0}, **knobs)
    frame = session.frame
    assert session.ended == "diverged" and frame.caveat.startswith("particles diverged: ") and frame.iteration < 400
    assert growth(frame.particles, frame.target.scale) > 100
