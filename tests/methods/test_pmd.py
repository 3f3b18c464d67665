"""Particle mirror descent against what is known exactly: powers of the likelihood, posteriors, a fixed point."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pmdviz.densities.density import effective_sample_size, normalise
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.methods import METHODS
from pmdviz.methods.pmd import SINGLE_FROM, WARM_BATCH, rejuvenate
from pmdviz.methods.weighting import RESAMPLERS
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
    """Weights of draws from the prior, to 10,000 rounding errors of the largest log-likelihood."""
    log_likelihood = session.target.log_likelihood(session.frame.particles, session.target.data)
    expected, weights = normalise(power * log_likelihood), session.frame.weights
    seen = expected > np.log(1e-200)
    tolerance = 1e4 * np.finfo(float).eps * np.abs(log_likelihood).max()
    np.testing.assert_allclose(np.log(weights[seen]), expected[seen], rtol=0, atol=tolerance)
    assert (weights[~seen] < 1e-199).all()


BOUND = 0.3 * 200**0.25  # the second term of theorem 6 takes over at 0.3


@looped("knobs, gamma", [
    *(({"schedule": "constant", "step_size": size}, lambda t, size=size: size) for size in (0.05, 1.0)),
    *((dict(eta=eta, n0=n0, kappa=kappa), lambda t, e=eta, n=n0, k=kappa: min(1, e / (n + t**k)))
      for eta, n0, kappa in [(1, 0, 1), (2, 20, 1), (3, 1, 0.5), (0.5, 0, 0.3)]),
    ({"schedule": "theorem6", "delta": 2 * BOUND, "gradient_bound": 2.0, "smoothness": 1.0},
     lambda t: min(2 / (t + 1), 0.3)),
])  # fmt: skip
def test_so_it_is_by_every_schedule(knobs, gamma):
    session = run_to(9, **knobs, **NEVER, **WHOLE)
    gammas = [gamma(t) for t in range(1, 10)]
    assert_power_of_likelihood(session, 1 - np.prod([1 - gamma for gamma in gammas]))
    assert session.frame.info.step_size == pytest.approx(gammas[-1], rel=1e-14)
    passed = run_to(6, eta=1, n0=0, target_options={"num_data": 30}, batch_size=5, **NEVER)
    assert_power_of_likelihood(passed, 1.0)  # batches under gamma = 1/t


@looped("num_data", [1, 9, 10, 11, 30])
def test_a_warm_start_ends_its_pass_at_the_posterior(num_data):
    session = run_to(0, target_options={"num_data": num_data}, warm_start=True, **NEVER)
    session.target = target = CountingTarget(session.target)
    frame = session.advance(-(-num_data // WARM_BATCH))
    assert frame.visited == target.rows == num_data
    assert frame.info.step_size is None and "warm start" in frame.info.words
    assert_power_of_likelihood(session, 1.0)
    frame = session.advance()
    assert frame.info.step_size == pytest.approx(2 / 21), "mirror descent counts its steps from there"
    assert "warm start" not in frame.info.words


def test_a_particle_of_weight_zero_stays_dead_until_gamma_is_one():
    target, half = make_target("gaussian", dim=1), {"num_particles": 3, "schedule": "constant", "step_size": 0.5}
    knobs = PMD.Knobs.checked({**half, "policy": "never", **PLAIN})
    state = PMD.init(np.random.default_rng(0), target, knobs)
    state = state._replace(log_weights=normalise(np.array([0.0, -np.inf, 0.0])))
    for step_size, alive in ((0.5, [True, False, True]), (1.0, [True] * 3)):
        given = knobs.replaced(step_size=step_size)
        after, _ = PMD.step(np.random.default_rng(0), state, target, target.data, given)
        assert np.isfinite(after.log_weights).tolist() == alive and not np.isnan(after.log_weights).any()


@looped("num_particles", [1500, SINGLE_FROM - 1, SINGLE_FROM])
def test_only_many_particles_have_their_density_in_float32(num_particles):
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
    assert len(session.set(num_particles=m).particles) == 72
    assert session.pending == {"num_particles": "takes effect at the next step, where it forces a rejuvenation"}
    frame = session.advance()
    assert frame.particles.shape == (m, 2) and session.pending == {}
    assert frame.info.rejuvenated == ("at every step, " if policy == "always" else "") + f"particles 72 → {m}"
    assert frame.info.cost.density_evaluations == m * frame.info.cost.visited


def drawn(session, steps):
    frames = [session.advance() for _ in range(steps)]
    told = ((frame.iteration, len(frame.particles), frame.info.rejuvenated) for frame in frames)
    return [each for each in told if each[2]]


def test_particles_are_redrawn_and_grow_in_number_as_the_policy_says():
    session = run_to(0, policy="until", until=4, num_particles=30, most_particles=200)
    assert session.knobs.growth == "jump", "the default of this policy"
    words = "at every step until 4"
    expected = [(k, 30, words) for k in (2, 3, 4)] + [(5, 200, f"{words}, particles 30 → 200")]
    assert drawn(session, 40) == expected
    assert session.knobs.replaced(policy="ess").growth == "fixed"
    assert [k for k, *_ in drawn(run_to(0, policy="until", until=4, growth="fixed"), 9)] == [2, 3, 4, 5]
    session = run_to(0, policy="always", growth="power", growth_exponent=2, num_particles=10, most_particles=300)
    found = drawn(session, 7)
    assert [m for _, m, _ in found] == [40, 90, 160, 250, 300, 300]
    assert found[4][2] == "at every step, particles 250 → 300"


ALWAYS = {"policy": "always", "schedule": "constant", "step_size": 1.0}
WIDE = {"bandwidth": 2.0}  # tails at least as heavy as the posterior's: narrow kernels make rare, huge weights


@pytest.mark.ci
@looped("knobs", [
    *({"policy": "never", **knobs} for knobs in ({}, {"batch_size": 5}, {"warm_start": True})),
    *({**knobs, **ALWAYS, **WIDE} for knobs in ({}, {"bandwidth_rule": "covariance"})),
    {"policy": "ess", "ess_threshold": 0.5},
    *({**ALWAYS, **WIDE, "draws": "independent", "resampler": name} for name in RESAMPLERS),
    {**ALWAYS, "bandwidth_rule": "isotropic", "bandwidth": 0.5},
    {**ALWAYS, "bandwidth_rule": "median", "bandwidth": 0.6},
    {**ALWAYS, "smoothness": 0.5, "bandwidth": 12.0},
    {**ALWAYS, **WIDE, "policy": "ess", "ess_threshold": 1.0},
    {**ALWAYS, **WIDE, "policy": "until", "until": 5, "most_particles": 700},
    {**ALWAYS, **WIDE, "policy": "ess", "growth": "power", "growth_exponent": 0.5},
])  # fmt: skip
def test_q_has_the_moments_of_the_posterior(knobs):
    """With γ = 1 the kernel's smoothing is only the proposal and must leave no trace: of q's particles, over runs."""
    knobs = {"num_particles": 400, "batch_size": 20, "eta": 1, "n0": 0, **knobs}  # 1/t keeps the posterior
    means, variances, options = [], [], {"dim": 1, "num_data": 20, "sigma_x": 4.0}
    for seed in range(24):
        session = run_to(12, target_options=options, seed=seed, **knobs)
        density = session.frame.density
        means.append(density.mean[0])
        variances.append(density.cov[0, 0] - (density.cholesky @ density.cholesky.T)[0, 0])
    exact = session.target.exact
    assert abs(errors_from(means, exact.mean[0])) < 4 and abs(errors_from(variances, exact.cov[0, 0])) < 4


@given(st.data())
def test_a_limited_step_leaves_its_share_of_the_ess(data):
    table = drop(PMD.Knobs.specs(), ["num_particles", "batch_size", "step_limit"])
    values = {**data.draw(knob_values(table)), "batches": "epochs", "batch_size": 5, "most_particles": 100}
    values["num_particles"] = data.draw(st.integers(1, 60))
    share, target = data.draw(st.floats(0.05, 0.95)), data.draw(st.sampled_from(["gaussian", "mixture", "banana"]))
    session = run_to(0, target, target_options={"num_data": data.draw(st.integers(5, 200))}, step_limit=share, **values)
    for _ in range(8):
        before = effective_sample_size(session.frame.state.log_weights)
        info = session.advance().info
        before = len(session.frame.particles) if info.rejuvenated else before
        assert effective_sample_size(session.frame.state.log_weights) >= share * before * (1 - 1e-9)
        assert info.step_size is None or 0 < info.step_size <= 1


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
