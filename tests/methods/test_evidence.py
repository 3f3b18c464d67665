"""One contract of all estimates of log Z: exp of them is unbiased, on targets whose Z is known, or it is said why not.

A method that estimates log Z is in one of the tables; the mean over fixed seeds is judged in its own standard errors.
"""

import numpy as np
import pytest

from pmdviz.methods import METHODS
from pmdviz.targets import make_target
from tests.support.engine import errors_from
from tests.support.tables import looped

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
BIASED = {
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
    known = {*UNBIASED, *BIASED, *ELSEWHERE}
    assert {name for name, method in METHODS.items() if method.estimates_log_z} == known
    assert {name for name, method in METHODS.items() if method.bounds_log_z} == {case[0] for case in BACKWARDS}


def check(name, target, options, knobs):
    error, _ = estimates(name, make_target(target, **options), **knobs)
    assert np.exp(error).std() > 0.05, "an estimate that does not vary cannot be seen to be wrong"
    assert abs(errors_from(np.exp(error), 1.0)) < 4


@pytest.mark.ci
@looped("name, cases", UNBIASED.items())
def test_the_mean_of_z_is_z(name, cases):
    check(name, *cases[0])


@pytest.mark.nightly
@looped("name, cases", UNBIASED.items())
def test_so_it_is_on_other_targets_and_with_other_knobs(name, cases):
    for case in cases[1:]:
        check(name, *case)


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
