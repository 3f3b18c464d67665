"""SteinIS tracks the density of its map and Z is unbiased; path integration sums the discrepancy over its steps."""

import numpy as np
import pytest

from pmdviz.errors import TargetError
from pmdviz.kernels.stein import transport_diagonal
from pmdviz.methods import METHODS
from pmdviz.methods.base import checked_gradient
from pmdviz.methods.stein import leaders_width
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
