"""Work beside the loop: tasks and their pools, tests of fit, other seeds, experiments and files."""

import csv
import io
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from urllib.parse import parse_qs

import numpy as np
import pytest
from joblib import parallel_config

import pmdviz
from pmdviz.engine.recipe import Recipe, fold, unfold
from pmdviz.experiments import EXPERIMENTS, Size
from pmdviz.experiments.running import run_experiment
from pmdviz.experiments.sweep import SeedRuns, other_seeds, planned, run_seed
from pmdviz.experiments.theory import STRATEGIES, VARIED, planned_runs
from pmdviz.kernels.pool import Cancelled, priority, run_blocks
from pmdviz.lab import links
from pmdviz.lab.links import Asked
from pmdviz.lab.loop import task as lanes
from pmdviz.lab.loop import work
from pmdviz.lab.loop.runner import Runner
from pmdviz.lab.loop.task import GIVES_WAY, QUICK_S, QUIET_S, DaemonPool, TaskSlot, pool_for
from pmdviz.lab.loop.work import ExperimentWork, ExportTask
from pmdviz.lab.panels import folds
from pmdviz.lab.panels.comparing import LuckPanel
from pmdviz.lab.panels.folds import CANCELLED, FitPanel
from pmdviz.lab.panels.sharing import read, usual
from pmdviz.lab.theory import TheoryPage
from pmdviz.views import TracesView
from tests.lab.threads import traced, until
from tests.support.tables import looped, refused

INDEPENDENT = Recipe("gaussian", "pmd", draws="independent", num_particles=200)
RECIPE = Recipe("gaussian", "pmd", num_particles=100, budget=200, batch_size=10)


@pytest.fixture
def gate():
    """Opened at the end, whatever happens: the thread of all tests waits at it."""
    made = threading.Event()
    yield made
    made.set()


def at(runner, steps):
    runner.session.advance(steps)
    return runner.snapshot()


async def test_a_sample_is_tested_and_a_result_of_an_earlier_moment_says_so_until_the_run_is_there_again():
    runner, panel = Runner(INDEPENDENT), FitPanel()
    there = at(runner, 40)
    panel.show(there)
    panel.view.collapsed = False
    panel._begin()
    assert panel.button.disabled and panel.stop_it.visible and "Testing the sample" in panel.said.object
    await until(lambda: not panel.running)
    fresh = panel.said.object
    assert "Iteration 40: statistic" in fresh and ", p = " in fresh and "pmdviz-fit-old" not in fresh
    assert "no evidence against it" in fresh or "rejected at 5\u00a0%" in fresh
    assert not panel.button.disabled and not panel.stop_it.visible
    panel.show(at(runner, 1))
    assert "pmdviz-fit-old" in panel.said.object and "iteration 40 is no longer" in panel.said.object
    panel.show(there)
    assert panel.said.object == fresh
    panel.show(at(Runner(INDEPENDENT.replaced(knobs={"eta": 0.5})), 40))  # begun again with another step size
    assert "pmdviz-fit-old" in panel.said.object


async def test_a_test_of_fit_can_be_cancelled_and_the_end_of_the_page_cancels_it(monkeypatch, gate):
    begun, panel = threading.Event(), FitPanel()
    monkeypatch.setattr(folds, "test_fit", lambda *args, **given: begun.set() or gate.wait(60))
    panel.show(at(Runner(INDEPENDENT), 20))
    panel.view.collapsed = False
    panel._begin()
    await until(begun.is_set)
    panel.cancel()
    await until(lambda: not panel.running)
    assert CANCELLED in panel.said.object and panel.outcome is None
    panel._begin()
    panel.forget()
    assert not panel.running


async def test_the_band_and_the_verdict_are_those_of_single_runs_and_cancel_ends_them(monkeypatch, gate):
    runner, traces = Runner(RECIPE), TracesView()
    traces.show(traced(runner.snapshot()), {})
    panel = LuckPanel(traces)
    ask, cancel = panel._labels
    panel.seeds.value = 8
    panel.show(at(runner, 1000), False)
    panel._press()
    assert panel.running and panel.button.label == cancel and "Repeating with 8 seeds" in panel.said.object
    await until(lambda: not panel.running)
    runs = SeedRuns([run_seed(RECIPE, seed) for seed in other_seeds(0, 8)])
    lower = int(np.sum([run.history["tv"][-1] < runner.session.frame.tv for run in runs.whole]))
    assert f": {lower} of 8 other seeds" in panel.said.object and 'role="status"' in panel.said.object
    band = next(source for name, source in traces.sources.items() if name.startswith("band tv"))
    assert np.array_equal(band.data["high"], runs.band("visited", "tv")["high"])
    assert panel.button.label == ask and traces.legend.items[-1].label.value == "middle 80\u00a0% of 8 seeds"
    begun = threading.Event()

    def slow(recipe, seed, tell):
        begun.set()
        while not gate.wait(0.01):
            tell(0.5)

    monkeypatch.setattr(work, "run_seed", slow)
    panel._press()
    await until(begun.is_set)
    panel._press()
    await until(lambda: not panel.running)
    assert not panel.runs and "Cancelled" in panel.said.object and panel.button.label == ask


@looped("name", VARIED)
@looped("strategy", STRATEGIES)
@looped("target", ["gaussian", "bimodal1d"])
def test_every_choice_is_a_sweep_that_can_be_planned(target, strategy, name):
    recipe, over = planned_runs(target, strategy, name)
    jobs = planned(recipe, over, 2, together=True)
    assert len(jobs) == 12
    values = [job.recipe.budget / job.recipe.knobs["batch_size"] for job in jobs[::2]]
    assert (len(set(values)) == 1) == ("T" not in VARIED[name].letters)  # T stands still unless it is varied


async def test_a_file_is_made_in_another_thread_and_cancelled_at_any_moment_leaves_nothing():
    run = pmdviz.run(target="gaussian", num_particles=30, budget=300, floor=False)
    made, queued, early, late = (ExportTask("film.gif", {"width": 160, "height": 160, "frames": 3}) for _ in range(4))
    assert not made.over and made.words().startswith("Waiting")
    made.make(run)
    await until(lambda: made.over)
    assert made.result() == made.path and made.path.read_bytes().startswith(b"GIF89a")
    made.clear()
    early.cancel()
    for each in (early, late, queued):  # the session's thread may come to it after the person has cancelled
        each.make(run)
    for each in (queued, late):
        each.cancel()
    for each in (queued, early, late):
        await until(lambda each=each: each.over)
        with pytest.raises(Cancelled):
            each.result()
    await until(lambda: not any(each.path.parent.exists() for each in (made, queued, early, late)))


@pytest.fixture
def place(tmp_path, monkeypatch):
    """Where temporary folders are made."""
    monkeypatch.setattr(work.tempfile, "tempdir", str(tmp_path))
    for name in ("_folder", "_owner"):
        monkeypatch.setattr(work, name, None)
    yield tmp_path
    work.remove()


def test_a_stale_folder_is_removed_unless_it_is_another_user_s_and_what_only_looks_like_one_stays(
    place, monkeypatch, tmp_path_factory
):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "owner").touch()
    mine, stale, link = work.new_folder(), place / f"{work.PREFIX}stale", place / f"{work.PREFIX}link"
    stale.mkdir()
    (stale / work.OWNER).touch()
    link.symlink_to(elsewhere)
    (place / f"{work.PREFIX}empty").mkdir()
    (place / f"{work.PREFIX}file").touch()
    user = os.getuid()
    for owner, stays in ((user + 1, True), (user, False)):
        monkeypatch.setattr(work.os, "getuid", lambda owner=owner: owner)
        work.remove_stale()
        assert stale.exists() is stays and mine.is_dir()
    assert (elsewhere / "owner").exists() and len(os.listdir(place)) == 4


@pytest.fixture(autouse=True)
def in_threads(monkeypatch):
    """No worker processes: what a test puts in the place of an experiment's own then holds."""

    def run(*args, **rest):
        with parallel_config("threading"):
            return run_experiment(*args, **rest)

    monkeypatch.setattr(work, "run_experiment", run)


@pytest.fixture
def page():
    made = TheoryPage()
    yield made
    made.stop()


async def run(page, insist=False):
    knobs = EXPERIMENTS["recurrence"].Knobs.checked({"runs": 2, "steps": 3})
    page.choose(usual("recurrence")._replace(knobs=knobs))
    page.run(insist)
    await until(lambda: not page.button.disabled)


def test_cancelled_work_keeps_its_rows_its_pictures_and_what_comes_out():
    work = ExperimentWork("recurrence", {"runs": 4, "steps": 3})

    def tell(done, total):
        if done >= 2:
            raise Cancelled

    with pytest.raises(Cancelled):
        work.act(tell)
    assert 6 <= len(work.rows) < 12 and work.found.pictures and len(work.found.summary) == 3
    assert len([*csv.DictReader(io.StringIO(work.so_far.csv()))]) == len(work.rows)


async def test_what_is_too_large_is_refused_unless_a_person_insists(page, monkeypatch):
    monkeypatch.setenv("PMDVIZ_MAX_EXPERIMENT_S", "")
    monkeypatch.setattr(type(EXPERIMENTS["recurrence"]), "size", lambda self, case: Size(5000.0, 1.0))
    await run(page)
    assert "has to be asked for" in page.said.object and page.insist.visible
    assert page.results.work.experiment.name == "convergence"  # the stored sweep stays
    await run(page, insist=True)
    assert "6 rows measured." in page.said.object and not page.insist.visible


def test_a_link_holds_what_differs_from_the_defaults_and_comes_back(page):
    assert page.sharing._ack.link == ""  # what was opened stays as it was written
    page.chosen.value = "descent"
    page._turn("correlation", 0.25)
    page._turn("grouping", "joint")
    text = page.sharing._ack.link
    parts = {name: values[-1] for name, values in parse_qs(text[1:]).items()}
    assert set(parts) == {"page", "experiment", "knobs"}
    assert unfold(parts["knobs"]) == {"correlation": 0.25, "grouping": "joint"}
    again = TheoryPage(links.read(parse_qs(text[1:])).asked)
    assert again.choice == page.choice and again.chosen.value == "descent"


@looped(
    "asked, words",
    [
        (Asked("descend"), "did you mean 'descent'"),
        (Asked("descent", "4.rubbish"), "cut short or changed"),
        (Asked("descent", "nothing"), "incomplete"),
        (Asked("descent", fold({"runs": 9, "steps": 7})), "unknown knob"),
        (Asked("descent", fold({"num_particles": 40_000})), "num_particles must be"),
        (Asked(settings="no_such"), "unknown preset of an experiment"),
    ],
)
def test_what_cannot_be_read_is_said_and_the_page_opens_with_its_defaults(asked, words, monkeypatch):
    monkeypatch.setenv("PMDVIZ_MAX_PARTICLES", "1000")
    refused(words, read, asked)
    if asked.knobs == "nothing":
        panel = TheoryPage(asked)
        said = panel.said.object
        assert "This link could not be read" in said and words in said and "default settings instead." in said
        assert panel.choice == usual(panel.choice.experiment)
        refused("link would have", links.experiment_query, Asked("descent", "x" * 3000))


def test_who_comes_first_is_served_first_and_long_work_never_stands_in_the_way_of_quick_work():
    pool, order, gate = DaemonPool(1, "test"), [], threading.Event()
    pool.submit(gate.wait, 30)
    waiting = [pool.submit(order.append, k) for k in range(20)]
    gate.set()
    for one in waiting:
        one.result(30)
    assert order == list(range(20)) and all(thread.daemon for thread in pool._threads)
    gate.clear()
    long = [pool_for(10 * QUICK_S).submit(gate.wait, 60) for _ in range(50)]
    assert pool_for(0.0).submit(pow, 2, 3).result(20) == 8
    gate.set()
    for one in long:
        one.result(60)


def at_work(threads):
    """Run blocks that need so many threads at once; the priorities and the number of those that took part."""
    together, seen = threading.Barrier(threads, timeout=30), {}

    def work(start, stop):
        together.wait()
        time.sleep(0.05)  # a helper, if there is one, comes in time
        seen[threading.current_thread()] = priority()

    run_blocks(work, threads if threads > 1 else 3, 1, 1e9)
    return set(seen.values()), len(seen)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has priorities of threads")
def test_long_work_and_its_helpers_give_way(monkeypatch):
    monkeypatch.setenv("PMDVIZ_THREADS", "3")
    usual = priority()
    assert pool_for(0.0).submit(priority).result() == usual
    assert pool_for(10 * QUICK_S).submit(priority).result() == min(19, usual + GIVES_WAY)
    assert pool_for(0.0).submit(at_work, 3).result() == ({usual}, 3)
    monkeypatch.setattr(lanes._quick, "_used", lanes._quick._used - 2 * QUIET_S)
    assert pool_for(10 * QUICK_S).submit(at_work, 3).result() == ({min(19, usual + GIVES_WAY)}, 3)
    monkeypatch.setattr(lanes, "QUIET_S", 60.0)  # it has none while short steps are made
    pool_for(0.0).submit(pow, 2, 3).result()
    assert pool_for(10 * QUICK_S).submit(at_work, 1).result()[1] == 1


def test_long_work_goes_round_in_slices(monkeypatch):
    """A short piece that comes last is not the last to end, and at any time one piece runs."""
    monkeypatch.setattr(lanes, "SLICE_S", 0.0)
    shared, gate, order, running = lanes.Slices("test"), threading.Event(), [], []

    def work(name, parts):
        for part in range(parts):
            running.append(name)
            assert len(running) == 1
            order.append((name, part))
            gate.wait(30)
            running.remove(name)
            shared.rest()
            with ThreadPoolExecutor(1) as helper:
                helper.submit(shared.rest).result()  # of no thread that has a slice: nobody's turn
        return name

    pieces = {name: shared.submit(work, name, parts) for name, parts in (("long", 40), ("wide", 40), ("short", 2))}
    while len(shared._line) < 2:
        time.sleep(0.005)
    gate.set()
    assert [piece.result(30) for piece in pieces.values()] == [*pieces]
    assert order.index(("short", 1)) < order.index(("long", 5))
    with pytest.raises(ZeroDivisionError):
        shared.submit(lambda: 1 / 0).result(30)
    assert shared.submit(pow, 2, 3).result(30) == 8  # an error keeps nobody's turn


async def test_a_new_task_takes_the_place_of_the_one_that_runs_or_waits_for_it():
    pool, gate, ended = DaemonPool(2, "test"), threading.Event(), []

    def act(name):
        def work(tell):
            while not gate.wait(0.01):
                tell(1, 4)
            return name

        return work

    told = []
    slot = TaskSlot(lambda: told.append(slot.running), 0.02)
    for name in ("first", "second"):
        slot.begin(pool, act(name), lambda task: ended.append(task.outcome()))
    await until(lambda: told and slot.share == 0.25)
    gate.set()
    await until(lambda: not slot.running)
    assert [found.result for found in ended] == ["second"] and told[-1] is False
    gate.clear()
    queue, results = TaskSlot(queues=True), []
    for name in ("first", "second", "third"):
        queue.compute(pool, partial(act(name), lambda done, total: None), results.append, results.append)
    gate.set()
    await until(lambda: len(results) == 2)
    assert results == ["first", "third"], "of those that wait the newest"


async def test_what_became_of_a_task_is_a_result_or_words():
    pool, gate = DaemonPool(2, "test"), threading.Event()
    slot, ended = TaskSlot(), []
    slot.begin(pool, lambda tell: 1 / 0, lambda task: ended.append(task.outcome("It stopped with {kind}: {error}")))
    await until(lambda: ended)
    assert ended[0].words == "It stopped with ZeroDivisionError: division by zero" and not ended[0].cancelled
    slot.begin(pool, lambda tell: gate.wait(30), lambda task: ended.append(task.outcome()))
    slot.cancel()
    await until(lambda: len(ended) == 2)
    assert ended[1].cancelled and ended[1].words == "" and not slot.running
    slot.begin(pool, lambda tell: 1, lambda task: ended.append(task.outcome()))
    slot.let_go()
    gate.set()
    assert pool.submit(pow, 2, 3).result(30) == 8 and len(ended) == 2, "nobody hears of what was let go"
