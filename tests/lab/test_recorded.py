"""The recorded frames of the usual run, which a page plays before its kernels are compiled, and the live run after."""

import asyncio
import sys
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.kernels.compiling import compiler
from pmdviz.lab import Lab
from pmdviz.lab.loop import recorded
from pmdviz.lab.loop.live import FAST
from pmdviz.lab.loop.recorded import FILE, NeedsKernels, RecordedSession, Recording
from pmdviz.lab.loop.runner import STARTS_AGAIN, Runner
from pmdviz.lab.race import Race
from pmdviz.presets import PRESETS
from pmdviz.scenes.stage import SceneChoice, applicable_scenes
from pmdviz.scenes.trace_columns import GROUPS
from tests.lab.threads import playing_lab, until

RECIPE = next(iter(PRESETS.values())).recipe
BY = "python -m pmdviz.lab.loop.recorded"  # writes the file again


@pytest.fixture(scope="module")
def live():
    """Every frame of the live run."""
    return recorded.frames()


@pytest.fixture(scope="module", autouse=True)
def fresh(live, tmp_path_factory):
    """The run as this computer records it, in place of the file: another one may come to other particles."""
    path = tmp_path_factory.mktemp("recorded") / FILE.name
    np.savez_compressed(path, **recorded.stored(live))
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
    """Equal but for float32 and 1/64 nat, and their digests are those of the exact bits.

    In pictures q of both differs by less than 1 % of its mass, and the exact posterior not at all.
    """
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


def test_the_whole_run_plays_without_a_kernel(no_kernels):
    runner = Runner(recorded.begun(RECIPE))
    seen = [runner.snapshot()]
    while not seen[-1].done:
        seen.append(runner.advance(1))
    assert [shown.frame.iteration for shown in seen] == list(range(201))
    assert {mark.kind for mark in seen[-1].marks} == {"limited", "rejuvenated"}
    assert list(seen[-1].trace["iteration"]) == list(range(201)) and seen[-1].frame.metrics["floor_tv"] > 0
    assert seen[3].origins is not None and len(seen[50].columns.approximate["x"]) > 500
    for act, at in ((Runner.back, 199), (Runner.restart, 0), (Runner.replay, 0), (lambda r: r.advance(3), 3)):
        assert act(runner).frame.iteration == at
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


def test_every_picture_and_trace_is_drawn_or_needs_kernels(no_kernels):
    runner, drawn = Runner(recorded.begun(RECIPE)), set()
    first = runner.advance(4).frame
    looks = {
        name: partial(runner.look, choice=SceneChoice(name)) for name in applicable_scenes(first.target, first.method)
    }
    looks |= {key: partial(runner.look, traces=key) for key in GROUPS.of(first.target, first.method)}
    for name, look in looks.items():
        try:
            look()
            drawn.add(name)
        except NeedsKernels:
            runner.look(choice=SceneChoice())
            runner.look(traces="tv")
    assert drawn >= {"posterior", "tv", "kl", "ess", "descent", "step_step_size"}, drawn


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
        assert list(snapshot.trace["iteration"]) == list(range(snapshot.frame.iteration + 1))
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
    assert list(runner.advance(1).trace["iteration"]) == [0, 1]


async def test_another_run_can_be_cancelled_and_a_knob_waits_for_the_live_run_and_acts_where_it_was_turned(cold):
    async with playing_lab() as lab:
        lab.live.pace, play, shown = FAST, lab.playback.buttons["Play"], lab._last
        lab.commands.begin("method", target="banana", method="svgd", target_options={})
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


@pytest.mark.parametrize("page", [lambda: Lab("banana", "svgd", num_particles=50), Race], ids=["lab", "race"])
async def test_a_page_without_recorded_frames_says_when_it_is_live(cold, page):
    """Play is disabled, the state says why, and the first picture comes by itself."""
    made, said = page(), []
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
