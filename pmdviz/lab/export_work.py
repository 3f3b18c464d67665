"""A file being made for one visitor: in a thread of its own kind, into a folder that goes with it, to be cancelled."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time
from collections.abc import Mapping
from concurrent.futures import CancelledError, Future
from pathlib import Path
from typing import Any

from pmdviz.export import export
from pmdviz.lab.pool import GIVES_WAY, DaemonPool
from pmdviz.result import Run
from pmdviz.views.words import count, duration

_pool = DaemonPool(1, "pmdviz-export", GIVES_WAY)  # one file at a time on a server, behind everybody's steps


class Cancelled(Exception):
    """The person pressed Cancel, or closed the page."""


class Work:
    """One export: `begin` by the thread that holds the session, everything else from anywhere."""

    def __init__(self, name: str, options: Mapping[str, Any]) -> None:
        self.name, self._options = name, dict(options)
        self._folder = Path(tempfile.mkdtemp(prefix="pmdviz-export-"))
        self._stop = threading.Event()
        self._future: Future | None = None
        self._done, self._total, self._began = 0, 0, time.monotonic()

    @property
    def path(self) -> Path:
        """Where the file will be."""
        return self._folder / self.name

    def begin(self, run: Run) -> None:
        """Have the file made from `run`, when those before it are done."""
        self._future = _pool.submit(self._make, run)

    def _make(self, run: Run) -> Path:
        self._progress(0, 0)
        return export(run, self.path, progress=self._progress, **self._options)

    def _progress(self, done: int, total: int) -> None:
        if self._stop.is_set():
            raise Cancelled
        self._done, self._total = done, total

    @property
    def over(self) -> bool:
        """Whether it has ended, in whatever way."""
        return self._stop.is_set() or (self._future is not None and self._future.done())

    def result(self) -> Path:
        """The file. Raises Cancelled, or what went wrong."""
        if self._stop.is_set() or self._future is None:
            raise Cancelled
        try:
            return self._future.result()
        except CancelledError as error:
            raise Cancelled from error

    def words(self) -> str:
        """How far it is."""
        if self._future is None or not self._future.running():
            return "Waiting for another step or export ..."
        share = f"{count(self._done)} of {count(self._total)} frames" if self._total else "Beginning"
        return f"{share}, {duration(time.monotonic() - self._began)} so far"

    def cancel(self) -> None:
        """End it at the next iteration or frame, and throw away what there is."""
        self._stop.set()
        if self._future is not None:
            self._future.cancel()
            self._future.add_done_callback(lambda ended: self.clear())
        self.clear()

    def clear(self) -> None:
        """Delete the file and its folder."""
        shutil.rmtree(self._folder, ignore_errors=True)
