"""SMC, tempered or in one pass, and importance sampling from the prior: weights, shrinkage, moves, caveats."""

import numpy as np
import pytest

import pmdviz
from pmdviz.densities.density import effective_sample_size, normalise
from pmdviz.engine.recipe import Recipe
from pmdviz.methods import METHODS
from pmdviz.methods.smc import moved, next_beta, proposal_cholesky, resampled, shrunk
from pmdviz.targets import make_target
from tests.support.engine import Unmeasured, advanced, errors_from
from tests.support.tables import looped

TEMPERING = METHODS["smc_mcmc"]


def moments(particles, weights):
    mean = weights @ particles
    return mean, np.cov(particles.T, aweights=weights, ddof=0).reshape(len(mean), -1)


@pytest.mark.parametrize("dim", [1, 2, 3])
def test_shrinkage_makes_room_for_the_kernel(dim):
    """A V A' + L L' = V and the mean stays, for a kernel of any shape narrower than the particles."""
    rng = np.random.default_rng(dim)
    particles, weights = rng.normal(size=(300, dim)) @ rng.normal(size=(dim, dim)), rng.dirichlet(np.ones(300))
    mean, covariance = moments(particles, weights)
    kernel = 0.3 * np.linalg.cholesky(np.cov(rng.normal(size=(dim, 50))).reshape(dim, dim) * np.trace(covariance) / 50)
    found, left = moments(shrunk(particles, weights, kernel, np.ones(dim)), weights)
    np.testing.assert_allclose(found, mean, atol=1e-12)
    np.testing.assert_allclose(left + kernel @ kernel.T, covariance, rtol=1e-6, atol=1e-8)


@looped("target", ["gaussian", "mixture", "logistic", "sparse_gp"])
@looped("method", ["importance", "smc"])
def test_after_its_pass_the_weights_are_the_likelihood_of_all_data(target, method):
    never = {"ess_threshold": 1e-12} if method == "smc" else {}
    session = advanced(method, 10**6, target, {"num_data": 20}, num_particles=200, batch_size=7, **never)
    frame = session.frame
    expected = normalise(session.target.log_likelihood(frame.particles, session.target.data))
    np.testing.assert_allclose(frame.state.log_weights, expected, atol=1e-9)
    assert (frame.iteration, frame.visited, session.ended) == (3, 20, "one pass only"), "batches of 7, 7 and 6"
    assert frame.info.words.startswith("batch of 6 · 20 of 20 data seen · ESS ")


def test_one_particle_with_all_the_weight_still_goes_on():
    knobs = TEMPERING.Knobs.checked({})
    state = TEMPERING.init(np.random.default_rng(0), make_target("gaussian"), knobs)
    values = np.where(np.arange(1500) == 7, -3.0, -np.inf)
    assert 0.0 < next_beta(state._replace(log_likelihood=values), knobs) < 1e-9


def test_moves_leave_prior_times_power_of_the_likelihood_as_it_is(beta=0.3):
    """Exact draws of N(mean, v) with 1/v = 1 + beta N/4 are moved 15 times and still have its moments."""
    target, rng = make_target("gaussian", dim=1), np.random.default_rng(1)
    knobs = TEMPERING.Knobs.checked({"num_particles": 4000, "move_shape": "covariance"})
    v = 1 / (1 + beta * 20 / 4)
    mean = v * beta * target.data.sum() / 4
    theta = mean + np.sqrt(v) * rng.standard_normal((4000, 1))
    state = TEMPERING.init(rng, target, knobs)._replace(particles=theta, log_prior=target.log_prior(theta), beta=beta)
    state = state._replace(log_likelihood=target.log_likelihood(theta, target.data))
    for _ in range(15):
        state, _, accepted = moved(rng, state, target, target.data, knobs)
    x = state.particles
    assert (
        0.3 < accepted < 0.9 and abs(errors_from(x[:, 0], mean)) < 4 and abs(errors_from((x[:, 0] - mean) ** 2, v)) < 4
    )
    np.testing.assert_allclose(state.log_prior, target.log_prior(x), atol=1e-12)
    np.testing.assert_allclose(state.log_likelihood, target.log_likelihood(x, target.data), atol=1e-9)
    plane, half = make_target("gaussian"), knobs.replaced(move_scale=0.5)
    start = TEMPERING.init(rng, plane, half)
    skew = start.particles @ np.array([[1.0, 0.5], [0.0, 0.2]])
    factor = proposal_cholesky(start._replace(particles=skew), plane, half)
    np.testing.assert_allclose(factor @ factor.T, (0.5 * 2.38) ** 2 / 2 * np.cov(skew.T, ddof=0), rtol=1e-6)


def test_few_families_are_named_until_their_moves_have_made_up_for_that():
    frame = advanced("smc_mcmc", num_particles=100).frame
    state, knobs = frame.state, frame.knobs
    for families, enough, said in ((1, 0, "one draw"), (9, 0, "9 draws"), (10, 0, ""), (1, 20, "")):
        found = TEMPERING.caveat(state._replace(ancestors=np.arange(100) % families, enough=enough), knobs)
        assert found.startswith(f"all descend from {said} from the prior: ") if said else found == ""
    on = state._replace(beta=0.25)
    assert TEMPERING.unfinished(on, knobs).startswith("β = 0.25")
    assert TEMPERING.caveat(on, knobs) == TEMPERING.unfinished(on, knobs)


def test_proposals_outside_the_priors_support_are_refused():
    def log_likelihood(theta, batch):
        assert (theta > 0).all() and (theta < 1).all()
        return len(batch) * np.log(theta[:, 0])

    target = pmdviz.custom_target(
        log_prior=lambda theta: np.where((theta[:, 0] > 0) & (theta[:, 0] < 1), 0.0, -np.inf),
        log_likelihood=log_likelihood, sample_prior=lambda rng, n: rng.random((n, 1)),
        data=np.ones(30), dim=1, name="bounded", bounds=[(0.0, 1.0)],
    )  # fmt: skip
    frame = advanced("smc_mcmc", target=target, num_particles=500).frame
    assert frame.particles.min() > 0.5 and frame.particles.max() < 1
    assert frame.weights @ frame.particles[:, 0] == pytest.approx(31 / 32, abs=0.01)  # Beta(31, 1)


@pytest.mark.parametrize("threshold", [0.2, 0.5, 0.9])
def test_the_next_temperature_leaves_the_wanted_ess(threshold):
    session = advanced("smc_mcmc", 0, "mixture", num_particles=500, ess_threshold=threshold)
    betas = [0.0]
    while not session.done and len(betas) < 300:
        frame = session.advance()
        if frame.state.moves == 0 and frame.state.beta < 1:
            assert effective_sample_size(frame.state.log_weights) == pytest.approx(threshold * 500, rel=1e-6)
        betas.append(frame.state.beta)
    assert betas[-1] == 1.0 and (np.diff(betas) >= 0).all()


@looped("method, threshold", [("pmd", 0.1), ("pmd", 0.9), ("smc", 0.5)])
def test_it_resamples_exactly_below_its_threshold(method, threshold):
    session = Unmeasured(Recipe("mixture", method, num_particles=100, ess_threshold=threshold, budget=2000))
    times, fewest = 0, np.inf
    while not session.done:
        ess = effective_sample_size(np.log(session.frame.weights))
        session.advance()
        assert bool(session.frame.info.rejuvenated) == (ess < threshold * 100)
        times += ess < threshold * 100
        fewest = min(fewest, ess) if ess < threshold * 100 else fewest
    assert session.frame.rejuvenations == times > 0
    assert method == "pmd" or session.frame.state.fewest == pytest.approx(fewest)


def test_the_last_moves_go_on_until_particles_have_left_where_they_arrived_and_then_as_many_again():
    session = advanced("smc_mcmc", 0, "linear", target_options={"dim": 4, "num_data": 100}, num_particles=1000)
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
