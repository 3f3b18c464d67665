"""Work of which only the newest matters: one piece is under way, of those asked for meanwhile the last one waits."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any, NamedTuple

from bokeh.document import Document

from pmdviz.errors import InputError, TargetError
from pmdviz.lab.loop.jobs import log_failure
from pmdviz.lab.loop.locked import locked
from pmdviz.lab.loop.pool import pool_for

log = logging.getLogger(__name__)


class Asked(NamedTuple):
    """What is to be done by a thread, and who is told what came out of it."""

    act: Callable[[], Any]
    tell: Callable[[Any], None]


class Newest:
    """`ask` on the event loop; `tell` and `failed` are called there, with the document's lock.

    `seconds` says how many CPU seconds a piece is expected to take: a long one is in nobody's way.
    """

    def __init__(self, seconds: float, failed: Callable[[str], None]) -> None:
        self._seconds, self._failed = seconds, failed
        self._waits: Asked | None = None
        self._task: asyncio.Task | None = None
        self._doc: Document | None = None

    def start(self, doc: Document | None) -> None:
        """Draw in this document from now on."""
        self._doc = doc

    def ask(self, act: Callable[[], Any], tell: Callable[[Any], None]) -> None:
        """Have `act()` done by a thread and `tell` told of what it gives, unless something newer is asked for first."""
        self._waits = Asked(act, tell)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._work())
            self._task.add_done_callback(log_failure)

    def forget(self) -> None:
        """Nobody wants what waits or is under way."""
        self._waits = None
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _work(self) -> None:
        while (asked := self._waits) is not None:
            self._waits = None
            try:
                made = await asyncio.get_running_loop().run_in_executor(pool_for(self._seconds), asked.act)
            except (InputError, TargetError) as error:
                await locked(self._failed, getattr(error, "on_page", str(error)), doc=self._doc)
            except Exception as error:  # such as too little memory
                log.info("a piece of work stopped", exc_info=True)
                await locked(self._failed, f"It stopped: {error}", doc=self._doc)
            else:
                await locked(asked.tell, made, doc=self._doc)
