"""Bands over seeds: the whole race again and again in the background, with progress and Cancel."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable
from typing import Any

from pmdviz.errors import InputError, TargetError
from pmdviz.kernels.watch import Cancelled, Watch, watched
from pmdviz.lab.pool import GIVES_WAY, DaemonPool
from pmdviz.lab.race_runner import Setting
from pmdviz.racing import RaceResult, race

TELL_S = 0.3
POINTS = 60  # measured frames of each run
_pool = DaemonPool(1, "pmdviz-bands", GIVES_WAY)

log = logging.getLogger(__name__)


class Bands:
    """At most one series of races at a time; `tell` is called on the event loop while it runs and once at its end.

    While `pause(True)` nothing is computed: the page is out of sight.
    """

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell, self._watch = tell, Watch()
        self._seen = threading.Event()
        self._seen.set()
        self.running, self.share, self.words = False, 0.0, ""
        self.result: RaceResult | None = None

    def begin(self, setting: Setting, seeds: int) -> None:
        """Race `seeds` times with the seeds 0, 1, ..., after letting go of what is under way."""
        self.forget()
        self._watch, self.running, self.share, self.words = Watch(), True, 0.0, "waiting for a thread"
        asyncio.get_running_loop().create_task(self._follow(setting, seeds, self._watch))

    def cancel(self) -> None:
        """Let go of what is under way; bands that are there stay."""
        self._watch.cancel()

    def forget(self) -> None:
        """Let go of everything: it belongs to another race."""
        self._watch.cancel()
        self._watch = Watch()
        self.running, self.result, self.words = False, None, ""

    def pause(self, on: bool) -> None:
        """Whether to stand still."""
        (self._seen.clear if on else self._seen.set)()

    async def _follow(self, setting: Setting, seeds: int, watch: Watch) -> None:
        work = asyncio.get_running_loop().run_in_executor(_pool, self._compute, setting, seeds, watch)
        while not work.done():
            await asyncio.wait({work}, timeout=TELL_S)
            if watch is self._watch and not work.done():
                self._tell()
        if watch is self._watch:
            self.running = False
            self.result, self.words = _ended(work, seeds)
            self._tell()

    def _compute(self, setting: Setting, seeds: int, watch: Watch) -> RaceResult:
        def progress(share: float, words: str) -> None:
            while not self._seen.wait(0.5):
                watch.check(share)
            watch.check(share)
            if watch is self._watch:
                self.share, self.words = share, words

        watch.check(0.0)
        parts: dict[str, Any] = {"budget": setting.budget, "seeds": seeds, "points": POINTS, "progress": progress}
        with watched(watch):
            return race(setting.entrants, setting.target, setting.options, **parts)


def _ended(work: Any, seeds: int) -> tuple[RaceResult | None, str]:
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
