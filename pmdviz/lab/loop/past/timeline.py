"""A run with all that was made of it so far, and the place in it where one stands. Going back loses nothing."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable

from pmdviz.engine.frame import Frame
from pmdviz.engine.session import Session
from pmdviz.lab.loop.page_trace import PageTrace, Points
from pmdviz.scenes.marks import Mark, knob_marks, step_marks

ROUGH_S = 0.1  # of computing: while one drags, a place that is further from a kept frame is shown by that frame
MOST_MARKS = 1000


class Timeline:
    """Two sessions of one recipe: `head` has gone furthest, `session` is looked at; often they are the same one.

    A place behind the head is a copy of the head that went back to a kept frame and made the steps from there again:
    the same bits, whoever looked where before. Once it has come as far as the head, it is the head.
    """

    def __init__(self, session: Session, events: Iterable[Mark] = (), trace: PageTrace | None = None) -> None:
        self.head = self.session = session
        self.trace = trace or PageTrace()
        self._events = [*events]

    @property
    def last(self) -> int:
        """The iteration that the run has come to."""
        return self.head.frame.iteration

    @property
    def behind(self) -> bool:
        """Whether one stands before the end of what was run."""
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
        """One iteration, of which the run so far knows already or not."""
        if self.behind:
            self.session.advance(1)
            self._arrive()
        else:
            self._note(self.session.advance(1))
        return self.session.frame

    def grow(self, iteration: int, seconds: float) -> None:
        """Take the head on to `iteration`, or as far as it comes in so many seconds."""
        began = time.perf_counter()
        while self.last < iteration and not self.head.done and time.perf_counter() - began < seconds:
            self._note(self.head.advance(1))

    def visit(self, iteration: int, roughly: bool = False) -> None:
        """Stand at `iteration`, or at the end of the run where that comes first.

        Roughly: at the kept frame before it where the steps from there would take long.
        """
        if iteration >= self.last:
            self.session = self.head
        elif roughly and self.seconds_to(iteration) > ROUGH_S:
            self.session = _sought(self.head, self.head.kept_at(iteration))
        else:
            self.session = self._stepped_to(iteration)

    def seconds_to(self, iteration: int) -> float:
        """What the steps from the last kept frame take, by the mean of those that were made."""
        steps = iteration - self.head.kept_at(iteration)
        return steps * self.head.frame.seconds / max(self.last, 1)

    def _stepped_to(self, iteration: int) -> Session:
        """A session that came to `iteration` by a step, which a kept frame does not tell in full."""
        before = max(iteration - 1, 0)
        here = self.session.frame.iteration
        near = self.behind and self.head.kept_at(before) <= here <= before
        made = _sought(self.session if near else self.head, before)
        made.advance(iteration - before)
        return made

    def _arrive(self) -> None:
        if self.session.frame.iteration >= self.last:
            self.session = self.head

    def begin(self, session: Session) -> None:
        """A new start: the run so far is that of `session`, which has one frame."""
        self.head = self.session = session
        self._events.clear()

    def limit(self, budget: int | None) -> None:
        """Another budget, at least what has been spent."""
        most = budget if budget is None else max(budget, self.head.frame.spent)
        for session in {id(one): one for one in (self.head, self.session)}.values():
            session.limit(most)

    def shrink(self, memory_cap: int) -> None:
        """Let go of places to come back to, until those of each session take so many bytes."""
        self.head.shrink(memory_cap)
        self.session.shrink(memory_cap)

    def points(self, due: Collection[str] | None = None) -> Points:
        """The points of the traces of the whole run so far; with `due` the present frame of the head is one of them."""
        if due is not None and not self.behind:
            self.trace.put(self.head.frame, self.head.recipe, due)
        return self.trace.points(self.head.history.kept_columns())

    def marks(self) -> list[Mark]:
        """What happened in the whole run so far."""
        marks = self._events_up_to(self.last)[-MOST_MARKS:]
        return marks + knob_marks(self.head.recipe.changes, self.head.history.kept_columns(), self.last)

    def _events_up_to(self, iteration: int) -> list[Mark]:
        return [mark for mark in self._events if mark.iteration <= iteration]

    def _note(self, frame: Frame) -> None:
        while self._events and self._events[-1].iteration >= frame.iteration:
            self._events.pop()
        self._events += step_marks(frame)


def _sought(session: Session, iteration: int) -> Session:
    made = session.copy()
    made.seek(iteration)
    return made
