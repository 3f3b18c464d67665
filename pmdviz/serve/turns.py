"""Pages are built one at a time, with the event loop free between them for frames and new connections.

The queue is bounded, and senders who have hung up lose their turn. As long as no browser has the pages of late, the
loop rests longer after each: those who play keep four fifths of it. Buckets of tokens tell how much of
anything somebody may have at once, and per second.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from weakref import WeakKeyDictionary

REST_S = 0.1  # after a page
LOOK_S = 0.05
GAP_S = 0.03  # between two parts of one: about a frame
DOOR, INSIDE = "door", "inside"  # lanes
MOST_WAITING = 40  # a class comes at once
RECENT = 6  # pages by which it is judged whether anybody wants them
SPARED = 1  # of these that may be on their way, or be closed at once
IN_VAIN = 4.0  # times as long as a page took the loop rests, where no browser has any of these
REMEMBERED_S = 60.0  # since a page was closed at once: others who do the same wait as if they were in vain
LONGEST_REST_S = 4.0
GRACE_S = 0.3  # before such a page is begun: senders who hang up are mostly gone by then


class Full(Exception):
    """As many wait as may."""


class Gone(Exception):
    """Who waited has hung up."""


class Built:
    """A page that was handed out; `wanted`: a browser has it."""

    wanted = False


class _Queue:
    def __init__(self) -> None:
        self.lock, self.waiting = asyncio.Lock(), 0
        self.recent: deque[Built] = deque(maxlen=RECENT)
        self.closed: deque[float] = deque(maxlen=RECENT)  # when pages were closed at once

    @property
    def vain(self) -> int:
        """How many pages of late no browser has or wanted for long, but for those that are spared."""
        closed = sum(time.monotonic() - at < REMEMBERED_S for at in self.closed)
        return max(0, sum(not page.wanted for page in self.recent) - SPARED, closed - SPARED)

    def rest(self, took: float) -> float:
        """Seconds after a page that held the loop for so many seconds."""
        return min(max(REST_S, IN_VAIN * took * self.vain / (RECENT - SPARED)), LONGEST_REST_S)

    async def release(self, took: float) -> None:
        """Let the next one build, in a while; sooner where browsers come."""
        began = time.monotonic()
        while time.monotonic() - began < self.rest(took):
            await asyncio.sleep(min(REST_S, LOOK_S))
        self.lock.release()


_tasks: set[asyncio.Task] = set()
_queues: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, _Queue]] = WeakKeyDictionary()


def _queue(lane: str = DOOR) -> _Queue:
    return _queues.setdefault(asyncio.get_running_loop(), {}).setdefault(lane, _Queue())


@asynccontextmanager
async def turn(
    gone: Callable[[], bool] = lambda: False, bounded: bool = False, lane: str = DOOR
) -> AsyncIterator[None]:
    """Wait until no other page is being built on this loop; the next one waits until a while after.

    Those who are there already have a lane of their own: they do not wait behind everybody at the door. Raises Full
    where it is `bounded` and too many wait, and Gone where the sender has hung up meanwhile.
    """
    queue = _queue(lane)
    if bounded and queue.waiting >= MOST_WAITING:
        raise Full
    queue.waiting += 1
    try:
        if bounded and queue.vain:
            await asyncio.sleep(GRACE_S)
        await queue.lock.acquire()
    finally:
        queue.waiting -= 1
    if gone():
        queue.lock.release()
        raise Gone
    began = time.monotonic()
    try:
        yield
    finally:
        _tasks.add(task := asyncio.ensure_future(queue.release(time.monotonic() - began)))
        task.add_done_callback(_tasks.discard)


def built() -> Built:
    """A page is handed out."""
    _queue().recent.append(page := Built())
    return page


def are_wanted() -> bool:
    """Whether browsers have the pages of late."""
    return not _queue().vain


def closed_at_once() -> None:
    """A browser had a page for a moment only."""
    _queue().closed.append(time.monotonic())


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
