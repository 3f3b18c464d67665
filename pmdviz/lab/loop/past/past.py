"""What a page has run: the timeline that is looked at and, after a branch, the one that was left."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pmdviz.engine.session import Session
from pmdviz.knobs import Knobs
from pmdviz.lab.loop.past.branch import Branch
from pmdviz.lab.loop.past.timeline import Timeline

REPLACED = "The new branch took the place of the earlier one."
ENDED = "The new run ended the branch."


class Past:
    """Going back and forth in time and between two runs. Nothing of it draws."""

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
        """Stand at another iteration of the run so far; roughly: near it where the way there takes long."""
        self.line.visit(max(0, iteration), roughly)

    def branch_off(self, knobs: Knobs) -> None:
        """Before the end of what was run: begin a branch where these are other knobs than those in force.

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

    def keep(self) -> None:
        """The branch is the run from now on."""
        self._end_branch(lambda branch: branch.new)

    def drop(self) -> None:
        """Back to the run that the branch left, where that has come to."""
        self._end_branch(lambda branch: branch.old)

    def _end_branch(self, stays: Callable[[Branch], Timeline]) -> None:
        if self.branch is not None:
            line = stays(self.branch)
            if line is not self.line:
                line.visit(line.last)
            self.branch, self.line = None, line

    def begin(self, act: Callable[[Session], Any], ends_branch: bool) -> None:
        """Start anew, as `act` has the session do."""
        act(self.session)
        self.line.begin(self.session)
        if ends_branch and self.branch is not None:
            self._news, self.branch = ENDED, None

    def limit(self, budget: int | None) -> None:
        """Another budget for all that is run, at least what has been spent."""
        for line in self._lines:
            line.limit(budget)

    def shrink(self, memory_cap: int) -> None:
        """Let go of places to come back to, until those of each run take so many bytes."""
        for line in self._lines:
            line.shrink(memory_cap)
