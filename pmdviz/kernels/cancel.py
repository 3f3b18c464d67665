"""How far long work is, seen from another thread, and a way to stop it: between two row blocks of a kernel.

The work itself knows nothing of it: `run_blocks` looks for the watch of the thread that called it. Bits never depend on
it; cancelled work raises `Cancelled` and leaves what was there before.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Cancelled(Exception):
    """Somebody no longer wants the result."""


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
    """Within it, what this thread computes is seen and stopped by `watch`; None: by nobody."""
    before = current_token()
    _of_thread.watch = watch
    try:
        yield
    finally:
        _of_thread.watch = before


def current_token() -> CancelToken | None:
    """The watch of the calling thread."""
    return getattr(_of_thread, "watch", None)
