"""What each method declares of itself (`Method.grammar`) is what it does: tried on small runs of every method."""

import functools
from typing import NamedTuple

import numpy as np

from pmdviz.methods import METHODS, StepInfo
from pmdviz.methods.step import COLUMNS, Cell, Grammar
from tests.support.engine import default_target, small_knobs, small_target
from tests.support.tables import looped, refused

TARGETS = ("mixture", "logistic", "topics", "sparse_gp", "regression_net", "ising", "binary_net")  # the first that fits
STEPS, NUM_DATA = 12, 100
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
    target = small_target(next(each for each in TARGETS if not method.missing_in(default_target(each))), NUM_DATA)
    if "ess_threshold" in method.Knobs.specs():  # so that whoever resamples does
        given["ess_threshold"] = 0.9
    knobs = method.fitted(method.Knobs.checked(small_knobs(method, target.num_data, **given)), target)
    asked, sample_prior, rng = [], target.sample_prior, np.random.default_rng(seed)
    target.sample_prior = lambda rng, n: asked.append(n) or sample_prior(rng, n)
    states, infos = [method.init(rng, target, knobs)], []
    prior = bool(asked)
    while len(infos) < STEPS and not method.ended(states[-1], knobs, target):
        batch = target.data_rows
        if method.batches(states[-1], knobs) != "whole":
            batch = batch[rng.integers(target.num_data, size=method.batch_size(states[-1], knobs, target.num_data))]
        state, info = method.step(rng, states[-1], target, batch, knobs)
        states.append(state)
        infos.append(info)
    return Watched(states, infos, prior)


def terms(name, column):
    return getattr(METHODS[name].grammar, column).terms


def test_a_term_that_the_column_lacks_is_refused_and_each_term_is_somebodys():
    words = "unknown term of 'move' 'Metropolis walk'; did you mean 'Metropolis'"
    refused(words, Grammar, move="Metropolis walk")
    for column, spec in COLUMNS.items():
        assert {term for name in METHODS for term in terms(name, column)} >= {*spec.terms} and spec.title
        assert spec.about.endswith(".")
        assert all(meaning.endswith(".") and len(meaning) <= 100 for meaning in spec.terms.values())
    assert str(Grammar(resample="copies (at once)").resample) == "copies (at once)" and str(Cell()) == "none"


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
def test_what_a_step_adds_up_to_is_among_what_is_declared(name):
    method = METHODS[name]
    column = {"weights": "reweight", "move": "move", "ratio": "move"}
    told = {column[update.kind] for info in watched(name).infos if (update := method.update_of(info)) is not None}
    assert told <= {each for each, cell in method.grammar if cell.terms}
    alone = {each for each in ("reweight", "move") if terms(name, each)}
    assert method.update is None or told and (len(alone) > 1 or told == alone)


@EACH
def test_what_adapts_depends_on_the_run_and_what_does_not_is_a_schedule(name):
    """Two seeds see other points: a number that they have in common follows no point."""
    runs = watched(name, 0), watched(name, 1)
    for term, scalar in TOLD.items():
        if any(scalar in info.scalars for info in runs[0].infos):
            differ = runs[0].scalar(scalar) != runs[1].scalar(scalar)
            assert differ == (term in terms(name, "adapt")), term
    memory = [np.any(getattr(runs[0].states[-1], each, 0)) for each in MEMORIES]
    assert any(memory) == ("preconditioner" in terms(name, "adapt"))
