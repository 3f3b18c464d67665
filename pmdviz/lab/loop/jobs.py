"""What the live loop is given and what it draws on; its odds and ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

from tornado.iostream import StreamClosedError
from tornado.websocket import WebSocketClosedError

from pmdviz.errors import InputError
from pmdviz.knobs import Knobs
from pmdviz.lab.loop.background import Again
from pmdviz.lab.loop.runner import Runner, Snapshot

log = logging.getLogger(__name__)


class Screen(Protocol):
    """What the loop draws on; all methods are called on the event loop."""

    def show(self, snapshot: Snapshot) -> None:
        """Draw a snapshot."""

    def busy(self, what: str, seconds: float, share: float) -> None:
        """Say what lasts, for how long already, and which share of its present part is done."""

    def waiting(self, what: str, seconds: float) -> None:
        """Say that it waits for kernels, for about so many seconds."""

    def cancelled(self, what: str) -> None:
        """Say that it was cancelled; the last picture stays."""

    def failed(self, error: Exception) -> None:
        """Say what went wrong in a step; the last picture stays."""

    def refused(self, what: str, error: InputError) -> None:
        """Say why a value could not be used."""

    def play_changed(self, playing: bool) -> None:
        """Show whether it plays."""


class Job(NamedTuple):
    """Something to do with the runner in a worker thread; one that sets knobs has their values, and their class."""

    what: str
    act: Callable[[Runner], Snapshot | tuple[Runner, Snapshot] | Again]
    kind: type[Knobs] | None = None
    values: Mapping[str, Any] = {}


def without_closed_tabs(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """A message to a tab that has just been closed is no error; Panel leaves that exception in its task."""
    if not isinstance(context.get("exception"), (WebSocketClosedError, StreamClosedError)):
        loop.default_exception_handler(context)


def log_failure(task: asyncio.Task) -> None:
    """What to do when a task is done: say what it failed with."""
    if not task.cancelled() and task.exception() is not None:
        log.error("a task of the lab ended", exc_info=task.exception())
