"""Pages are built one at a time, with the event loop free between them: who plays gets frames, who came connects."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakKeyDictionary

REST_S = 0.1  # after a page
GAP_S = 0.03  # between two parts of one: about a frame

_locks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()


@asynccontextmanager
async def turn() -> AsyncIterator[None]:
    """Wait until nobody else on this loop builds a page; the next one waits until a while after."""
    async with _locks.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
        yield
        await asyncio.sleep(REST_S)
