"""What a frame says when it is not to be trusted: the state alone decides, and a run that is well says nothing."""

import numpy as np
import pytest

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from tests.support.engine import advanced
from tests.support.tables import looped

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


def test_what_is_left_of_the_prior_is_the_product_of_the_shares_that_steps_keep_and_is_said():
    """q is prior x likelihood^(1 - left): of a Gaussian the sd follows from it."""
    session, kept = advanced("pmd", 0, num_particles=3000), 1.0
    for _ in range(60):
        frame = session.advance()
        kept *= 1 - frame.info.step_size
        assert frame.state.prior_left == frame.info.scalars["prior_left"] == pytest.approx(kept, rel=1e-12)
        assert frame.caveat.startswith(f"the starting density still has {kept:.0%} of the exponent: ") == (kept > 0.05)
        if frame.iteration == 20:
            precision = 1 + (1 - kept) * session.target.num_data / session.target.options.sigma_x**2
            np.testing.assert_allclose(np.sqrt(np.diag(frame.density.cov)), precision**-0.5, rtol=0.03)
    assert session.advance(20).state.prior_left < 0.05 and session.frame.caveat == ""


def test_a_full_warm_pass_leaves_nothing_of_the_start():
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
