"""The same recipe gives the same bits: whatever was looked at, turned, sought or interrupted on the way."""

import contextlib
import copy
import hashlib
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import pmdviz
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.kernels import pool
from pmdviz.methods import METHODS
from tests.support.engine import Unmeasured, changes_of, default_target, digest, drive, recipes, straight, turn
from tests.support.replays import difference, known, small
from tests.support.tables import looped

ROOT = Path(__file__).parents[2]


OPERATIONS = st.sampled_from(["advance", "advance", "set", "set back", "seek", "extend", "limit", "replay", "look"])


@settings(max_examples=7)
@given(st.data())
def test_nothing_done_to_a_session_leaves_a_trace_that_its_recipe_does_not_name(data):
    live = Session(data.draw(recipes()))
    for _ in range(data.draw(st.integers(1, 10))):
        _operate(live, data.draw(OPERATIONS), data)
    failure = drive(live, data.draw(st.sampled_from([1, 7, 10**6])))
    assert straight(live.recipe, failure) == digest(live)


def _operate(live, operation, data):
    if operation == "advance":
        with contextlib.suppress(RuntimeError):
            live.advance(data.draw(st.integers(1, 12)))
    elif operation in ("set", "set back"):
        before = live.knobs.as_dict()
        turn(live, data.draw(changes_of(live.recipe)))
        if operation == "set back":
            live.set(**before)
    elif operation == "seek":
        live.seek(data.draw(st.integers(0, live.frame.iteration)))
    elif operation == "extend":
        live.limit(live.frame.spent + data.draw(st.integers(1, 100)))
    elif operation == "limit" and live.frame.spent:
        live.limit(live.frame.spent)
    elif operation == "replay":
        live.replay()
    elif operation == "look":
        assert live.frame.metrics and live.run.frames and live.pending is not None
        live.frame.grid, live.run.sample(3), live.frame.density.mean  # noqa: B018


def test_what_is_taken_back_leaves_no_row_and_a_width_given_with_its_rule_stays():
    one, two = (straight(Recipe("gaussian", num_particles=20, budget=100, seed=seed)) for seed in (0, 1))
    assert one["particles"] != two["particles"] and one["tv"] != two["tv"]
    session = Session(Recipe("gaussian", num_particles=20, budget=200))
    session.advance(7)
    for bandwidth, there in ((2.0, True), (1.0, False)):
        session.set(bandwidth=bandwidth)
        assert (7 in session.history.columns["iteration"]) == bool(session.recipe.changes) == there
    change = {"bandwidth_rule": "isotropic", "bandwidth": 0.75}
    recipe = Recipe("gaussian", num_particles=20, budget=200, changes=[(5, change)])
    assert Recipe.from_json(recipe.to_json()) == recipe and recipe.knobs_at(6).bandwidth == 0.75
    session = Session(recipe)
    session.advance(6)
    session.set(eta=1.0)
    assert session.recipe.knobs_at(5).bandwidth == 0.75


def test_a_bandwidth_changed_at_a_measured_iteration_leaves_the_row_of_its_replay():
    session = Session(Recipe("banana", num_particles=400, budget=2_500))  # the kernel's clusters change on the way
    for bandwidth in (0.5, 1.3):
        session.advance(10)
        session.set(bandwidth=bandwidth)
    drive(session)
    assert straight(session.recipe) == digest(session)


LARGE = Recipe("mixture", target_options={"num_data": 100}, num_particles=6000, budget=200, ess_threshold=1.0, seed=5)
SEVERAL = (
    Recipe("mixture", target_options={"num_data": 50}, num_particles=50, budget=300, changes=[(3, {"bandwidth": 0.4})]),
    Recipe("bimodal1d", num_particles=40, budget=300, policy="always", bandwidth_rule="isotropic", bandwidth=0.2),
    Recipe("bimodal1d", num_particles=40, budget=300, batches="replacement", schedule="constant"),
    Recipe("gaussian", num_particles=40, budget=300, warm_start=True, changes=[(4, {"num_particles": 30})]),
)


def hashes(given_recipes, kind=Session):
    found = []
    for recipe in given_recipes:
        session = kind(recipe)
        drive(session)
        parts = digest(session)
        parts.pop("knobs")
        found.append(hashlib.sha256(repr(sorted(parts.items())).encode()).hexdigest())
    return found


def in_a_fresh_process(given_recipes, kind="Session", **environment):
    code = (
        "import json, sys; from pmdviz import Recipe; from tests.engine import test_replay as here; "
        f"print(json.dumps(here.hashes([Recipe.from_json(text) for text in json.load(sys.stdin)], here.{kind})))"
    )
    texts = json.dumps([recipe.to_json() for recipe in given_recipes])
    given_environment = {**os.environ, "PYTHONPATH": str(ROOT), **environment}
    done = subprocess.run([sys.executable, "-c", code], input=texts, env=given_environment, cwd=ROOT,
                          capture_output=True, text=True, timeout=300)  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.ci
def test_a_fresh_process_gives_the_same_bits_with_another_number_of_threads():
    given_recipes = [*SEVERAL, LARGE]
    threads = str(pool.num_threads() + 1)
    found = in_a_fresh_process(given_recipes, PMDVIZ_THREADS=threads, OPENBLAS_NUM_THREADS=threads)
    assert found == hashes(given_recipes)


@pytest.mark.ci
def test_a_process_that_compiles_and_one_that_loads_give_the_same_bits(tmp_path):
    compiled, loaded = (in_a_fresh_process([*SEVERAL, LARGE], NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2))
    assert compiled == loaded == hashes([*SEVERAL, LARGE])


@pytest.mark.nightly
def test_the_bits_hang_on_no_number_of_blas_threads():
    targets = ("song_years", "sparse_gp", "regression_net")
    pairs = [(name, on) for on in targets for name in METHODS if not METHODS[name].missing_in(default_target(on))]
    given_recipes = [small(*pair).limited(600) for pair in pairs]
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "2")
    found, expected = in_a_fresh_process(given_recipes, "Unmeasured", **threads), hashes(given_recipes, Unmeasured)
    assert len(pairs) >= 12 and [pairs[k] for k, each in enumerate(found) if each != expected[k]] == []


KNOWN = known()


def differences(tier):
    return [words for run in KNOWN[tier] if (words := difference(run, KNOWN["machines"]))]


def test_a_run_of_every_method_is_the_recorded_one():
    assert {Recipe.from_link(run["link"]).method for run in KNOWN["default"]} == {*METHODS}
    assert differences("default") == []


@pytest.mark.nightly
def test_every_recorded_run_is_what_it_was():
    assert differences("nightly") == []


@looped("target, method", [("mixture", "pmd"), ("gaussian", "svgd"), ("ising", "gibbs"), ("linear", "smc"),
                           ("logistic", "jaakkola_jordan")])  # fmt: skip
def test_runs_come_back_the_same_and_sessions_go_on(target, method):
    run = pmdviz.run(pmdviz.Recipe(target, method, budget=300), floor=False)
    for again in (pickle.loads(pickle.dumps(run)), copy.deepcopy(run)):
        np.testing.assert_array_equal(again.particles, run.particles)
        np.testing.assert_allclose(again.sample(5), run.sample(5), rtol=1e-12)
        assert again.recipe == run.recipe and again.final.metrics == run.final.metrics
    session = Session(run.recipe)
    session.advance(2)
    twin = pickle.loads(pickle.dumps(session))
    session.advance(2), twin.advance(2)
    assert digest(twin) == digest(session)
