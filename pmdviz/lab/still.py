"""The picture of a live page that a saved notebook keeps: beside the live page, and not seen while that is there."""

from __future__ import annotations

import asyncio
import base64
import html
import logging
import time
from collections.abc import Callable
from typing import Any

from pmdviz.lab.pool import GIVES_WAY, DaemonPool

EVERY_S = 3.0  # so often while it plays: a picture is some 50 kB, and the kernel has better things to do
PNG = "image/png"

_pool = DaemonPool(1, "pmdviz-still", GIVES_WAY)
log = logging.getLogger(__name__)


class Still:
    """An output of its own under the live page, replaced through its display id: the live one is never touched.

    Parameters
    ----------
    name : str
        Of the live page; the browser hides the pictures of pages that it shows live.
    draw : function of a snapshot
        Gives PNG bytes, or None where the library that draws is not installed; runs in a thread.
    """

    def __init__(self, name: str, draw: Callable[[Any], bytes | None]) -> None:
        self._name, self._draw = name, draw
        self._handle: Any = None
        self._drawn: Any = None  # the snapshot that the output shows, or is about to
        self._wanted: Any = None
        self._at, self._busy = 0.0, False

    def begin(self, words: str) -> None:
        """Put the output under the cell; until there is a picture it says `words`."""
        from IPython.display import display

        self._handle = display(self._bundle(words, None), raw=True, display_id=True)

    def follow(self, snapshot: Any, words: str, playing: bool) -> None:
        """Take the picture again where it has changed: at once when it stands still, now and then while it plays."""
        if self._handle is None or snapshot is self._drawn:
            return
        self._wanted = snapshot, words
        if not self._busy:
            self._busy = True
            wait = max(0.0, self._at + EVERY_S - time.monotonic()) if playing else 0.0
            task = asyncio.get_running_loop().create_task(self._take(wait))
            task.add_done_callback(_log_failure)

    async def _take(self, wait: float) -> None:
        try:
            await asyncio.sleep(wait)
            while self._wanted is not None:
                (snapshot, words), self._wanted = self._wanted, None
                self._drawn, self._at = snapshot, time.monotonic()
                png = await asyncio.get_running_loop().run_in_executor(_pool, self._draw, snapshot)
                self._handle.update(self._bundle(words, png), raw=True)
        finally:
            self._busy = False

    def _bundle(self, words: str, png: bytes | None) -> dict[str, str]:
        """What each viewer can show of it, the browser first; nbconvert takes the same."""
        said = html.escape(words)
        if png is None:
            return {"text/plain": words, "text/html": f'<p data-pmdviz="{self._name}">{said}</p>'}
        code = base64.b64encode(png).decode()
        image = f'<img alt="{said}" style="max-width: 100%" src="data:image/png;base64,{code}">'
        return {"text/plain": words, "text/html": f'<div data-pmdviz="{self._name}">{image}</div>', PNG: code}


def _log_failure(task: asyncio.Task) -> None:
    if not task.cancelled() and task.exception() is not None:
        log.error("the picture for the saved notebook could not be drawn", exc_info=task.exception())
