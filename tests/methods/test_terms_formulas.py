"""Terms are what their formulas say, sign and all: computed here from the target and from what the step drew."""

import numpy as np
import pytest

from pmdviz.methods import METHODS
from pmdviz.methods.mcmc.hmc import current_step
from pmdviz.targets import make_target
from tests.support.engine import advanced

TARGET = make_target("mixture", num_data=50, prior_sd=2.0)  # where a scale that is left out shows


def stepped(name, steps=3, size=10, **given):
    """State before, state after, info, batch and knobs of the last of some steps, whose generator has the seed 7."""
    method = METHODS[name]
    knobs = method.Knobs.checked(given)
    rng = np.random.default_rng(0)
    state = method.init(rng, TARGET, knobs)
    whole = method.batches(state, knobs) == "whole"
    for k in range(steps):
        rng = np.random.default_rng(7) if k == steps - 1 else rng
        batch = TARGET.data if whole else TARGET.data[k * size : (k + 1) * size]
        before = state
        state, info = method.step(rng, state, TARGET, batch, knobs)
    return before, state, info, batch, knobs


def same(found, expected):
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_pmd():
    before, _, info, batch, _ = stepped("pmd", num_particles=40, ess_threshold=1e-6)
    gamma = info.numbers["γ"]
    assert info.numbers["N/B"] == 5 and gamma == info.step_size
    same(info.terms["previous"], (1 - gamma) * before.log_weights)
    same(info.terms["prior"], gamma * TARGET.log_prior(before.particles))
    same(info.terms["likelihood"], gamma * 5 * TARGET.log_likelihood(before.particles, batch))
    same(info.terms["proposal"], -gamma * before.log_proposal)


def test_tempering_and_the_ladder():
    before, after, info, _, _ = stepped("smc_mcmc", steps=1, num_particles=40)
    assert info.numbers == {"Δβ": after.beta} and after.beta > 0
    same(info.terms["likelihood"], after.beta * TARGET.log_likelihood(after.particles, TARGET.data))
    before, after, info, _, _ = stepped("ais", num_particles=40, num_temperatures=10)
    assert info.numbers == {"Δβ": after.beta - before.beta}
    same(info.terms["likelihood"], info.numbers["Δβ"] * TARGET.log_likelihood(before.particles, TARGET.data))
    before, _, info, batch, _ = stepped("stochastic_ais", num_particles=40, num_temperatures=10)
    new, old = (TARGET.log_likelihood(before.particles, rows) for rows in (batch, TARGET.data[10:20]))
    now = info.numbers
    assert now["N/B"] == 5 and now["β′"] > now["β"] > 0
    same(info.terms["likelihood"], now["N/B"] * (now["β′"] * new - now["β"] * old))


def test_the_forces_of_svgd():
    before, after, info, batch, knobs = stepped("svgd", num_particles=15, optimiser="plain")
    x, eps = before.particles, info.numbers["ε"]
    scores, pace = TARGET.grad_log_joint(x, batch), eps * TARGET.scale**2
    k = np.exp(-((x[:, None] - x) ** 2).sum(axis=2) / after.h)
    repulsion = (2 / after.h * k[:, :, None] * (x[:, None] - x)).mean(axis=1)
    same(info.terms["drive"], pace * (k @ scores) / 15)
    same(info.terms["repulsion"], pace * repulsion)
    same(sum(info.terms.values()), after.particles - x)


@pytest.mark.parametrize("optimiser", ["natural", "adam"])
def test_the_pulls_on_the_mean_of_svi(optimiser):
    before, after, info, batch, knobs = stepped("svi", optimiser=optimiser)
    half = np.random.default_rng(7).standard_normal((knobs.num_pairs, 2))
    theta = before.mean + np.concatenate([half, -half]) @ before.cholesky.T
    prior = TARGET.grad_log_prior(theta).mean(axis=0)
    likelihood = TARGET.grad_log_joint(theta, batch).mean(axis=0) - prior
    pace = after.cholesky @ after.cholesky.T
    if optimiser == "adam":
        size = np.sqrt(after.second[:, 0] / (1 - 0.99**3)) + 1e-8
        pace = np.diag(TARGET.scale**2 * 0.1 / (1 - 0.9**3) / size)
        same(info.terms["momentum"][0], info.numbers["ρ"] * TARGET.scale * 0.9 * before.first[:, 0] / 0.271 / size)
    assert info.numbers["N/B"] == 5
    same(info.terms["prior"][0], info.numbers["ρ"] * pace @ prior)
    same(info.terms["likelihood"][0], info.numbers["ρ"] * pace @ likelihood)


def test_the_pulls_on_the_means_of_npv():
    before, after, info, batch, _ = stepped("npv", num_components=3, annealing=100)
    beta, rho = info.numbers["β"], info.numbers["ρ"]
    assert beta == pytest.approx(after.visited / 100) and beta < 1
    size = np.sqrt(after.second[:, :-1] / (1 - 0.99**3)) + 1e-8
    pace = rho * TARGET.scale**2 * 0.1 / 0.271 / size
    same(info.terms["posterior"], pace * beta * TARGET.grad_log_joint(before.means, batch))
    same(info.terms["start"], -pace * (1 - beta) * (before.means - before.origin) / TARGET.scale**2)


def trajectory(theta, momentum, time_step, length):
    """The leapfrog in the units of the prior's sds."""
    unit = TARGET.scale
    for _ in range(length):
        momentum = momentum + 0.5 * time_step * unit * TARGET.grad_log_joint(theta[None])[0]
        theta = theta + time_step * unit * momentum
        momentum = momentum + 0.5 * time_step * unit * TARGET.grad_log_joint(theta[None])[0]
    return theta, momentum


@pytest.mark.parametrize("name, time_step", [("hmc", 0.2), ("mala", 0.25)])
def test_a_trajectory_is_accepted_by_what_its_terms_add_up_to(name, time_step):
    method, outcomes = METHODS[name], []
    knobs = method.Knobs.checked({"tune": False, "time_step": time_step})
    state = method.init(np.random.default_rng(1), TARGET, knobs)
    for k in range(40):
        lengths, momenta, uniforms = method._drawn(np.random.default_rng(k), 1, 2, knobs)
        here = state.newer[-1]
        state, info = method.step(np.random.default_rng(k), state, TARGET, TARGET.data, knobs)
        there, momentum = trajectory(here, momenta[0], current_step(state, knobs), int(lengths[0]))
        risen = TARGET.log_joint(there[None]) - TARGET.log_joint(here[None])
        np.testing.assert_allclose(info.terms["potential"], risen, rtol=1e-7, atol=1e-9)
        if name == "mala":
            kinetic = log_proposal(there, here, time_step) - log_proposal(here, there, time_step)
        else:
            kinetic = 0.5 * ((momenta**2).sum() - (momentum**2).sum())
        np.testing.assert_allclose(info.terms["kinetic"], kinetic, rtol=1e-7, atol=1e-7)
        accepted = bool((state.newer[-1] != here).any())
        assert accepted == info.words.startswith("accepted")
        assert accepted == bool(np.log(uniforms[0]) < sum(info.terms.values())[0])
        outcomes.append(accepted)
    assert 5 < sum(outcomes) < 38
    if name == "hmc":  # one that diverges has no chance
        _, _, info, _, _ = stepped("hmc", tune=False, time_step=900.0, leapfrog_steps=50)
        assert info.event("diverged") and info.terms["potential"] == -np.inf and info.terms["kinetic"] == 0


def log_proposal(here, there, eps):
    """Of `there` from here by MALA, but for a constant."""
    centre = here + 0.5 * eps**2 * TARGET.scale**2 * TARGET.grad_log_joint(here[None])[0]
    return -0.5 * (((there - centre) / (eps * TARGET.scale)) ** 2).sum()


@pytest.mark.parametrize("target", ["mixture", "ising"])
def test_a_step_of_the_random_walk(target):
    session, accepted = advanced("random_walk", 0, target, seed=3, tune=False, scale=0.3), []
    for _ in range(40):
        info = session.advance().info
        (path,) = info.paths().values()
        made = session.target
        prior = made.log_prior(path[0])
        likelihood = made.log_likelihood(path[0], made.data_rows)
        same(info.terms["prior"], prior[1:] - prior[:1])
        same(info.terms["likelihood"], likelihood[1:] - likelihood[:1])
        accepted.append("accepted" in info.paths())
        assert accepted[-1] or sum(info.terms.values())[0] < 0
    assert 3 < sum(accepted) < 38
