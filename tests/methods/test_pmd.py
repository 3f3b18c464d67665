"""Particle mirror descent against what is known exactly: powers of the likelihood, posteriors, a fixed point."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmdviz.densities.density import effective_sample_size, normalise
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.methods import METHODS
from pmdviz.methods.pmd import SINGLE_FROM, WARM_BATCH, rejuvenate, scheduled
from pmdviz.methods.weighting import from_density, from_prior
from pmdviz.targets import make_target
from tests.support.engine import CountingTarget, Unmeasured, drop, errors_from, knob_values
from tests.support.tables import looped

PMD = METHODS["pmd"]
NEVER = {"policy": "never", "num_particles": 200}
PLAIN = {"step_limit": 0.0, "bandwidth_rule": "local"}  # steps as long as the schedule says, and one kernel for all
WHOLE = {"target_options": {"num_data": 30}, "batch_size": 30, "budget": None}


def run_to(iteration, target="gaussian", **parts):
    session = Unmeasured(Recipe(target, "pmd", **{"budget": None, **PLAIN, **parts}))
    session.advance(iteration)
    return session


def assert_power_of_likelihood(session, power):
    """Weights proportional to likelihood^power: those of particles that were drawn from the prior.

    To 10,000 rounding errors of the largest log-likelihood, of which the solves of `sparse_gp` need 2,500.
    """
    log_likelihood = session.target.log_likelihood(session.frame.particles, session.target.data)
    expected, weights = normalise(power * log_likelihood), session.frame.weights
    seen = expected > np.log(1e-200)
    tolerance = 1e4 * np.finfo(float).eps * np.abs(log_likelihood).max()
    np.testing.assert_allclose(np.log(weights[seen]), expected[seen], rtol=0, atol=tolerance)
    assert (weights[~seen] < 1e-199).all()


@looped("target", ["gaussian", "mixture", "logistic", "sparse_gp", "regression_net"])
def test_never_with_all_data_is_a_power_of_the_likelihood(target):
    session = run_to(4, target, schedule="constant", step_size=0.2, **NEVER, **WHOLE)
    assert_power_of_likelihood(session, 1 - 0.8**4)


BOUND = 0.3 * 200**0.25  # the second term of theorem 6 takes over at 0.3


@looped(
    "knobs, gamma",
    [
        *(({"schedule": "constant", "step_size": size}, lambda t, size=size: size) for size in (0.05, 1.0)),
        *(
            (dict(eta=eta, n0=n0, kappa=kappa), lambda t, e=eta, n=n0, k=kappa: min(1, e / (n + t**k)))
            for eta, n0, kappa in [(1, 0, 1), (2, 20, 1), (3, 1, 0.5), (0.5, 0, 0.3)]
        ),
        (
            {"schedule": "theorem6", "delta": 2 * BOUND, "gradient_bound": 2.0, "smoothness": 1.0},
            lambda t: min(2 / (t + 1), 0.3),
        ),
    ],
)
def test_so_it_is_by_every_schedule(knobs, gamma):
    session = run_to(9, **knobs, **NEVER, **WHOLE)
    gammas = [gamma(t) for t in range(1, 10)]
    assert_power_of_likelihood(session, 1 - np.prod([1 - gamma for gamma in gammas]))
    assert session.frame.info.step_size == pytest.approx(gammas[-1], rel=1e-14)
    passed = run_to(6, eta=1, n0=0, target_options={"num_data": 30}, batch_size=5, **NEVER)
    assert_power_of_likelihood(passed, 1.0)  # batches under gamma = 1/t


def test_batches_with_replacement_are_right_on_average():
    """The mean over runs of a difference of log-weights after a batch is that of the log likelihood of all data."""
    found = []
    for seed in range(40):
        session = run_to(3, seed=seed, batches="replacement", eta=1, n0=0, batch_size=5, **NEVER)
        w, theta = np.log(session.frame.weights), session.frame.particles[[0, 1]]
        exact = session.target.log_likelihood(theta, session.target.data)
        found.append((w[0] - w[1]) - (exact[0] - exact[1]))
    assert np.std(found) > 0.1
    assert abs(errors_from(found, 0)) < 4


@looped("num_data", [1, 9, 10, 11, 30])
def test_a_warm_start_ends_its_pass_at_the_posterior(num_data):
    target = CountingTarget(make_target("gaussian", num_data=num_data))
    options = {"num_data": num_data}
    session = Session(Recipe("gaussian", target_options=options, warm_start=True, budget=None, **NEVER, **PLAIN))
    session.target = target
    session.advance(-(-num_data // WARM_BATCH))
    assert session.frame.visited == target.rows == num_data
    assert session.frame.info.step_size is None and "warm start" in session.frame.info.words
    assert_power_of_likelihood(session, 1.0)
    session.advance()
    assert session.frame.info.step_size == pytest.approx(2 / 21), "mirror descent counts its steps from there"
    assert "warm start" not in session.frame.info.words


def test_a_particle_of_weight_zero_stays_dead_until_gamma_is_one():
    target = make_target("gaussian", dim=1)
    knobs = PMD.Knobs.checked(
        {"num_particles": 3, "policy": "never", "schedule": "constant", "step_size": 0.5, **PLAIN}
    )
    state = PMD.init(np.random.default_rng(0), target, knobs)
    state = state._replace(log_weights=normalise(np.array([0.0, -np.inf, 0.0])))
    after, _ = PMD.step(np.random.default_rng(0), state, target, target.data, knobs)
    assert after.log_weights[1] == -np.inf and np.isfinite(after.log_weights[[0, 2]]).all()
    after, _ = PMD.step(np.random.default_rng(0), state, target, target.data, knobs.replaced(step_size=1.0))
    assert np.isfinite(after.log_weights).all()


@looped(
    "t, delta, gradient_bound, smoothness, m, d, gamma",
    [
        (1, 1e9, 1, 1, 10, 2, 1.0),
        (9, 1e9, 1, 1, 10, 2, 0.2),
        (9, 1, 1, 1, 10_000, 2, 0.1),  # beta / (d + 2 beta) = 1/4
        (9, 1, 1, 2, 1000, 2, 0.1),  # 1/3
        (9, 3, 6, 1, 10**6, 1, 0.005),  # 1/3
        (9, 0.1, 1, 0, 10**6, 3, 0.1),  # no smoothness: no help from m
    ],
)
def test_theorem_6(t, delta, gradient_bound, smoothness, m, d, gamma):
    given = {"delta": delta, "gradient_bound": gradient_bound, "smoothness": smoothness, "schedule": "theorem6"}
    assert scheduled(t, PMD.Knobs.checked(given), m, d) == pytest.approx(gamma, rel=1e-14)


# When particles are redrawn.


@looped("num_particles", [1500, SINGLE_FROM - 1, SINGLE_FROM])
def test_only_many_particles_have_their_density_in_float32(num_particles):
    """And nothing but rounding comes of it."""
    session = Unmeasured(Recipe("mixture", num_particles=num_particles, policy="never", budget=None))
    frame = session.advance(3)
    state, *_ = rejuvenate(np.random.default_rng(0), frame.state, frame.density, session.target, frame.knobs)
    exact = frame.density.log_density(state.particles)
    np.testing.assert_allclose(state.log_proposal, exact, rtol=0, atol=2e-5)
    assert (state.log_proposal == exact).all() == (num_particles < SINGLE_FROM)


@looped("policy", ["never", "always", "ess"])
@looped("m", [10, 73, 200])
def test_another_particle_count_forces_a_rejuvenation(policy, m):
    session = run_to(3, policy=policy, num_particles=72)
    session.set(num_particles=m)
    assert len(session.frame.particles) == 72
    assert session.pending == {"num_particles": "takes effect at the next step, where it forces a rejuvenation"}
    frame = session.advance()
    assert frame.particles.shape == (m, 2)
    assert frame.info.rejuvenated == ("at every step, " if policy == "always" else "") + f"particles 72 → {m}"
    assert frame.info.density_evaluations == m * frame.info.visited
    assert session.pending == {}


def drawn(session, steps):
    """(iteration, particles, why) of every step that began with a rejuvenation."""
    found = []
    for _ in range(steps):
        frame = session.advance()
        if frame.info.rejuvenated:
            found.append((frame.iteration, len(frame.particles), frame.info.rejuvenated))
    return found


def test_until_draws_after_every_step_up_to_t0_and_then_never_but_more():
    session = run_to(0, policy="until", until=4, num_particles=30, most_particles=200)
    assert session.knobs.growth == "jump", "the default of this policy"
    words = "at every step until 4"
    expected = [(k, 30, words) for k in (2, 3, 4)] + [(5, 200, f"{words}, particles 30 → 200")]
    assert drawn(session, 40) == expected
    assert session.knobs.replaced(policy="ess").growth == "fixed"
    assert [k for k, *_ in drawn(run_to(0, policy="until", until=4, growth="fixed"), 9)] == [2, 3, 4, 5]


def test_particles_grow_by_a_power_of_t_up_to_the_most():
    session = run_to(0, policy="always", growth="power", growth_exponent=2, num_particles=10, most_particles=300)
    assert [m for _, m, _ in drawn(session, 7)] == [40, 90, 160, 250, 300, 300]
    assert "at every step, particles 250 → 300" in [why for *_, why in drawn(run_to(4, **session.recipe.knobs), 3)]


@looped("draws", ["balanced", "independent"])
@looped("resampler", ["systematic", "stratified", "residual", "multinomial"])
def test_new_particles_are_drawn_as_the_knobs_say(draws, resampler):
    target = make_target("mixture", num_data=40)
    values = {"num_particles": 50, "policy": "always", "draws": draws, "resampler": resampler}
    knobs = PMD.Knobs.checked(values)
    start = PMD.init(np.random.default_rng(0), target, knobs)
    assert np.array_equal(start.particles, from_prior(np.random.default_rng(0), target, 50, draws))
    state, _ = PMD.step(np.random.default_rng(1), start, target, target.data[:8], knobs)
    after, _ = PMD.step(np.random.default_rng(2), state, target, target.data[8:16], knobs)
    q = PMD.density(state, knobs, target)
    assert np.array_equal(after.particles, from_density(np.random.default_rng(2), q, 50, draws, resampler))


# Statistics: errors in standard errors over independent runs, against the posterior in closed form.


ALWAYS = {"policy": "always", "schedule": "constant", "step_size": 1.0}
WIDE = {"bandwidth": 2.0}  # tails at least as heavy as the posterior's: narrow kernels make rare, huge weights


@pytest.mark.ci
@looped(
    "knobs",
    [
        {"policy": "never"},
        {"policy": "ess", "ess_threshold": 0.5},
        {"policy": "never", "batch_size": 5},
        {"policy": "never", "warm_start": True},
        {**ALWAYS, **WIDE, "policy": "ess", "ess_threshold": 1.0},
        {**ALWAYS, **WIDE},
        {**ALWAYS, "bandwidth_rule": "isotropic", "bandwidth": 0.5},
        {**ALWAYS, "bandwidth_rule": "median", "bandwidth": 0.6},
        {**ALWAYS, **WIDE, "bandwidth_rule": "covariance"},
        {**ALWAYS, "smoothness": 0.5, "bandwidth": 12.0},
        *(
            {**ALWAYS, **WIDE, "draws": "independent", "resampler": name}
            for name in ("systematic", "stratified", "residual", "multinomial")
        ),
        {**ALWAYS, **WIDE, "policy": "until", "until": 5, "most_particles": 700},
        {**ALWAYS, **WIDE, "policy": "ess", "growth": "power", "growth_exponent": 0.5},
    ],
)
def test_q_has_the_moments_of_the_posterior(knobs):
    """With γ = 1 the kernel's smoothing is only the proposal and must leave no trace: of q's particles, over runs.

    gamma_1 = 1: the posterior at once, and then kept by 1/t.
    """
    knobs = {"num_particles": 400, "batch_size": 20, "eta": 1, "n0": 0, **knobs}
    means, variances, options = [], [], {"dim": 1, "num_data": 20, "sigma_x": 4.0}
    for seed in range(24):
        session = run_to(12, target_options=options, seed=seed, **knobs)
        density = session.frame.density
        means.append(density.mean[0])
        variances.append(density.cov[0, 0] - (density.cholesky @ density.cholesky.T)[0, 0])
    exact = session.target.exact
    assert abs(errors_from(means, exact.mean[0])) < 4 and abs(errors_from(variances, exact.cov[0, 0])) < 4


FAR = {"target": "gaussian", "target_options": {"num_data": 20_000, "sigma_x": 0.5}}  # far narrower than the prior


@given(st.data())
def test_a_limited_step_leaves_its_share_of_the_ess(data):
    """Whatever else is turned; particles outside the prior's support do not count, and here there are none."""
    values = data.draw(knob_values(drop(PMD.Knobs.specs(), ["num_particles", "batch_size", "step_limit"])))
    values["batches"] = "epochs"
    share, target = data.draw(st.floats(0.05, 0.95)), data.draw(st.sampled_from(["gaussian", "mixture", "banana"]))
    rest = {"num_particles": data.draw(st.integers(1, 60)), "batch_size": 5, "most_particles": 100}
    options = {"num_data": data.draw(st.integers(5, 200))}
    session = run_to(0, target, target_options=options, step_limit=share, **{**values, **rest})
    for _ in range(8):
        before = effective_sample_size(session.frame.state.log_weights)
        info = session.advance().info
        before = len(session.frame.particles) if info.rejuvenated else before
        assert effective_sample_size(session.frame.state.log_weights) >= share * before * (1 - 1e-9)
        assert info.step_size is None or 0 < info.step_size <= 1


def test_the_clock_stands_still_during_a_limited_step():
    session = run_to(0, step_limit=0.5, policy="until", until=4, **{**FAR, "num_particles": 300})
    t, limited, drawn_last = 1, 0, 0
    for _ in range(60):
        frame = session.advance()
        if frame.info.limited:
            limited += 1
            assert frame.info.step_size < 2 / (20 + t), "the schedule's value for the step that it still is"
            assert "limited (γ 0.0" in frame.info.words and frame.info.limited in frame.info.words
        else:
            assert frame.info.step_size == pytest.approx(2 / (20 + t), rel=1e-14)
            t += 1
        if frame.info.rejuvenated:
            drawn_last = t
        assert frame.limited_steps == limited and frame.state.next_step == t
    assert limited > 5 and t > 6
    assert 1 < drawn_last <= 6, "and until counts by it too"


@pytest.mark.parametrize("policy", ["never", "ess"])
def test_a_limited_warm_start_visits_each_datum_once_and_ends_at_the_posterior(policy):
    options = {"num_data": 25, "sigma_x": 0.5}
    parts = {"target_options": options, "warm_start": True, "step_limit": 0.8, "policy": policy, "num_particles": 200}
    session = Session(Recipe("gaussian", budget=None, **parts))
    session.target = target = CountingTarget(session.target)
    seen, sizes = [], []
    while session.frame.state.warming:
        frame = session.advance()
        sizes.append(frame.info.visited)
        seen += [target.calls[-1]] if frame.info.visited else []
        assert frame.info.step_size is None
        waiting = frame.state.rest_rows
        assert np.array_equal(waiting, target.calls[-1] if frame.info.limited else waiting[:0])
    assert session.frame.visited == 25 and [n for n in sizes if n] == [10, 10, 5] and 0 in sizes
    assert np.array_equal(np.sort(np.concatenate(seen), axis=0), np.sort(target.data, axis=0))
    if policy == "never":
        assert_power_of_likelihood(session, 1.0)
    session.advance()
    assert session.frame.info.step_size is not None and session.frame.visited == 50


def test_a_rejuvenation_after_a_limited_step_draws_from_the_unshrunk_kernel():
    """Its log proposal is that of the density of independent draws; after a step that was not limited it is q's own."""
    method, target = METHODS["pmd"], make_target("gaussian")
    knobs = method.Knobs.checked({"num_particles": 200, "policy": "always"})
    state = method.init(np.random.default_rng(0), target, knobs)._replace(iteration=5)
    for limited, each in ((3, 1), (0, 16)):
        given = state._replace(in_a_row=limited)
        after, _ = method.step(np.random.default_rng(1), given, target, target.data_rows, knobs)
        source = method.density(given._replace(each=each), knobs, target)
        np.testing.assert_allclose(after.log_proposal, source.log_density(after.particles), rtol=1e-10)
        other = method.density(given._replace(each=17 - each), knobs, target)
        assert np.abs(after.log_proposal - other.log_density(after.particles)).max() > 0.01


def test_between_measured_frames_the_clusters_are_kept_and_the_history_is_that_of_a_search_at_each():
    session = Session(Recipe("mixture", "pmd", num_particles=400, budget=None))
    kept = {}
    for _ in range(40):
        frame = session.advance(1)
        q, last = frame.density, frame.measured
        found = METHODS["pmd"].density(frame.state, frame.knobs, frame.target)
        if last is None or last.state.particles is frame.state.particles:
            kept[frame.iteration] = last is not None and q.labels is last.density.labels
        if last is None:
            assert np.array_equal(q.labels, found.labels) and np.array_equal(q.factors, found.factors)
        elif kept.get(frame.iteration):
            assert 0.5 * np.abs(frame.weights - last.weights).sum() <= 0.2
            assert abs(frame.tv - frame.checked.tv) < 0.02
    assert sum(kept.values()) >= 5
    session.seek(max(at for at, same in kept.items() if same))
    assert session.frame.density.labels is session.frame.measured.density.labels
