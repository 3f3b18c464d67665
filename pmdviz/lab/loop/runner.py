"""A session as the live loop sees it: every act runs in a worker thread and returns one snapshot to draw."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from pmdviz.engine.history import History
from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.run import Run
from pmdviz.engine.session import Frame, Session
from pmdviz.knobs import Knobs
from pmdviz.lab.loop import limits
from pmdviz.lab.loop.forecast import step_seconds
from pmdviz.lab.loop.glide import origins
from pmdviz.lab.loop.page_trace import PageTrace, Points
from pmdviz.scenes import data_columns
from pmdviz.scenes.columns import StageColumns
from pmdviz.scenes.marks import Mark, knob_marks, step_marks
from pmdviz.scenes.stage import Pair, Scene, SceneChoice
from pmdviz.scenes.trace_columns import GROUPS, columns_due, first_group

SHARE_S = 0.1  # several iterations go into one frame only while they take less than this


class Snapshot(NamedTuple):
    """All that the event loop needs to draw; plain values, computed in the worker."""

    frame: Frame
    scene: Scene
    pair: Pair
    columns: StageColumns
    measured: History  # rows of the run so far, whoever looked
    points: Points  # of the traces: those rows, and one for every frame that was drawn
    traces: str  # the group of traces whose metrics the drawn frames have
    marks: tuple[Mark, ...]
    pending: dict[str, str]
    recipe: Recipe
    done: bool
    ended: str  # why the method has no next step, in words; "" while it has
    step_seconds: float  # of the slowest of the last iterations
    data: data_columns.DataMoment | None = None  # where the picture of the data is looked at
    origins: np.ndarray | None = None  # of the dots, see `glide.origins`; None where they cannot be followed
    preset: str = ""  # name of the preset that the run began with, although its knobs may have been turned since

    @property
    def metrics(self) -> dict[str, float | None]:
        """All of the frame, computed when somebody asks."""
        return self.frame.metrics

    @property
    def history(self) -> dict[str, np.ndarray]:
        """The measured history, with the present frame's row as its last."""
        return self.measured.ending_with(self.frame.row()).columns

    @property
    def trace(self) -> dict[str, np.ndarray]:
        """The points of the traces looked at."""
        return self.points.of(GROUPS[self.traces].metrics)

    @property
    def run(self) -> Run:
        """The run so far, with the present frame alone."""
        return Run(self.recipe, self.frame.target, [self.frame], self.history)

    @property
    def in_force(self) -> dict[str, Any]:
        """The knobs that the picture was drawn with."""
        return self.frame.knobs.as_dict()


class Runner:
    """Owns a session. Its methods are called by one thread at a time and never on the event loop.

    `own_budget`: whether a person has set the budget; by default whether it is another than the recipe's usual one.
    `preset`: the name of the one that the run began with, "" for none.
    """

    def __init__(
        self,
        start: Recipe | Session,
        own_budget: bool | None = None,
        preset: str = "",
        choice: SceneChoice = SceneChoice(),  # noqa: B008, a value
    ) -> None:
        self.session = start if isinstance(start, Session) else Session(start)
        self.preset, recipe = preset, self.session.recipe
        self.own_budget = recipe.budget != limits.usual_budget(recipe) if own_budget is None else own_budget
        self.choice, self.with_data, self.traces = choice, False, ""
        self.wanted = threading.Event()  # cleared by Pause: the present batch of iterations ends after this one
        self.wanted.set()
        self._events: list[Mark] = []
        self.trace = PageTrace()
        self._slowest = 0.0

    @property
    def foretold(self) -> float:
        """CPU seconds that a step may take, by its knobs alone."""
        return step_seconds(self.session.knobs, self.session.target)

    @property
    def iteration(self) -> int:
        """Where the run stands."""
        return self.session.frame.iteration

    def snapshot(self, before: Frame | None = None) -> Snapshot:
        """The present moment, with everything heavy computed; `before` is the frame that it follows, where it plays."""
        session = self.session
        frame = session.frame
        traces = self.traces or first_group(GROUPS.of(frame.target, frame.method))
        self.trace.put(frame, session.recipe, columns_due(GROUPS[traces]))
        scene, pair = self.choice.of(frame.target, frame.method)
        return Snapshot(
            frame=frame,
            scene=scene,
            pair=pair,
            columns=scene.columns(frame, pair),
            measured=session.history.copy(),
            points=self.trace.points(session.history.kept_columns()),
            traces=traces,
            marks=tuple(self._marks()),
            pending=session.pending,
            recipe=session.recipe,
            done=session.done,
            ended=session.ended,
            step_seconds=self._slowest,
            data=data_columns.moment(frame) if self.with_data and data_columns.applies(frame.target) else None,
            origins=origins(before, frame) if before is not None and scene.shows_theta else None,
            preset=self.preset,
        )

    def advance(self, iterations: int = 1) -> Snapshot:
        """Up to so many iterations: fewer at the end of the budget, on Pause, or when they take long."""
        began, self._slowest, first = time.perf_counter(), 0.0, self.session.frame
        for _ in range(iterations):
            if self.session.done:
                break
            before = time.perf_counter()
            self._note(self.session.advance(1))
            self._slowest = max(self._slowest, time.perf_counter() - before)
            if not self.wanted.is_set() or time.perf_counter() - began > SHARE_S:
                break
        return self.snapshot(first)

    def go(self, iteration: int) -> bool:
        """Forward to `iteration` for one turn; whether it is there, or at the end of the run, which may come first."""
        began, session = time.perf_counter(), self.session
        while session.frame.iteration < iteration and not session.done:
            self._note(session.advance(1))
            if time.perf_counter() - began > SHARE_S:
                break
        return session.frame.iteration >= iteration or session.done

    def take(self, other: Runner) -> None:
        """Stand where `other` stands, with its past; from now on each goes its own way."""
        self.session, self._events = other.session.copy(), [*other._events]

    def set(self, values: Mapping[str, Any], kind: type[Knobs] | None = None) -> Snapshot:
        """Set knobs to values that were checked as those of `kind`.

        Others are checked here, as are those of a form whose method has been left meanwhile. Raises InputError and
        changes nothing where a value cannot be used.
        """
        now = self.session.knobs
        wanted = now.changed(values) if type(now) is kind else now.replaced(**values)
        limits.check_knobs(wanted, self.session.target)
        self.session.set_all(wanted)
        return self.snapshot()

    def look_at(self, choice: SceneChoice) -> Snapshot:
        """Another picture of the same moment."""
        self.choice = choice
        return self.snapshot()

    def look_at_data(self, on: bool) -> Snapshot:
        """The same moment with the picture of the data, or from now on without it."""
        self.with_data = on
        return self.snapshot()

    def look_at_traces(self, group: str) -> Snapshot:
        """The same moment, and from now on every drawn frame, with the metrics of these traces (a key of GROUPS)."""
        self.traces = group
        return self.snapshot()

    def restart(self) -> Snapshot:
        """Iteration 0 with the knobs as they are."""
        self.session.restart()
        return self._begun()

    def replay(self) -> Snapshot:
        """Iteration 0 of the same recipe; its changes come again."""
        self.session.replay()
        return self._begun()

    def reseed(self) -> Snapshot:
        """Iteration 0 with a fresh seed."""
        self.session.reseed()
        return self._begun()

    def back(self) -> Snapshot:
        """One iteration back."""
        self.session.seek(max(self.session.frame.iteration - 1, 0))
        return self.snapshot()

    def limit(self, budget: int | None) -> Snapshot:
        """Another data budget, at least what has been visited."""
        limits.check_budget(budget)
        self.own_budget = True
        self.session.limit(budget if budget is None else max(budget, self.session.frame.spent))
        return self.snapshot()

    def proceed(self) -> Snapshot:
        """The budget and as much again as the run was given at first."""
        limits.check_budget(2 * self.session.recipe.budget)
        self.session.extend(self.session.recipe.budget)
        return self.snapshot()

    def _begun(self) -> Snapshot:
        self._events.clear()
        return self.snapshot()

    def _note(self, frame: Frame) -> None:
        while self._events and self._events[-1].iteration >= frame.iteration:
            self._events.pop()
        self._events += step_marks(frame)

    def _marks(self) -> list[Mark]:
        now = self.session.frame.iteration
        marks = [mark for mark in self._events[-1000:] if mark.iteration <= now]
        return marks + knob_marks(self.session.recipe.changes, self.session.history.kept_columns(), now)
