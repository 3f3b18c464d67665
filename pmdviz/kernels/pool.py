"""Row blocks of a serial kernel on one pool of threads, with progress and cancel.

The blocks are fixed by the caller and never by the number of threads, and each writes its own rows. The calling
thread takes blocks too, so a busy pool costs nothing but the help it would have been, and a call from within a block
cannot deadlock. Helpers run at the priority of the thread that they help.
"""

import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any

import numpy as np
from threadpoolctl import ThreadpoolController

from pmdviz.errors import InputError
from pmdviz.kernels.checks import Array, plain

# How far long work is, seen from another thread, and a way to stop it: between two row blocks of a kernel.


class Cancelled(Exception):
    """The work was cancelled."""


class CancelToken:
    """One piece of work: `share` in [0, 1] of its present part is done; `cancel` may be called from any thread."""

    def __init__(self) -> None:
        self.share = 0.0
        self._cancelled = threading.Event()
        self._began: float | None = None

    def begin(self) -> None:
        """Note that the work begins, which may have waited for its turn; of work in turns the first one counts."""
        if self._began is None:
            self._began = time.monotonic()

    @property
    def seconds(self) -> float:
        """For how long it has been done, 0 while it waits for its turn."""
        return 0.0 if self._began is None else time.monotonic() - self._began

    def cancel(self) -> None:
        """Have the work end at its next block."""
        self._cancelled.set()

    @property
    def cancelled(self) -> bool:
        """Whether it has been cancelled."""
        return self._cancelled.is_set()

    def check(self, share: float) -> None:
        """Note how far the present part is. Raises Cancelled."""
        self.share = share
        if self.cancelled:
            raise Cancelled


_of_thread = threading.local()


@contextmanager
def cancellable(watch: CancelToken | None) -> Iterator[None]:
    """Within it, `watch` sees the progress of this thread's kernels and can stop them; None: no token does."""
    before = current_token()
    _of_thread.watch = watch
    try:
        yield
    finally:
        _of_thread.watch = before


def current_token() -> CancelToken | None:
    """The watch of the calling thread."""
    return getattr(_of_thread, "watch", None)


_libraries = cache(ThreadpoolController)  # made at the first use, when NumPy has loaded its BLAS
_blas_lock = threading.Lock()
_limiters: list[Any] = []  # of those who are within `one_blas_thread`


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Within it, also as a decorator, BLAS computes in one thread.

    With several the last bits of products and of eigenvectors of tens of rows and more depend on how many there are.
    The limit holds for the whole process: the first caller sets it, and the last one to leave restores it.
    """
    with _blas_lock:
        _limiters.append(_limiters[0] if _limiters else _libraries().limit(limits=1, user_api="blas"))
    try:
        yield
    finally:
        with _blas_lock:
            limiter = _limiters.pop()
            if not _limiters:
                limiter.restore_original_limits()


Rows = tuple[Array, ...]  # arrays with as many rows as one another
SERIAL_BELOW = 1_000_000  # pairs: below this the hand-over to another thread costs more than it saves
_chosen: int | None = None


def num_threads() -> int:
    """Threads in use: the last `set_threads`, else PMDVIZ_THREADS, else the cores that this process may use."""
    if _chosen is not None:
        return _chosen
    given = os.environ.get("PMDVIZ_THREADS", "").strip()
    return _checked(given) if given else _cores()


def set_threads(number: int | None) -> None:
    """Use this many threads (at least 1) from now on; None: by the environment. Results do not depend on it."""
    global _chosen
    _chosen = None if number is None else _checked(number)


def run_blocks(work: Callable[[int, int], None], num_rows: int, rows_per_block: int, cost: float) -> None:
    """Call `work(start, stop)` once for every block of rows, in any order; serial when `cost` (in pairs) is small.

    Raises Cancelled between two blocks where the watch of the calling thread returns True.
    """
    if 0 < num_rows <= rows_per_block:  # one block: a chain's step has no microseconds to spare
        work(0, num_rows)
        return
    starts = range(0, num_rows, rows_per_block)
    helpers = min(num_threads(), len(starts)) - 1 if cost >= SERIAL_BELOW and _may_be_helped() else 0
    arguments = work, iter(starts), num_rows, rows_per_block, current_token()
    futures = [_pool(num_threads() - 1, priority()).submit(_drain, *arguments) for _ in range(helpers)]
    try:
        _drain(*arguments)
    finally:
        for future in futures:
            if not future.cancel():  # a helper that never started has nothing to wait for
                future.result()


def by_rows(kernel: Callable[..., None], rows: Rows, given: tuple, out: Rows, rows_per_block: int, cost: float) -> None:
    """Call a kernel for every block of rows: on these rows of `rows`, on `given`, and on the same rows of `out`."""

    def work(start: int, stop: int) -> None:
        kernel(*(each[start:stop] for each in rows), *given, *(each[start:stop] for each in out))

    run_blocks(work, len(out[0]), rows_per_block, cost)


def filled(
    kernel: Callable[..., None], rows: Rows, given: tuple, rows_per_block: int, cost: float, *shapes: tuple[int, ...]
) -> Any:
    """Float64 arrays with a row of these shapes for each of `rows`, which a kernel fills as in `by_rows`."""
    rows, out = tuple(map(plain, rows)), tuple(np.empty((len(rows[0]), *shape)) for shape in shapes)
    by_rows(kernel, rows, given, out, rows_per_block, cost)
    return out


def helped_when(allowed: Callable[[], bool]) -> None:
    """From now on `run_blocks` has helpers in the calling thread only when `allowed()`; results do not depend on it."""
    _of_thread.allowed = allowed


def _may_be_helped() -> bool:
    allowed = getattr(_of_thread, "allowed", None)
    return allowed is None or allowed()


def _drain(
    work: Callable[[int, int], None],
    starts: Iterator[int],
    num_rows: int,
    rows_per_block: int,
    watch: CancelToken | None,
) -> None:
    for start in starts:  # of all threads together: the next number is taken at once, no two get the same one
        if watch is not None:
            watch.check(start / num_rows)
        work(start, min(start + rows_per_block, num_rows))


def _checked(number: int | str) -> int:
    try:
        threads = int(number)
    except ValueError:
        threads = 0
    if threads < 1:
        raise InputError(f"the number of threads (PMDVIZ_THREADS) must be a whole number of at least 1, not {number!r}")
    return threads


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS, Windows
        return os.cpu_count() or 1


def priority() -> int:
    """The calling thread's niceness: 0 is usual, 19 gives way to all; only Linux has one for each thread."""
    return os.getpriority(os.PRIO_PROCESS, 0) if sys.platform == "linux" else 0


def set_priority(niceness: int) -> None:
    """Let the calling thread give way to others from now on; it cannot be undone."""
    if sys.platform == "linux":
        os.setpriority(os.PRIO_PROCESS, 0, max(niceness, priority()))


@cache
def _pool(workers: int, niceness: int) -> ThreadPoolExecutor:
    """Two threads that come first at once make one each, and one of the two is kept."""
    return ThreadPoolExecutor(workers, "pmdviz", set_priority, (niceness,))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pool.cache_clear)  # the child has none of the threads
