"""Which frames are measured, and what stays of a long history."""

import numpy as np
import pytest

from pmdviz.engine import frame as frame_module
from pmdviz.engine import history as module
from pmdviz.engine.history import Ancestry, History, after_step, is_due, next_due
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.methods.step import Cost, StepInfo, events
from pmdviz.streams import PURPOSES, stream
from tests.support.engine import columns, digest, drive
from tests.support.tables import looped

SMALL = {"target": "gaussian", "num_particles": 20, "batch_size": 5}


def iterations(session):
    return session.history.columns["iteration"].tolist()


def row(iteration):
    return {"iteration": iteration, "visited": 5 * iteration, "tv": None}


def test_by_default_early_frames_and_one_in_each_block_of_ten_are_measured():
    due = [t for t in range(20_000) if is_due(t, None)]
    assert due[:11] == [0, 1, 2, 5, 10, 16, 22, 39, 45, 52, 68]
    assert [t // 10 for t in due[5:]] == [*range(1, 2000)]
    assert [t for t in range(10) if is_due(t, 3)] == [0, 3, 6, 9], "what the user asks for stays as it is"
    for every in (None, 1, 7, 10):
        due = [t for t in range(1000) if is_due(t, every)]
        for t in range(due[-1]):
            assert next_due(t, every) == next(d for d in due if d > t), (every, t)


def test_no_phase_of_a_pass_through_the_data_is_preferred():
    """500 measured iterations see each phase of a pass of 2 to 20 steps at least `least` times as often as others."""
    for stride, least in [(1, 0.7), (2, 0.5), (8, 0.5)]:
        due = [t for t in range(20, 5000 * stride) if is_due(t, None, stride)]
        assert len(due) == pytest.approx(500, abs=3)
        for steps in range(2, 21):
            seen = np.bincount(np.array(due) % steps, minlength=steps) * steps / len(due)
            assert least < seen.min() and seen.max() < 2 - least, (stride, steps, seen)


def test_a_run_measures_what_is_due_and_always_the_last():
    for every, expected in [(None, [0, 1, 2, 5, 10, 16, 22, 23]), (7, [0, 7, 14, 21, 23]), (1, [*range(24)])]:
        session = Session(Recipe(**SMALL, budget=115), metrics_every=every)
        drive(session)
        assert iterations(session) == expected
        assert session.run.frames[-1].iteration == 23


def test_columns_have_the_metrics_of_their_frames_and_nan_for_what_cannot_be_had():
    session = Session(Recipe(**SMALL, budget=60), metrics_every=1)
    drive(session)
    found = session.history.columns
    for k, frame in enumerate(session.run.frames):
        assert (found["iteration"][k], found["visited"][k], found["num_particles"][k]) == (k, 5 * k, 20)
        for name in ("tv", "kl_forward", "kl_reverse", "cross_entropy", "ess", "mass_outside"):
            assert found[name][k] == frame.metrics[name]
    assert np.isnan(found["step_size"][0]) and found["step_size"][1] == pytest.approx(2 / 21)
    assert (np.diff(found["seconds"]) > 0).all() and (np.diff(found["rejuvenations"]) >= 0).all()
    assert {len(column) for column in found.values()} == {13} and History().columns == {}


def test_what_acts_at_once_is_measured_again():
    session = Session(Recipe(**SMALL, budget=None))
    before = session.advance(10).metrics["tv"]
    session.set(bandwidth=3.0)
    after = session.history.columns["tv"][-1]
    assert after != before and after == session.frame.metrics["tv"] and iterations(session) == [0, 1, 2, 5, 10]
    session.advance(3)
    session.set(bandwidth=1.0)
    session.advance(1)
    session.set(eta=1.0)
    assert iterations(session) == [0, 1, 2, 5, 10, 13], "what acts at the next step is not seen yet"


@looped("every", [None, 1, 3])
@looped("last", [29, 64, 333, 1000])
def test_a_long_history_is_thinned_evenly_and_keeps_its_ends(every, last, monkeypatch):
    monkeypatch.setattr(module, "MAX_ROWS", 20)
    history, due = History(every), [t for t in range(last) if is_due(t, every)]
    for t in [*due, last]:
        history.put(row(t))
        assert len(history) <= 21
    kept = history.columns["iteration"].tolist()
    assert kept == sorted(set(kept)) and kept[0] == 0 and kept[-1] == last
    assert set(kept[:-1]) == {t for t in due if is_due(t, every, history.stride)}
    assert history.stride == 1 or len(history) >= 8


def test_a_thinned_history_hangs_on_the_run_and_not_on_the_way_there(monkeypatch):
    monkeypatch.setattr(module, "MAX_ROWS", 10)
    recipe = Recipe(**SMALL, budget=200)
    straight, winding = Session(recipe, metrics_every=1), Session(recipe, metrics_every=1)
    drive(straight)
    for iteration in (20, 8, 33, 3):
        winding.seek(iteration)
    drive(winding)
    assert straight.history.stride == winding.history.stride > 1
    assert columns(winding.history) == columns(straight.history)
    assert digest(winding) == digest(straight)


def size_of_a_state():
    return Session(Recipe(**SMALL, budget=None)).frame.num_bytes


def test_past_the_memory_cap_frames_are_thinned_and_seek_works_between_those_that_were_dropped():
    recipe = Recipe(**SMALL, budget=200, changes=[(10, {"bandwidth": 0.3}), (17, {"num_particles": 25})])
    for room in (5, 8):
        usual = Session(recipe, metrics_every=1)
        tight = Session(recipe, metrics_every=1, memory_cap=room * size_of_a_state())
        drive(usual), drive(tight)
        kept = [frame.iteration for frame in tight.run.frames]
        assert kept == sorted(set(kept)) and kept[0] == 0 and kept[-1] == 40 and 3 <= len(kept) <= room + 1
        assert len(tight.history) == 41, "the history is not thinned"
        for iteration in (29, 16, 0, 18, 40):
            usual.seek(iteration), tight.seek(iteration)
            assert digest(tight) == digest(usual), iteration


def test_a_run_that_is_put_aside_keeps_little_and_goes_back_as_before():
    usual, aside = (Session(Recipe(**SMALL, budget=200), metrics_every=1) for _ in range(2))
    drive(usual), drive(aside)
    aside.shrink(6 * size_of_a_state())
    assert len(usual.frames) > 30 and 4 <= len(aside.frames) <= 7 and aside.frames[0].iteration == 0
    for iteration in (40, 33, 0):
        usual.seek(iteration), aside.seek(iteration)
        assert digest(aside) == digest(usual)


def test_columns_that_grow_row_by_row_are_those_built_at_once():
    rows = [{"iteration": at, "size": 3 if at < 4 else None, "tv": None if at == 0 else at / 7} for at in range(9)]
    history, whole = History(1), History(1)
    for row in [*rows[:6], *rows[3:]]:  # back to iteration 3, and on
        history.put(row)
        grown = history.kept_columns()
    for row in rows:
        whole.put(row)
    for name, values in whole.columns.items():
        assert grown[name].tobytes() == values.tobytes() and grown[name].dtype == values.dtype
    history.columns["tv"][:] = 0.0  # the caller's own
    assert history.columns["tv"][-1] == 8 / 7
    history.cut(3)
    assert history.columns["iteration"].tolist() == [0, 1, 2, 3]


def test_rows_leave_out_figures_that_the_steps_have_not_paid_for_whatever_the_way_to_a_row(monkeypatch):
    recipe = Recipe("regression_net", "psgld", target_options={"num_data": 40, "hidden": 3}, budget=4000)
    whole = Session(recipe, metrics_every=10)
    whole.advance(400)
    assert np.isfinite(whole.history.columns["rhat"][2:]).all(), "all rows in full, where they are asked for"
    monkeypatch.setattr(frame_module, "CHEAP", 100_000)
    session, other = Session(recipe), Session(recipe)
    session.advance(400)
    history = session.history.columns
    known = np.isfinite(history["rhat"])
    assert np.isfinite(history["rmse"]).all() and known[-1] and 1 < known.sum() < len(known)
    np.testing.assert_array_equal(known, np.isfinite(history["bulk_ess"]))
    other.advance(290)
    other.seek(33)
    other.advance(1)
    other.advance(400)
    for name in ("iteration", "rhat", "rmse", "nlpd"):
        np.testing.assert_array_equal(other.history.columns[name], history[name])
    assert session.run.final.metrics["rhat"] == history["rhat"][-1]


def test_composed_by_hand():
    def told(parents=None, redrawn=True):
        return StepInfo(Cost(), "", events(rejuvenated="few") if redrawn else (), parents=parents)

    once = after_step(Ancestry.of(np.arange(8.0).reshape(4, 2)), told(np.array([0, 0, 2, 3])))
    twice = after_step(once, told(np.array([3, 1, 1, 1])))
    assert once.rows.tolist() == [0, 0, 2, 3] and twice.rows.tolist() == [3, 0, 0, 0]
    assert twice.number_alive(np.zeros(4)) == 2 and twice.number_alive(np.array([-np.inf, 0, 0, 0])) == 1
    assert after_step(twice, told(redrawn=False)) is twice
    assert after_step(twice, told()) is None, "parents that nobody tells"


@looped("method, knobs", [("pmd", {}), ("pmd", {"growth": "power"}), ("smc", {}), ("smc_mcmc", {})])
def test_a_run_composes_its_parents(method, knobs):
    session, every = Session(Recipe("mixture", method, seed=3, num_particles=60, **knobs)), []
    counts = [session.frame.metrics["ancestors"]]
    while not session.done and session.frame.iteration < 20:
        every.append(session.advance().info.parents)
        counts.append(session.frame.metrics["ancestors"])
    end, rows = session.frame, np.arange(len(session.frame.particles))
    for parents in reversed(every):
        rows = rows if parents is None else parents[rows]
    assert any(parents is not None for parents in every)
    assert counts == sorted(counts, reverse=True) and counts[-1] < counts[0] == len(end.ancestry.first)
    assert counts[-1] == len(set(rows[end.weights > 0].tolist()))
    if method == "smc_mcmc":  # which follows its families itself, for its caveat
        np.testing.assert_array_equal(end.ancestry.rows, end.state.ancestors)
    assert session.seek(7).metrics["ancestors"] == counts[7]
    for frame in (end, session.seek(end.iteration)):
        np.testing.assert_array_equal(frame.ancestry.rows, rows)


def test_streams_of_purposes_of_data_and_of_runs_differ():
    children = np.random.SeedSequence(0).spawn(2)
    streams = [stream(p) for p in PURPOSES] + [np.random.default_rng(each) for each in (0, *children)]
    heads = {tuple(each.random(3)) for each in streams}
    assert len(heads) == len(streams) == len(PURPOSES) + 3
    assert stream("check").random() == stream("check").random() != stream("check", 1).random()
