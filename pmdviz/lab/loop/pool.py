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
from collections import deque
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any, NamedTuple

from pmdviz.kernels.cancel import CancelToken, cancellable
from pmdviz.kernels.pool import helped_when, priority, set_priority

GIVES_WAY = 10  # niceness of the patient lane: a tenth of the share of others where all cores are busy
QUICK_S = 0.15  # CPU seconds; what takes longer goes where it is in nobody's way
SLICE_S = 0.5  # of long work, before somebody else's goes on
MOST_BEGUN = 8  # pieces of long work: each holds its memory meanwhile
Work = tuple[Future, Callable[..., Any], tuple, dict[str, Any]]
QUIET_S = 1.0  # without a short step, after which long ones have helpers


class Again(NamedTuple):
    """What work in turns gives back until it is done: its next turn comes behind everybody who waits.

    `after`: not before this is over.
    """

    after: Future | None = None


def timed(act: Callable[[Any], Any], subject: Any, watch: CancelToken) -> tuple[Any, float] | Again:
    """What `act(subject)` gives, and the CPU seconds of this thread that it took: others' work does not count.

    Of work in turns these are the last one's.
    """
    start = time.thread_time()
    watch.begin()
    with cancellable(watch):
        made = act(subject)
    return made if isinstance(made, Again) else (made, time.thread_time() - start)


class DaemonPool(Executor):
    """A bounded pool of daemon threads, started when they are first needed. Who comes first is served first.

    Work that comes `Again` has its further turns in the pool `later`, which is this one where none is given.
    """

    def __init__(self, workers: int, name: str, niceness: int = 0, later: DaemonPool | None = None) -> None:
        self._workers, self._name, self._niceness, self._later = workers, name, niceness, later or self
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
        self.put((future, fn, args, kwargs))
        return future

    def put(self, work: Work) -> None:
        """Have the next free thread do the work; a thread is added while there are fewer than allowed."""
        self._work.put(work)
        with self._lock:
            if len(self._threads) < self._workers:
                thread = threading.Thread(target=self._run, name=f"{self._name}-{len(self._threads)}", daemon=True)
                self._threads.append(thread)
                thread.start()

    def _run(self) -> None:
        if self._niceness:
            set_priority(priority() + self._niceness)
            helped_when(lambda: _quick.quiet)
        while True:
            work = self._work.get()
            self._do(work)
            self._used = time.monotonic()
            del work

    def _do(self, work: Work) -> None:
        future, fn, args, kwargs = work
        if not (future.running() or future.set_running_or_notify_cancel()):
            return
        try:
            made = fn(*args, **kwargs)
        except BaseException as error:  # whoever waits for the future gets it
            future.set_exception(error)
            return
        if not isinstance(made, Again):
            future.set_result(made)
        elif made.after is None:
            self._later.put(work)
        else:
            made.after.add_done_callback(lambda over: self._later.put(work))


class Slices(Executor):
    """Long work of many people, one piece at a time: after a slice it lets those go on who have waited longer.

    The work calls `rest` on its way. At most `MOST_BEGUN` pieces are begun; further ones wait until one is over.
    """

    def __init__(self, name: str) -> None:
        self._pool = DaemonPool(MOST_BEGUN, name, GIVES_WAY)
        self._lock, self._taken = threading.Lock(), False
        self._line: deque[threading.Event] = deque()  # of those who wait for their next slice
        self._own = threading.local()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        """Have `fn(*args, **kwargs)` done, in slices."""
        return self._pool.submit(self._whole, fn, args, kwargs)

    def rest(self) -> None:
        """Give way to those who wait, where the slice is over; called by the work. Its helpers' calls do nothing."""
        if self._line and time.monotonic() - getattr(self._own, "began", math.inf) >= SLICE_S:
            self._give()
            self._take()

    def _whole(self, fn: Callable[..., Any], args: tuple, kwargs: dict[str, Any]) -> Any:
        self._take()
        try:
            return fn(*args, **kwargs)
        finally:
            self._give()

    def _take(self) -> None:
        turn = threading.Event()
        with self._lock:
            if self._taken:
                self._line.append(turn)
            else:
                self._taken = True
                turn.set()
        turn.wait()
        self._own.began = time.monotonic()

    def _give(self) -> None:
        with self._lock:
            if self._line:
                self._line.popleft().set()
            else:
                self._taken = False


_patient = DaemonPool(max(2, os.cpu_count() or 1), "pmdviz-patient", GIVES_WAY)
_quick = DaemonPool(max(4, os.cpu_count() or 1), "pmdviz-live", later=_patient)


def pool_for(seconds: float) -> DaemonPool:
    """The pool for work that is expected to take so many CPU seconds."""
    return _quick if seconds <= QUICK_S else _patient
