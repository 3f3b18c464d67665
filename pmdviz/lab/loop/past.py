"""The past of a run: its traces, the time line, the iteration that is shown, and the run that a branch started from."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable
from typing import NamedTuple

import numpy as np

from pmdviz.engine.frame import Frame
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.methods import MethodKnobs
from pmdviz.scenes import trace_columns
from pmdviz.scenes.columns import EMPTY_LINE
from pmdviz.scenes.stage import Pair, Scene
from pmdviz.scenes.trace_columns import Mark, RunTrace, TracePoints

# The time line.

ROUGH_S = 0.1  # of computing: while one drags, a place that is further from a kept frame is shown by that frame
MAX_MARKS = 1000


class Timeline:
    """Two sessions of one recipe: `head` has gone furthest, `session` is looked at; often they are the same one.

    A place behind the head is a copy of the head that went back to a kept frame and made the steps from there again:
    the same bits, independently of where they were viewed before. Once it has come as far as the head, it is the head.
    """

    def __init__(self, session: Session, events: Iterable[Mark] = (), trace: RunTrace | None = None) -> None:
        self.head = self.session = session
        self.trace = trace or RunTrace()
        self._events = [*events]

    @property
    def last(self) -> int:
        """The iteration that the run has come to."""
        return self.head.frame.iteration

    @property
    def behind(self) -> bool:
        """Whether one stands before the end of the run so far."""
        return self.session is not self.head

    def copy(self) -> Timeline:
        """Another one with the same past; from now on each goes its own way."""
        twin = Timeline(self.head.copy(), self._events, self.trace.copy())
        if self.behind:
            twin.session = self.session.copy()
        return twin

    def branched(self) -> Timeline:
        """One that ends where this one stands now."""
        return Timeline(self.session.copy(), self._events_up_to(self.session.frame.iteration), self.trace.copy())

    def advance(self) -> Frame:
        """One iteration, inside the run so far or beyond it."""
        if self.behind:
            self.session.advance(1)
            if self.session.frame.iteration >= self.last:
                self.session = self.head
        else:
            self._note(self.session.advance(1))
        return self.session.frame

    def grow(self, iteration: int, seconds: float) -> None:
        """Take the head on to `iteration`, or as far as it comes in so many seconds."""
        began = time.perf_counter()
        while self.last < iteration and not self.head.done and time.perf_counter() - began < seconds:
            self._note(self.head.advance(1))

    def visit(self, iteration: int, roughly: bool = False) -> None:
        """Go to `iteration`, or to the end of the run where that comes first.

        Roughly: at the kept frame before it where the steps from there would take long.
        """
        if iteration >= self.last:
            self.session = self.head
        elif roughly and self.seconds_to(iteration) > ROUGH_S:
            self.session = _sought(self.head, self.head.kept.at(iteration))
        else:
            self.session = self._stepped_to(iteration)

    def seconds_to(self, iteration: int) -> float:
        """What the steps from the last kept frame take, by the mean of those that were made."""
        return (iteration - self.head.kept.at(iteration)) * self.head.frame.seconds / max(self.last, 1)

    def _stepped_to(self, iteration: int) -> Session:
        """A session that came to `iteration` by a step, which a kept frame does not tell in full."""
        before = max(iteration - 1, 0)
        here = self.session.frame.iteration
        near = self.behind and self.head.kept.at(before) <= here <= before
        made = _sought(self.session if near else self.head, before)
        made.advance(iteration - before)
        return made

    def begin(self, session: Session) -> None:
        """A new start: the run so far belongs to `session`, which has one frame."""
        self.head = self.session = session
        self._events.clear()

    def limit(self, budget: int | None) -> None:
        """Another budget, at least the spent part."""
        most = budget if budget is None else max(budget, self.head.frame.spent)
        for session in {id(one): one for one in (self.head, self.session)}.values():
            session.limit(most)

    def points(self, due: Collection[str] | None = None) -> TracePoints:
        """The points of the traces of the whole run so far; with `due` the present frame of the head is one of them."""
        if due is not None and not self.behind:
            self.trace.put(self.head.frame, self.head.recipe, due)
        return self.trace.points(self.head.history.kept_columns())

    def marks(self) -> list[Mark]:
        """What happened in the whole run so far."""
        marks = self._events_up_to(self.last)[-MAX_MARKS:]
        return marks + trace_columns.knob_marks(self.head.recipe.changes, self.head.history.kept_columns(), self.last)

    def _events_up_to(self, iteration: int) -> list[Mark]:
        return [mark for mark in self._events if mark.iteration <= iteration]

    def _note(self, frame: Frame) -> None:
        while self._events and self._events[-1].iteration >= frame.iteration:
            self._events.pop()
        self._events += trace_columns.step_marks(frame)


def _sought(session: Session, iteration: int) -> Session:
    made = session.copy()
    made.seek(iteration)
    return made


# A branch and the run that it left, a ghost that goes along: the same seed, and other settings from a moment on.

SHARE = 0.15  # of a playing run's time that its ghost may take: less than a fifth of its frames
EVERY_S = 0.25  # its contour is redrawn so often while the run plays
CATCH_UP_S = 0.25  # of steps in one go where the run stands still
LONGEST_S = 1.0  # a pause between two steps that counts as playing time


class GhostMoment(NamedTuple):
    """The picture and words of the other run."""

    iteration: int
    name: str  # in the legend
    approximate: dict[str, np.ndarray]  # x, y of the contours of its q, as of `StageColumns`
    points: TracePoints  # of its traces
    words: str  # what differs, and how far each is from the exact posterior
    recipe: Recipe
    late: bool  # whether it is still to come to the iteration that is shown


class Branch:
    """Which timeline is the branch, and which one it left at iteration `at`; the ghost is the one not looked at."""

    def __init__(self, at: int, old: Timeline, new: Timeline) -> None:
        self.at, self.old, self.new = at, old, new
        self.ghost = old
        self._kept: tuple[tuple[Timeline, Scene, Pair], GhostMoment] | None = None
        self._due = self._asked = time.perf_counter()
        self._allowance = 0.0  # seconds

    def copy(self, shown: Timeline) -> Branch:
        """The same branch of timelines of its own; `shown` is already a copy of the one that is looked at."""
        other, swapped = self.ghost.copy(), self.ghost is self.new
        twin = Branch(self.at, shown if swapped else other, other if swapped else shown)
        twin.ghost = other
        return twin

    def swap(self) -> Timeline:
        """The two change places; the one that is looked at from now on."""
        shown = self.ghost
        self.ghost = self.new if shown is self.old else self.old
        self._kept = None
        return shown

    def moment(self, shown: Timeline, scene: Scene, pair: Pair, playing: bool) -> GhostMoment:
        """The ghost of the frame that is looked at: of the same iteration, while it plays of one near it."""
        began = time.perf_counter()
        iteration = shown.session.frame.iteration
        self._keep_up(iteration, playing)
        seen = self.ghost, scene, pair
        fresh = self._kept is not None and self._kept[0] == seen and playing and began < self._due
        if not fresh:
            self.ghost.visit(iteration, roughly=playing)
            self._kept = seen, self._drawn(shown, scene, pair)
            self._due = began + max(EVERY_S, (time.perf_counter() - began) / SHARE)
        made = self._kept[1]
        return made if not fresh else made._replace(points=self.ghost.points())

    def _keep_up(self, iteration: int, playing: bool) -> None:
        """Make the steps that the ghost has not made yet: while it plays in a share of the time."""
        now = time.perf_counter()
        self._allowance = min(LONGEST_S, self._allowance + SHARE * min(now - self._asked, LONGEST_S))
        self._asked = now
        self.ghost.grow(iteration, self._allowance if playing else CATCH_UP_S)
        if playing:
            self._allowance -= time.perf_counter() - now

    def _drawn(self, shown: Timeline, scene: Scene, pair: Pair) -> GhostMoment:
        ours, its = shown.session, self.ghost.session
        iteration = its.frame.iteration
        named = "approximate" in scene.words(its.method)
        values = [session.recipe.values_at(ours.frame.iteration) for session in (ours, its)]
        before_and_after = values if self.ghost is self.new else values[::-1]
        differs = trace_columns.difference_words(ours.knobs.specs(), *before_and_after)
        name = trace_columns.BRANCH if self.ghost is self.new else trace_columns.GHOST
        line = scene.columns(its.frame, pair).approximate if named else EMPTY_LINE
        words = trace_columns.branch_words(self.at, differs, ours.frame, its.frame, name)
        late = iteration < ours.frame.iteration and not its.done
        return GhostMoment(iteration, name, line, self.ghost.points(), words, its.recipe, late)


# What a page has run: the timeline that is looked at and, after a branch, the one that was left.

REPLACED = "The new branch took the place of the earlier one."
ENDED = "The new run ended the branch."


class Past:
    """Going back and forth in time and between two runs, without drawing."""

    def __init__(self, session: Session) -> None:
        self.line = Timeline(session)
        self.branch: Branch | None = None
        self._news = ""

    @property
    def session(self) -> Session:
        """The session that is looked at."""
        return self.line.session

    @property
    def _lines(self) -> tuple[Timeline, ...]:
        return (self.line, self.branch.ghost) if self.branch else (self.line,)

    def take_news(self) -> str:
        """What became of a branch since this was last asked, in a sentence; "" for nothing."""
        news, self._news = self._news, ""
        return news

    def copy(self) -> Past:
        """Another one that stands here, to come back to."""
        twin = Past.__new__(Past)
        twin.line, twin._news = self.line.copy(), ""  # noqa: SLF001, of the same class
        twin.branch = self.branch and self.branch.copy(twin.line)
        return twin

    def visit(self, iteration: int, roughly: bool = False) -> None:
        """Go to another iteration of the run so far; roughly: near it where the way there takes long."""
        self.line.visit(max(0, iteration), roughly)

    def branch_off(self, knobs: MethodKnobs) -> None:
        """Before the end of the run so far: begin a branch where these are other knobs than those in force.

        Raises InputError and changes nothing where they do not go with the target.
        """
        if knobs != self.session.knobs:
            made = self.line.branched()
            made.session.set_all(knobs)
            self._leave_for(made)

    def what_if(self) -> None:
        """A branch from here on, in which no setting differs yet."""
        self._leave_for(self.line.branched())

    def _leave_for(self, made: Timeline) -> None:
        self._news = REPLACED if self.branch else ""
        self.branch, self.line = Branch(made.last, self.line, made), made

    def swap(self) -> None:
        """The branch and the run that it left change places."""
        if self.branch is not None:
            at, self.line = self.session.frame.iteration, self.branch.swap()
            self.line.visit(at)

    def end_branch(self, keep: bool) -> None:
        """The branch is the run from now on; or back to the run that it left, where that has come to."""
        if self.branch is not None:
            line = self.branch.new if keep else self.branch.old
            if line is not self.line:
                line.visit(line.last)
            self.branch, self.line = None, line

    def begin(self, act: Callable[[Session], Frame], ends_branch: bool) -> None:
        """Restart, as `act` has the session do."""
        act(self.session)
        self.line.begin(self.session)
        if ends_branch and self.branch is not None:
            self._news, self.branch = ENDED, None

    def limit(self, budget: int | None) -> None:
        """Another budget for all that is run, at least the spent part."""
        for line in self._lines:
            line.limit(budget)

    def shrink(self, memory_cap: int) -> None:
        """Let go of places to come back to, until each session's take so many bytes."""
        for session in (each for line in self._lines for each in (line.head, line.session)):
            session.kept.shrink(memory_cap)
