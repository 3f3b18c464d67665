"""The loop without a browser, and the recorded frames that a page plays before its kernels are compiled."""

import asyncio
import math
import sys
import threading
import time
from contextlib import asynccontextmanager
from itertools import pairwise

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

from benchmarks.recording import frames, stored
from pmdviz import metrics
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.kernels.compiling import compiler
from pmdviz.kernels.pool import run_blocks
from pmdviz.lab.loop import recorded
from pmdviz.lab.loop.frame_sender import Acknowledge
from pmdviz.lab.loop.live import FAST, IN_FLIGHT, MAX_JOBS, PACES, SLOW, Beat, Live, Pace, Throttle, menu
from pmdviz.lab.loop.race_runner import ROWS
from pmdviz.lab.loop.recorded import FILE, NeedsKernels, RecordedSession, Recording
from pmdviz.lab.loop.runner import STARTS_AGAIN, Runner
from pmdviz.lab.race import Race
from pmdviz.presets import PRESETS
from pmdviz.scenes.stage import SceneChoice
from tests.lab.threads import drawing, playing_lab, traced, until
from tests.support.tables import looped


class FakeScreen:
    def __init__(self):
        self.shown, self.failures, self.refusals, self.waits, self.plays, self.cancellations = ([] for _ in range(6))
        self.show, self.failed, self.play_changed = self.shown.append, self.failures.append, self.plays.append
        self.cancelled = self.cancellations.append
        self.refused = lambda what, error: self.refusals.append(str(error))
        self.busy = lambda what, seconds, share: self.waits.append((what, seconds, share))
        self.waiting = lambda what, seconds: self.waits.append((what, seconds, 0.0))


class Bench:
    def __init__(self, acknowledge=True):
        self.ack, self.screen = Acknowledge(), FakeScreen()
        self.live = Live(self.screen, self.ack)
        self.live.runner = Runner(Recipe("mixture", num_particles=100, budget=None))
        if acknowledge:
            self.acknowledge()

    def acknowledge(self):
        drawing(self.ack)
        self.ack.drawn = self.ack.sent

    def set_knob(self, name, value):
        self.live.set(type(self.live.runner.session.knobs), name, value)


@asynccontextmanager
async def running(**options):
    bench = Bench(**options)
    bench.live.start()
    try:
        yield bench
    finally:
        bench.live.stop()
        await asyncio.wait_for(bench.live._task, 60)


async def test_a_pace_holds_back_the_steps_and_another_acts_at_once():
    async with running() as bench:
        bench.live.pace = Pace("a step an hour", 1 / 3600)
        bench.live.play(True)
        await until(lambda: bench.screen.shown)
        bench.live.do("look", Runner.snapshot)
        await until(lambda: len(bench.screen.shown) == 2)
        assert [s.frame.iteration for s in bench.screen.shown] == [1, 1] and bench.live.pause_s > 3500
        bench.live.pace = Pace("four a second", 4)
        await until(lambda: len(bench.screen.shown) >= 5)
        assert [s.frame.iteration for s in bench.screen.shown[2:5]] == [2, 3, 4], "nobody but the clock wakes the loop"
        bench.live.pace = Pace("three a frame", a_frame=3)
        await until(lambda: bench.screen.shown[-1].frame.iteration > bench.screen.shown[-2].frame.iteration + 1)


async def test_never_more_than_two_frames_under_way(monkeypatch):
    monkeypatch.setattr("pmdviz.lab.loop.live.WATCHDOG_S", 0.01)
    monkeypatch.setattr("pmdviz.lab.loop.live.AWAY_AFTER", 10**9)
    async with running(acknowledge=False) as bench:
        bench.ack.drawn = 10**9  # a browser that claims too much gets no flood
        bench.live.play(True)
        await until(lambda: bench.live.watchdog_hits >= 3)
        assert bench.ack.sent == IN_FLIGHT
        bench.ack.drawn = 1
        await until(lambda: bench.ack.sent == IN_FLIGHT + 1)


async def test_nobody_looking_stops_it_and_a_look_starts_it_again(monkeypatch):
    """Frames that nobody draws, a page out of sight and a hidden window; a knob turned meanwhile still acts."""
    monkeypatch.setattr("pmdviz.lab.loop.live.WATCHDOG_S", 0.05)

    async with running(acknowledge=False) as bench:

        def iteration():
            return bench.live.runner.session.frame.iteration

        async def stands():
            await until(lambda: not bench.live.at_work)
            stood = iteration()
            bench.live._wake.set()
            await until(lambda: not bench.live._wake.is_set())  # the loop came round, and rests again
            assert iteration() == stood and bench.live.playing
            return stood

        bench.live.play(True)
        await until(lambda: bench.live.watchdog_hits >= 2)
        stood = await stands()
        bench.set_knob("bandwidth", 0.3)
        await until(lambda: bench.screen.shown[-1].frame.knobs.bandwidth == 0.3, 30)
        bench.acknowledge()
        await until(lambda: iteration() > stood)
        bench.live.look(False)
        stood = await stands()
        bench.live.look(True)
        await until(lambda: iteration() > stood)


async def test_a_moved_slider_never_piles_up_and_has_room_behind_a_key_held_down():
    async with running() as bench:
        for _ in range(MAX_JOBS + 5):
            bench.live.do("step", lambda runner: runner.advance(1))
        for k in range(100):
            bench.set_knob("bandwidth", 0.1 + 0.01 * k)
        bench.set_knob("eta", 1.0)
        assert len(bench.live._jobs) <= MAX_JOBS + 1
        await until(lambda: bench.screen.shown and bench.screen.shown[-1].frame.knobs.eta == 1.0)
        ((at, changed),) = bench.live.runner.session.recipe.changes
        assert at == MAX_JOBS and changed == {"bandwidth": pytest.approx(1.09), "eta": 1.0}
        assert "1.09" in bench.ack.shown


async def test_who_begins_runs_without_end_waits_for_the_others_on_a_server(monkeypatch):
    monkeypatch.setattr("pmdviz.lab.loop.live.NEW_RUNS", (0.02, 0.0))

    def dear(runner):
        end = time.thread_time() + 0.02
        while time.thread_time() < end:
            pass
        return Runner(runner.session.recipe), runner.snapshot()

    async def taken(count):
        begun, there = time.monotonic(), len(bench.screen.shown)
        for _ in range(count):
            bench.live.do("new run", dear)
        await until(lambda: len(bench.screen.shown) == there + count)
        return time.monotonic() - begun

    async with running() as bench:
        alone = await taken(2)
        monkeypatch.setattr("pmdviz.lab.loop.live.is_served", lambda doc: True)
        assert await taken(2) >= 1.0 > alone, "0.02 s of CPU at 0.02 s a second"


async def test_a_long_job_is_said_with_its_share_and_can_be_cancelled_or_ends_with_the_tab():
    ended = threading.Event()

    def long_act(runner):
        """Compute block by block until the watch stops it."""
        try:
            run_blocks(lambda start, stop: time.sleep(0.06), 1000, 1, cost=0)
        finally:
            ended.set()

    async with running() as bench:
        assert not bench.live.cancel(), "nothing lasts"
        bench.live.do("long", long_act)

        def shares():
            return [share for _, _, share in bench.screen.waits]

        await until(lambda: len({share for share in shares() if share > 0}) >= 2)
        assert shares() == sorted(shares()) and shares()[-1] < 1
        assert bench.live.cancel()
        await until(lambda: bench.screen.cancellations == ["long"], 20)
        assert not bench.screen.shown and not bench.screen.failures
        bench.live.play(True)
        await until(lambda: len(bench.screen.shown) >= 3)
        bench.screen.waits.clear()
        bench.live.do("long", long_act)
        await until(lambda: any(what == "long" for what, _, _ in bench.screen.waits))  # a step may last too
        assert bench.live.cancel()
        assert not bench.live.playing and bench.screen.plays[-1] is False
        await until(lambda: len(bench.screen.cancellations) == 2)
        stood = bench.live.runner.session.frame.iteration
        bench.live.do("step", lambda runner: runner.advance(1))
        await until(lambda: bench.screen.shown[-1].frame.iteration == stood + 1)
        bench.screen.waits.clear()
        ended.clear()
        bench.live.do("long", long_act)
        await until(lambda: bench.screen.waits)
        bench.live.stop()
        await until(ended.is_set, 20)


def played(pace, seconds, frame_s=1 / 60, iteration=0):
    """(time, iteration) of every frame of a run that is shown on a display with so many seconds a frame."""
    beat, frames, now = Beat(pace), [], 0.0
    while now <= seconds:
        if taken := beat.take(now, iteration):
            iteration += taken
            frames.append((now, iteration))
        now += frame_s
    return frames


@looped("name", ["1", "3", "10", "30"])
@looped("frame_s", [1 / 60, 1 / 17])
def test_so_many_iterations_a_second_on_a_fast_and_on_a_slow_display(name, frame_s):
    frames = played(PACES[name], 20.0, frame_s)
    assert frames[0] == (0.0, 1), "the first comes at once"
    assert frames[-1][1] == pytest.approx(20 * PACES[name].per_second, abs=1 + PACES[name].per_second / 5)


def test_slow_at_first_then_every_frame_by_the_logarithm_and_not_again():
    times = [at for at, _ in played(SLOW, 12.0)]
    gaps = [later - at for at, later in zip(times, times[1:], strict=False)]
    assert all(0.3 < gap < 0.5 for gap in gaps[:3])
    assert 30 <= len([at for at in times if at <= 5.5]) <= 50
    assert gaps[-100:] == pytest.approx([1 / 60] * 100), "in the end nothing is waited for"
    spans = [SLOW.seconds(10 * n) - SLOW.seconds(n) for n in (100, 1_000, 10_000)]
    assert spans == pytest.approx([3 * math.log(10)] * 3, rel=0.06)
    assert len(played(SLOW, 1.0, iteration=500)) >= 60


@looped("name", [*PACES])
def test_time_that_went_by_is_not_made_up_for_and_without_a_rate_every_frame_has_so_many(name):
    """An hour out of sight, or in one step: then comes one frame, and the next in its time."""
    pace, beat = PACES[name], Beat(PACES[name])
    beat.take(0.0, 0)
    taken = beat.take(3600.0, 1)
    assert 1 <= taken <= pace.a_frame
    if pace.slow_start or pace.per_second < math.inf:
        wait = pace.seconds(taken + 2) - pace.seconds(taken + 1)
        assert beat.take(3600.0, 1 + taken) == 0 and beat.wait(3600.0) >= 0.49 * wait / pace.a_frame
    else:
        assert [iteration for _, iteration in played(pace, 0.2)] == [pace.a_frame * k for k in range(1, 14)]
        assert name == "fast" or name == f"x{pace.a_frame}"


def test_the_menu_says_what_a_pace_does_and_a_throttle_lets_everything_through_at_rest():
    words = menu(lambda number: f"{number * ROWS:,} data")
    assert [*words.values()] == [*PACES] and next(iter(words)) == "slow at first"
    assert words["300 data a second"] == "3" and words["500 data a frame"] == "x5"
    assert words["as fast as it goes"] == FAST.name
    throttle = Throttle(0.2)
    assert throttle.is_due(0.0, playing=True), "the first one"
    assert [now for now in (0.1, 0.15, 0.2, 0.3, 0.39, 0.45) if throttle.is_due(now, playing=True)] == [0.2, 0.45]
    assert throttle.is_due(0.46, playing=False) and not throttle.is_due(0.6, playing=True)
    throttle.done(0.47)
    assert not throttle.is_due(1.9, playing=True) and throttle.is_due(2.0, playing=True), "work that took long"
    busy, slow = Throttle(0.2), Throttle(0.2)
    assert [k for k in range(6) if busy.is_due(0.25 * k, playing=True)] == [0, 2, 4], "every second frame"
    assert all(slow.is_due(0.5 * k, playing=True) for k in range(4)), "frames that come rarely have it all"


RECIPE = next(iter(PRESETS.values())).recipe
BY = "python -m benchmarks.recording"  # writes the file again


@pytest.fixture(scope="module")
def live():
    return frames()


@pytest.fixture(scope="module", autouse=True)
def fresh(live, tmp_path_factory):
    """The run as this computer records it, in place of the file: another one may come to other particles."""
    path = tmp_path_factory.mktemp("recorded") / FILE.name
    np.savez_compressed(path, **stored(live))
    made = Recording(path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recorded, "recording", lambda: made)
        yield made


@pytest.fixture
def cold(monkeypatch):
    """Kernels that are missing until something is put into this list."""
    ready = []
    monkeypatch.setattr(compiler, "is_ready", lambda groups: bool(ready))
    monkeypatch.setattr(compiler, "ask", lambda groups: None)
    monkeypatch.setattr(compiler, "begin", lambda rest=True: None)
    monkeypatch.setattr(compiler, "seconds_left", lambda groups: 12.0)
    return ready


@pytest.fixture
def no_kernels(monkeypatch, cold):
    """The same, and each call of a kernel fails."""

    def refuse(*args, **kwargs):
        raise AssertionError("a kernel was called")

    for module in [module for name, module in sys.modules.items() if name.startswith("pmdviz")]:
        for name, item in list(vars(module).items()):
            if isinstance(item, Dispatcher):
                monkeypatch.setattr(module, name, refuse)


@pytest.mark.ci
def test_the_file_is_that_of_the_present_code(fresh):
    """All of it on a computer like the one that recorded; elsewhere up to the first resampling."""
    shipped = Recording(FILE)
    assert FILE.stat().st_size <= 500_000 and shipped.recipe == RECIPE == fresh.recipe, BY
    here = shipped.recipe.made_with == fresh.recipe.made_with
    assert not here or shipped.about["digests"] == fresh.about["digests"], BY
    for at in range(fresh.last + 1 if here else int(np.argmax(fresh.set_at > 0))):
        one, other, where = shipped.state(at), fresh.state(at), f"iteration {at}: {BY}"
        np.testing.assert_allclose(one.particles, other.particles, atol=1e-6, err_msg=where)
        np.testing.assert_allclose(one.log_weights, other.log_weights, atol=0.02, err_msg=where)
        assert shipped.metrics(at) == pytest.approx(fresh.metrics(at), rel=1e-6, abs=1e-9), where
        assert at == 0 or shipped.about["steps"][at - 1]["words"] == fresh.about["steps"][at - 1]["words"], where


def test_recorded_frames_are_those_of_the_live_run(live):
    """Equal but for float32 and 1/64 nat, in pictures by less than 1 % of the mass; digests are of the exact bits."""
    session = RecordedSession(RECIPE)
    for frame in live:
        shown, at = session.frame, frame.iteration
        np.testing.assert_allclose(shown.particles, frame.particles, atol=1e-6, err_msg=f"iteration {at}")
        np.testing.assert_allclose(shown.weights, frame.weights, rtol=0.02, atol=1e-9, err_msg=f"iteration {at}")
        assert shown.metrics == pytest.approx({**frame.metrics, **shown.floors}, rel=1e-6, abs=1e-9), at
        assert (shown.digest, shown.caveat) == (frame.digest, frame.caveat), at
        if frame.info is not None:
            assert np.array_equal(shown.batch_rows, frame.batch_rows), at
            assert (shown.info.words, shown.info.events) == (frame.info.words, frame.info.events), at
        if at in (0, 1, 3, 6, 8, 14, 16, 40, 120, 200):
            assert shown.grid.grid == frame.grid.grid, at
            np.testing.assert_allclose(shown.grid.p, frame.grid.p, atol=1e-8)
            assert 0.5 * np.abs(shown.grid.q - frame.grid.q).sum() * frame.grid.grid.cell_volume < 0.01, at
        if not session.done:
            session.advance(1)
    assert session.done and session.frame.visited == live[-1].visited


def test_the_whole_run_plays_without_a_kernel(no_kernels, monkeypatch):
    monkeypatch.setattr(metrics, "_kept", metrics.Recent(200))  # as in a new process: nothing has been drawn yet
    runner = Runner(recorded.begun(RECIPE))
    seen = [runner.snapshot()]
    while not seen[-1].done:
        seen.append(runner.advance(1))
    assert [shown.frame.iteration for shown in seen] == list(range(201))
    assert {mark.kind for mark in seen[-1].marks} == {"limited", "rejuvenated"}
    assert list(traced(seen[-1])["iteration"]) == list(range(201)) and seen[-1].frame.metrics["floor_tv"] > 0
    assert seen[3].origins is not None and len(seen[50].columns.approximate["x"]) > 500
    for act, at in ((Runner.back, 199), (Runner.restart, 0), (Runner.replay, 0), (lambda r: r.advance(3), 3)):
        assert act(runner).frame.iteration == at
    for look in ({"choice": SceneChoice("descent")}, *({"traces": name} for name in ("kl", "ess", "step_step_size"))):
        assert runner.look(**look).frame.iteration == 3, look
    visit = runner.travel(lambda past: past.visit(2))
    assert (visit.frame.iteration, visit.last) == (2, 3) and visit.frame.digest == seen[2].frame.digest
    assert runner.limit(900).recipe.budget == 900 and runner.advance(20).done


def test_what_is_not_recorded_needs_kernels_and_changes_nothing(no_kernels):
    runner = Runner(recorded.begun(RECIPE))
    runner.advance(5)
    frame = runner.session.frame
    acts = {
        "a knob": lambda: runner.set({"bandwidth": 0.3}),
        "another seed": runner.reseed,
        "the data": lambda: runner.look(with_data=True),
        "inside a step": lambda: runner.look(watched=True),
        "log q": lambda: frame.density.log_density(frame.particles),
        "draws": lambda: frame.draws,
        "a metric": lambda: frame.metric("mmd"),
        "log p": lambda: frame.target.exact.log_density(frame.particles),
        "a likelihood": lambda: frame.target.log_likelihood(frame.particles, frame.target.data),
        "another run": lambda: recorded.begun(Recipe("banana", "svgd")),
        "the run with another knob": lambda: recorded.begun(Recipe(eta=1.0)),
        "a race": lambda: recorded.require(*Recipe(method="svgd").kernel_groups),
        "all of it": runner.whole,
    }
    for name, act in acts.items():
        with pytest.raises(NeedsKernels):
            act()
            pytest.fail(name)
        assert runner.session.frame is frame and not runner.session.recipe.changes, name


async def test_the_live_run_takes_over_where_the_recorded_one_is(cold):
    """Between two frames: the iterations go on, the trace keeps all of them, and the state is that of `pmdviz.run`."""
    async with playing_lab() as lab:
        lab.live.pace, seen = FAST, []

        def on_show(snapshot):
            seen.append((snapshot.frame.iteration, lab.live.runner.is_recorded))
            if seen[-1][0] == 20:
                cold.append(True)  # compiled
            if not seen[-1][1] and seen[-1][0] > 30 and lab.live.playing:
                lab.live.play(False)

        lab.on_show = on_show
        lab._act("toggle")
        await until(lambda: not (lab.live.playing or lab.live.at_work))
        snapshot = lab._last
        assert snapshot.frame.digest == Session(RECIPE).seek(snapshot.frame.iteration).digest
        assert not [pair for pair in pairwise(seen) if pair[1][0] - pair[0][0] not in (0, 1)]
        assert list(traced(snapshot)["iteration"]) == list(range(snapshot.frame.iteration + 1))
        assert not snapshot.news and lab.recipe == RECIPE


def test_where_the_live_run_differs_it_starts_again_and_says_so(cold, live, monkeypatch):
    shown = RecordedSession(RECIPE).seek(12)
    assert recorded.is_same(shown, live[12]) and not recorded.is_same(shown, live[13])
    nearly = live[12].replaced(state=live[12].state._replace(particles=live[12].particles + 1e-9))
    nearly.__dict__.pop("densities", None)
    assert recorded.is_same(shown, nearly)
    monkeypatch.setattr("pmdviz.lab.loop.runner.is_same", lambda shown, live: False)
    runner = Runner(recorded.begun(RECIPE))
    runner.advance(4)
    taken = runner.take_over(runner.caught_up())
    assert (taken.frame.iteration, taken.news) == (0, STARTS_AGAIN) and not runner.is_recorded
    assert list(traced(runner.advance(1))["iteration"]) == [0, 1]


async def test_another_run_can_be_cancelled_and_a_knob_waits_for_the_live_run_and_acts_where_it_was_turned(cold):
    async with playing_lab() as lab:
        lab.live.pace, play, shown = FAST, lab.playback.buttons["Play"], lab._last
        lab.begin("method", target="banana", method="svgd", target_options={})
        await until(lambda: lab.busy_card.shown and play.disabled)
        lab.cancel()
        assert lab._last is shown and not play.disabled and not lab.busy_card.shown
        lab._act("toggle")
        await until(lambda: lab._last.frame.iteration >= 8)
        lab.set(bandwidth=0.4)
        await until(lambda: lab.busy_card.shown and play.disabled)
        at = lab._last.frame.iteration
        assert "Live in about 12 s" in lab.busy_card.text.object and play.label == "Play", "nothing moves"
        lab.set(eta=1.5)
        cold.append(True)
        await until(lambda: lab._last.in_force["bandwidth"] == 0.4 and lab._last.frame.iteration > at + 2)
        assert lab._last.recipe.changes == ((at, {"bandwidth": 0.4, "eta": 1.5}),)
        assert not play.disabled and play.label == "Pause"
        await until(lambda: not lab.busy_card.shown)


async def test_a_race_without_recorded_frames_says_when_it_is_live(cold):
    """Play is disabled, the state says why, and the first picture comes by itself."""
    made, said = Race(), []
    say = made.screen.wait
    made.screen.wait = lambda words, *more: (said.append(words), say(words, *more))
    made.start()
    await until(lambda: said)
    assert said[-1].startswith("Live in about 12 s") and made.playback.buttons["Play"].disabled
    cold.append(True)
    await until(lambda: made.last is not None)
    assert not made.playback.buttons["Play"].disabled
    made.stop()
    await asyncio.wait_for(made.live._task, 60)
