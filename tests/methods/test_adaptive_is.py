"""Adaptive importance sampling: its two adaptations against formulas and exact answers, and what it says of itself."""

import numpy as np
import pytest

from pmdviz.densities.density import effective_sample_size, normalise
from pmdviz.methods import METHODS
from pmdviz.methods.importance import Proposal, chi2_gradient, m_pmc, power_of_weights, tempered
from pmdviz.targets import make_target

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
    """Where one particle has all the weight of a component, and where a component has none."""
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

    def log_chi2(vector):
        moved = vector.reshape(3, 5)
        q = Proposal(normalise(proposal.log_shares + moved[:, 0]), proposal.means + unit * moved[:, 1:3],
                     proposal.sds * np.exp(moved[:, 3:]), defensive)  # fmt: skip
        z = (particles[:, None] - q.means) / q.sds
        parts = q.log_shares - 0.5 * (z**2).sum(axis=2) - np.log(q.sds).sum(axis=1) - np.log(2 * np.pi)
        gaussians = np.log1p(-defensive) + np.logaddexp.reduce(parts, axis=1)
        with np.errstate(divide="ignore"):
            log_q = np.logaddexp(gaussians, np.log(defensive) + log_prior)
        return np.log(np.mean(np.exp(2 * log_joint - log_q - drawn_from)))

    step = 1e-5
    numeric = [(log_chi2(e) - log_chi2(-e)) / (2 * step) for e in step * np.eye(15)]
    log_weights = normalise(log_joint - drawn_from)
    found = chi2_gradient(proposal, particles, log_weights, shares, 0.0, unit)
    # The control variate, of expectation 0, has a value at these draws.
    plain = found - (chi2_gradient(proposal, particles, log_weights * 0, shares, 0.0, unit))
    score = mean_score(proposal, particles, shares, unit)
    np.testing.assert_allclose((plain - score).ravel(), numeric, atol=1e-7)


def mean_score(proposal, particles, shares, unit):
    """Mean over the particles of grad log q, (K, 2 d + 1)."""
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


def test_the_draws_are_the_mixtures_and_the_priors():
    """In the shares that the proposal says; nobody draws from a component that is gone."""
    target = make_target("gaussian")
    proposal = Proposal(np.log([0.25, 0.75]), np.array([[50.0, 0.0], [-50.0, 0.0]]), np.full((2, 2), 0.1), 0.2)
    x = proposal.sample(np.random.default_rng(0), target, 1000)
    assert [int((abs(x[:, 0] - at) < 5).sum()) for at in (50, -50, 0)] == [200, 600, 200]
    np.testing.assert_allclose(x[x[:, 0] > 40].std(axis=0), 0.1, rtol=0.2)
