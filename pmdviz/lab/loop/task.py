"""Tasks: work outside the live loop, with its progress, a cancel token, and the pools whose threads do it.

The threads are daemons: a long step does not delay the end of a server. Short work has a pool of its own. Long
work runs at a lower priority, and each kind of it goes round the sessions in slices.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future, InvalidStateError
from contextlib import suppress
from typing import Any, Generic, NamedTuple, ParamSpec, Self, TypeVar

from pmdviz.errors import InputError, TargetError
from pmdviz.kernels.pool import Cancelled, CancelToken, cancellable, helped_when, priority, set_priority
from pmdviz.lab.panel_internals import locked

log = logging.getLogger(__name__)

POLL_S = 0.05  # so often a slot looks whether a cancelled thread is back
Tell = Callable[[float, float], None]
P = ParamSpec("P")
Result = TypeVar("Result")


class Outcome(NamedTuple):
    """What came of a task: its result, or words that say why there is none ("" after Cancel), and the error."""

    result: Any = None
    words: str = ""
    error: BaseException | None = None

    @property
    def cancelled(self) -> bool:
        """Whether somebody cancelled it."""
        return isinstance(self.error, Cancelled)


class Task(Generic[Result]):
    """A function for a thread of a pool, begun and cancelled from any thread, also cancelled before it begins."""

    def __init__(self) -> None:
        self.token = CancelToken()
        self.done: float = 0
        self.total: float = 0
        self.cpu_seconds = 0.0  # of its thread, in its last turn: the work of others does not count
        self.finished: Future[None] = Future()  # ends with the thread's work, or at once with Cancel
        self._made = time.monotonic()
        self.future: Future[Result] | None = None  # of the pool
        self._rest: Callable[[], None] = lambda: None  # gives way to others, where the pool shares its time out

    def begin(self, pool: Executor, act: Callable[[Tell], Result]) -> Self:
        """Have a thread of `pool` call `act(tell)`; `tell(done, total)` raises Cancelled after Cancel."""
        self._rest = getattr(pool, "rest", self._rest)
        self.future = pool.submit(self._do, act)
        self.future.add_done_callback(lambda future: self._finish())
        return self

    def fail(self, error: Exception) -> None:
        """It cannot begin."""
        self.future = Future()
        self.future.set_exception(error)
        self._finish()

    def _finish(self) -> None:
        self.ended()
        with suppress(InvalidStateError):  # it was cancelled before
            self.finished.set_result(None)

    def _do(self, act: Callable[[Tell], Result]) -> Result:
        self.token.check(self.token.share)
        start = time.thread_time()
        self.token.begin()
        with cancellable(self.token):
            made = act(self.tell)
        self.cpu_seconds = time.thread_time() - start
        return made

    def tell(self, done: float, total: float) -> None:
        """Note how far it is. Raises Cancelled."""
        self.token.check(0.0)
        self.done, self.total = done, total
        self._rest()
        self.token.check(0.0)

    @property
    def over(self) -> bool:
        """Whether there is nothing more to wait for; the thread of a cancelled task may still be on its way out."""
        return self.finished.done()

    @property
    def running(self) -> bool:
        """Whether a thread has taken it up and is not back."""
        return self.future is not None and self.future.running()

    @property
    def cancelled(self) -> bool:
        """Whether it has been cancelled."""
        return self.token.cancelled

    @property
    def share(self) -> float:
        """Which share of it is done, in [0, 1]."""
        return self.done / self.total if self.total else 0.0

    @property
    def seconds(self) -> float:
        """Seconds since it was made."""
        return time.monotonic() - self._made

    def cancel(self) -> None:
        """End it at its next `tell` or row block; its result is dropped."""
        self.token.cancel()
        if self.future is not None:
            self.future.cancel()
        self.finished.cancel()

    def ended(self) -> None:
        """Tidy up: the thread is back, or never took it up."""

    def result(self) -> Result:
        """What came out. Raises Cancelled, or what went wrong."""
        if self.cancelled or self.future is None:
            raise Cancelled
        try:
            return self.future.result()
        except CancelledError as error:
            raise Cancelled from error

    def outcome(self, stopped: str = "This failed: {error}; start it again") -> Outcome:
        """The result, or why there is none; `stopped` words an unforeseen error, by its {kind} and the {error}."""
        try:
            return Outcome(self.result())
        except Cancelled as error:
            return Outcome(error=error)
        except (InputError, TargetError) as error:
            return Outcome(None, getattr(error, "on_page", str(error)), error)
        except Exception as error:  # a target's own function, or a library, may raise anything
            log.info("a task stopped", exc_info=True)
            return Outcome(None, stopped.format(kind=type(error).__name__, error=error), error)


class TaskSlot:
    """One task of a page at a time, followed on the event loop.

    While it runs `tell` is called every `every_s` seconds, and once more at its end, after `ended`; both with the lock
    of the document in which it was begun. A new task cancels the one that runs. With `queues` it waits for that one
    instead, and replaces another one that waits. After Cancel the end waits up to `patience_s` seconds for the thread.
    """

    def __init__(
        self,
        tell: Callable[[], None] = lambda: None,
        every_s: float | None = None,
        queues: bool = False,
        patience_s: float = 0.0,
    ) -> None:
        self._tell, self._every_s, self._queues, self._patience_s = tell, every_s, queues, patience_s
        self.task: Task | None = None
        self.running = False
        self._next: Callable[[], None] | None = None
        self._following: set[asyncio.Task] = set()

    @property
    def share(self) -> float:
        """Which share of the task is done."""
        return self.task.share if self.task is not None else 0.0

    def begin(self, pool: Executor, act: Callable[[Tell], Result], ended: Callable[[Task[Result]], None]) -> None:
        """Have a thread of `pool` call `act(tell)`; `ended(task)` hears of its end."""
        if self._queues and self.running:
            self._next = lambda: self.begin(pool, act, ended)
        else:
            self.follow(Task[Result]().begin(pool, act), ended)

    def compute(
        self, pool: Executor, act: Callable[[], Result], told: Callable[[Result], None], failed: Callable[[str], None]
    ) -> None:
        """Have a thread of `pool` call `act()`; `told` hears of the result, `failed` of the words without one."""

        def ended(task: Task) -> None:
            found = task.outcome()
            if found.error is None:
                told(found.result)
            elif not found.cancelled:
                failed(found.words)

        self.begin(pool, lambda tell: act(), ended)

    def follow(self, task: Task, ended: Callable[[Task], None]) -> None:
        """Take a task that has been made, and may begin later."""
        self.cancel()
        self.task, self.running = task, True
        following = asyncio.get_running_loop().create_task(self._follow(task, ended))
        self._following.add(following)
        following.add_done_callback(self._following.discard)
        following.add_done_callback(log_failure)

    def cancel(self) -> None:
        """Stop the task; what it has made so far stays."""
        if self.running:
            self.task.cancel()

    def let_go(self) -> None:
        """Stop the task and forget it, and the one that waits: their results are dropped."""
        self.cancel()
        self.task, self.running, self._next = None, False, None

    async def _follow(self, task: Task, ended: Callable[[Task], None]) -> None:
        finished = asyncio.wrap_future(task.finished)
        while not finished.done():
            await asyncio.wait({finished}, timeout=self._every_s)
            if not finished.done() and task is self.task:
                await locked(self._tell)
        latest = time.monotonic() + self._patience_s
        while task.running and time.monotonic() < latest:
            await asyncio.sleep(POLL_S)
        await locked(self._end, task, ended)

    def _end(self, task: Task, ended: Callable[[Task], None]) -> None:
        if task is not self.task:
            return
        self.running = False
        ended(task)
        self._tell()
        waiting, self._next = self._next, None
        if waiting is not None:
            waiting()


def running_loop() -> asyncio.AbstractEventLoop | None:
    """The event loop of this thread; None in a thread without one."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def log_failure(task: asyncio.Task) -> None:
    """Log what an asyncio task failed with; a callback of its end."""
    if not task.cancelled() and task.exception() is not None:
        log.error("a task of the lab ended", exc_info=task.exception())


# The pools.

GIVES_WAY = 10  # niceness of the patient pool: a tenth of the share of others where all cores are busy
QUICK_S = 0.15  # CPU seconds; longer work goes to the patient pool
SLICE_S = 0.5  # of long work, before somebody else's goes on
MOST_BEGUN = 8  # pieces of long work: each holds its memory meanwhile
QUIET_S = 1.0  # without a short step, after which long ones have helpers
Work = tuple[Future, Callable[..., Any], tuple, dict[str, Any]]


class Again(NamedTuple):
    """What work in turns gives back until it is done: its next turn comes behind everybody who waits.

    `after`: not before this is over.
    """

    after: Future | None = None


class DaemonPool(Executor):
    """A bounded pool of daemon threads, started when they are first needed; tasks run in order of arrival.

    Work that comes `Again` has its further turns in the pool `later`, which is this one where none is given. A second
    thread works only where the first has been busy for `alone_s` seconds: two threads of Python that share
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

    def submit(self, fn: Callable[P, Result], /, *args: P.args, **kwargs: P.kwargs) -> Future[Result]:
        """Have `fn(*args, **kwargs)` done by the next free thread."""
        future: Future[Result] = Future()
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
        except BaseException as error:  # the waiter for the future gets it
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

    def submit(self, fn: Callable[P, Result], /, *args: P.args, **kwargs: P.kwargs) -> Future[Result]:
        """Have `fn(*args, **kwargs)` done, in slices."""
        return self._pool.submit(self._whole, fn, *args, **kwargs)

    def rest(self) -> None:
        """Give way to those who wait, where the slice is over; called by the work, not by helpers."""
        if self._line and time.monotonic() - getattr(self._own, "began", math.inf) >= SLICE_S:
            self._give()
            self._take()

    def _whole(self, fn: Callable[P, Result], /, *args: P.args, **kwargs: P.kwargs) -> Result:
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


# Fair shares.


class Bucket:
    """`burst` tokens at the start, `rate` more per second until it is full again."""

    def __init__(self, rate: float, burst: float) -> None:
        self._rate, self._burst, self._left, self._at = rate, burst, burst, time.monotonic()

    def owed(self, cost: float = 1.0) -> float:
        """Pay `cost`, on credit too: the seconds to wait until the bucket is out of debt."""
        self._fill()
        self._left -= cost
        return max(0.0, -self._left / self._rate)

    def take(self, cost: float = 1.0) -> bool:
        """Pay `cost` if there is so much; whether it was."""
        self._fill()
        paid = self._left >= cost
        self._left -= cost * paid
        return paid

    def _fill(self) -> None:
        now = time.monotonic()
        self._left, self._at = min(self._burst, self._left + self._rate * (now - self._at)), now
