"""The page's traces have every frame that was drawn; the run's own history does not know who looked."""

import numpy as np
import pytest

from pmdviz.engine import frame as frame_module
from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.lab.loop.page_trace import MAX_ROWS, PageTrace
from pmdviz.lab.loop.runner import Runner
from pmdviz.scenes.trace_columns import GROUPS, METRICS

RECIPE = Recipe(num_particles=300, budget=5_000, seed=3)


@pytest.fixture(autouse=True)
def as_many_iterations_as_asked_for(monkeypatch):
    monkeypatch.setattr("pmdviz.lab.loop.runner.SHARE_S", 1e9)


def same(one, two, but=("seconds",)):
    """Whether columns are alike, bit for bit."""
    assert one.keys() == two.keys()
    return all(one[name].tobytes() == two[name].tobytes() for name in one if name not in but)


def shown(runner):
    return runner.snapshot().trace["iteration"].tolist()


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


def test_what_the_run_does_not_measure_has_no_column():
    metrics = GROUPS["log_z"].metrics
    runner = Runner(Recipe("gmm", "importance", num_particles=20))
    found = runner.advance(1).points.of(metrics)
    assert {"log_z", "log_z_exact"} <= {*found} and "log_z_above" not in found


def test_several_iterations_a_frame_leave_the_measured_ones_between():
    runner = Runner(RECIPE)
    for _ in range(3):
        runner.advance(7)
    assert shown(runner) == [0, 1, 2, 5, 7, 10, 14, 16, 21]


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
    assert runner.restart().trace["iteration"].tolist() == [0]
    runner.advance(1)
    assert runner.reseed().trace["iteration"].tolist() == [0]


def test_a_turned_bandwidth_moves_the_present_point():
    runner = Runner(RECIPE)
    for _ in range(7):
        before = runner.advance(1)
    after = runner.set({"bandwidth": 3.0})
    assert after.trace["iteration"].tolist() == list(range(8))
    assert after.trace["tv"][-1] == after.metrics["tv"] != before.metrics["tv"]
    assert after.trace["tv"][:-1].tolist() == before.trace["tv"][:-1].tolist()


@pytest.mark.parametrize("batch_size", [100, 50])
def test_points_of_another_way_on_are_forgotten_though_nobody_looked_when_it_was_taken(batch_size):
    runner = Runner(RECIPE)
    for _ in range(9):
        runner.advance(1)
    runner.session.seek(4)
    runner.session.set(batch_size=batch_size)
    runner.session.advance(10)
    measured = [0, 1, 2, *([3, 4] if batch_size == 50 else range(3, 10)), *([5] if batch_size == 50 else []), 10, 14]
    if batch_size == 50:
        measured.remove(4)  # the change was made there
    assert shown(runner) == measured
    fresh = Session(runner.session.recipe)
    for at, tv in zip(*(runner.snapshot().trace[name] for name in ("iteration", "tv")), strict=True):
        assert fresh.seek(int(at)).metrics["tv"] == tv


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


def test_a_drawn_frame_costs_what_the_chosen_traces_need(monkeypatch):
    compared = []

    def noted(*given, inner=frame_module.Divergences):
        compared.append(given)
        return inner(*given)

    monkeypatch.setattr(frame_module, "Divergences", noted)
    runner = Runner(RECIPE)
    for _ in range(12):
        runner.advance(1)
    assert len(compared) == 5  # at the measured iterations 0, 1, 2, 5 and 10
    runner.look_at_traces("kl")
    assert len(compared) == 6
    runner.advance(1)
    assert len(compared) == 7


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


def test_points_that_were_given_out_stay_as_they_were():
    runner = Runner(RECIPE)
    for _ in range(8):
        given = runner.advance(1)
    before = {name: values.copy() for name, values in given.trace.items()}
    runner.session.seek(3)
    runner.session.set(batch_size=50)
    for _ in range(8):
        runner.advance(1)
    assert same(given.trace, before, but=())
