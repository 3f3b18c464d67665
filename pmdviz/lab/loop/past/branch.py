"""A branch and the run that it left, a ghost that goes along: the same seed, and other settings from a moment on."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

import numpy as np

from pmdviz.lab.loop.page_trace import Points
from pmdviz.lab.loop.past.timeline import Timeline
from pmdviz.scenes.columns import EMPTY_LINE
from pmdviz.scenes.past import branch_words, difference_words, ghost_name
from pmdviz.scenes.stage import Pair, Scene

SHARE = 0.15  # of a playing run's time that its ghost may take: less than a fifth of its frames
EVERY_S = 0.25  # its contour is redrawn so often while the run plays
CATCH_UP_S = 0.25  # of steps in one go where the run stands still
LONGEST_S = 1.0  # a pause between two steps that counts as playing time


class GhostMoment(NamedTuple):
    """What is drawn and said of the other run."""

    iteration: int
    name: str  # in the legend
    approximate: dict[str, np.ndarray]  # x, y of the contours of its q, as of `StageColumns`
    points: Points  # of its traces
    words: str  # what differs, and how far each is from the exact posterior
    late: bool  # whether it is still to come to the iteration that is shown


class Branch:
    """Which timeline is the branch, and which one it left at iteration `at`; the ghost is the one not looked at."""

    def __init__(self, at: int, old: Timeline, new: Timeline) -> None:
        self.at, self.old, self.new = at, old, new
        self.ghost = old
        self._kept: tuple[Any, GhostMoment] | None = None
        self._due = self._asked = time.perf_counter()
        self._allowance = 0.0  # seconds

    def copy(self, shown: Timeline) -> Branch:
        """The same branch of timelines of its own, of which `shown` is already a copy of the one that is looked at."""
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

    @property
    def name(self) -> str:
        """What the ghost is called."""
        return ghost_name(self.ghost is self.new)

    def moment(self, shown: Timeline, scene: Scene, pair: Pair, playing: bool) -> GhostMoment:
        """The ghost beside the frame that is looked at: of the same iteration, while it plays of one near it."""
        began = time.perf_counter()
        iteration = shown.session.frame.iteration
        self._keep_up(iteration, playing)
        seen = self.ghost, scene, pair
        fresh = self._kept is not None and self._kept[0] == seen and playing and began < self._due
        if not fresh:
            self.ghost.visit(iteration, roughly=playing)
            self._kept = seen, self._drawn(shown, scene, pair)
            took = time.perf_counter() - began
            self._due = began + max(EVERY_S, took / SHARE)
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
        here, there = ours.recipe.values_at(ours.frame.iteration), its.recipe.values_at(ours.frame.iteration)
        before, after = (here, there) if self.ghost is self.new else (there, here)
        differs = difference_words(ours.knobs.specs(), before, after)
        return GhostMoment(
            iteration=iteration,
            name=self.name,
            approximate=scene.columns(its.frame, pair).approximate if named else EMPTY_LINE,
            points=self.ghost.points(),
            words=branch_words(self.at, differs, ours.frame, its.frame, self.name),
            late=iteration < ours.frame.iteration and not its.done,
        )
