"""What the Theory page measures, in the background: one piece of work at a time on a server, in worker processes."""

from __future__ import annotations

import asyncio
import html
import logging
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from pmdviz.errors import InputError
from pmdviz.kernels.cancel import Cancelled
from pmdviz.lab.loop.background import POLL_S, Background, Tell
from pmdviz.lab.loop.pool import GIVES_WAY, DaemonPool
from pmdviz.scenes.words import count

LOOK_EVERY_S = 0.4
BACK_S = 3.0  # a cancelled thread is waited for so long
WAITING = "Waiting: this server does one measurement after the other"
_pool = DaemonPool(1, "pmdviz-theory", GIVES_WAY)

log = logging.getLogger(__name__)


class Measurement(Background):
    """One piece of work under way; `act(tell)` does it, `unit` says what it counts."""

    def __init__(self, act: Callable[[Tell], Any], unit: str) -> None:
        super().__init__()
        self._unit = unit
        self.begin(_pool, act)

    @property
    def short(self) -> str:
        """How far it is, for the tab: what one sees from every page."""
        return f"{count(self.done)} of {count(self.total)}" if self.total else "waiting"

    @property
    def words(self) -> str:
        """How far it is."""
        return f"{self.short} {self._unit}" if self.total else WAITING


class Outcome(NamedTuple):
    """The result, and in words why there is none, and the error that says it."""

    result: Any
    words: str = ""
    error: BaseException | None = None


def outcome(work: Measurement) -> Outcome:
    """What came of a piece of work that is over."""
    try:
        return Outcome(work.result())
    except Cancelled as error:
        return Outcome(None, "Cancelled; what was measured stays.", error)
    except InputError as error:
        return Outcome(None, sentence(error.on_page), error)
    except Exception as error:  # a library of the workers may fail in its own way
        log.warning("a measurement stopped", exc_info=True)
        return Outcome(None, f"It stopped: {error}", error)


async def returned(work: Measurement) -> None:
    """Wait until the thread of a cancelled piece of work is back, but not for long: it may have more to show."""
    end = time.monotonic() + BACK_S
    while work.running and time.monotonic() < end:
        await asyncio.sleep(POLL_S)


def sentence(words: str) -> str:
    """The words of an error as a sentence."""
    return f"{words[:1].upper()}{words[1:]}{'' if words.endswith('.') else '.'}"


def status(words: str) -> str:
    """A line that a screen reader says when it changes."""
    return f'<span role="status" class="pmdviz-theory-status">{html.escape(words)}</span>'
