"""Threads that never keep a process alive: a long step or floor must not hold up the end of a server.

Sessions share two pools: short steps in one, long ones in another whose threads give way, so that one person's 50,000
particles do not slow everybody else's 1,500. To give way is to have a low priority, and no helpers while short steps
are made: however low its priority, every thread that computes asks for Python's lock some hundred times a second.
"""

from __future__ import annotations

import math
import os
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any

from pmdviz.kernels.pool import helped_when, priority, set_priority

GIVES_WAY = 10  # niceness of the patient lane: a tenth of the share of others where all cores are busy
QUICK_S = 0.15  # CPU seconds; what takes longer goes where it is in nobody's way
QUIET_S = 1.0  # without a short step, after which long ones have helpers


class DaemonPool(Executor):
    """A bounded pool of daemon threads, started when they are first needed. Who comes first is served first."""

    def __init__(self, workers: int, name: str, niceness: int = 0) -> None:
        self._workers, self._name, self._niceness = workers, name, niceness
        self._work: queue.SimpleQueue = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._used = -math.inf

    @property
    def quiet(self) -> bool:
        """Whether nothing has been done here for a while."""
        return time.monotonic() - self._used > QUIET_S

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        """Have `fn(*args, **kwargs)` done by the next free thread."""
        future: Future = Future()
        self._work.put((future, fn, args, kwargs))
        with self._lock:
            if len(self._threads) < self._workers:
                thread = threading.Thread(target=self._run, name=f"{self._name}-{len(self._threads)}", daemon=True)
                self._threads.append(thread)
                thread.start()
        return future

    def _run(self) -> None:
        if self._niceness:
            set_priority(priority() + self._niceness)
            helped_when(lambda: _quick.quiet)
        while True:
            future, fn, args, kwargs = self._work.get()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:  # whoever waits for the future gets it
                future.set_exception(error)
            self._used = time.monotonic()
            del future, fn, args, kwargs


_quick = DaemonPool(max(4, os.cpu_count() or 1), "pmdviz-live")
_patient = DaemonPool(max(2, os.cpu_count() or 1), "pmdviz-patient", GIVES_WAY)


def lane(seconds: float) -> DaemonPool:
    """The pool for work that is expected to take so many CPU seconds."""
    return _quick if seconds <= QUICK_S else _patient
