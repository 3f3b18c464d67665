"""What a person asks of a run: to step, to begin anew, to restore the previous run."""

from __future__ import annotations

from collections.abc import Callable
from operator import methodcaller
from typing import Any, NamedTuple

import panel as pn

from pmdviz.engine.recipe import Recipe
from pmdviz.lab.controls.setup import next_recipe
from pmdviz.lab.loop import limits
from pmdviz.lab.loop.live import Live, Pace
from pmdviz.lab.loop.past import Past
from pmdviz.lab.loop.recorded import begun
from pmdviz.lab.loop.runner import Runner, Snapshot
from pmdviz.lab.loop.work import FloorWork

KEPT_RUNS = 5
KEPT_BYTES = 4 * 2**20  # of the places to come back to in each of them; the run that is seen has 64 MB


class Kept(NamedTuple):
    """A run as it stood, and those that Undo would have brought back."""

    runner: Runner
    before: list[Runner]


class Commands:
    """Turns wishes into jobs of the live loop; keeps the last runs for Undo."""

    def __init__(self, live: Live, floor: FloorWork, dim: Callable[[bool], None]) -> None:
        self.live, self._floor, self._dim = live, floor, dim
        self._before: list[Runner] = []

    @property
    def can_undo(self) -> bool:
        """Whether there is a run to go back to."""
        return bool(self._before)

    def act(self, name: str) -> None:
        """Do what a button or a key names."""
        acts: dict[str, Callable[[], None]] = {
            "toggle": self._toggle,
            "step": lambda: self._paused("step", lambda runner: runner.advance(1)),
            "back": lambda: self._paused("step back", Runner.back),
            "restart": lambda: self.live.do("restart", Runner.restart),
            "replay": self._replay,
            "proceed": self._proceed,
            "reseed": lambda: self.live.do("new seed", Runner.reseed),
            "retry": lambda: self._paused("step", lambda runner: runner.advance(1)),
            "undo": self._undo,
            "what_if": lambda: self.live.do("branch", lambda runner: runner.whole().travel(Past.what_if)),
            "swap": lambda: self.live.do("branch", lambda runner: runner.travel(Past.swap)),
            "keep": lambda: self.live.do("branch", lambda runner: self._end_branch(runner, Past.keep)),
            "drop": lambda: self.live.do("branch", lambda runner: self._end_branch(runner, Past.drop)),
        }
        if self._floor.cancelled and name in ("restart", "replay", "reseed"):
            self._floor.forget()
        acts[name]()

    def _paused(self, what: str, act: Callable[[Runner], Snapshot]) -> None:
        self._pause()
        self.live.do(what, act)

    def _toggle(self) -> None:
        """Play, Pause, or what both mean at the end of the run: play it again."""
        runner = self.live.runner
        if runner is not None and runner.session.done and not self.live.playing:
            self._replay()
        else:
            self.live.play(not self.live.playing)

    def _replay(self) -> None:
        self.live.do("replay", Runner.replay)
        self.live.play(True)

    def _proceed(self) -> None:
        self.live.do("continue", Runner.proceed)
        self.live.play(True)

    def _undo(self) -> None:
        if self._before:
            old = self._before.pop()
            self.live.do("undo", lambda runner: (old, old.snapshot()))

    def visit(self, iteration: int, roughly: bool = False) -> None:
        """Go to an iteration of the run so far; of several that wait only to the newest."""
        if self.live.playing:
            self.live.play(False)
        act = methodcaller("visit", iteration, roughly)
        self.live.do("going to an iteration", lambda runner: runner.travel(act), newest_only=True)

    def _end_branch(self, runner: Runner, act: Callable[[Past], None]) -> Snapshot:
        """Runs in the worker: one of the two runs goes, and both are kept for Undo."""
        both = runner.copy()
        snapshot = runner.travel(act)
        self._put_aside(both)
        return snapshot

    def _put_aside(self, runner: Runner) -> None:
        runner.wanted.clear()  # it no longer plays
        runner.past.shrink(KEPT_BYTES)
        self._before = [*self._before, runner][-KEPT_RUNS:]

    def keep(self, put: Callable[[Kept], None]) -> None:
        """Hand on a copy of the run as it stands, to come back to by `give_back`."""
        self._pause()

        def kept(runner: Runner) -> Snapshot:
            put(Kept(runner.copy(), [*self._before]))
            return runner.snapshot()

        self.live.do("keeping the run", kept)

    def give_back(self, kept: Kept) -> None:
        """The run that was kept, in place of whatever is there."""
        self._pause()

        def back(runner: Runner) -> tuple[Runner, Snapshot]:
            self._before = kept.before
            return kept.runner, kept.runner.snapshot()

        self.live.do("the previous run", back)

    def lay(self, recipe: Recipe, begun: Callable[[], None]) -> None:
        """A lesson's run in place of this one; `begun` is called in the worker once it is there."""
        self._pause()
        with pn.io.hold():
            self._dim(True)

        def laid(runner: Runner) -> tuple[Runner, Snapshot]:
            made = self._new_run(runner, {"recipe": recipe})
            begun()
            return made

        self.live.do("the lesson's run", laid, newest_only=True)

    def _pause(self) -> None:
        if self.live.playing:
            self.live.play(False)

    def set_pace(self, pace: Pace) -> None:
        """How fast the run is shown while it plays."""
        self.live.pace = pace

    def begin(self, what: str, **parts: Any) -> None:
        """A new run (or only a new budget) in place of this one; the old one is kept for Undo."""
        if what == "budget":
            self.live.do(what, lambda runner: runner.limit(parts["budget"]))
            return
        with pn.io.hold():  # Panel may deliver a change without the document's lock
            self._dim(True)
        self.live.do(what, lambda runner: self._new_run(runner, parts), newest_only=True)

    def _new_run(self, runner: Runner, parts: dict[str, Any]) -> tuple[Runner, Snapshot]:
        """Runs in the worker: make the run, and only when its first picture is there put the old one aside.

        `keep` in `parts`: Undo is to bring back the old one although nothing has been run of it.
        """
        keep = parts.pop("keep", False)
        whole = bool({"recipe", "make", "content"} & parts.keys())  # in place of what was turned so far
        preset = parts.pop("preset", "" if whole else runner.preset)
        own_budget = (False if preset else None) if whole else runner.own_budget  # a preset's budget is nobody's own
        recipe = limits.check(next_recipe(runner.session, parts, runner.own_budget))
        made = Runner(begun(recipe), own_budget, preset, runner.choice)
        snapshot = made.snapshot()
        if keep or runner.session.frame.iteration > 0 or not self._before:
            self._put_aside(runner)
        return made, snapshot
