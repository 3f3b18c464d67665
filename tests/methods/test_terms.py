"""What a step tells of itself: its terms add up to what the step did, and are what their formulas say."""

import numpy as np
import pytest

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.methods import METHODS, usual_target
from pmdviz.methods.mcmc.hmc import current_step
from pmdviz.methods.optimisers import OPTIMISERS, PARTS
from pmdviz.targets import make_target
from tests.support.engine import Unmeasured
from tests.support.tables import looped

STEPS, ENOUGH = 30, 8  # at most, and with terms
SILENT = {
    "gibbs": "each unknown is drawn from its conditional, whatever it was before: the draw has no parts",
    "subset_gp": "a batch adds dimensions to q, so that there is no difference of before and after",
}
VARIANTS = [
    ("adam_sgld", {"num_chains": 3}), ("ais", {"num_temperatures": 3, "sandwich": True}),
    ("discrete_gf_svgd", {"optimiser": "plain", "eta": 5.0}), ("gaussian_vb", {"gradient": "normalised"}),
    ("gaussian_vb", {"shape": "diagonal"}), ("gf_svgd", {"kernel": "imq", "optimiser": "adagrad"}),
    ("hmc", {"num_chains": 2}), ("npv", {"annealing": 0}), ("pmd", {"warm_start": True}), ("pmd", {"step_limit": 0.0}),
    ("pmd", {"schedule": "constant", "step_size": 1.0}), ("smc_mcmc", {"ladder": "fixed"}),
    ("svgd", {"annealing": "on", "num_temperatures": 4}), ("svgd", {"optimiser": "adagrad"}),
    ("svgd", {"optimiser": "plain"}), ("svi", {"optimiser": "adam"}),
]  # fmt: skip


def check_step(method, before, info, after):
    update, points = method.update_of(info), method.points(after)
    assert list(info.terms) == [term.name for term in update.terms if term.name in info.terms]
    for symbol, value in info.numbers.items():
        assert any(symbol in term.formula for term in update.terms) and np.isfinite(value)
    total, moved = sum(info.terms.values()), points - method.points(before)
    result = after.log_weights if update.kind == "weights" else total if update.kind == "ratio" else moved
    assert all(term.shape == result.shape and len(term) == len(points) for term in info.terms.values())
    if update.kind == "ratio":
        moved = (moved != 0).any(axis=1)
        assert total.ndim == 1 and moved[total >= 0].all() and not moved[total == -np.inf].any()
    else:
        finite = np.isfinite(result)
        np.testing.assert_allclose(total[finite], result[finite], atol=1e-10)
        assert not np.isfinite(total[~finite]).any()


def told_of(session, steps=STEPS):
    told = 0
    for _ in range(steps):
        if session.done or told == ENOUGH:
            break
        before, info = session.frame.state, session.advance().info
        assert set(info.scalars) <= {scalar.name for scalar in session.method.scalars}
        if info.terms:
            told += 1
            check_step(session.method, before, info, session.frame.state)
        else:
            assert session.method.update_of(info) is None and not info.numbers
    return told


@looped("method", sorted(METHODS))
def test_terms_add_up(method):
    told = told_of(Unmeasured(Recipe(usual_target(method), method, seed=1)))
    assert bool(told) == (METHODS[method].update is not None) == (method not in SILENT)


@looped("method, given", VARIANTS)
def test_terms_add_up_with_other_knobs(method, given):
    session = Unmeasured(Recipe(usual_target(method), method, seed=0, **given))
    assert told_of(session, 12) and (method != "pmd" or session.frame.info.terms)


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_a_direction_is_the_gradient_at_its_pace_and_the_past(optimiser):
    rng, first, second, squares = np.random.default_rng(0), *np.zeros((3, 3, 2))
    for t in range(1, 6):
        gradient, before = rng.standard_normal((3, 2)), first
        direction, first, second = OPTIMISERS[optimiser](gradient, first, second, t)
        parts, squares = PARTS[optimiser](before, second, t), squares + gradient**2
        if optimiser == "adagrad":
            np.testing.assert_allclose(direction, gradient / np.sqrt(squares), rtol=1e-6)
        np.testing.assert_allclose(parts.pace * gradient + parts.past, direction, rtol=1e-12)
        assert (parts.pace > 0).all() and parts.past.any() == (optimiser == "adam" and t > 1)


def test_scalars_are_columns_of_the_history():
    session = Session(Recipe("mixture", "smc_mcmc", seed=0))
    session.advance(20)
    temperature = session.history.columns["temperature"]
    assert np.isnan(temperature[0]) and (np.diff(temperature[1:]) >= 0).all() and temperature[-1] > 0


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
    gamma, x = info.numbers["γ"], before.particles
    assert info.numbers["N/B"] == 5 and gamma == info.step_size
    same(info.terms["previous"], (1 - gamma) * before.log_weights)
    same(info.terms["prior"], gamma * TARGET.log_prior(x))
    same(info.terms["likelihood"], gamma * 5 * TARGET.log_likelihood(x, batch))
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


def trajectory(theta, momentum, time_step, length):
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
        kinetic = 0.5 * ((momenta**2).sum() - (momentum**2).sum())
        if name == "mala":
            kinetic = log_proposal(there, here, time_step) - log_proposal(here, there, time_step)
        risen = TARGET.log_joint(there[None]) - TARGET.log_joint(here[None])
        np.testing.assert_allclose(info.terms["potential"], risen, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(info.terms["kinetic"], kinetic, rtol=1e-7, atol=1e-7)
        outcomes.append(bool((state.newer[-1] != here).any()))
        assert outcomes[-1] == info.words.startswith("accepted")
        assert outcomes[-1] == bool(np.log(uniforms[0]) < sum(info.terms.values())[0])
    assert 5 < sum(outcomes) < 38
    if name == "hmc":  # one that diverges has no chance
        _, _, info, _, _ = stepped("hmc", tune=False, time_step=900.0, leapfrog_steps=50)
        assert info.event("diverged") and info.terms["potential"] == -np.inf and info.terms["kinetic"] == 0


def log_proposal(here, there, eps):
    centre = here + 0.5 * eps**2 * TARGET.scale**2 * TARGET.grad_log_joint(here[None])[0]
    return -0.5 * (((there - centre) / (eps * TARGET.scale)) ** 2).sum()
