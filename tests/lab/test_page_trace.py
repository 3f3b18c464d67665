"""The page's traces have every frame that was drawn; the run's own history does not know who looked."""

import numpy as np
import pytest

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.lab.loop.page_trace import MAX_ROWS, PageTrace
from pmdviz.lab.loop.runner import Runner
from pmdviz.scenes.trace_columns import METRICS

RECIPE = Recipe(num_particles=300, budget=5_000, seed=3)


@pytest.fixture(autouse=True)
def as_many_iterations_as_asked_for(monkeypatch):
    monkeypatch.setattr("pmdviz.lab.loop.runner.SHARE_S", 1e9)


def same(one, two, but=("seconds",)):
    """Whether columns are alike, bit for bit."""
    assert one.keys() == two.keys()
    return all(one[name].tobytes() == two[name].tobytes() for name in one if name not in but)


def test_every_drawn_frame_is_a_point_with_the_number_that_the_status_says():
    runner, said = Runner(RECIPE), {}
    for _ in range(30):
        snapshot = runner.advance(1)
        said[snapshot.frame.iteration] = snapshot.metrics["tv"]
    trace = snapshot.trace
    assert trace["iteration"].tolist() == list(range(31))
    assert trace["tv"][1:].tolist() == list(said.values())
    rejuvenated = [mark.iteration for mark in snapshot.marks if mark.kind == "rejuvenated"]
    assert any(at not in (1, 2, 5, 10, 16, 22, 30) for at in rejuvenated)  # whose jumps were left out
    assert all((np.diff(trace[clock]) > 0).all() for clock in ("visited", "seconds"))


def test_the_history_is_the_same_whether_it_was_looked_at_or_not():
    looked, alone = Runner(RECIPE), Session(RECIPE)
    while not looked.session.done:
        snapshot = looked.advance(1)
    alone.advance(10**9)
    assert same(looked.session.history.columns, alone.history.columns)
    assert same(snapshot.history, alone.run.history) and len(snapshot.trace["iteration"]) == 51
    assert same(looked.session.run.history, alone.run.history)


def test_after_a_step_back_the_points_ahead_are_gone_and_come_again():
    runner = Runner(RECIPE)
    for _ in range(8):
        whole = runner.advance(1).trace
    assert runner.back().trace["iteration"].tolist() == list(range(8))
    assert same(runner.advance(1).trace, whole)
    assert (np.diff(runner.snapshot().trace["seconds"]) >= 0).all()
    twin = runner.copy()
    assert twin.advance(1).trace["iteration"].tolist() == list(range(10))
    assert runner.snapshot().trace["iteration"].tolist() == list(range(9))
    assert runner.restart().trace["iteration"].tolist() == [0]
    runner.advance(1)
    assert runner.reseed().trace["iteration"].tolist() == [0]


def test_a_long_trace_keeps_its_peaks():
    trace, frame = PageTrace(), Session(RECIPE).frame
    for iteration in range(MAX_ROWS + 50):
        made = frame.replaced(iteration=iteration, visited=iteration)
        tv = 0.9 if iteration == 4_321 else 0.5 + 0.1 * np.sin(iteration)
        made.__dict__["_measured"] = {**dict.fromkeys((*METRICS, "mass_outside"), 1.0), "tv": tv}
        trace.put(made, RECIPE, METRICS)
    columns = trace.points({name: np.empty(0) for name in ("iteration", "visited", "seconds", *METRICS)}).of(["tv"])
    assert len(columns["tv"]) < MAX_ROWS and columns["tv"].max() == 0.9
    assert columns["iteration"][[0, -1]].tolist() == [0, MAX_ROWS + 49]


def test_traces_that_were_chosen_late_have_every_frame_from_then_on_and_the_measured_ones_before():
    runner = Runner(RECIPE)
    for _ in range(8):
        runner.advance(1)
    assert runner.look_at_traces("kl").trace["iteration"].tolist() == [0, 1, 2, 5, 8]
    for _ in range(4):
        snapshot = runner.advance(1)
    assert snapshot.trace["iteration"].tolist() == [0, 1, 2, 5, 8, 9, 10, 11, 12]
    assert np.isfinite([snapshot.trace["kl_forward"], snapshot.trace["kl_reverse"]]).all()
    assert snapshot.trace["kl_reverse"][-1] == snapshot.metrics["kl_reverse"]
    assert snapshot.points.of(["tv"])["iteration"].tolist() == list(range(13))
    assert runner.look_at_traces("tv").trace["iteration"].tolist() == list(range(13))
    assert runner.advance(1).points.of(["kl_forward"])["iteration"].tolist() == [0, 1, 2, 5, 8, 9, 10, 11]
