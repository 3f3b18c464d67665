"""Pages are built one at a time, with the event loop free between them: who plays gets frames, who came connects.

The queue is bounded, and senders who have hung up lose their turn. Where the pages of late were built for nobody (no
browser has connected to them) the loop rests longer after each, so that those who play keep four fifths of it.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from weakref import WeakKeyDictionary

REST_S = 0.1  # after a page
GAP_S = 0.03  # between two parts of one: about a frame
MOST_WAITING = 40  # a class comes at once
RECENT = 6  # pages by which it is judged whether anybody wants them
SPARED = 2  # of these that may have been for nobody: somebody reloads a page, or closes it at once
IN_VAIN = 4.0  # times as long as a page took the loop rests, where all of these were built for nobody
LONGEST_REST_S = 4.0


class Full(Exception):
    """As many wait as may."""


class Gone(Exception):
    """Who waited has hung up."""


class _Queue:
    def __init__(self) -> None:
        self.lock, self.waiting = asyncio.Lock(), 0
        self.wanted: deque[bool] = deque(maxlen=RECENT)

    def rest(self, took: float) -> float:
        """Seconds after a page that took so many seconds of the loop's thread."""
        share = max(0, self.wanted.count(False) - SPARED) / (RECENT - SPARED)
        return min(max(REST_S, IN_VAIN * took * share), LONGEST_REST_S)


_queues: WeakKeyDictionary[asyncio.AbstractEventLoop, _Queue] = WeakKeyDictionary()


def _queue() -> _Queue:
    return _queues.setdefault(asyncio.get_running_loop(), _Queue())


@asynccontextmanager
async def turn(gone: Callable[[], bool] = lambda: False, bounded: bool = False) -> AsyncIterator[None]:
    """Wait until nobody else on this loop builds a page; the next one waits until a while after.

    Raises Full where it is `bounded` and too many wait, and Gone where the sender has hung up meanwhile.
    """
    queue = _queue()
    if bounded and queue.waiting >= MOST_WAITING:
        raise Full
    queue.waiting += 1
    try:
        await queue.lock.acquire()
    finally:
        queue.waiting -= 1
    began, rest = time.thread_time(), 0.0
    try:
        if gone():
            raise Gone
        yield
        rest = queue.rest(time.thread_time() - began)
    finally:
        asyncio.get_running_loop().call_later(rest, queue.lock.release)


def note(wanted: bool) -> None:
    """Whether a browser has connected to a page that was built."""
    _queue().wanted.append(wanted)
