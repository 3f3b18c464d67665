"""Threads that never keep a process alive: a long step or floor must not hold up the end of a server."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any


class DaemonPool(Executor):
    """A bounded pool of daemon threads, started when they are first needed."""

    def __init__(self, workers: int, name: str) -> None:
        self._workers, self._name = workers, name
        self._work: queue.SimpleQueue = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()

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
        while True:
            future, fn, args, kwargs = self._work.get()
            if not future.set_running_or_notify_cancel():
                continue
            try:
                future.set_result(fn(*args, **kwargs))
            except BaseException as error:  # whoever waits for the future gets it
                future.set_exception(error)
            del future, fn, args, kwargs
