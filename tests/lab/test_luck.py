"""Is this luck? What is run, shown, said, cancelled, refused and let go of."""

import asyncio
import threading
import time

import numpy as np
import pytest

from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.errors import InputError
from pmdviz.experiments.seeds import SeedRun, SeedRuns, other_seeds, run_seed
from pmdviz.lab.loop.runner import Runner
from pmdviz.lab.loop.work import luck as luck_work
from pmdviz.lab.loop.work.luck import check_time, ending
from pmdviz.lab.panels.comparing.luck import ALL_STOPPED, ASK, CANCEL, LET_GO, LuckPanel
from pmdviz.lab.panels.comparing.luck_words import Verdict, alike, stopped_words, verdict
from pmdviz.limits import variable
from pmdviz.views import TracesView
from tests.lab.threads import in_a_thread

RECIPE = Recipe("gaussian", "pmd", num_particles=100, budget=200, batch_size=10)


async def until(condition, seconds=120.0):  # its thread gives way to everybody else's
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        await asyncio.sleep(0.005)


def shown(runner, traces=None):
    snapshot = runner.snapshot()
    traces = traces or TracesView()
    traces.show(snapshot.trace, {})
    panel = LuckPanel(traces)
    panel.seeds.value = 8
    panel.show(snapshot, False)
    return panel


@pytest.fixture
def held(monkeypatch):
    """Set once a run has begun, which then waits for Cancel."""
    begun, opened = threading.Event(), threading.Event()

    def slow(recipe, seed, tell):
        begun.set()
        while not opened.wait(0.01):
            tell(0.5)
        return run_seed(recipe, seed, tell)

    monkeypatch.setattr(luck_work, "run_seed", slow)
    yield begun
    opened.set()


def test_the_band_and_the_verdict_are_those_of_single_runs():
    async def scene():
        runner = Runner(RECIPE)
        runner.session.advance(1000)
        panel = shown(runner)
        panel._press()
        assert panel.work.running and panel.button.label == CANCEL and "Running 8 other seeds" in panel.said.object
        await until(lambda: not panel.work.running)
        return panel, runner.snapshot()

    panel, snapshot = in_a_thread(scene)
    runs = SeedRuns([run_seed(RECIPE, seed) for seed in other_seeds(0, 8)])
    ends = np.array([run.history["tv"][-1] for run in runs.whole])
    lower = int(np.sum(ends < snapshot.frame.tv))
    assert f": {lower} of 8 other seeds" in panel.said.object and 'role="status"' in panel.said.object
    traces = panel._traces
    band = traces.seed_bands._made[False][0]
    assert np.array_equal(band.source.data["high"], runs.band("visited", "tv")["high"])
    assert panel.button.label == ASK and traces.legend.items[-1].label.value == "middle 80\u00a0% of 8 seeds"
    assert traces.seed_bands.words.data["text"][0].endswith("lower")


def test_other_traces_have_their_own_bands_and_other_settings_none():
    async def scene():
        runner = Runner(RECIPE)
        panel = shown(runner)
        panel._press()
        await until(lambda: not panel.work.running)
        traces, runs = panel._traces, panel.work.runs
        traces.choose(group="kl", clock="iteration")
        panel.say()
        made = traces.seed_bands._made
        drawn = made[True][0].source.data
        expected = np.clip(runs.band("iteration", "kl_forward")["middle"], *_range(traces))
        assert np.array_equal(drawn["middle"], expected)
        assert not len(made[False]) or not len(made[False][0].source.data["x"])
        assert "forward KL is" in panel.said.object
        panel.show(runner.reseed(), False)
        assert panel.work.runs is runs  # another seed of the same settings is what the band is for
        panel.show(runner.limit(400), False)
        assert panel.work.runs is runs
        panel.show(runner.set({"eta": 0.5}), False)
        assert panel.work.runs is None and LET_GO in panel.said.object
        assert not len(made[True][0].source.data["x"]) and traces.seed_bands.words.data["text"] == [""]

    in_a_thread(scene)


def _range(traces):
    return traces.figure.y_range.start, traces.figure.y_range.end


def test_it_is_cancelled_and_let_go_of(held):
    async def scene():
        panel = shown(Runner(RECIPE))
        panel._press()
        await until(held.is_set)
        panel._press()
        await until(lambda: not panel.work.running)
        assert panel.work.runs is None and "Cancelled" in panel.said.object and panel.button.label == ASK
        panel._press()
        panel.stop()
        assert not panel.work.running and panel.work.recipe is None

    in_a_thread(scene)


def test_an_endless_run_goes_as_far_as_it_has_come():
    endless = RECIPE.limited(None)
    runner = Runner(endless)
    with pytest.raises(InputError, match="press Play first"):
        ending(endless, runner.session.frame)
    frame = runner.session.advance(3)
    assert ending(endless, frame).budget == 30 and ending(RECIPE, frame) is RECIPE


def test_what_would_take_too_long_is_refused_in_a_sentence(monkeypatch):
    frame = Runner(RECIPE).session.advance(10)
    check_time(RECIPE, frame, 16)
    slow = type(frame)(**{**vars_of(frame), "seconds": 100.0})  # 10 s an iteration of 20
    monkeypatch.setenv(variable("max_experiment_s"), "3000")
    with pytest.raises(InputError, match="16 runs like this would take about 53 minutes, and 50 minutes is the most"):
        check_time(RECIPE, slow, 16)
    check_time(RECIPE, slow, 8)
    panel = shown(Runner(RECIPE))
    monkeypatch.setenv(variable("max_experiment_s"), "1")
    panel._last = panel._last._replace(frame=slow)
    panel._ask()
    assert "fewer seeds" in panel.said.object and not panel.work.running


def vars_of(frame):
    return {name: getattr(frame, name) for name in type(frame).__dataclass_fields__}


def test_lucky_is_below_the_middle_80_percent_and_numbers_that_do_not_rank_are_unusual():
    found = SeedRuns([_made(seed, value) for seed, value in enumerate((1.0, 2, 3))]).judge(_made(9, 0.5)[1], "tv", True)
    assert Verdict(found, "TV", True).brief == "Lucky: 0 of 3 other seeds are lower"
    assert Verdict(found, "ESS", False).brief.startswith("Unusually low")
    assert Verdict(found._replace(value=9, lower=1), "TV", True).sentence == (
        "Unlucky: 1 of 3 other seeds is lower. TV is 9.00 at iteration 0; the middle 80\u00a0% of them: 1.20 to 2.80."
    )


def _made(seed, value, stopped=""):
    columns = {"iteration": np.array([0]), "visited": np.array([0]), "tv": np.array([value])}
    return SeedRun(seed, columns, stopped)


def test_seeds_that_stopped_are_told():
    runs = SeedRuns([_made(3, 1.0, "theta is bad"), _made(5, 1.0, "too")])
    assert stopped_words(runs) == "Seeds 3, 5 stopped and are left out: theta is bad"
    panel = shown(Runner(RECIPE))
    panel.work.runs = runs
    panel.say()
    assert ALL_STOPPED in panel.said.object and "theta is bad" in panel.said.object


def test_a_continued_run_is_compared_where_the_others_were_measured():
    runs = SeedRuns([run_seed(RECIPE, seed) for seed in (1, 2)])
    runner = Runner(RECIPE)
    runner.session.advance(1000)
    assert verdict(runs, runner.snapshot(), "tv").found.iteration == 20
    runner.proceed()
    runner.session.advance(1000)
    found = verdict(runs, runner.snapshot(), "tv").found
    assert (
        found.iteration < 20
        and found.value
        == runner.session.history.columns["tv"][[*runner.session.history.columns["iteration"]].index(found.iteration)]
    )


def test_alike_are_recipes_that_differ_in_seed_and_budget_alone():
    assert alike(RECIPE, RECIPE.replaced(seed=4, budget=10))
    for part in ({"knobs": {"eta": 0.1}}, {"changes": [(3, {"eta": 0.1})]}, {"budget_unit": "evaluations"}):
        assert not alike(RECIPE, RECIPE.replaced(**part))
