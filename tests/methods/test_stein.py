"""SVGD with and without gradients, SteinIS, path integration and black-box importance sampling, by their formulas."""

from functools import partial

import numpy as np
import pytest
from scipy.special import softmax
from scipy.stats import norm

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.errors import TargetError
from pmdviz.kernels.clusters import median_distance
from pmdviz.kernels.stein import transport_diagonal
from pmdviz.methods import METHODS
from pmdviz.methods.base import checked_gradient, checked_log_density
from pmdviz.methods.stein import KERNELS, forces, kept_variance, leaders_width, squared_width
from pmdviz.methods.stein.black_box_is import discrepancy_matrix, informed
from pmdviz.methods.stein.discrete_gf_svgd import Base, QuantileBins, ranked, surrogate
from pmdviz.methods.stein.steinis import displaced, start_gap
from pmdviz.methods.stein.svgd import TITLES, growth, log_ratios, made_surrogate, temperature, tempered_scores
from pmdviz.scenes.stage.ladder import start_divergence
from pmdviz.targets import make_target
from tests.kernels.naive import differences
from tests.support.engine import advanced, digest, drive, errors_from, told
from tests.support.own import own_target
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
    assert info.cost.gradient_evaluations == 0 and info.cost.density_evaluations == 200
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
    squares = ((state.before[:, None] - state.before) ** 2).sum(axis=2)
    h = leaders_width(state.before, frame.knobs.surrogate_width, float(target.scale.mean()))
    np.testing.assert_allclose(rho.log_density(state.before), np.log(np.exp(-squares / h).sum(axis=1)), rtol=1e-10)
    np.testing.assert_allclose(state.log_ratios, log_ratios(rho.log_density(state.before), state.log_p, state.before))


def test_a_density_that_is_not_positive_is_a_sentence_and_particles_that_leave_end_the_run():
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
    knobs = {"surrogate": "flat", "num_particles": 30, "eta": 1e6, "kappa": 0.1}  # steps of one prior sd
    session = gf_run(400, "gmm", options={**ONE, "q0_sd": 0.2, "variance": 50.0}, **knobs)
    frame = session.frame
    assert session.ended == "diverged" and frame.caveat.startswith("particles diverged: ") and frame.iteration < 400
    assert growth(frame.particles, frame.target.scale) > 100


STEINIS = METHODS["steinis"]


def with_followers(target, points, **knobs):
    knobs = STEINIS.Knobs.checked({"stop": "last", "num_particles": len(points), **knobs})
    state = STEINIS.init(np.random.default_rng(0), target, knobs)
    return state._replace(points=points, log_q=target.log_prior(points), starts=points), knobs


@pytest.mark.parametrize("target, options", [("gmm", {}), ("gmm", {"dim": 4}), ("linear", {"dim": 3})])
def test_a_step_is_the_formula_from_the_leaders_where_they_stood(target, options):
    target = make_target(target, **options)
    knobs = STEINIS.Knobs.checked({"num_particles": 20, "num_leaders": 15, "num_pilots": 5, "eta": 0.05})
    state = STEINIS.init(np.random.default_rng(0), target, knobs)
    after, info = STEINIS.step(np.random.default_rng(1), state, target, target.data_rows, knobs)
    unit, h = target.scale, leaders_width(state.leaders / target.scale, 4.0)
    u = (state.leaders[None] - np.concatenate([state.points, state.leaders])[:, None]) / unit
    k = np.exp(-(u**2).sum(axis=2) / h)[:, :, None]
    pull = unit * target.grad_log_joint(state.leaders) - 2 / h * u
    step = info.step_size * unit * (k * pull).mean(axis=1)
    np.testing.assert_allclose(after.points, state.points + step[:25], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(after.leaders, state.leaders + step[25:], rtol=1e-10, atol=1e-12)
    assert info.cost[1:] == (25 * target.num_data, 15 * target.num_data)


@pytest.mark.parametrize("dim", [1, 2, 4])
def test_log_q_is_that_of_the_whole_map_by_finite_differences(dim):
    target, tiny = make_target("gmm", dim=dim), 1e-5
    start = 2 * np.random.default_rng(5).normal(size=(30, dim))
    ways = [start] + [start + sign * tiny * way for way in np.eye(dim) for sign in (1, -1)]
    state, knobs = with_followers(target, np.concatenate(ways))
    for _ in range(40):
        state, _ = displaced(state, target, checked_gradient(target, state.leaders, target.data_rows), knobs)
    ends = state.points.reshape(len(ways), 30, dim)
    jacobian = np.stack([(ends[k] - ends[k + 1]) / (2 * tiny) for k in range(1, len(ways), 2)], axis=2)
    signs, logs = np.linalg.slogdet(jacobian)
    np.testing.assert_allclose(state.log_q[:30], target.log_prior(start) - logs, atol=1e-6)
    assert (signs > 0).all()


def test_followers_decide_nothing_that_moves_them_or_is_kept():
    target = make_target("gmm")
    knobs = STEINIS.Knobs.checked({"num_particles": 30, "num_leaders": 30, "num_pilots": 30, "eta": 3.0})
    one = STEINIS.init(np.random.default_rng(0), target, knobs)
    other = one._replace(points=np.concatenate([one.points[:30] + 0.5, one.points[30:]]))
    step = lambda state: STEINIS.step(np.random.default_rng(1), state, target, target.data_rows, knobs)  # noqa: E731
    for _ in range(20):
        (one, info), (other, again) = step(one), step(other)
        assert info.step_size == again.step_size and info.limited == again.limited
    assert one.kept == other.kept and one.best == other.best and not np.array_equal(one.points, other.points)


def test_a_follower_that_crosses_a_fold_is_counted():
    """One leader alone at 0 pulls a far follower by a score of 9: at the steepest place of its kernel space folds."""
    target = make_target("gaussian", dim=1, num_data=500)
    state, knobs = with_followers(target, np.linspace(-2, 2, 401)[:, None], num_leaders=1, length_scale_factor=1.0)
    state = state._replace(leaders=np.zeros((1, 1)))
    scores = checked_gradient(target, state.leaders, target.data_rows)
    after, _ = displaced(state, target, scores, knobs)
    assert 0 < after.folded.sum() < 401
    assert "crossed a fold" in STEINIS.caveat(after, knobs)


def kappa(x, s, h):
    """k [s.s' + (s - s').(x - x') 2/h + 2d/h - 4 |x - x'|^2 / h^2] for all pairs."""
    u, d = x[:, None] - x, x.shape[1]
    squares = (u**2).sum(axis=2)
    cross = ((s[:, None] - s) * u).sum(axis=2)
    return np.exp(-squares / h) * (s @ s.T + 2 / h * cross + 2 * d / h - 4 / h**2 * squares)


@pytest.mark.parametrize("statistic", ["v", "u"])
@pytest.mark.parametrize("target, options", [("gmm", {}), ("linear", {"dim": 3})])
def test_a_step_adds_to_the_area_what_the_particles_say_where_they_stand(target, options, statistic):
    knobs = {"num_particles": 40, "statistic": statistic, "eta": 0.01, "start_draws": 500}
    session = advanced("path_integration", 2, target, options, **knobs)
    before, after, target = session.frame.state, session.advance().state, session.target
    x, s = before.particles / target.scale, target.grad_log_joint(before.particles) * target.scale
    h = leaders_width(x, 1.0)
    pairs = kappa(x, s, h)
    if statistic == "u":
        np.fill_diagonal(pairs, 0.0)
        pairs *= 40 / 39
    assert after.areas[-1] - before.areas[-1] == pytest.approx(0.01 * pairs.mean(), rel=1e-9)
    force, _ = transport_diagonal(x, x, s, h)
    np.testing.assert_allclose(after.particles, before.particles + 0.01 * target.scale * force, rtol=1e-12)
    assert len(after.areas) == 4 and np.array_equal(after.areas[:3], before.areas)


def test_what_it_starts_from_is_kl_less_log_z():
    """On the conjugate Gaussian in closed form: N d / 2 log(2 pi s^2) + (sum x^2 + N d t^2) / 2 s^2."""
    target = make_target("gaussian", num_data=4)
    o, x, d = target.options, target.data, target.dim
    exact = 2 * d * np.log(2 * np.pi * o.sigma_x**2) + ((x**2).sum() + 4 * d * o.prior_sd**2) / (2 * o.sigma_x**2)
    found = [start_gap(np.random.default_rng(seed), target, target.data, 5_000) for seed in range(20)]
    assert abs(errors_from(found, exact)) < 4
    assert start_divergence(target) == pytest.approx(exact + target.exact.log_z, abs=0.05)


def test_paths_are_shortened_where_the_posterior_is_narrow_and_particles_that_fly_off_end_the_run():
    session = advanced("path_integration", 0, "mixture", num_particles=40, start_draws=500)
    infos = [session.advance().info for _ in range(10)]
    assert min(info.scalars["step_size"] for info in infos) < 0.125 and "a longer step" in infos[0].words
    assert np.abs(session.advance(90).particles / session.target.scale).max() < 10
    likelihood = lambda theta, rows: -1e4 * len(rows) * (theta**4).sum(axis=1)  # noqa: E731
    slopes = {"grad_log_prior": lambda t: -t, "grad_log_likelihood": lambda t, rows: -4e4 * len(rows) * t**3}
    steep = own_target(2, "steep", log_likelihood=likelihood, data=np.zeros((1, 1)), **slopes)
    with pytest.raises(TargetError, match="the particles diverged on target 'steep' to theta = .*; use a step size"):
        advanced("path_integration", target=steep, num_particles=20, budget=100_000)


METHOD = METHODS["black_box_is"]

OFF = {"num_components": 1, "spread": 0.0, "variance": 1.0, "q0_sd": 2**0.5, "q0_mean": 0.5}


def known(target, **knobs):
    knobs = METHOD.Knobs.checked({"num_particles": 30, **knobs})
    state = METHOD.init(np.random.default_rng(0), target, knobs)
    return informed(state, target, target.data_rows, knobs)[0], knobs


@pytest.mark.parametrize("score", ["gradient", "gradient_free"])
@pytest.mark.parametrize("proposal, mean, variance", [("q0", 0.3, 4.0), ("gaussian", -0.2, 6.25)])
def test_the_matrix_is_the_formula(score, proposal, mean, variance):
    target = make_target("gmm", q0_mean=0.3)
    state, knobs = known(target, score=score, proposal=proposal, proposal_mean=-0.2, proposal_sd=2.5)
    x = state.particles
    s = target.grad_log_joint(x) if score == "gradient" else (mean - x) / variance
    w = np.exp(-0.5 * ((x - mean) ** 2).sum(axis=1) / variance - target.log_joint(x))
    w = w / w.mean() if score == "gradient_free" else np.ones(30)
    expected = np.outer(w, w) * kappa(x, s, median_distance(x) ** 2 / np.log(31))
    rows, K = discrepancy_matrix(state, target, knobs)
    np.testing.assert_array_equal(rows, np.arange(30))
    np.testing.assert_allclose(K, expected * (1 + 1e-6 * np.eye(30)), rtol=1e-8, atol=1e-12)
    _, plain = discrepancy_matrix(state, target, knobs.replaced(scaling="none"))
    ridge = 1e-6 * np.trace(expected) / 30
    np.testing.assert_allclose(np.diag(plain), np.diag(expected) + ridge, rtol=1e-8)


def test_powers_of_the_target_in_the_kernel():
    """(0.103), each term by itself; its mean under p is 0 whatever the power."""
    target = make_target("gmm", q0_mean=0.3)
    state, knobs = known(target, score="gradient", alpha=0.5)
    x, s = state.particles, target.grad_log_joint(state.particles)
    h, weights = median_distance(x) ** 2 / np.log(31), np.sqrt(np.exp(target.log_joint(x)))
    u = x[:, None] - x
    r = (u**2).sum(axis=2)
    cross = 2 / h * (np.einsum("ik,ijk->ij", s, u) - np.einsum("jk,ijk->ij", s, u))
    terms = np.exp(-r / h) * (1.5**2 * (s @ s.T) + 1.5 * cross + 4 / h - 4 * r / h**2)
    expected = np.outer(weights, weights) * terms * (1 + 1e-6 * np.eye(30)) / weights.max() ** 2
    np.testing.assert_allclose(discrepancy_matrix(state, target, knobs)[1], expected, rtol=1e-8, atol=1e-12)


def test_importance_weights_are_kept_and_descent_goes_on_where_it_stopped():
    given = {"num_particles": 50, "proposal": "gaussian", "proposal_mean": 0.2, "proposal_sd": 1.3}
    frame = advanced("black_box_is", target="gmm", options=OFF, **given).frame
    x = frame.particles
    w = np.exp(-0.5 * (x**2).sum(axis=1) + 0.5 * ((x - 0.2) ** 2).sum(axis=1) / 1.69)
    np.testing.assert_allclose(np.exp(frame.state.importance), w / w.sum(), rtol=1e-9)
    assert abs(errors_from(x[:, 0], 0.2)) < 4 and x.std() == pytest.approx(1.3, rel=0.2)
    frames = [advanced("black_box_is", 100 // n, "gmm", seed=1, iterations=n).frame for n in (10, 100)]
    few, many = frames
    assert few.state.iterations == many.state.iterations == 100
    np.testing.assert_allclose(few.weights, many.weights, rtol=1e-9)
    gaps = [frame.info.scalars["duality_gap"] for frame in frames]
    assert gaps[0] == pytest.approx(gaps[1], rel=1e-6) and gaps[1] > 1e-6
