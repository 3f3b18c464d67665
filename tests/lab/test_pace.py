"""Which iteration belongs to which second of playing; no clock runs here."""

import math

import pytest

from pmdviz.lab.loop.pace import FAST, PACES, SLOW, Beat, Throttle, menu
from pmdviz.lab.loop.race_runner import ROWS
from tests.support.tables import looped


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


@looped("name, each", [("fast", 1), ("x5", 5), ("x50", 50)])
def test_without_a_rate_every_frame_has_so_many(name, each):
    assert [iteration for _, iteration in played(PACES[name], 0.2)] == [each * k for k in range(1, 14)]


@looped("name", [*PACES])
def test_time_that_went_by_is_not_made_up_for(name):
    """An hour out of sight, or in one step: then comes one frame, and the next in its time."""
    pace, beat = PACES[name], Beat(PACES[name])
    beat.take(0.0, 0)
    assert 1 <= (taken := beat.take(3600.0, 1)) <= pace.a_frame
    if pace.slow_start or pace.per_second < math.inf:
        wait = pace.seconds(taken + 2) - pace.seconds(taken + 1)
        assert beat.take(3600.0, 1 + taken) == 0 and beat.wait(3600.0) >= 0.49 * wait / pace.a_frame


def test_the_menu_says_what_a_pace_does_and_a_throttle_lets_everything_through_at_rest():
    words = menu(lambda number: f"{number * ROWS:,} data")
    assert [*words.values()] == [*PACES] and next(iter(words)) == "slow at first"
    assert words["300 data a second"] == "3" and words["500 data a frame"] == "x5"
    assert words["as fast as it goes"] == FAST.name
    throttle = Throttle(0.2)
    assert throttle.is_due(0.0, playing=True), "the first one"
    assert [now for now in (0.1, 0.15, 0.2, 0.3, 0.39, 0.45) if throttle.is_due(now, playing=True)] == [0.2, 0.45]
    assert throttle.is_due(0.46, playing=False) and not throttle.is_due(0.6, playing=True)
