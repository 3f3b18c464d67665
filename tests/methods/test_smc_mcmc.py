"""Tempered SMC: exact weights, temperatures by the ESS, moves that keep their distribution, the honest cost."""

from functools import partial

import numpy as np
import pytest

import pmdviz
from pmdviz.densities.density import effective_sample_size, normalise
from pmdviz.methods import METHODS
from pmdviz.methods.smc import moved, next_beta, proposal_cholesky, resampled
from pmdviz.targets import make_target
from tests.support.engine import advanced, errors_from

TEMPERING = METHODS["smc_mcmc"]
start, run = partial(advanced, "smc_mcmc", 0), partial(advanced, "smc_mcmc", 200)


def test_the_first_step_gives_the_prior_draws_the_weights_of_the_first_temperature():
    session = start(num_particles=300)
    before = session.frame.particles
    frame = session.advance()
    assert np.array_equal(frame.particles, before) and frame.visited == 20
    log_likelihood = session.target.log_likelihood(frame.particles, session.target.data)
    np.testing.assert_allclose(np.log(frame.weights), normalise(frame.state.beta * log_likelihood), atol=1e-9)


@pytest.mark.parametrize("threshold", [0.2, 0.5, 0.9])
def test_the_next_temperature_leaves_the_wanted_ess(threshold):
    session = start("mixture", num_particles=500, ess_threshold=threshold)
    betas = [0.0]
    while not session.done and len(betas) < 300:
        frame = session.advance()
        if frame.state.moves == 0 and frame.state.beta < 1:
            assert effective_sample_size(frame.state.log_weights) == pytest.approx(threshold * 500, rel=1e-6)
        betas.append(frame.state.beta)
    assert betas[-1] == 1.0 and (np.diff(betas) >= 0).all()


def test_the_fixed_ladder_is_the_one_that_its_knobs_say():
    session = start(num_particles=50, ladder="fixed", num_temperatures=4, power=2.0, num_moves=1)
    found = []
    while not session.done:
        found.append(session.advance().state.beta)
    np.testing.assert_allclose(found, [1 / 16, 1 / 4, 9 / 16] + [1.0] * (len(found) - 3))


def test_one_particle_with_all_the_weight_still_goes_on():
    state = TEMPERING.init(np.random.default_rng(0), make_target("gaussian"), TEMPERING.Knobs.checked({}))
    values = np.full(1500, -np.inf)
    values[7] = -3.0
    beta = next_beta(state._replace(log_likelihood=values), TEMPERING.Knobs.checked({}))
    assert 0.0 < beta < 1e-9


def test_moves_leave_prior_times_power_of_the_likelihood_as_it_is(beta=0.3):
    """Exact draws of N(mean, v) with 1/v = 1 + beta N/4 are moved 15 times and still have its moments."""
    target = make_target("gaussian", dim=1)
    knobs = TEMPERING.Knobs.checked({"num_particles": 4000, "move_shape": "covariance"})
    v = 1 / (1 + beta * 20 / 4)
    mean = v * beta * target.data.sum() / 4
    rng = np.random.default_rng(1)
    theta = mean + np.sqrt(v) * rng.standard_normal((4000, 1))
    state = TEMPERING.init(rng, target, knobs)._replace(particles=theta, log_prior=target.log_prior(theta), beta=beta)
    state = state._replace(log_likelihood=target.log_likelihood(theta, target.data))
    plane, half = make_target("gaussian"), knobs.replaced(move_scale=0.5)
    skew = TEMPERING.init(rng, plane, half).particles @ np.array([[1.0, 0.5], [0.0, 0.2]])
    factor = proposal_cholesky(TEMPERING.init(rng, plane, half)._replace(particles=skew), plane, half)
    np.testing.assert_allclose(factor @ factor.T, (0.5 * 2.38) ** 2 / 2 * np.cov(skew.T, ddof=0), rtol=1e-6)
    for _ in range(15):
        state, _, accepted = moved(rng, state, target, target.data, knobs)
    assert 0.3 < accepted < 0.9
    assert abs(errors_from(state.particles[:, 0], mean)) < 4
    assert abs(errors_from((state.particles[:, 0] - mean) ** 2, v)) < 4
    np.testing.assert_allclose(state.log_prior, target.log_prior(state.particles), atol=1e-12)
    np.testing.assert_allclose(state.log_likelihood, target.log_likelihood(state.particles, target.data), atol=1e-9)


@pytest.mark.parametrize("moves", [1, 4])
def test_each_move_visits_all_data_and_it_ends_at_temperature_one(moves):
    session = run(num_particles=100, num_moves=moves, target_options={"num_data": 37})
    frame, last = session.frame, session.frame.state.moves
    assert frame.state.beta == 1.0 and last > moves
    assert frame.iteration == 1 + moves * (frame.state.num_temperatures - 1) + last
    assert frame.visited == 37 * frame.iteration
    assert session.ended
    session.set(num_moves=last + 2)
    assert not session.done, "more moves at the posterior can be asked for"
    assert session.advance(9).iteration == frame.iteration + 2


def test_the_last_moves_go_on_until_particles_have_left_where_they_arrived_and_then_as_many_again():
    session = start("linear", target_options={"dim": 4, "num_data": 100}, num_particles=1000)
    while session.frame.state.beta < 1:
        session.advance()
    found, arrived = [], None
    while not session.done:
        frame = session.advance()
        arrived = frame.state.starts if arrived is None else arrived
        assert frame.state.starts is arrived and frame.state.moves == len(found) + 1
        pairs = zip(frame.particles.T, arrived.T, strict=True)
        found.append(max(np.corrcoef(now, then)[0, 1] for now, then in pairs))
    first = int(np.argmax(np.array(found) < 0.1)) + 1
    assert 3 < first and len(found) == 2 * first == session.frame.state.enough
    assert abs(found[-1]) < 4 / np.sqrt(1000), "0.01 is left, besides Monte Carlo noise"
    copies = resampled(np.random.default_rng(0), session.frame.state, 700)[0]
    assert copies.moves == copies.enough == 0 and not TEMPERING.ended(copies, session.knobs, session.target)


def test_few_families_are_named_until_their_moves_have_made_up_for_that():
    state = run(num_particles=100).frame.state
    knobs = TEMPERING.Knobs.checked({"num_particles": 100})
    for families, enough, said in ((1, 0, "one draw"), (9, 0, "9 draws"), (10, 0, ""), (1, 20, "")):
        given = state._replace(ancestors=np.arange(100) % families, enough=enough)
        start = f"all descend from {said} from the prior: " if said else ""
        assert TEMPERING.caveat(given, knobs).startswith(start) and bool(TEMPERING.caveat(given, knobs)) == bool(said)
    on = TEMPERING.unfinished(state._replace(beta=0.25), knobs)
    assert on.startswith("β = 0.25") and TEMPERING.caveat(state._replace(beta=0.25), knobs) == on


def bounded_target(log_likelihood):
    """theta uniform on (0, 1); the likelihood must not be asked outside."""
    return pmdviz.custom_target(
        log_prior=lambda theta: np.where((theta[:, 0] > 0) & (theta[:, 0] < 1), 0.0, -np.inf),
        log_likelihood=log_likelihood,
        sample_prior=lambda rng, n: rng.random((n, 1)),
        data=np.ones(30),
        dim=1,
        name="bounded",
        bounds=[(0.0, 1.0)],
    )


def test_proposals_outside_the_priors_support_are_refused():
    def log_likelihood(theta, batch):
        assert (theta > 0).all() and (theta < 1).all()
        return len(batch) * np.log(theta[:, 0])

    session = run(bounded_target(log_likelihood), num_particles=500)
    assert session.frame.particles.min() > 0.5 and session.frame.particles.max() < 1
    assert session.frame.weights @ session.frame.particles[:, 0] == pytest.approx(31 / 32, abs=0.01)  # Beta(31, 1)
