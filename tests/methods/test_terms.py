"""What a step and a frame tell: terms that add up, what a method declares of itself, and what is not to be trusted."""

import functools
from typing import NamedTuple

import numpy as np
import pytest

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.methods import METHODS, StepInfo, usual_target
from pmdviz.methods.mcmc.hmc import current_step
from pmdviz.methods.optimisers import OPTIMISERS, PARTS
from pmdviz.methods.step import COLUMNS, grammar_of
from pmdviz.targets import make_target
from tests.support.engine import Unmeasured, advanced, default_target, small_knobs, small_target
from tests.support.tables import looped, refused

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


def test_terms_of_pmd_svgd_and_ladders_are_their_formulas():
    before, _, info, batch, _ = stepped("pmd", num_particles=40, ess_threshold=1e-6)
    gamma, x = info.numbers["γ"], before.particles
    assert info.numbers["N/B"] == 5 and gamma == info.step_size
    same(info.terms["previous"], (1 - gamma) * before.log_weights)
    same(info.terms["prior"], gamma * TARGET.log_prior(x))
    same(info.terms["likelihood"], gamma * 5 * TARGET.log_likelihood(x, batch))
    same(info.terms["proposal"], -gamma * before.log_proposal)
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
        assert "diverged" in info.events and info.terms["potential"] == -np.inf and info.terms["kinetic"] == 0


def log_proposal(here, there, eps):
    centre = here + 0.5 * eps**2 * TARGET.scale**2 * TARGET.grad_log_joint(here[None])[0]
    return -0.5 * (((there - centre) / (eps * TARGET.scale)) ** 2).sum()


# The first that fits.
CANDIDATES = ("mixture", "logistic", "topics", "sparse_gp", "regression_net", "ising", "binary_net")
WATCHED_STEPS, NUM_DATA = 12, 100
TOLD = {"step size": "step_size", "temperatures": "temperature", "kernel width": "length_scale"}  # term -> scalar
MEMORIES = ("second", "mean_square")  # of squared gradients, in the states that have one
LONG = {"path_integration": {"eta": 4.0}, "steinis": {"eta": 4.0}}  # whose steps adapt only where they are too long
EACH = looped("name", METHODS)


class Watched(NamedTuple):
    states: list
    infos: list[StepInfo]
    asked_the_prior: bool  # at the start

    def scalar(self, name):
        return [info.scalars.get(name) for info in self.infos]


@functools.cache
def watched(name, seed=0):
    method, given = METHODS[name], dict(LONG.get(name, {}))
    target = small_target(next(each for each in CANDIDATES if not method.missing_in(default_target(each))), NUM_DATA)
    if "ess_threshold" in method.Knobs.specs():  # so that whoever resamples does
        given["ess_threshold"] = 0.9
    knobs = method.fitted(method.Knobs.checked(small_knobs(method, target.num_data, **given)), target)
    asked, sample_prior, rng = [], target.sample_prior, np.random.default_rng(seed)
    target.sample_prior = lambda rng, n: asked.append(n) or sample_prior(rng, n)
    states, infos = [method.init(rng, target, knobs)], []
    prior = bool(asked)
    while len(infos) < WATCHED_STEPS and not method.ended(states[-1], knobs, target):
        batch = target.data_rows
        if method.batches(states[-1], knobs) != "whole":
            batch = batch[rng.integers(target.num_data, size=method.batch_size(states[-1], knobs, target.num_data))]
        state, info = method.step(rng, states[-1], target, batch, knobs)
        states.append(state)
        infos.append(info)
    return Watched(states, infos, prior)


def terms(name, column):
    return METHODS[name].grammar[column].terms


def test_a_term_that_the_column_lacks_is_refused_and_each_term_is_somebodys():
    words = "unknown term of 'move' 'Metropolis walk'; did you mean 'Metropolis'"
    refused(words, grammar_of, {"move": "Metropolis walk"})
    for column, spec in COLUMNS.items():
        assert {term for name in METHODS for term in terms(name, column)} >= {*spec.terms}


@EACH
def test_moves_weights_draws_and_copies_are_those_that_are_declared(name):
    """Of what has conditional densities, such as inducing inputs, the target has a prior of its own."""
    method, run = METHODS[name], watched(name)
    drawn = any(info.parents is not None for info in run.infos)
    assert bool(terms(name, "resample")) == method.resamples == drawn
    fresh = method.update is not None and method.update.fresh
    points = [method.points(state).tobytes() for state in run.states]
    moved = [
        one != other for one, other, info in zip(points, points[1:], run.infos, strict=False) if info.parents is None
    ]
    assert any(moved) == bool(terms(name, "move")) or fresh
    assert not fresh or (all(moved) and "proposal" in terms(name, "propagate") and not terms(name, "move"))
    weights = [getattr(state, "log_weights", np.zeros(1)) for state in run.states]
    assert any(np.ptp(each) > 0 for each in weights) == bool(terms(name, "reweight"))
    own = "conditional_family" in method.requires
    assert run.asked_the_prior == ("prior" in terms(name, "propagate")) or (own and not run.asked_the_prior)


@EACH
def test_what_a_step_adds_up_to_and_what_adapts_are_declared(name):
    method = METHODS[name]
    column = {"weights": "reweight", "move": "move", "ratio": "move"}
    told = {column[update.kind] for info in watched(name).infos if (update := method.update_of(info)) is not None}
    assert told <= {each for each, cell in method.grammar.items() if cell.terms}
    alone = {each for each in ("reweight", "move") if terms(name, each)}
    assert method.update is None or told and (len(alone) > 1 or told == alone)
    runs = watched(name, 0), watched(name, 1)
    for term, scalar in TOLD.items():
        if any(scalar in info.scalars for info in runs[0].infos):
            differ = runs[0].scalar(scalar) != runs[1].scalar(scalar)
            assert differ == (term in terms(name, "adapt")), term
    memory = [np.any(getattr(runs[0].states[-1], each, 0)) for each in MEMORIES]
    assert any(memory) == ("preconditioner" in terms(name, "adapt"))


NARROW = {"target": "gaussian", "target_options": {"num_data": 20_000, "sigma_x": 1.0}, "num_particles": 300}


def ended(**parts):
    session = Session(Recipe(**parts), metrics_every=10**6)
    session.advance(10**6)
    return session.frame


def test_a_run_whose_first_steps_left_a_few_particles_says_so_for_ever():
    frame = ended(**NARROW, step_limit=0.0, bandwidth_rule="local", budget=6000)
    assert frame.caveat.startswith("all descend from ") and "effective particles: at iteration 1 they" in frame.caveat
    assert float(frame.caveat.split()[3]) < 4 and frame.state.fewest_at == 1
    assert frame.metrics["ess"] > 100 and frame.metrics["tv"] > 0.9, "an ESS that reads high: the trap"


@looped("target, rule", [("mixture", "local"), ("gaussian", "shaped"), ("banana", "shaped"), ("bimodal1d", "local")])
def test_a_run_that_is_well_says_nothing(target, rule):
    assert ended(target=target, budget=8000, num_particles=500, step_limit=0.5, bandwidth_rule=rule).caveat == ""


def test_what_is_left_of_the_prior_is_said_and_nothing_after_a_full_warm_pass():
    session, kept = advanced("pmd", 0, num_particles=3000), 1.0
    for _ in range(60):
        frame = session.advance()
        kept *= 1 - frame.info.step_size
        assert frame.state.prior_left == frame.info.scalars["prior_left"] == pytest.approx(kept, rel=1e-12)
        assert frame.caveat.startswith(f"the starting density still makes up {kept:.0%} of log q: ") == (kept > 0.05)
        if frame.iteration == 20:
            precision = 1 + (1 - kept) * session.target.num_data / session.target.options.sigma_x**2
            np.testing.assert_allclose(np.sqrt(np.diag(frame.density.cov)), precision**-0.5, rtol=0.03)
    assert session.advance(20).state.prior_left < 0.05 and session.frame.caveat == ""
    session = advanced("pmd", 0, warm_start=True, num_particles=300)
    applied = 0.0
    while session.frame.state.warming:
        frame = session.advance()
        applied += frame.info.numbers["s"] * 10 / 20
        assert frame.state.prior_left == pytest.approx(1 - applied, abs=1e-12)
    assert applied == pytest.approx(1) and frame.caveat == "" == session.advance(5).caveat


@looped("knobs", [{"eta": 20.0}, {"step_limit": 0.95}, {"n0": 1000.0}, {"eta": 0.05}, {"budget": 500}])
def test_runs_whose_steps_are_limited_or_too_few_say_that_q_is_on_its_way(knobs):
    frame = ended(**{"target": "mixture", "num_particles": 500, "seed": 1, **knobs})
    assert frame.tv > 0.15
    assert frame.caveat == frame.method.unfinished(frame.state, frame.knobs)
    assert frame.caveat.startswith("steps shortened" if frame.limited_steps > 20 else "the starting density")


def test_the_share_of_limited_steps_falls_once_they_are_over():
    knobs, share = {"num_particles": 300, "step_limit": 0.9, "policy": "always"}, 0.0
    session = advanced("pmd", 0, options=NARROW["target_options"], **knobs)
    for k in range(40):
        if k == 30:
            session.set(step_limit=0.0)
        frame = session.advance()
        limited, state = k < 30, frame.state
        assert limited == bool(frame.info.limited) == bool(state.in_a_row)
        share = (1 - frame.info.step_size) * share + frame.info.step_size * limited
        assert state.from_limited == pytest.approx(share, rel=1e-12)
        said = frame.method.unfinished(state, frame.knobs).startswith("steps shortened")
        assert said == (share > 0.1 and state.prior_left <= 0.05)
    assert share < 0.1


@pytest.mark.parametrize("method", ["importance", "pmd"])
def test_fewer_effective_particles_than_a_shape_takes_are_named(method):
    knobs = {"policy": "never", "step_limit": 0.0} if method == "pmd" else {}
    few = {**NARROW, "target_options": {"num_data": 2000, "sigma_x": 0.3}, "method": method, "budget": 2000}
    frame = ended(**few, **knobs)
    ess = frame.metrics["ess"]
    assert ess < 4 and frame.caveat.startswith(f"{ess:.1f} effective particles: ") and "2 dimensions" in frame.caveat
    three = ended(target="gaussian", method=method, num_particles=3, budget=2000)
    assert three.caveat == three.no_density and "4 distinct points" in three.caveat, "three have none at all"


def test_weights_with_a_heavy_tail_are_named():
    for data_seed, heavy in ((205, True), (200, False)):
        frame = ended(method="importance", target_options={"data_seed": data_seed}, seed=data_seed)
        assert frame.metrics["ess"] > 15 and frame.caveat.startswith("k-hat 1.8: a few heavy") == heavy
        assert heavy or frame.caveat == ""


@looped("target, options", [("sparse_gp", {}), ("topics", {"num_topics": 5, "num_data": 200})])
def test_structured_particles_say_from_the_first_step_on_that_one_of_them_decides(target, options):
    session = advanced("structured_pmd", 0, target, options)
    assert session.frame.caveat == ""
    for _ in range(5):
        frame = session.advance()
        assert 1 / (frame.weights**2).sum() < 2
        assert frame.caveat.startswith("one of 16 particles carries all weight: ")
    one = advanced("structured_pmd", 1, target, options, num_particles=1)
    assert one.frame.caveat == "", "a single particle is no mixture"
