"""What a frame says when it is not to be trusted: the state alone decides, and a run that is well says nothing."""

import numpy as np
import pytest

from benchmarks.helpers.regressions import linear
from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.methods.pmd import LONG
from tests.support.tables import looped

NARROW = {"target": "gaussian", "target_options": {"num_data": 20_000, "sigma_x": 1.0}, "num_particles": 300}


FORMAT_1 = {"step_limit": 0.0, "bandwidth_rule": "local"}


def ended(**parts):
    session = Session(Recipe(**parts), metrics_every=10**6)
    session.advance(10**6)
    return session.frame


def test_a_run_whose_first_steps_left_a_few_particles_says_so_for_ever():
    """Its ESS reads high: the trap that the sentence is for."""
    frame = ended(**NARROW, **FORMAT_1, budget=6000)
    assert frame.caveat.startswith("all descend from ") and "effective particles: at iteration 1 they" in frame.caveat
    assert float(frame.caveat.split()[3]) < 4 and frame.state.fewest_at == 1
    assert frame.metrics["ess"] > 100 and frame.metrics["tv"] > 0.9


@looped("target, rule", [("mixture", "local"), ("gaussian", "shaped"), ("banana", "shaped"), ("bimodal1d", "local")])
def test_a_run_that_is_well_says_nothing(target, rule):
    assert ended(target=target, budget=2000, num_particles=500, step_limit=0.5, bandwidth_rule=rule).caveat == ""


def test_steps_that_are_limited_on_and_on_say_that_q_is_on_its_way():
    session = Session(Recipe(**NARROW, step_limit=0.9, policy="always", budget=None), metrics_every=10**6)
    for k in range(1, LONG + 3):
        caveat = session.advance().caveat
        assert caveat == (f"{k} limited steps in a row: q is still on its way to the posterior" if k >= LONG else "")
    session.set(step_limit=0.0)
    assert session.advance().caveat.partition(":")[0] != f"{k + 1} limited steps in a row", (
        "one that is not ends the row"
    )
    assert session.frame.state.in_a_row == 0


@pytest.mark.parametrize("method", ["importance", "pmd"])
def test_fewer_effective_particles_than_a_shape_takes_are_named(method):
    knobs = {"policy": "never", "step_limit": 0.0} if method == "pmd" else {}
    frame = ended(
        **{**NARROW, "target_options": {"num_data": 2000, "sigma_x": 0.3}}, method=method, budget=2000, **knobs
    )
    ess = frame.metrics["ess"]
    assert ess < 4 and frame.caveat == f"{ess:.1f} effective particles: too few to have a shape in 2 dimensions"
    three = ended(target="gaussian", method=method, num_particles=3, budget=20)
    assert three.caveat == three.no_density and "4 distinct points" in three.caveat, "three have none at all"


def test_weights_with_a_heavy_tail_are_named():
    """Draws of the prior, a few of which fell near the posterior: more than a shape takes, too few to trust."""
    for data_seed, heavy in ((205, True), (200, False)):
        frame = ended(method="importance", target_options={"data_seed": data_seed}, seed=data_seed)
        assert frame.metrics["ess"] > 15 and frame.caveat.startswith("k-hat 1.8: a few heavy") == heavy
        assert heavy or frame.caveat == ""


@pytest.mark.ci
@looped("method, d, lost", [("smc", 2, False), ("smc", 10, True), ("smc_mcmc", 5, False), ("smc_mcmc", 20, True)])
def test_what_was_lost_on_the_way_is_said_and_where_nothing_was_there_is_no_word(method, d, lost):
    """Its weights at the end are as even as can be; of tempering, moves in 20 dimensions are too short."""
    seed = {"smc": 301, "smc_mcmc": 302}[method]
    made = linear(d, seed)
    frame = ended(target=made.target, method=method, seed=seed)
    off = np.abs(frame.density.mean - made.mean) / np.sqrt(np.diag(made.covariance))
    assert (off.max() > 1) == lost and frame.caveat.startswith("all descend from ") == lost
    assert (lost or frame.caveat == "") and frame.metrics["ess"] > 300
