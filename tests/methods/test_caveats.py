"""What a frame says when it is not to be trusted: the state alone decides, and a run that is well says nothing."""

import numpy as np
import pytest

from benchmarks.helpers.regressions import linear
from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.methods.pmd import LONG

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


@pytest.mark.parametrize("rule", ["local", "shaped"])
def test_a_run_that_is_well_says_nothing(rule):
    for target in ("mixture", "gaussian", "banana", "bimodal1d"):
        frame = ended(target=target, budget=4000, num_particles=500, step_limit=0.5, bandwidth_rule=rule)
        assert frame.caveat == ""


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
    assert ended(target="gaussian", method=method, num_particles=3, budget=20).caveat == "", "three have none at all"


def test_weights_with_a_heavy_tail_are_named():
    """Draws of the prior, a few of which fell near the posterior: more than a shape takes, too few to trust."""
    for data_seed, heavy in ((205, True), (200, False)):
        frame = ended(method="importance", target_options={"data_seed": data_seed}, seed=data_seed)
        assert frame.metrics["ess"] > 15 and frame.caveat.startswith("k-hat 1.8: a few heavy") == heavy
        assert heavy or frame.caveat == ""


@pytest.mark.ci
def test_one_pass_says_so_where_it_fails_and_says_nothing_where_it_does_not():
    """Its weights at the end are as even as can be; what it lost it lost on the way."""
    for d, lost in ((2, False), (10, True)):
        made = linear(d, 301)
        session = Session(Recipe(made.target, "smc", seed=301), metrics_every=10**6)
        frame = session.advance(10**6)
        off = np.abs(frame.density.mean - made.mean) / np.sqrt(np.diag(made.covariance))
        assert (off.max() > 1) == lost and frame.caveat.startswith("all descend from ") == lost
        assert lost or frame.caveat == ""
        assert frame.metrics["ess"] > 300


@pytest.mark.ci
@pytest.mark.parametrize("d, coalesced", [(5, False), (20, True)])
def test_tempered_particles_that_all_descend_from_one_draw_say_so(d, coalesced):
    """In 20 dimensions their moves are too short to make up for it; neither ESS nor spread shows that."""
    made = linear(d, 302)
    session = Session(Recipe(made.target, "smc_mcmc", seed=302), metrics_every=10**6)
    session.advance(10**9)
    frame = session.frame
    off = np.abs(frame.density.mean - made.mean) / np.sqrt(np.diag(made.covariance))
    assert frame.state.beta == 1.0 and (off.max() > 1) == coalesced
    assert frame.caveat.startswith("all descend from one draw") if coalesced else frame.caveat == ""
