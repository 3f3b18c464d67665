"""Bands over seeds: the whole race again and again in the background, with progress and Cancel."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Any

from pmdviz.errors import InputError, TargetError
from pmdviz.kernels.watch import Cancelled
from pmdviz.lab.background import Background, Tell, follow
from pmdviz.lab.pool import GIVES_WAY, DaemonPool
from pmdviz.lab.race_runner import Setting
from pmdviz.racing import RaceResult, race

TELL_S = 0.3
POINTS = 60  # measured frames of each run
FINE = 10_000  # parts in which a share is told
_pool = DaemonPool(1, "pmdviz-bands", GIVES_WAY)

log = logging.getLogger(__name__)


class Bands:
    """At most one series of races at a time; `tell` is called on the event loop while it runs and once at its end.

    While `pause(True)` nothing is computed: the page is out of sight.
    """

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell, self.words, self.running = tell, "", False
        self._seen = threading.Event()
        self._seen.set()
        self._work: Background | None = None
        self.result: RaceResult | None = None

    @property
    def share(self) -> float:
        """Which share of them is done."""
        return self._work.share if self._work is not None else 0.0

    def begin(self, setting: Setting, seeds: int) -> None:
        """Race `seeds` times with the seeds 0, 1, ..., after letting go of what is under way."""
        self.forget()
        self._work, self.words, self.running = Background(), "waiting for a thread", True
        work = self._work
        work.begin(_pool, lambda tell: self._compute(setting, seeds, work, tell))
        asyncio.get_running_loop().create_task(self._follow(work, seeds))

    def cancel(self) -> None:
        """Let go of what is under way; bands that are there stay."""
        if self.running:
            self._work.cancel()

    def forget(self) -> None:
        """Let go of everything: it belongs to another race."""
        self.cancel()
        self._work, self.result, self.words, self.running = None, None, "", False

    def pause(self, on: bool) -> None:
        """Whether to stand still."""
        (self._seen.clear if on else self._seen.set)()

    async def _follow(self, work: Background, seeds: int) -> None:
        await follow(work, lambda: self._tell_of(work), TELL_S)
        if work is self._work:
            self.running = False
            self.result, self.words = _ended(work, seeds)
            self._tell()

    def _tell_of(self, work: Background) -> None:
        if work is self._work:
            self._tell()

    def _compute(self, setting: Setting, seeds: int, work: Background, tell: Tell) -> RaceResult:
        def progress(share: float, words: str) -> None:
            tell(round(FINE * share), FINE)
            while not self._seen.wait(0.5):
                tell(round(FINE * share), FINE)
            if work is self._work:
                self.words = words

        parts: dict[str, Any] = {"budget": setting.budget, "seeds": seeds, "points": POINTS, "progress": progress}
        return race(setting.entrants, setting.target, setting.options, **parts)


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
