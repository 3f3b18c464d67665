"""What the Theory page measures, in the background: one piece of work at a time on a server, in worker processes."""

from __future__ import annotations

import html
import logging
from collections.abc import Callable
from typing import Any

from pmdviz.errors import InputError
from pmdviz.kernels.cancel import Cancelled
from pmdviz.lab.loop.background import Background, Tell
from pmdviz.lab.loop.pool import GIVES_WAY, DaemonPool
from pmdviz.scenes.words import count

LOOK_EVERY_S = 0.4
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


def outcome(work: Measurement) -> tuple[Any, str]:
    """The result, and in words why there is none."""
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
