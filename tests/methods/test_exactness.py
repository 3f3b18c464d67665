"""Every Markov kernel of the project leaves the posterior as it is (Gandy and Scott 2021); log Z without bias.

With data: θ from the prior, X from the model at θ, then transitions given X; (θ', X) is compared with fresh pairs, and
with the pairs that they came from. Without data, or for moves of a population: exact draws, then transitions. A new
chain, target or estimate of log Z is tested by being in its table; other moves are a line in MOVES.
"""

import functools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats

from pmdviz.methods import METHODS, smc, weighting
from pmdviz.methods.annealing import Rung, Walkers, asked
from pmdviz.methods.base import checked_log_likelihood, checked_log_prior
from pmdviz.methods.mcmc import position
from pmdviz.targets import TARGETS, make_target
from tests.support.engine import errors_from
from tests.support.tables import looped

POINTS = 900
TRANSITIONS = 3
LEVEL = 1e-3  # of a false alarm in one test, shared by all of its comparisons
NUM_DATA = 4  # few, so that prior and posterior are of one size and a step fits every data set
SMALL = {"ising": {"size": 2}, "bernoulli_rbm": {"visible": 5, "hidden": 3}}  # without data; else the defaults
# Steps that are often refused: an acceptance that is wrong then shows.
STEPS = {"hmc": {"time_step": 0.8, "leapfrog_steps": 3}, "mala": {"time_step": 1.0},
         "nuts": {"time_step": 0.8, "max_depth": 3}, "random_walk": {"scale": 0.6}}  # fmt: skip
# Of a ladder: many refusals, and momenta that are kept long, so that one which is not turned round shows.
LADDER_STEP, LADDER_TRANSITIONS = 1.3, 20  # prior sds
LADDER_KNOBS = {"leapfrog_steps": 1, "refreshment": 0.1}


def knobs_of(method, known):
    return method.Knobs.checked({key: value for key, value in known.items() if key in method.Knobs.specs()})


BIASED = {"sgld", "psgld", "adam_sgld", "sgrld"}  # Langevin steps on batches are never refused, and say so


class Move(NamedTuple):
    transition: Callable  # (rng, target, points, data) -> points
    fits: Callable[[object], bool]  # of a target
    together: bool = False  # whether it needs many points at once: then all have the same data


def chain(name: str) -> Move:
    method = METHODS[name]
    made = knobs_of(method, {"tune": False, **STEPS.get(name, {})})

    def transition(rng, target, points, data):
        ends = []
        for point in points:
            state = method.start(rng, target, made)._replace(newer=point[None])
            for _ in range(TRANSITIONS):
                state, _ = method.step(rng, state, target, data, made)
            ends.append(position(state))
        return np.array(ends)

    return Move(transition, lambda target: not method.missing_in(target))


def tempering(shape: str) -> Move:
    knobs = METHODS["smc_mcmc"].Knobs.checked({"move_shape": shape, "move_scale": 1.0})

    def transition(rng, target, points, data):
        m = len(points)
        known = checked_log_prior(target, points), checked_log_likelihood(target, points, data)
        state = smc.TemperingState(points, weighting.equal(m), *known, np.arange(m), 1.0, 1, 0, 0, points, 0, 0.0)
        for _ in range(TRANSITIONS):
            state, *_ = smc.moved(rng, state, target, data, knobs)
        return state.particles

    return Move(transition, lambda target: "reals" in target.offers, together=True)


def ladder(name: str, **given: object) -> Move:
    method = METHODS[name]
    knobs = knobs_of(method, {**LADDER_KNOBS, **given})

    def transition(rng, target, points, data):
        m, nothing = len(points), np.empty((0, points.shape[1]))
        known = checked_log_prior(target, points), np.zeros(m), nothing, nothing
        walkers = Walkers(points, rng.standard_normal(points.shape), *known)
        walkers, _ = asked(walkers, target, data, method.by_gradient(target))
        at = Rung(target, data, beta=1.0, step=LADDER_STEP, pilots=m // 3)
        for _ in range(LADDER_TRANSITIONS):
            walkers = method.move(rng, walkers, at, knobs).walkers
        return walkers.points

    return Move(transition, lambda target: not method.missing_in(target), together=True)


MOVES = {name: chain(name) for name, method in METHODS.items() if method.family == "chain" and name not in BIASED}
MOVES |= {f"smc_mcmc, {shape}": tempering(shape) for shape in ("covariance", "local")}
MOVES |= {name: ladder(name) for name in ("ais", "hais", "gf_ais")}
MOVES["gf_ais, walk"] = ladder("gf_ais", proposals="walk")


@functools.cache
def small(name):
    options = TARGETS[name].Options.specs()
    if "num_data" in options:
        return make_target(name, num_data=NUM_DATA, **({"dim": 2} if "dim" in options else {}))
    return make_target(name, **SMALL.get(name, {}))


def simulates(name):
    return "simulation" in small(name).offers


def statistics(target, points, data) -> np.ndarray:
    """(m, k): coordinates, their squares and a product, the log likelihood, and θ times what was observed."""
    first, last = points[:, 0], points[:, -1]
    value = target.log_likelihood(points, data)
    observed = data.reshape(len(data), -1)[:, -1].mean() if data.size else 1.0
    columns = [first, last, first**2, last**2, first * last, points.sum(axis=1), value, first * observed]
    return np.stack(columns, axis=1)


def joint_draws(target, rng, transition=None):
    before, after = [], []
    for point in target.sample_prior(rng, POINTS):
        data = target.simulate(rng, point, NUM_DATA)
        before.append(statistics(target, point[None], data))
        if transition is not None:
            after.append(statistics(target, transition(rng, target, point[None], data), data))
    return np.concatenate(before), np.concatenate(after) if after else np.empty(0)


def exact_draws(target, rng, transition=None, count=POINTS):
    points = target.exact.sample(rng, count)
    after = np.empty(0)
    if transition is not None:
        after = statistics(target, transition(rng, target, points, target.data_rows), target.data_rows)
    return statistics(target, points, target.data_rows), after


def p_value(draws, target, transition, seed=0) -> float:
    """The smallest p value of all comparisons, times their number (Bonferroni)."""
    rng = np.random.default_rng(seed)
    before, after = draws(target, rng, transition)
    fresh, _ = draws(target, rng)
    found = [stats.ks_2samp(*columns, method="asymp").pvalue for columns in zip(after.T, fresh.T, strict=True)]
    unit = np.abs(fresh - np.median(fresh, axis=0)).mean(axis=0) + 1e-12
    bounded = [np.arctan((each - np.median(fresh, axis=0)) / unit) for each in (after, before)]  # for heavy tails
    for difference in (bounded[0] - bounded[1]).T:
        spread = difference.std(ddof=1) / math.sqrt(len(difference))
        found.append(2 * stats.norm.sf(abs(difference.mean()) / spread) if spread > 0 else 1.0)
    return min(found) * len(found)


def draws_for(key, name):
    move, target = MOVES[key], small(name)
    if not move.fits(target):
        return None
    if simulates(name) and not move.together:
        return joint_draws
    exact = functools.partial(exact_draws, count=4 * POINTS) if move.together else exact_draws  # in one call: cheap
    return exact if (target.data is None or simulates(name)) and target.exact is not None else None


def check(key, name):
    if (draws := draws_for(key, name)) is not None:
        again = (p_value(draws, small(name), MOVES[key].transition, seed) for seed in (0, 1))
        assert any(value > LEVEL for value in again)  # of 300 pairs one may fail by chance, but not twice


@looped("name", ["gaussian", "ising", "bernoulli_rbm"])
@looped("key", MOVES)
def test_a_move_leaves_the_posterior_as_it_is(key, name):
    check(key, name)


@pytest.mark.ci
@looped("key", MOVES)
def test_so_does_each_move_on_logistic_regression(key):
    check(key, "logistic")


@pytest.mark.ci
@looped("name", TARGETS)
def test_so_does_each_targets_own_gibbs_sweep(name):
    check("gibbs", name)


@pytest.mark.nightly
@pytest.mark.parametrize("key", MOVES)
@pytest.mark.parametrize("name", TARGETS)
def test_so_does_every_move_on_every_target(key, name):
    check(key, name)


def test_every_chain_is_tested_or_known_to_be_biased():
    chains = {name for name, method in METHODS.items() if method.family == "chain"}
    assert BIASED <= chains and chains - BIASED <= {*MOVES}
    assert all(any(draws_for(key, name) for name in TARGETS) for key in MOVES)


ISING, GAUSSIAN, GMM = ("ising", {"size": 3}), ("gaussian", {"num_data": 4, "dim": 2}), ("gmm", {})
SHORT = {"num_particles": 8, "num_temperatures": 6, "power": 2.0}  # weights that vary
FEW = {"num_particles": 10, "num_leaders": 15, "num_pilots": 10}  # likewise
MIXED = {"num_particles": 50, "num_components": 3}

# Method -> cases (target, options), knobs.
UNBIASED = {
    "importance": [(*GAUSSIAN, {"num_particles": 50, "batch_size": 2}), (*GMM, {"num_particles": 50, "batch_size": 1})],
    "ais": [
        (*GAUSSIAN, SHORT), (*GAUSSIAN, {**SHORT, "tuning": "none", "time_step": 0.8}), (*ISING, SHORT), (*GMM, SHORT),
        (*GAUSSIAN, {**SHORT, "leapfrog_steps": 3}),
    ],
    "hais": [(*GAUSSIAN, {**SHORT, "leapfrog_steps": 2, "refreshment": 0.3}), (*GMM, {**SHORT, "leapfrog_steps": 2})],
    "gf_ais": [(*GAUSSIAN, SHORT), (*GMM, SHORT), (*GAUSSIAN, {**SHORT, "proposals": "walk"})],
    "adaptive_is": [(*GAUSSIAN, MIXED), (*GMM, {**MIXED, "adaptation": "chi2"})],
    "steinis": [(*GAUSSIAN, FEW), (*GMM, {**FEW, "stop": "last"}), (*GMM, {**FEW, "eta": 3.0})],
}  # fmt: skip
ELSEWHERE = {"particle_lda": "tests/methods/test_topics.py, against all topics of all words"}
NOT_UNBIASED = {
    "smc": "new particles come from a smoothed density, and no weight corrects for that",
    "path_integration": "there is no right area under the discrepancy of finitely many particles",
    "smc_mcmc": "temperatures and proposals are chosen by the particles that they weigh: consistent, off like 1/m",
    "stochastic_ais": "exp of an unbiased estimate of log L is biased, and the ladder ends at one batch's posterior",
}
BACKWARDS = [("ais", *GAUSSIAN), ("ais", *ISING), ("hais", *GAUSSIAN), ("gf_ais", *GAUSSIAN)]


def at_the_end(name, target, seed, **knobs):
    method, rng = METHODS[name], np.random.default_rng(seed)
    knobs = method.Knobs.checked(knobs)
    state, seen = method.init(rng, target, knobs), 0
    while not method.ended(state, knobs, target) and state.iteration < 25:
        number = method.batch_size(state, knobs, target.num_data)
        rows = slice(None) if method.batches(state, knobs) == "whole" else slice(seen, seen + number)
        state, _ = method.step(rng, state, target, target.data_rows[rows], knobs)
        seen += number
    return state, knobs


def estimates(name, target, **knobs):
    method, truth, found = METHODS[name], target.reference().log_z, []
    for seed in range(100):
        end = at_the_end(name, target, seed, **knobs)
        above = method.log_z_above(*end, target)
        found.append((method.log_z(*end, target) - truth, np.nan if above is None else above - truth))
    return np.array(found).T


def test_every_estimate_is_in_a_table():
    known = {*UNBIASED, *NOT_UNBIASED, *ELSEWHERE}
    assert {name for name, method in METHODS.items() if method.estimates_log_z} == known
    assert {name for name, method in METHODS.items() if method.bounds_log_z} == {case[0] for case in BACKWARDS}


def check_evidence(name, target, options, knobs):
    error, _ = estimates(name, make_target(target, **options), **knobs)
    assert np.exp(error).std() > 0.05, "an estimate that does not vary cannot be seen to be wrong"
    assert abs(errors_from(np.exp(error), 1.0)) < 4


@pytest.mark.ci
@looped("name, cases", UNBIASED.items())
def test_the_mean_of_z_is_z(name, cases):
    check_evidence(name, *cases[0])


@pytest.mark.nightly
@looped("name, cases", UNBIASED.items())
def test_so_it_is_on_other_targets_and_with_other_knobs(name, cases):
    for case in cases[1:]:
        check_evidence(name, *case)


@pytest.mark.parametrize(
    "name, target, options", [BACKWARDS[0], *(pytest.param(*case, marks=pytest.mark.ci) for case in BACKWARDS[1:])]
)
def test_the_way_up_and_the_way_back_hold_log_z_between_them(name, target, options):
    """In the mean; and the mean of 1/Z by the way back is 1/Z."""
    knobs = {**SHORT, "num_particles": 1, "num_temperatures": 4, "sandwich": True}
    knobs |= {"leapfrog_steps": 2} if name == "hais" else {}
    below, above = estimates(name, make_target(target, **options), **knobs)
    assert abs(errors_from(np.exp(-above), 1.0)) < 4
    assert errors_from(below, 0.0) < -2 and errors_from(above, 0.0) > 2
