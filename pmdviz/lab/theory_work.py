"""What the Theory page measures, in the background: one piece of work at a time on a server, in worker processes."""

from __future__ import annotations

import asyncio
import html
import logging
from collections.abc import Callable
from concurrent.futures import CancelledError, Future
from threading import Event
from typing import Any

from pmdviz.errors import InputError
from pmdviz.lab.export_work import Cancelled
from pmdviz.lab.pool import GIVES_WAY, DaemonPool
from pmdviz.views.words import count

LOOK_EVERY_S = 0.4
WAITING = "Waiting: this server does one measurement after the other"
_pool = DaemonPool(1, "pmdviz-theory", GIVES_WAY)

log = logging.getLogger(__name__)


class Measurement:
    """One piece of work under way; `act(tell)` does it and calls `tell(done, total)`, which raises Cancelled."""

    def __init__(self, act: Callable[[Callable[[int, int], None]], Any], unit: str) -> None:
        self._stop, self._unit = Event(), unit
        self.done = self.total = 0
        self._future: Future = _pool.submit(act, self._tell)

    def _tell(self, done: int, total: int) -> None:
        if self._stop.is_set():
            raise Cancelled
        self.done, self.total = done, total

    @property
    def over(self) -> bool:
        """Whether it has ended, in whatever way."""
        return self._stop.is_set() or self._future.done()

    @property
    def short(self) -> str:
        """How far it is, for the tab: what one sees from every page."""
        return f"{count(self.done)} of {count(self.total)}" if self.total else "waiting"

    @property
    def words(self) -> str:
        """How far it is."""
        return f"{self.short} {self._unit}" if self.total else WAITING

    def cancel(self) -> None:
        """End it: nobody wants the result."""
        self._stop.set()
        self._future.cancel()

    def result(self) -> Any:
        """What came out. Raises Cancelled, or what went wrong."""
        if self._stop.is_set():
            raise Cancelled
        try:
            return self._future.result()
        except CancelledError as error:
            raise Cancelled from error


async def follow(work: Measurement, look: Callable[[], None]) -> tuple[Any, str]:
    """Call `look` now and then until the work is over; its result, and in words why there is none."""
    while not work.over:
        await asyncio.sleep(LOOK_EVERY_S)
        look()
    try:
        return work.result(), ""
    except Cancelled:
        return None, "Cancelled; what was measured stays."
    except InputError as error:
        return None, str(error)
    except Exception as error:  # a library of the workers may fail in its own way
        log.warning("a measurement stopped", exc_info=True)
        return None, f"It stopped: {error}"


def status(words: str) -> str:
    """A line that a screen reader says when it changes."""
    return f'<span role="status" class="pmdviz-theory-status">{html.escape(words)}</span>'
