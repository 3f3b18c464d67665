"""One piece of work in the background: it tells how far it is, and can be cancelled on the way."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import CancelledError, Executor, Future
from typing import Any, Self

from bokeh.document import Document

from pmdviz.kernels.cancel import Cancelled, CancelToken, cancellable
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
