"""What a step tells of itself: the parts of the update add up to what the step did, and are what is written of them."""

import numpy as np
import pytest

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.methods import METHODS, usual_target
from pmdviz.methods.optimisers import OPTIMISERS, PARTS
from pmdviz.methods.step import ComputedTerms
from tests.support.engine import Unmeasured
from tests.support.tables import looped

STEPS, ENOUGH = 30, 8  # at most, and with terms
SILENT = {
    "gibbs": "each unknown is drawn from its conditional, whatever it was before: the draw has no parts",
    "subset_gp": "a batch adds dimensions to q, so that there is no difference of before and after",
}
VARIANTS = [
    ("adam_sgld", {"num_chains": 3}),
    ("ais", {"num_temperatures": 3, "sandwich": True}),
    ("discrete_gf_svgd", {"optimiser": "plain", "eta": 5.0}),
    ("gaussian_vb", {"gradient": "normalised"}),
    ("gaussian_vb", {"shape": "diagonal"}),
    ("gf_svgd", {"kernel": "imq", "optimiser": "adagrad"}),
    ("hmc", {"num_chains": 2}),
    ("npv", {"annealing": 0}),
    ("pmd", {"warm_start": True}),
    ("pmd", {"step_limit": 0.0}),
    ("pmd", {"schedule": "constant", "step_size": 1.0}),
    ("smc_mcmc", {"ladder": "fixed"}),
    ("svgd", {"annealing": "on", "num_temperatures": 4}),
    ("svgd", {"optimiser": "adagrad"}),
    ("svgd", {"optimiser": "plain"}),
    ("svi", {"optimiser": "adam"}),
]


def check_step(method, before, info, after):
    """The terms of one step: their names, shapes and sum, and the numbers in their formulas."""
    update = method.update_of(info)
    assert list(info.terms) == [term.name for term in update.terms if term.name in info.terms]
    for symbol, value in info.numbers.items():
        assert any(symbol in term.formula for term in update.terms) and np.isfinite(value)
    total, points = sum(info.terms.values()), method.points(after)
    assert all(len(term) == len(points) for term in info.terms.values())
    if update.kind == "ratio":
        assert all(term.shape == (len(points),) for term in info.terms.values())
        moved = (points != method.points(before)).any(axis=1)
        assert moved[total >= 0].all() and not moved[total == -np.inf].any()
        return
    result = after.log_weights if update.kind == "weights" else points - method.points(before)
    assert all(term.shape == result.shape for term in info.terms.values())
    finite = np.isfinite(result)
    np.testing.assert_allclose(total[finite], result[finite], atol=1e-10)
    assert not np.isfinite(total[~finite]).any()


def told_of(session, steps=STEPS):
    """How many of a run's steps have terms, each checked."""
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
    rng = np.random.default_rng(0)
    first = second = squares = np.zeros((3, 2))
    for t in range(1, 6):
        gradient, before = rng.standard_normal((3, 2)), first
        direction, first, second = OPTIMISERS[optimiser](gradient, first, second, t)
        parts = PARTS[optimiser](before, second, t)
        squares = squares + gradient**2
        if optimiser == "adagrad":
            np.testing.assert_allclose(direction, gradient / np.sqrt(squares), rtol=1e-6)
        np.testing.assert_allclose(parts.pace * gradient + parts.past, direction, rtol=1e-12)
        assert (parts.pace > 0).all() and parts.past.any() == (optimiser == "adam" and t > 1)


def test_terms_are_computed_when_one_is_asked_for():
    asked = []
    terms = ComputedTerms(lambda: asked.append(1) or {"drift": np.ones(2)})
    assert terms and not asked
    assert terms["drift"].sum() == 2 and list(terms) == ["drift"] and len(asked) == 1


def test_scalars_are_columns_of_the_history():
    session = Session(Recipe("mixture", "smc_mcmc", seed=0))
    session.advance(20)
    temperature = session.history.columns["temperature"]
    assert np.isnan(temperature[0]) and (np.diff(temperature[1:]) >= 0).all() and temperature[-1] > 0
