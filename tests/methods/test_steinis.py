"""SteinIS: the tracked density is that of the map, Z is unbiased, and what fails is seen to fail."""

import numpy as np
import pytest

from pmdviz.methods import METHODS
from pmdviz.methods.base import checked_gradient
from pmdviz.methods.stein import DETERMINANTS, first_order, leaders_width
from pmdviz.methods.stein.steinis import displaced
from pmdviz.targets import make_target
from tests.support.engine import advanced

STEINIS = METHODS["steinis"]
LAST = {"stop": "last"}


def log_z(session):
    frame = session.frame
    return STEINIS.log_z(frame.state, frame.knobs, frame.target)


def with_followers(target, points, **knobs):
    """A state whose followers are these points, drawn from the prior as far as it knows."""
    knobs = STEINIS.Knobs.checked({**LAST, "num_particles": len(points), **knobs})
    state = STEINIS.init(np.random.default_rng(0), target, knobs)
    return state._replace(points=points, log_q=target.log_prior(points), starts=points), knobs


def moved(target, points, steps, **knobs):
    """Where points come to with the leaders of seed 0, and log q there; q starts as the prior."""
    state, knobs = with_followers(target, points, **knobs)
    for _ in range(steps):
        scores = checked_gradient(target, state.leaders, target.data_rows)
        state, _ = displaced(state, target, scores, knobs)
    return state


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
    state = moved(target, np.concatenate(ways), 40)
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


def test_a_step_that_would_fold_space_is_halved_and_says_so():
    session = advanced(
        "steinis", 3, "gaussian", options={"num_data": 500}
    )  # a posterior of 1/130 of the prior's variance
    info = session.frame.info
    assert info.limited and info.step_size < 0.25 / np.sqrt(3)
    assert info.scalars["smallest_stretch"] > 0 and session.frame.state.folded.sum() == 0


def test_a_follower_that_crosses_a_fold_is_counted():
    """One leader alone at 0 pulls a far follower by a score of 9: at the steepest place of its kernel space folds."""
    target = make_target("gaussian", dim=1, num_data=500)
    state, knobs = with_followers(target, np.linspace(-2, 2, 401)[:, None], num_leaders=1, length_scale_factor=1.0)
    state = state._replace(leaders=np.zeros((1, 1)))
    scores = checked_gradient(target, state.leaders, target.data_rows)
    after, _ = displaced(state, target, scores, knobs)
    assert 0 < after.folded.sum() < 401
    assert "crossed a fold" in STEINIS.caveat(after, knobs)


def test_the_first_order_determinant_is_the_diagonals_and_comes_near():
    diagonal = np.random.default_rng(0).normal(size=(50, 3))
    logs, signs = first_order(diagonal, 0.7)
    np.testing.assert_allclose(logs, np.log(np.abs(np.prod(1 + 0.7 * diagonal, axis=1))), atol=1e-12)
    np.testing.assert_array_equal(signs, np.sign(np.prod(1 + 0.7 * diagonal, axis=1)))
    exact, near = (log_z(advanced("steinis", 60, "gmm", determinant=way, seed=3)) for way in DETERMINANTS)
    assert 0 < abs(exact - near) < 0.02


def test_the_width_is_the_rules():
    leaders = np.random.default_rng(0).normal(size=(50, 2))
    distances = np.sqrt(((leaders[:, None] - leaders) ** 2).sum(axis=2))[np.triu_indices(50, 1)]
    assert leaders_width(leaders, 3.0) == pytest.approx(3 * np.median(distances) ** 2 / (2 * np.log(51)), rel=1e-12)
    assert leaders_width(leaders[:1], 1.0) == pytest.approx(1 / (2 * np.log(2)))
    assert leaders_width(np.zeros((5, 2)), 1.0) > 0
