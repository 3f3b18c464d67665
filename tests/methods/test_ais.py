"""Importance sampling by annealing and by adaptive mixtures: moves, tuning, formulas, and what ruins the evidence."""

import numpy as np
import pytest

import pmdviz
from pmdviz.densities.density import effective_sample_size, normalise
from pmdviz.methods import METHODS
from pmdviz.methods.annealing import Rung, Walkers, settled, walked
from pmdviz.methods.importance import Proposal, chi2_gradient, m_pmc, power_of_weights, tempered
from pmdviz.targets import make_target
from tests.kernels.naive import differences
from tests.support.engine import advanced, errors_from


def test_a_random_walk_leaves_a_tempered_density_as_it_is():
    target = make_target("gaussian", num_data=8, dim=1, sigma_x=2.0)
    half = 1 / (1 + 0.5 * 8 / 4.0)
    rng, mean = np.random.default_rng(3), half * 0.5 * target.data.sum() / 4.0
    points = mean + np.sqrt(half) * rng.standard_normal((4000, 1))
    blank = np.empty((0, 1))
    walkers = Walkers(points, blank, target.log_prior(points), target.log_likelihood(points, target.data), blank, blank)
    for _ in range(15):
        walkers, _, _ = walked(rng, walkers, Rung(target, target.data, 0.5, 1.0))
    z = (walkers.points[:, 0] - mean) / np.sqrt(half)
    assert abs(errors_from(z, 0)) < 4 and abs(errors_from(z**2, 1)) < 4


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
    assert all(5 < frame.info.zero_weight < 35 for frame in frames)
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
            assert info.gradient_evaluations == 0 and 0 < info.density_evaluations <= 2 * 52 * 6
        states.append((state.walkers.points, state.log_weights))
    for found in states[1:]:
        for one, other in zip(found, states[0], strict=True):
            np.testing.assert_array_equal(one, other)


METHOD = METHODS["adaptive_is"]


def small_proposal(rng, K=3, d=2, defensive=0.0):
    return Proposal(
        np.log(rng.dirichlet(np.ones(K))), rng.normal(size=(K, d)), np.exp(rng.normal(size=(K, d)) / 3), defensive
    )


def test_a_step_of_em_is_the_formula():
    rng = np.random.default_rng(1)
    proposal, particles = small_proposal(rng, defensive=0.1), rng.normal(size=(400, 2))
    log_weights = normalise(rng.normal(size=400))
    _, shares = proposal.at(particles, rng.normal(size=400))
    knobs = METHOD.Knobs.checked({"variance_floor": 0.0, "smallest_ess": 0.0})
    new, power = m_pmc(proposal, particles, log_weights, shares, knobs, np.ones(2))
    by = np.exp(log_weights)[:, None] * shares
    means = np.einsum("ik,id->kd", by, particles) / by.sum(axis=0)[:, None]
    spread = (particles[:, None] - means) ** 2
    assert power == 1.0
    np.testing.assert_allclose(np.exp(new.log_shares), by.sum(axis=0) / by.sum(), rtol=1e-12)
    np.testing.assert_allclose(new.means, means, rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(new.sds**2, np.einsum("ik,ikd->kd", by, spread) / by.sum(axis=0)[:, None], rtol=1e-10)


def test_no_variance_is_below_the_floor_and_no_component_without_weight_stays():
    rng = np.random.default_rng(2)
    means = np.array([[0.0, 0.0], [50.0, 0.0], [-500.0, 0.0]])
    proposal = Proposal(np.log(np.full(3, 1 / 3)), means, np.ones((3, 2)), 0.0)
    particles = np.concatenate([rng.normal(size=(300, 2)), [[50.0, 0.0]]])
    _, shares = proposal.at(particles, np.zeros(301))
    knobs = METHOD.Knobs.checked({"smallest_ess": 0.0})
    new, _ = m_pmc(proposal, particles, np.full(301, -np.log(301)), shares, knobs, np.ones(2))
    assert new.alive.tolist() == [True, True, False] and len(new.living().means) == 2
    assert 0.05 < new.sds[1].min() and new.sds[1].max() < 0.5  # sqrt(.02) local sds
    np.testing.assert_allclose(new.sds[0], 1.0, atol=0.2)


@pytest.mark.parametrize("defensive", [0.0, 0.3])
def test_the_gradient_is_that_of_log_chi2(defensive):
    """Against central differences of log mean (p^2 / (q r)) at common draws of r = q, the naive importance form."""
    rng = np.random.default_rng(3)
    proposal, unit = small_proposal(rng, defensive=defensive), np.array([0.7, 1.9])
    particles, log_prior, log_joint = rng.normal(size=(50, 2)), rng.normal(size=50), rng.normal(size=50)
    drawn_from, shares = proposal.at(particles, log_prior)

    def log_chi2(vectors):
        """At vectors (n, 15) of changes of the components' log shares, means and log sds."""
        for moved in vectors.reshape(-1, 3, 5):
            shares, means = normalise(proposal.log_shares + moved[:, 0]), proposal.means + unit * moved[:, 1:3]
            q = Proposal(shares, means, proposal.sds * np.exp(moved[:, 3:]), defensive)
            log_q, _ = q.at(particles, log_prior)
            yield np.log(np.mean(np.exp(2 * log_joint - log_q - drawn_from)))

    numeric = differences(lambda vectors: np.array([*log_chi2(vectors)]), np.zeros((1, 15)))[0]
    log_weights = normalise(log_joint - drawn_from)
    found = chi2_gradient(proposal, particles, log_weights, shares, 0.0, unit)
    # The control variate, of expectation 0, has a value at these draws.
    plain = found - (chi2_gradient(proposal, particles, log_weights * 0, shares, 0.0, unit))
    score = mean_score(proposal, particles, shares, unit)
    np.testing.assert_allclose((plain - score).ravel(), numeric, atol=1e-7)


def mean_score(proposal, particles, shares, unit):
    z = (particles[:, None] - proposal.means) / proposal.sds
    in_shares = shares - np.exp(proposal.log_shares) * shares.sum(axis=1, keepdims=True)
    parts = [in_shares[..., None], shares[..., None] * unit * z / proposal.sds, shares[..., None] * (z**2 - 1)]
    return np.concatenate(parts, axis=2).mean(axis=0)


def test_tempered_weights_have_the_wanted_ess():
    log_weights = normalise(20 * np.random.default_rng(4).normal(size=500))
    power = power_of_weights(log_weights, 50.0)
    assert 0 < power < 1
    assert effective_sample_size(tempered(log_weights, power)) == pytest.approx(50, rel=1e-6)
    assert power_of_weights(log_weights, 1.0) == 1.0
