"""Many steps of a chain in one compiled call: the bits of single steps, and what the target's functions give."""

import numpy as np
import pytest

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.errors import TargetError
from pmdviz.methods import METHODS
from pmdviz.methods.step import no_paths
from pmdviz.targets import make_target
from tests.support.chains import all_draws
from tests.support.engine import CountingTarget, compiled_targets, digest, drive, told
from tests.support.tables import looped

SETTINGS = [
    ("sgld", {}), ("sgld", {"batches": "replacement", "batch_size": 3}), ("sgld", {"batch_size": 20}),
    ("hmc", {"burn_in": 5}), ("hmc", {"tune": False, "time_step": 2.5}),  # some are refused, some diverge
    ("mala", {"burn_in": 0}), ("mala", {"one_pass": True}),
    ("hmc", {"burn_in": 0.4, "one_pass": True, "leapfrog_steps": 3}),
    ("random_walk", {"burn_in": 5}), ("random_walk", {"tune": False, "scale": 0.1}),
]  # fmt: skip


@looped("target", lambda: compiled_targets())
@looped("method, given", SETTINGS)
def test_a_compiled_step_is_that_of_the_targets_functions(method, given, target):
    compiled, chain = make_target(target, num_data=37), METHODS[method]
    asked, knobs = CountingTarget(compiled), chain.Knobs.checked(given)
    assert asked.model is None and compiled.model is not None
    state = chain.init(np.random.default_rng(0), compiled, knobs)
    for t in range(12):
        rows = slice(None) if method != "sgld" else np.random.default_rng(t).integers(37, size=knobs.batch_size)
        batch = compiled.data[rows]
        with np.errstate(over="ignore", invalid="ignore"):
            other, others = chain.step(np.random.default_rng(t), state, asked, batch, knobs)
        state, info = chain.step(np.random.default_rng(t), state, compiled, batch, knobs)
        np.testing.assert_allclose(state.newer, other.newer, rtol=1e-8, atol=1e-10)
        assert info.cost == others.cost and info.events == others.events
        assert info.step_size == pytest.approx(others.step_size, rel=1e-6)
        assert info.words.split(";")[0] == others.words.split(";")[0] or method == "sgld"


@pytest.mark.ci
@looped("method, given", [SETTINGS[k] for k in (1, 3, 6, 8, 9)])
def test_a_run_is_the_same_however_far_it_leaps(method, given):
    budget, changes = {"sgld": 500, "hmc": 16_000}.get(method, 5_000), ((30, {"thinning": 2}), (44, {"burn_in": 20}))
    recipe = Recipe("mixture", method, target_options={"num_data": 37}, budget=budget, changes=changes, **given)
    at_once, one_by_one, in_sevens = sessions = [Session(recipe, metrics_every=every) for every in (35, 35, 50)]
    assert not any(drive(session, chunk) for session, chunk in zip(sessions, (10**6, 1, 7), strict=True))
    assert digest(at_once) == digest(one_by_one)
    assert all_draws(in_sevens).tobytes() == all_draws(at_once).tobytes()
    frame, *others = (session.frame for session in sessions)
    for other in others:  # a leap does not keep the trajectory of its last step
        assert told(other.info._replace(paths=no_paths)) == told(frame.info._replace(paths=no_paths))
        assert other.gradient_evaluations == frame.gradient_evaluations
        assert other.density_evaluations == frame.density_evaluations
    assert (frame.gradient_evaluations > 0) == ("gradient" in METHODS[method].requires)
    assert frame.evaluations == frame.visited, "steps made in one call have one evaluation for every row"
    at_once.seek(41)
    assert not drive(at_once) and digest(at_once) == digest(one_by_one)


@pytest.mark.parametrize("batches", ["epochs", "replacement"])
def test_a_leap_ends_at_the_last_good_step(batches):
    recipe = Recipe("gaussian", "sgld", budget=None, a=0.75, b=0.0, g=0.0, batches=batches)
    one, other = (Session(recipe, metrics_every=10**6) for _ in range(2))
    with pytest.raises(TargetError, match="diverged") as at_once:
        one.advance(10**4)
    with pytest.raises(TargetError) as one_by_one:
        while True:
            other.advance(1)
    assert str(at_once.value) == str(one_by_one.value)
    assert one.frame.iteration == other.frame.iteration > 20 and digest(one) == digest(other)
    for session in (one, other):
        session.set(a=0.05)
        session.advance(30)
    assert digest(one) == digest(other), "streams and batches stand where they stood"
