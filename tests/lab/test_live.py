"""The loop without a browser: the acknowledgements are written by hand."""

import asyncio
import math
import threading
import time
from contextlib import asynccontextmanager

import pytest

from pmdviz.engine.recipe import Recipe
from pmdviz.kernels.pool import run_blocks
from pmdviz.lab.loop.frame_sender import Acknowledge
from pmdviz.lab.loop.live import FAST, IN_FLIGHT, MAX_JOBS, PACES, SLOW, Beat, Live, Pace, Throttle, menu
from pmdviz.lab.loop.race_runner import ROWS
from pmdviz.lab.loop.runner import Runner
from tests.lab.threads import drawing, until
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
        """Draw what was sent, and all that will be."""
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


# How fast a run is shown.


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
    assert 1 <= (taken := beat.take(3600.0, 1)) <= pace.a_frame
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
