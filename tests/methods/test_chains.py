"""What chains share: which draws are judged, by which two densities, and several of them in lock step."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from pmdviz.methods import METHODS, usual_target
from pmdviz.methods.mcmc import BLOCK, appended, gaussian_of, judged_draws_of, kde_of, num_distinct, position
from pmdviz.methods.mcmc.sgld import SGLDState
from pmdviz.targets import make_target
from tests.support.chains import all_draws
from tests.support.engine import advanced
from tests.support.tables import looped

CHAINS = [name for name, one in METHODS.items() if one.family == "chain" and usual_target(name) == "mixture"]
UNIT = np.ones(2)


def test_draws_are_kept_in_their_order_and_no_state_changes():
    rng = np.random.default_rng(0)
    thetas = rng.normal(size=(2 * BLOCK + 7, 2))
    state, states = SGLDState(np.empty((0, 2)), thetas[:1].copy(), 0), []
    for theta in thetas[1:]:
        states.append(state)
        state = appended(state, theta[None])
        assert np.array_equal(position(state), theta) and len(state.newer) < BLOCK
    for t, each in enumerate(states):
        assert each.iteration == t
        assert np.array_equal(np.concatenate([each.older, each.newer]), thetas[: t + 1])


@looped("method", CHAINS)
def test_after_the_burn_in_only_later_draws_are_judged(method):
    session = advanced(method, 0, burn_in=5)
    for t in range(6):
        note = f"burn-in ({t} of 5 draws): scored on all draws so far"
        assert (session.frame.caveat, len(session.frame.particles)) == (note, t + 1)
        session.advance()
    frame = session.advance(3)
    draws = all_draws(session)
    assert np.array_equal(frame.particles, draws[5:])
    assert ("no density" in frame.caveat) == (num_distinct(draws[5:]) < 4) and "burn-in" not in frame.caveat
    frame = session.set(thinning=3)
    assert np.array_equal(frame.particles, draws[[5, 8]]), "at once, also while paused"
    assert np.array_equal(session.set(burn_in=0, thinning=1).particles, draws)


@looped("method", CHAINS)
def test_a_burn_in_below_1_is_a_share_of_the_draws_made_so_far(method):
    """Whatever the length of the run, so that a short one is not judged by its way in from the prior."""
    session = advanced(method, 0, burn_in=0.4)
    for t in range(1, 12):
        frame, draws = session.advance(), all_draws(session)
        assert np.array_equal(frame.particles, draws[2 * t // 5 :]) and frame.caveat == frame.no_density
    assert np.array_equal(session.set(burn_in=0.99).particles, draws[10:]), "at once; the last draw always stays"
    assert np.array_equal(session.set(burn_in=1).particles, draws[1:]), "from 1 on it is their number"
    assert np.array_equal(session.set(burn_in=0.5, thinning=2).particles, draws[5::2])


@looped("method", CHAINS)
@looped("target", ["gaussian", "mixture"])
def test_both_values_are_stored_and_the_better_is_shown(method, target):
    frame = advanced(method, 30, target, {"num_data": 30}, burn_in=10).frame  # few, so that all get there
    both = frame.metrics["tv_kde"], frame.metrics["tv_gaussian"]
    assert frame.metrics["tv"] == min(both) and both[0] != both[1]
    assert frame.density is frame.densities[frame.judged_by]
    assert len(frame.particles) == 20 == len(frame.weights), "the draws, whichever is shown"
    assert frame.metrics["ess"] is None and frame.metrics["floor_tv"] is None


@looped("dim", [1, 2, 4])
@looped("num", [2, 3, 50, 400])
def test_the_kernel_is_a_tenth_of_the_median_distance(num, dim):
    draws = np.random.default_rng(num).normal(size=(num, dim))
    density = kde_of(draws, np.ones(dim))
    np.testing.assert_allclose(density.cholesky, 0.1 * np.median(pdist(draws)) * np.eye(dim), rtol=1e-12)
    np.testing.assert_allclose(density.weights, 1 / num)
    gaussian = gaussian_of(draws, np.ones(dim))
    np.testing.assert_allclose(gaussian.mean, draws.mean(axis=0), rtol=1e-13)
    if num > 3:
        np.testing.assert_allclose(gaussian.cov, np.cov(draws.T).reshape(dim, dim), rtol=1e-6)


@pytest.mark.parametrize("num", [1, 2, 3])
def test_too_few_draws_for_a_covariance_have_no_other_width_than_theirs(num):
    draws, scale = np.random.default_rng(0).normal(size=(num, 2)), np.array([2.0, 3.0])
    own = np.cov(draws.T) if num > 1 else np.zeros((2, 2))
    np.testing.assert_allclose(gaussian_of(draws, scale).cov, own, atol=1e-8)
    kde = kde_of(draws, scale)
    assert kde.few and not kde_of(np.random.default_rng(0).normal(size=(4, 2)), scale).few
    np.testing.assert_allclose(kde.cov, own * (num - 1) / num, atol=1e-12)
    assert kde_of(draws[:1], scale).cholesky[0, 0] == pytest.approx(0.1 * 2.5)
    draws = np.repeat(np.random.default_rng(0).normal(size=(3, 2)), 20, axis=0)  # refused proposals are no further ones
    assert kde_of(draws, UNIT).few
    assert kde_of(draws[:20], UNIT).cholesky[0, 0] == pytest.approx(0.1)
    assert kde_of(draws[:23], UNIT).cholesky[0, 0] > 0, "most pairs coincide"


# Several chains in lock step: each is a chain like one alone, and their draws and costs are pooled.


@looped("method", CHAINS)
def test_each_chain_of_a_pool_steps_as_one_alone(method):
    """On its share of the rows, or all of them, with the numbers that come next from the stream."""
    target, way = make_target("mixture", num_data=24), METHODS[method]
    knobs = way.Knobs.checked({"num_chains": 3, **({"batch_size": 4} if "batch_size" in way.Knobs.specs() else {})})
    streams = [np.random.default_rng(5) for _ in range(2)]
    pool, alone = way.init(streams[0], target, knobs), [way.start(streams[1], target, knobs) for _ in range(3)]
    for _ in range(6):
        size = way.batch_size(pool, knobs, 24)
        assert size == (12 if "batch_size" in way.Knobs.specs() else 24)
        batch = target.data[:size]
        pool, info = way.step(streams[0], pool, target, batch, knobs)
        rows = [batch] * 3 if size == 24 else [batch[:4], batch[4:8], batch[8:]]
        moved = [way.move(streams[1], *each, knobs) for each in zip(alone, [target] * 3, rows, strict=True)]
        alone = [state for state, _ in moved]
        for one, other in zip(pool.chains, alone, strict=True):
            assert np.array_equal(one.newer, other.newer)
        for name in ("visited", "density_evaluations", "gradient_evaluations"):
            assert getattr(info, name) == sum(getattr(each, name) for _, each in moved)
        assert all(len(term) == 3 for term in info.terms.values()) and info.words.startswith("3 chains")


@looped("method", CHAINS)
def test_the_judged_draws_of_all_are_pooled(method):
    frame = advanced(method, 20, num_chains=4, burn_in=0.5, thinning=2).frame
    each = [judged_draws_of(chain, frame.knobs) for chain in frame.state.chains]
    assert [len(draws) for draws in each] == [5] * 4
    assert np.array_equal(frame.particles, np.concatenate(each))
    assert len(np.unique(frame.particles[:, 0])) > 4 and frame.iteration == frame.state.iteration == 20
    assert frame.num_bytes >= sum(chain.newer.nbytes for chain in frame.state.chains) + 8192
