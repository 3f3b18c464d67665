"""SteinIS, path integration and black-box importance sampling: densities, discrepancies and weights by formula."""

import numpy as np
import pytest

from pmdviz.errors import TargetError
from pmdviz.kernels.clusters import median_distance
from pmdviz.kernels.stein import transport_diagonal
from pmdviz.methods import METHODS
from pmdviz.methods.base import checked_gradient
from pmdviz.methods.stein import leaders_width
from pmdviz.methods.stein.black_box_is import discrepancy_matrix, informed
from pmdviz.methods.stein.steinis import displaced, squared_discrepancy, start_gap
from pmdviz.scenes.stage.ladder import start_divergence
from pmdviz.targets import make_target
from tests.support.engine import advanced, errors_from
from tests.support.own import own_target

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
    assert info.gradient_evaluations == 15 * target.num_data and info.density_evaluations == 25 * target.num_data


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
    for _ in range(20):
        (one, info), (other, again) = (
            STEINIS.step(np.random.default_rng(1), state, target, target.data_rows, knobs) for state in (one, other)
        )
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


@pytest.mark.parametrize("dim, m", [(1, 30), (2, 50), (4, 20), (2, 2)])
def test_the_discrepancy_is_the_mean_over_pairs(dim, m):
    rng, h = np.random.default_rng(dim), 1.7
    x, s = rng.normal(size=(m, dim)), rng.normal(size=(m, dim))
    pairs, found = kappa(x, s, h), transport_diagonal(x, x, s, h)
    assert squared_discrepancy(s, *found, h) == pytest.approx(pairs.mean(), rel=1e-12)
    apart = pairs.sum() - np.trace(pairs)
    assert squared_discrepancy(s, *found, h, "u") == pytest.approx(apart / (m * (m - 1)), rel=1e-10)


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


def test_steps_are_shortened_where_the_posterior_is_much_narrower_than_the_prior():
    """As scheduled they diverge there: |theta| is above 1e100 after fewer than 100 steps."""
    session = advanced("path_integration", 0, "mixture", num_particles=40, start_draws=500)
    infos = [session.advance().info for _ in range(10)]
    assert min(info.scalars["step_size"] for info in infos) < 0.125 and "a longer step" in infos[0].words
    assert np.abs(session.advance(90).particles / session.target.scale).max() < 10


def test_particles_that_fly_off_end_the_run_with_a_sentence():
    likelihood = lambda theta, rows: -1e4 * len(rows) * (theta**4).sum(axis=1)  # noqa: E731
    slopes = {"grad_log_prior": lambda t: -t, "grad_log_likelihood": lambda t, rows: -4e4 * len(rows) * t**3}
    steep = own_target(2, "steep", log_likelihood=likelihood, data=np.zeros((1, 1)), **slopes)
    with pytest.raises(TargetError, match="particles diverged on target 'steep'; use a step size smaller than"):
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
    h, gap, turn = median_distance(x) ** 2 / np.log(31), x[:, None] - x, s[:, None] - s
    r = (gap**2).sum(axis=2)
    kappa = np.exp(-r / h) * (s @ s.T + 2 / h * (turn * gap).sum(axis=2) + 4 / h - 4 / h**2 * r)
    rows, K = discrepancy_matrix(state, target, knobs)
    np.testing.assert_array_equal(rows, np.arange(30))
    np.testing.assert_allclose(K, w[:, None] * kappa * w * (1 + 1e-6 * np.eye(30)), rtol=1e-8, atol=1e-12)
    _, plain = discrepancy_matrix(state, target, knobs.replaced(scaling="none"))
    ridge = 1e-6 * np.trace(kappa * w**2) / 30
    np.testing.assert_allclose(np.diag(plain), np.diag(kappa) * w**2 + ridge, rtol=1e-8)


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


def test_importance_weights_are_what_they_were():
    given = {"num_particles": 50, "proposal": "gaussian", "proposal_mean": 0.2, "proposal_sd": 1.3}
    frame = advanced("black_box_is", target="gmm", options=OFF, **given).frame
    x = frame.particles
    w = np.exp(-0.5 * (x**2).sum(axis=1) + 0.5 * ((x - 0.2) ** 2).sum(axis=1) / 1.69)
    np.testing.assert_allclose(METHOD.before(frame.state), w / w.sum(), rtol=1e-9)
    assert abs(errors_from(x[:, 0], 0.2)) < 4 and x.std() == pytest.approx(1.3, rel=0.2)


def test_steps_go_on_where_the_last_one_stopped():
    frames = [advanced("black_box_is", 100 // n, "gmm", seed=1, iterations=n).frame for n in (10, 100)]
    few, many = frames
    assert few.state.iterations == many.state.iterations == 100
    np.testing.assert_allclose(few.weights, many.weights, rtol=1e-9)
    gaps = [frame.info.scalars["duality_gap"] for frame in frames]
    assert gaps[0] == pytest.approx(gaps[1], rel=1e-6) and gaps[1] > 1e-6
