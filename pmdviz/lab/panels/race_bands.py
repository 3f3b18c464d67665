"""Bands over seeds: the whole race again and again in the background, with progress and Cancel."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

from pmdviz.experiments.race import RaceRecipe, RaceResult, race
from pmdviz.lab.loop.task import Slices, Task, TaskSlot, Tell

TELL_S = 0.3
POINTS = 60  # measured frames of each run
FINE = 10_000  # parts in which a share is told
_pool = Slices("pmdviz-bands")


class Bands(TaskSlot):
    """At most one series of races at a time. While `pause(True)` nothing is computed: the page is out of sight."""

    def __init__(self, tell: Callable[[], None]) -> None:
        super().__init__(tell, TELL_S)
        self.words, self._seeds = "", 0
        self._seen = threading.Event()
        self._seen.set()
        self.result: RaceResult | None = None

    def race(self, recipe: RaceRecipe, seeds: int) -> None:
        """Race `seeds` times with the seeds 0, 1, ..., after letting go of what is under way."""
        self.forget()
        self.words, self._seeds = "waiting for a thread", seeds
        task, many = Task(), replace(recipe, seeds=tuple(range(seeds)), points=POINTS)
        self.follow(task, self._ended)
        task.begin(_pool, lambda tell: self._compute(many, task, tell))

    def forget(self) -> None:
        """Let go of everything: it belongs to another race."""
        self.let_go()
        self.result, self.words = None, ""

    def pause(self, on: bool) -> None:
        """Whether to stand still."""
        (self._seen.clear if on else self._seen.set)()

    def _ended(self, task: Task) -> None:
        found = task.outcome("they stopped with {kind}: {error}")
        self.result = found.result
        if found.error is None:
            self.words = f"Bands: the middle 80 % of {self._seeds} seeds"
        else:
            self.words = "Cancelled: no bands" if found.cancelled else f"No bands: {found.words}"

    def _compute(self, recipe: RaceRecipe, task: Task, tell: Tell) -> RaceResult:
        def progress(share: float, words: str) -> None:
            tell(round(FINE * share), FINE)
            while not self._seen.wait(0.5):
                tell(round(FINE * share), FINE)
            if task is self.task:
                self.words = words

        return race(recipe, progress=progress)
