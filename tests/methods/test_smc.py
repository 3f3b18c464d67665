"""SMC, importance sampling, annealing and draws from a density: weights, moves, tuning, caveats."""

import numpy as np
import pytest

import pmdviz
from pmdviz.densities.bandwidth import Shape, shaped_density
from pmdviz.densities.density import effective_sample_size, normalise
from pmdviz.engine.recipe import Recipe
from pmdviz.methods import METHODS
from pmdviz.methods.annealing import Rung, Walkers, settled, walked
from pmdviz.methods.importance import Proposal, chi2_gradient, m_pmc, power_of_weights, tempered
from pmdviz.methods.smc import moved, next_beta, proposal_cholesky, resampled, shrunk
from pmdviz.methods.weighting import DRAWS, RESAMPLERS, children
from pmdviz.targets import make_target
from tests.densities.test_density import some
from tests.kernels.naive import differences
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


def test_one_particle_with_all_the_weight_goes_on_and_proposals_outside_the_support_are_refused():
    knobs = TEMPERING.Knobs.checked({})
    state = TEMPERING.init(np.random.default_rng(0), make_target("gaussian"), knobs)
    values = np.where(np.arange(1500) == 7, -3.0, -np.inf)
    assert 0.0 < next_beta(state._replace(log_likelihood=values), knobs) < 1e-9

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


def test_moves_leave_prior_times_power_of_the_likelihood_as_it_is(beta=0.3):
    """Exact draws of N(mean, v) with 1/v = 1 + beta N/4 are moved 15 times, in two ways, and still have its moments."""
    target, rng = make_target("gaussian", dim=1), np.random.default_rng(1)
    knobs = TEMPERING.Knobs.checked({"num_particles": 4000, "move_shape": "covariance"})
    v = 1 / (1 + beta * 20 / 4)
    mean = v * beta * target.data.sum() / 4
    theta = mean + np.sqrt(v) * rng.standard_normal((4000, 1))
    state = TEMPERING.init(rng, target, knobs)._replace(particles=theta, log_prior=target.log_prior(theta), beta=beta)
    state = state._replace(log_likelihood=target.log_likelihood(theta, target.data))
    for _ in range(15):
        state, _, accepted = moved(rng, state, target, target.data, knobs)
    x, blank = state.particles, np.empty((0, 1))
    walkers = Walkers(theta, blank, target.log_prior(theta), target.log_likelihood(theta, target.data), blank, blank)
    for _ in range(15):
        walkers, _, _ = walked(rng, walkers, Rung(target, target.data, beta, 1.0))
    assert 0.3 < accepted < 0.9
    for found in (x[:, 0], walkers.points[:, 0]):
        assert abs(errors_from(found, mean)) < 4 and abs(errors_from((found - mean) ** 2, v)) < 4
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


def test_pilots_alone_tune_the_step():
    method, knobs = METHODS["ais"], METHODS["ais"].Knobs.checked({"num_particles": 20})
    state = method.init(np.random.default_rng(0), make_target("gaussian"), knobs)
    assert len(state.walkers.points) == 52 and len(state.particles) == 20
    accepted = (np.r_[np.full(20, 1 - share), np.full(32, share)] for share in (1.0, 0.0))
    longer, shorter = (settled(state._replace(rung=1), state.walkers, each, 0.75, knobs) for each in accepted)
    assert shorter.time_step < knobs.time_step < longer.time_step and longer.time_steps[1] == knobs.time_step


def test_batches_ruin_the_evidence_and_more_temperatures_make_it_worse():
    """About T/(p + 1) (N/B - 1) nats are lost where each move forgets its start; less where it does not."""
    errors, options = {}, {"num_data": 200, "dim": 1, "sigma_x": 1.0}
    for batch, T in ((200, 100), (40, 100), (40, 300)):
        knobs = {"batch_size": batch, "num_temperatures": T, "num_particles": 100}
        frame = advanced("stochastic_ais", options=options, **knobs).frame
        errors[batch, T] = frame.metrics["log_z_error"]
        assert frame.state.beta == 1
    assert abs(errors[200, 100]) < 0.5
    assert -100 < errors[40, 100] < -20 and errors[40, 300] < 2 * errors[40, 100]


@pytest.mark.ci
def test_particles_of_weight_0_are_counted_and_log_z_is_right():
    """Half of q0 has density 0: Z = the integral of exp(-t) over [1/2, 1]; a random walk, without a gradient."""
    target = pmdviz.custom_target(
        log_prior=lambda t: np.where((t[:, 0] >= 0) & (t[:, 0] <= 1), 0.0, -np.inf),
        log_likelihood=lambda t, rows: np.where(t[:, 0] > 0.5, -t[:, 0], -np.inf),
        sample_prior=lambda rng, n: rng.random((n, 1)), data=None, dim=1, name="elsewhere", bounds=[(0.0, 3.0)],
    )  # fmt: skip
    frames = [advanced("ais", target=target, seed=k, num_particles=40, num_temperatures=5).frame for k in range(30)]
    assert all(5 < frame.info.scalars["zero_weight"] < 35 for frame in frames)
    found = [np.exp(frame.metrics["log_z"]) for frame in frames]
    assert abs(errors_from(found, np.exp(-0.5) - np.exp(-1))) < 4


def test_without_gradients_walks_are_those_of_ais():
    bare, states = make_target("gaussian", num_data=6), []
    bare.declared = frozenset()
    for name, target in (("ais", bare), ("gf_ais", bare), ("gf_ais", make_target("gaussian", num_data=6))):
        method, rng, walk = METHODS[name], np.random.default_rng(0), {"proposals": "walk"} if name == "gf_ais" else {}
        knobs = method.Knobs.checked({"num_particles": 20, "num_temperatures": 10, **walk})
        state = method.init(rng, target, knobs)
        while not method.ended(state, knobs, target):
            state, info = method.step(rng, state, target, target.data_rows, knobs)
            assert info.cost.gradient_evaluations == 0 and 0 < info.cost.density_evaluations <= 2 * 52 * 6
        states.append((state.walkers.points, state.log_weights))
    for found in states[1:]:
        for one, other in zip(found, states[0], strict=True):
            np.testing.assert_array_equal(one, other)


METHOD = METHODS["adaptive_is"]


def small_proposal(rng, K=3, d=2, defensive=0.0):
    log_shares, means = np.log(rng.dirichlet(np.ones(K))), rng.normal(size=(K, d))
    return Proposal(log_shares, means, np.exp(rng.normal(size=(K, d)) / 3), defensive)


def test_a_step_of_em_is_the_formula():
    rng = np.random.default_rng(1)
    proposal, particles = small_proposal(rng, defensive=0.1), rng.normal(size=(400, 2))
    log_weights = normalise(rng.normal(size=400))
    _, shares = proposal.at(particles, rng.normal(size=400))
    knobs = METHOD.Knobs.checked({"variance_floor": 0.0, "smallest_ess": 0.0})
    new, _, power = m_pmc(proposal, particles, log_weights, shares, knobs, np.ones(2))
    by = np.exp(log_weights)[:, None] * shares
    means = np.einsum("ik,id->kd", by, particles) / by.sum(axis=0)[:, None]
    spread = (particles[:, None] - means) ** 2
    assert power == 1.0
    np.testing.assert_allclose(np.exp(new.log_shares), by.sum(axis=0) / by.sum(), rtol=1e-12)
    np.testing.assert_allclose(new.means, means, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(new.sds**2, np.einsum("ik,ikd->kd", by, spread) / by.sum(axis=0)[:, None], rtol=1e-10)


def test_em_keeps_variances_above_their_floor_and_tempered_weights_have_the_wanted_ess():
    rng = np.random.default_rng(2)
    means = np.array([[0.0, 0.0], [50.0, 0.0], [-500.0, 0.0]])
    proposal = Proposal(np.log(np.full(3, 1 / 3)), means, np.ones((3, 2)), 0.0)
    particles = np.concatenate([rng.normal(size=(300, 2)), [[50.0, 0.0]]])
    _, shares = proposal.at(particles, np.zeros(301))
    knobs = METHOD.Knobs.checked({"smallest_ess": 0.0})
    new, kept, _ = m_pmc(proposal, particles, np.full(301, -np.log(301)), shares, knobs, np.ones(2))
    assert kept.tolist() == [True, True, False] and len(new.means) == 2
    assert 0.05 < new.sds[1].min() and new.sds[1].max() < 0.5  # sqrt(.02) local sds
    np.testing.assert_allclose(new.sds[0], 1.0, atol=0.2)
    log_weights = normalise(20 * np.random.default_rng(4).normal(size=500))
    power = power_of_weights(log_weights, 50.0)
    assert 0 < power < 1
    assert effective_sample_size(tempered(log_weights, power)) == pytest.approx(50, rel=1e-6)
    assert power_of_weights(log_weights, 1.0) == 1.0


@pytest.mark.parametrize("defensive", [0.0, 0.3])
def test_the_gradient_is_that_of_log_chi2(defensive):
    """Against central differences of log mean (p^2 / (q r)) at common draws of r = q, the naive importance form."""
    rng = np.random.default_rng(3)
    proposal, unit = small_proposal(rng, defensive=defensive), np.array([0.7, 1.9])
    particles, log_prior, log_joint = rng.normal(size=(50, 2)), rng.normal(size=50), rng.normal(size=50)
    drawn_from, shares = proposal.at(particles, log_prior)

    def log_chi2(vectors):
        """At vectors (n, 15) of changes of the components' log shares, means and log sds."""
        for change in vectors.reshape(-1, 3, 5):
            shares, means = normalise(proposal.log_shares + change[:, 0]), proposal.means + unit * change[:, 1:3]
            q = Proposal(shares, means, proposal.sds * np.exp(change[:, 3:]), defensive)
            log_q, _ = q.at(particles, log_prior)
            yield np.log(np.mean(np.exp(2 * log_joint - log_q - drawn_from)))

    numeric = differences(lambda vectors: np.array([*log_chi2(vectors)]), np.zeros((1, 15)))[0]
    log_weights = normalise(log_joint - drawn_from)
    found = chi2_gradient(proposal, particles, log_weights, shares, 0.0, unit)
    # The control variate, of expectation 0, has a value at these draws.
    plain = found - (chi2_gradient(proposal, particles, log_weights * 0, shares, 0.0, unit))
    z = (particles[:, None] - proposal.means) / proposal.sds
    in_shares = shares - np.exp(proposal.log_shares) * shares.sum(axis=1, keepdims=True)
    parts = [in_shares[..., None], shares[..., None] * unit * z / proposal.sds, shares[..., None] * (z**2 - 1)]
    score = np.concatenate(parts, axis=2).mean(axis=0)
    np.testing.assert_allclose((plain - score).ravel(), numeric, atol=1e-7)


def means(values_of, density, n, draws, resampler="systematic", runs=80):
    drawn = (children(np.random.default_rng(seed), density, n, draws, resampler)[0] for seed in range(runs))
    return np.array([values_of(points).mean() for points in drawn])


def shaped():
    rng, second = np.random.default_rng(0), np.arange(200) >= 100
    x = rng.standard_normal((200, 2)) @ np.array([[1.0, 0.8], [0.0, 0.3]]) + 6 * second[:, None]
    return shaped_density(x, np.full(200, -np.log(200)), Shape(second.astype(int), 0.6), 1.0, np.ones(2))


@looped("draws", DRAWS)
@looped("resampler", RESAMPLERS)
@looped("density", [some(1), some(3), shaped()])
def test_draws_have_the_moments_of_the_density(draws, resampler, density):
    for k in range(len(density.mean)):
        second = density.cov[k, -1] + density.mean[k] * density.mean[-1]
        for values, expected in (
            (lambda x, k=k: x[:, k], density.mean[k]),
            (lambda x, k=k: x[:, k] * x[:, -1], second),
        ):
            assert abs(errors_from(means(values, density, 40, draws, resampler), expected)) < 4.5


@pytest.mark.parametrize("d, most", [(1, 0.12), (2, 0.15), (3, 0.3)])
def test_sums_over_balanced_draws_vary_less(d, most):
    values = lambda x: np.cos(x).sum(axis=1)  # noqa: E731
    found = {draws: means(values, some(d), 256, draws, "multinomial", runs=150).var() for draws in DRAWS}
    assert found["independent"] / 25 < found["balanced"] < most * found["independent"]


RESIZED = [("svgd", "mixture"), ("gf_svgd", "mixture"), ("steinis", "gaussian"), ("pmfvb", "correlated_gaussian"),
           ("pmfvb_nn", "regression_net")]  # fmt: skip


@pytest.mark.parametrize("method, target", RESIZED)
def test_another_number_of_particles_takes_effect_at_the_next_step_and_replays(method, target):
    session = advanced(method, 4, target, num_particles=40)
    for before, m in ((40, 15), (15, 90)):
        session.set(num_particles=m)
        frame = session.advance()
        assert len(frame.particles) == len(frame.weights) == m == len(np.unique(frame.particles, axis=0))
        assert frame.info.words.startswith(f"particles {before} → {m}, ")
        session.advance(3)
    again = type(session)(session.recipe).advance(session.frame.iteration)
    assert again.particles.tobytes() == session.frame.particles.tobytes()
    assert again.weights.tobytes() == session.frame.weights.tobytes()


def test_more_followers_leave_the_estimate_of_z_unbiased():
    truth, found = make_target("gaussian").reference().log_z, []
    for seed in range(24):
        session = advanced("steinis", 12, num_particles=60, seed=seed)
        session.set(num_particles=400)
        found.append(np.exp(session.advance().metrics["log_z"] - truth))
    assert abs(errors_from(np.array(found), 1.0)) < 4
