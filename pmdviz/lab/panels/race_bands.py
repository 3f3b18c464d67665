"""Bands over seeds: the whole race again and again in the background, with progress and Cancel."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import replace

from pmdviz.errors import InputError, TargetError
from pmdviz.experiments.race import RaceRecipe, RaceResult, race
from pmdviz.kernels.pool import Cancelled
from pmdviz.lab.loop.background import Background, OneAtATime, Slices, Tell

TELL_S = 0.3
POINTS = 60  # measured frames of each run
FINE = 10_000  # parts in which a share is told
_pool = Slices("pmdviz-bands")

log = logging.getLogger(__name__)


class Bands(OneAtATime):
    """At most one series of races at a time. While `pause(True)` nothing is computed: the page is out of sight."""

    def __init__(self, tell: Callable[[], None]) -> None:
        super().__init__(tell, TELL_S)
        self.words, self._seeds = "", 0
        self._seen = threading.Event()
        self._seen.set()
        self.result: RaceResult | None = None

    def begin(self, recipe: RaceRecipe, seeds: int) -> None:
        """Race `seeds` times with the seeds 0, 1, ..., after letting go of what is under way."""
        self.forget()
        self.words, self._seeds = "waiting for a thread", seeds
        work, many = Background(), replace(recipe, seeds=tuple(range(seeds)), points=POINTS)
        self.follow(work)
        work.begin(_pool, lambda tell: self._compute(many, work, tell))

    def forget(self) -> None:
        """Let go of everything: it belongs to another race."""
        self.let_go()
        self.result, self.words = None, ""

    def pause(self, on: bool) -> None:
        """Whether to stand still."""
        (self._seen.clear if on else self._seen.set)()

    def ended(self, work: Background) -> None:
        """Keep the bands, or say why there are none."""
        self.result, self.words = _ended(work, self._seeds)

    def _compute(self, recipe: RaceRecipe, work: Background, tell: Tell) -> RaceResult:
        def progress(share: float, words: str) -> None:
            tell(round(FINE * share), FINE)
            while not self._seen.wait(0.5):
                tell(round(FINE * share), FINE)
            if work is self._work:
                self.words = words

        return race(recipe, progress=progress)


def _ended(work: Background, seeds: int) -> tuple[RaceResult | None, str]:
    """The result, and what to say of it."""
    try:
        return work.result(), f"Bands: the middle 80 % of {seeds} seeds"
    except Cancelled:
        return None, "Cancelled: no bands"
    except (InputError, TargetError) as error:
        return None, f"No bands: {error}"
    except Exception as error:  # a target's own function may raise anything
        log.info("bands stopped", exc_info=True)
        return None, f"No bands: they stopped with {type(error).__name__}: {error}"
