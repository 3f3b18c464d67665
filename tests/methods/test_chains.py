"""Chains: which draws are judged, pools, steps of MALA, Langevin and NUTS by formula, and many steps in one call."""

from statistics import NormalDist

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from pmdviz.densities.density import normalise
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.errors import TargetError
from pmdviz.kernels.chains import metropolis
from pmdviz.methods import METHODS, nuts, usual_target
from pmdviz.methods.mcmc import BLOCK, appended, gaussian_of, hmc, judged_draws_of, kde_of, num_distinct, position
from pmdviz.methods.mcmc.hmc import Phase, acceptance, trajectory
from pmdviz.methods.mcmc.random_walk import wanted_acceptance
from pmdviz.methods.mcmc.sgld import SGLDState
from pmdviz.methods.nuts import Asked, Motion, Point, Tree, grown, turns
from pmdviz.targets import make_target
from tests.support.engine import CountingTarget, advanced, compiled_targets, digest, drive, sized_targets, told
from tests.support.tables import looped


def all_draws(session):
    state = session.frame.state
    return np.concatenate([state.older, state.newer])[1:]


CHAINS = [name for name, one in METHODS.items() if one.family == "chain" and usual_target(name) == "mixture"]
UNIT = np.ones(2)


def test_draws_are_kept_in_their_order_and_no_state_changes():
    thetas = np.random.default_rng(0).normal(size=(2 * BLOCK + 7, 2))
    states = [SGLDState(np.empty((0, 2)), thetas[:1].copy(), 0, UNIT, UNIT)]
    for theta in thetas[1:]:
        states.append(appended(states[-1], theta[None]))
        assert np.array_equal(position(states[-1]), theta) and len(states[-1].newer) < BLOCK
    for t, each in enumerate(states):
        assert each.iteration == t
        assert np.array_equal(np.concatenate([each.older, each.newer]), thetas[: t + 1])


@looped("method", CHAINS)
def test_burn_in_and_thinning_choose_the_draws_that_are_judged(method):
    session = advanced(method, 0, burn_in=5)
    for t in range(1, 6):
        note = f"burn-in ({t} of 5 draws): scored on all draws so far"
        assert (session.advance().caveat, len(session.frame.particles)) == (note, t + 1)
    session.advance()
    frame, draws = session.advance(3), all_draws(session)
    assert np.array_equal(frame.particles, draws[5:])
    assert ("no density" in frame.caveat) == (num_distinct(draws[5:]) < 4) and "burn-in" not in frame.caveat
    assert np.array_equal(session.set(thinning=3).particles, draws[[5, 8]]), "at once, also while paused"
    assert np.array_equal(session.set(burn_in=0, thinning=1).particles, draws)
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
    four, scale = np.random.default_rng(0).normal(size=(4, 2)), np.array([2.0, 3.0])
    draws = four[:num]
    own = np.cov(draws.T) if num > 1 else np.zeros((2, 2))
    np.testing.assert_allclose(gaussian_of(draws, scale).cov, own, atol=1e-8)
    kde = kde_of(draws, scale)
    assert kde.few and not kde_of(four, scale).few
    np.testing.assert_allclose(kde.cov, own * (num - 1) / num, atol=1e-12)
    assert kde_of(draws[:1], scale).cholesky[0, 0] == pytest.approx(0.1 * 2.5)
    draws = np.repeat(four[:3], 20, axis=0)  # refused proposals are no further ones
    assert kde_of(draws, UNIT).few and kde_of(draws[:20], UNIT).cholesky[0, 0] == pytest.approx(0.1)
    assert kde_of(draws[:23], UNIT).cholesky[0, 0] > 0, "most pairs coincide"


@looped("method", CHAINS)
def test_each_chain_of_a_pool_steps_as_one_alone_and_the_judged_draws_of_all_are_pooled(method):
    target, way = make_target("mixture", num_data=24), METHODS[method]
    batched = "batch_size" in way.Knobs.specs()
    knobs = way.Knobs.checked({"num_chains": 3, **({"batch_size": 4} if batched else {})})
    streams = [np.random.default_rng(5) for _ in range(2)]
    pool, alone = way.init(streams[0], target, knobs), [way.start(streams[1], target, knobs) for _ in range(3)]
    for _ in range(6):
        assert way.batch_size(pool, knobs, 24) == (12 if batched else 24)
        batch = target.data[: 12 if batched else 24]
        pool, info = way.step(streams[0], pool, target, batch, knobs)
        rows = np.split(batch, 3) if batched else [batch] * 3
        moved = [way.move(streams[1], *each, knobs) for each in zip(alone, [target] * 3, rows, strict=True)]
        alone = [state for state, _ in moved]
        assert all(np.array_equal(one.newer, other.newer) for one, other in zip(pool.chains, alone, strict=True))
        for name in ("visited", "density_evaluations", "gradient_evaluations"):
            assert getattr(info.cost, name) == sum(getattr(each.cost, name) for _, each in moved)
        assert all(len(term) == 3 for term in info.terms.values()) and info.words.startswith("3 chains")
    frame = advanced(method, 20, num_chains=4, burn_in=0.5, thinning=2).frame
    each = [judged_draws_of(chain, frame.knobs) for chain in frame.state.chains]
    assert [len(draws) for draws in each] == [5] * 4
    assert np.array_equal(frame.particles, np.concatenate(each))
    assert len(np.unique(frame.particles[:, 0])) > 4 and frame.iteration == frame.state.iteration == 20
    assert frame.num_bytes >= sum(chain.newer.nbytes for chain in frame.state.chains) + 8192


@looped("name", lambda: sized_targets("gradient"))
def test_a_trajectory_that_goes_too_far_asks_for_no_gradient_there(name):
    target, rng = make_target(name, num_data=30), np.random.default_rng(4)
    theta, momentum = target.sample_prior(rng, 1)[0], 1e9 * np.sign(rng.standard_normal(target.dim))
    start = Phase(theta, momentum, target.grad_log_joint(theta[None])[0])
    end = trajectory(target, start, 0.02, 30, target.data)[-1]
    assert end.diverged and end.num_gradients == 0


@looped("before, after, momenta, chance", [
    (-3.0, -3.5, ([1.0, 0.0], [0.0, 0.0]), 1.0), (-3.0, -3.5, ([0.0], [1.0]), np.exp(-1.0)),
    (-3.0, -np.inf, ([0.0], [0.0]), 0.0), (-np.inf, -3.0, ([0.0], [0.0]), 1.0),
])  # fmt: skip
def test_acceptance_is_that_of_the_energy(before, after, momenta, chance):
    assert acceptance(before, after, *map(np.array, momenta)) == pytest.approx(chance, rel=1e-14)


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


# Time steps of which some are accepted and some are not, where the posterior is narrow at draws of the prior.
NARROW = {"regression_net": 0.05, "stochastic_volatility": 0.02}


@looped("name, options", lambda: [(name, {}) for name in sized_targets("gradient")] + [("gaussian", {"prior_sd": 3.0})])
def test_a_step_of_mala_is_that_of_the_textbook(name, options):
    """θ' ~ N(θ + ε²/2 S² ∇, ε² S²), accepted with p(θ') q(θ | θ') / (p(θ) q(θ' | θ))."""
    target, mala = make_target(name, num_data=30, **options), METHODS["mala"]
    time_step = NARROW.get(name, 0.3 if target.dim <= 5 else 0.1)
    sd, knobs = time_step * target.scale, mala.Knobs.checked({"tune": False, "time_step": time_step})
    state, verdicts = mala.init(np.random.default_rng(1), target, knobs), []
    mean_of = lambda theta: theta + 0.5 * sd**2 * target.grad_log_joint(theta[None])[0]  # noqa: E731
    log_q = lambda to, start: -0.5 * (((to - mean_of(start)) / sd) ** 2).sum()  # noqa: E731
    for t in range(60):
        theta, normals = state.newer[-1], np.random.default_rng(t).standard_normal(target.dim + 2)
        proposal = mean_of(theta) + sd * normals[1:-1]  # the first is for the number of steps
        log_ratio = target.log_joint(proposal[None])[0] - target.log_joint(theta[None])[0]
        log_ratio += log_q(theta, proposal) - log_q(proposal, theta)
        verdicts.append(np.log(NormalDist().cdf(normals[-1])) < log_ratio)
        state, info = mala.step(np.random.default_rng(t), state, target, target.data, knobs)
        np.testing.assert_allclose(state.newer[-1], proposal if verdicts[-1] else theta, rtol=1e-9)
        assert info.words.startswith("accepted" if verdicts[-1] else "rejected")
    assert 0 < sum(verdicts) < 60 and state.accepted == sum(verdicts)


def test_the_kernel_refuses_what_has_no_density_and_keeps_the_better():
    table = {1: 0.441, 2: 0.352, 3: 0.316, 5: 0.275, 10: 0.267}  # Gelman, Roberts and Gilks 1996, table 1
    assert [wanted_acceptance(dim) for dim in table] == pytest.approx([*table.values()], abs=0.02)
    target, start = make_target("gaussian"), np.zeros(2)
    jumps, uniforms = np.array([[1e200, 0.0], [0.0, 0.0], [np.nan, 0.0]]), np.array([1e-300, 0.999, 1e-300])
    found = metropolis(target.model, target.data, start, target.log_joint(start[None])[0], jumps, uniforms)
    assert found.accepted.tolist() == [False, True, False] and found.chances[2] == 0 == found.draws.any()


def steps(name, target, given):
    """Three steps of a chain: its state, what is told, gradient and noise of each, and θ before the first."""
    method, target = METHODS[name], make_target(target, num_data=30)
    knobs = method.Knobs.checked({"b": 0.0, "g": 0.0, **given})  # then ε is a
    state = method.init(np.random.default_rng(0), target, knobs)
    for t in (1, 2, 3):
        theta, batch = state.newer[-1], target.data[5 * t : 5 * t + 5]
        noise = np.random.default_rng(t).standard_normal(target.dim)
        gradient = target.grad_log_joint(theta[None], batch)[0]
        state, info = method.step(np.random.default_rng(t), state, target, batch, knobs)
        assert (info.cost.visited, info.cost.gradient_evaluations) == (5, 5)
        yield state, info, gradient, noise, theta


@looped("name", lambda: sized_targets("gradient"))
def test_steps_of_psgld_and_of_adam_sgld_are_their_algorithms(name):
    square, given = 0.0, {"a": 0.002, "memory": 0.9, "damping": 0.01}
    for state, info, gradient, noise, theta in steps("psgld", name, given):
        square = 0.9 * square + 0.1 * (gradient / 30) ** 2
        precondition = 1 / (0.01 + np.sqrt(square))
        expected = theta + 0.001 * precondition * gradient + np.sqrt(0.002 * precondition) * noise
        np.testing.assert_allclose(state.newer[-1], expected, rtol=1e-12)
        np.testing.assert_allclose(state.mean_square, square, rtol=1e-12)
        np.testing.assert_allclose(info.terms["drift"], [0.001 * precondition * gradient], rtol=1e-12)
        assert info.step_size == 0.002
    given = {"a": 0.002, "drift": 5.0, "gradient_memory": 0.8, "square_memory": 0.95, "damping": 0.01}
    m = v = 0.0
    for state, info, gradient, noise, theta in steps("adam_sgld", name, given):
        push = 0.005 * m / np.sqrt(v + 0.01)
        np.testing.assert_allclose(info.terms["push"], np.broadcast_to(push, (1, len(theta))), rtol=1e-9, atol=1e-12)
        expected = theta + 0.001 * gradient + push + np.sqrt(0.002) * noise
        m, v = 0.8 * m + 0.2 * gradient, 0.95 * v + 0.05 * gradient**2
        for found, wanted in ((state.newer[-1], expected), (state.mean, m), (state.mean_square, v)):
            np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_a_step_that_is_too_large_is_an_error_in_words_or_stays():
    session = Session(Recipe("gaussian", "sgld", a=100.0, b=0.0, g=0.0, budget=None))
    with pytest.raises(TargetError, match="the chain diverged on target 'gaussian'.* use a step size smaller than 100"):
        session.advance(100)
    assert np.isfinite(session.frame.metrics["mean_error"])
    session = advanced("nuts", 3, "gaussian", tune=False, time_step=1000.0)
    info = session.frame.info
    assert "diverged" in info.events and len(np.unique(all_draws(session), axis=0)) == 1
    assert info.scalars["acceptance_statistic"] == 0.0


def test_a_tree_of_nuts_draws_by_density_and_turns_by_the_sum_of_momenta():
    target, rng, theta = make_target("gaussian", dim=1), np.random.default_rng(1), np.array([[0.5]])
    start = Point(theta[0], np.array([2.0]), target.log_joint(theta)[0], target.grad_log_joint(theta)[0])
    motion, first = Motion(target, target.data, 0.5), nuts._leaf(start, 0.0, Asked())
    one, _, _ = motion.leap(start, 1)
    two, _, _ = motion.leap(one, 1)
    log_joint, momenta = target.log_joint(np.array([one.theta, two.theta])), np.array([one.momentum, two.momentum])
    chances = np.exp(normalise(log_joint - 0.5 * (momenta**2).sum(axis=1)))
    found = [grown(rng, motion, first, 1, 1, start.energy).drawn.theta[0] == two.theta[0] for _ in range(4000)]
    assert np.mean(found) == pytest.approx(chances[1], abs=0.03) and 0.7 < chances[1] < 0.8

    def tree(*momenta):
        points = [Point(np.zeros(2), np.array(p, float), 0.0, np.zeros(2)) for p in momenta]
        total = np.sum([point.momentum for point in points], axis=0)
        return Tree(points[0], points[-1], points[0], 0.0, total, (), Asked())

    assert not turns(tree((1, 0)), tree((1, 0.2)))
    assert not turns(tree((1, 0)), tree((-0.5, 1), (1, 1))), "the next point counts in the sum across the seam"
    assert turns(tree((1, 0)), tree((-1.5, 0))), "the sum points against the first momentum"
    assert turns(tree((3, 0), (0.1, 1)), tree((-1, 0.2))), "and across the seam, where both ends agree with the whole"


SETTINGS = [
    ("sgld", {}), ("sgld", {"batches": "replacement", "batch_size": 3}), ("sgld", {"batch_size": 20}),
    ("hmc", {"burn_in": 5}), ("hmc", {"tune": False, "time_step": 2.5}),  # some are refused, some diverge
    ("mala", {"burn_in": 0}), ("mala", {"one_pass": True}),
    ("hmc", {"burn_in": 0.4, "one_pass": True, "leapfrog_steps": 3}),
    ("random_walk", {"burn_in": 5}), ("random_walk", {"tune": False, "scale": 0.1}),
]  # fmt: skip


@looped("target", lambda: compiled_targets())
@looped("method, given", SETTINGS)
def test_a_compiled_step_is_that_of_the_targets_functions(method, given, target):
    compiled, chain = make_target(target, num_data=37), METHODS[method]
    asked, knobs = CountingTarget(compiled), chain.Knobs.checked(given)
    assert asked.model is None and compiled.model is not None
    state = chain.init(np.random.default_rng(0), compiled, knobs)
    for t in range(12):
        rows = slice(None) if method != "sgld" else np.random.default_rng(t).integers(37, size=knobs.batch_size)
        batch = compiled.data[rows]
        with np.errstate(over="ignore", invalid="ignore"):
            other, others = chain.step(np.random.default_rng(t), state, asked, batch, knobs)
        state, info = chain.step(np.random.default_rng(t), state, compiled, batch, knobs)
        np.testing.assert_allclose(state.newer, other.newer, rtol=1e-8, atol=1e-10)
        assert info.cost == others.cost and info.events == others.events
        assert info.step_size == pytest.approx(others.step_size, rel=1e-6)
        assert info.words.split(";")[0] == others.words.split(";")[0] or method == "sgld"


@pytest.mark.ci
@looped("method, given", [SETTINGS[k] for k in (1, 3, 6, 8, 9)])
def test_a_run_is_the_same_however_far_it_leaps(method, given):
    budget, changes = {"sgld": 500, "hmc": 16_000}.get(method, 5_000), ((30, {"thinning": 2}), (44, {"burn_in": 20}))
    recipe = Recipe("mixture", method, target_options={"num_data": 37}, budget=budget, changes=changes, **given)
    at_once, one_by_one, in_sevens = sessions = [Session(recipe, metrics_every=every) for every in (35, 35, 50)]
    assert not any(drive(session, chunk) for session, chunk in zip(sessions, (10**6, 1, 7), strict=True))
    assert digest(at_once) == digest(one_by_one)
    assert all_draws(in_sevens).tobytes() == all_draws(at_once).tobytes()
    frame, *others = (session.frame for session in sessions)
    for other in others:  # a leap does not keep the trajectory of its last step
        assert told(other.info._replace(paths=dict)) == told(frame.info._replace(paths=dict))
        assert other.gradient_evaluations == frame.gradient_evaluations
        assert other.density_evaluations == frame.density_evaluations
    assert (frame.gradient_evaluations > 0) == ("gradient" in METHODS[method].requires)
    assert frame.evaluations == frame.visited, "steps made in one call have one evaluation for every row"
    at_once.seek(41)
    assert not drive(at_once) and digest(at_once) == digest(one_by_one)


@pytest.mark.parametrize("batches", ["epochs", "replacement"])
def test_a_leap_ends_at_the_last_good_step(batches):
    recipe = Recipe("gaussian", "sgld", budget=None, a=0.75, b=0.0, g=0.0, batches=batches)
    one, other = (Session(recipe, metrics_every=10**6) for _ in range(2))
    with pytest.raises(TargetError, match="diverged") as at_once:
        one.advance(10**4)
    with pytest.raises(TargetError) as one_by_one:
        while True:
            other.advance(1)
    assert str(at_once.value) == str(one_by_one.value)
    assert one.frame.iteration == other.frame.iteration > 20 and digest(one) == digest(other)
    for session in (one, other):
        session.set(a=0.05)
        session.advance(30)
    assert digest(one) == digest(other), "streams and batches stand where they stood"
