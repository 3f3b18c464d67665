"""Work in the background: threads that never keep a process alive, with progress and cancel."""

from __future__ import annotations

import asyncio
import math
import os
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future
from typing import Any, NamedTuple, Self

from bokeh.document import Document

from pmdviz.kernels.pool import Cancelled, CancelToken, cancellable, helped_when, priority, set_priority
from pmdviz.lab.loop.locked import locked

POLL_S = 0.05  # how soon its end is noticed

Tell = Callable[[int, int], None]


class Background:
    """One piece of work, begun and cancelled from any thread; it may be cancelled before it begins."""

    def __init__(self) -> None:
        self.watch = CancelToken()
        self.done = self.total = 0
        self._made = time.monotonic()
        self._future: Future | None = None
        self._rest: Callable[[], None] = lambda: None  # gives way to others, where the pool shares its time out

    def begin(self, pool: Executor, act: Callable[[Tell], Any]) -> Self:
        """Have `act(tell)` done by a thread of `pool`; `tell(done, total)` raises Cancelled once nobody wants it."""
        self._rest = getattr(pool, "rest", self._rest)
        self._future = pool.submit(self._do, act)
        self._future.add_done_callback(lambda future: self.ended())
        return self

    def fail(self, error: Exception) -> None:
        """It cannot begin."""
        self._future = Future()
        self._future.set_exception(error)
        self.ended()

    def _do(self, act: Callable[[Tell], Any]) -> Any:
        self.tell(0, 0)
        with cancellable(self.watch):
            return act(self.tell)

    def tell(self, done: int, total: int) -> None:
        """Note how far it is. Raises Cancelled."""
        self.watch.check(0.0)
        self.done, self.total = done, total
        self._rest()
        self.watch.check(0.0)

    @property
    def over(self) -> bool:
        """Whether there is nothing more to wait for; a thread that was cancelled may still be on its way out."""
        return self.watch.cancelled or (self._future is not None and self._future.done())

    @property
    def running(self) -> bool:
        """Whether a thread has taken it up and is not back."""
        return self._future is not None and self._future.running()

    @property
    def share(self) -> float:
        """Which share of it is done, in [0, 1]."""
        return self.done / self.total if self.total else 0.0

    @property
    def seconds(self) -> float:
        """For how long it has been wanted."""
        return time.monotonic() - self._made

    def cancel(self) -> None:
        """End it at its next `tell` or row block: nobody wants the result."""
        self.watch.cancel()
        if self._future is not None:
            self._future.cancel()

    def ended(self) -> None:
        """Its thread is back, or never took it up; for those who have to tidy up then."""

    def result(self) -> Any:
        """What came out. Raises Cancelled, or what went wrong."""
        if self.watch.cancelled or self._future is None:
            raise Cancelled
        try:
            return self._future.result()
        except CancelledError as error:
            raise Cancelled from error


async def follow(work: Background, look: Callable[[], Any], every_s: float, doc: Document | None = None) -> None:
    """Wait until the work is over, and call `look` every so many seconds until then, with the document's lock."""
    looked = time.monotonic()
    while not work.over:
        await asyncio.sleep(POLL_S)
        if not work.over and time.monotonic() - looked >= every_s:
            looked = time.monotonic()
            await locked(look, doc=doc)


class OneAtATime:
    """At most one piece of work for a page; letting go of it, nothing more is heard of it.

    `tell` is called on the event loop every `every_s` seconds while one is under way, and once when it is over.
    """

    def __init__(self, tell: Callable[[], None], every_s: float) -> None:
        self._tell, self._every_s = tell, every_s
        self._work: Background | None = None
        self.running = False

    @property
    def share(self) -> float:
        """Which share of it is done."""
        return self._work.share if self._work is not None else 0.0

    def cancel(self) -> None:
        """Stop the one under way; what is there stays."""
        if self.running:
            self._work.cancel()

    def let_go(self) -> None:
        """Stop the one under way and forget it."""
        self.cancel()
        self._work, self.running = None, False

    def follow(self, work: Background) -> None:
        """Tell of this one from now on."""
        self._work, self.running = work, True
        asyncio.get_running_loop().create_task(self._follow(work))

    async def _follow(self, work: Background) -> None:
        await follow(work, lambda: self._tell_of(work), self._every_s)
        await locked(self._end, work)

    def _end(self, work: Background) -> None:
        if work is self._work:
            self.running = False
            self.ended(work)
            self._tell()

    def _tell_of(self, work: Background) -> None:
        if work is self._work:
            self._tell()

    def ended(self, work: Background) -> None:
        """It is over; for those who keep what came out."""


# Threads that never keep a process alive: a long step or floor must not hold up the end of a server.

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

    Work that comes `Again` has its further turns in the pool `later`, which is this one where none is given. A second
    thread works beside the first only where that has been busy for `alone_s` seconds: two threads of Python that share
    the interpreter's lock give fewer frames than one (63 against 77 a second, 20 sessions on two cores).
    """

    def __init__(
        self, workers: int, name: str, niceness: int = 0, later: DaemonPool | None = None, alone_s: float = 0.0
    ) -> None:
        self._workers, self._name, self._niceness, self._later = workers, name, niceness, later or self
        self._alone, self._alone_s = threading.Lock(), alone_s
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
            alone = self._alone.acquire(timeout=self._alone_s)
            self._do(work)
            if alone:
                self._alone.release()
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
_quick = DaemonPool(max(4, os.cpu_count() or 1), "pmdviz-live", later=_patient, alone_s=QUICK_S)


def pool_for(seconds: float) -> DaemonPool:
    """The pool for work that is expected to take so many CPU seconds."""
    return _quick if seconds <= QUICK_S else _patient
