"""Event loops of their own for tests (the main thread's may belong to Playwright), and labs that play in them."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any

from pmdviz.lab import Lab
from pmdviz.scenes.trace_columns import GROUPS


def in_a_thread(scene: Callable[[], Awaitable[Any]]) -> Any:
    """Run `scene` to its end; what it gives is given back, and what it raises is raised here."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(scene())).result()


async def until(condition: Callable[[], Any], seconds: float = 300.0) -> None:
    """Wait until it holds: the first run of a machine waits for the kernels, threads of tests for each other."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        await asyncio.sleep(0.005)


def traced(snapshot: Any) -> Any:
    """The points of the traces looked at, up to the frame."""
    return snapshot.points.of(GROUPS[snapshot.traces].metrics, snapshot.frame.iteration)


def drawing(ack: Any) -> None:
    """Be a browser that acknowledges every frame at once."""
    ack.on_change("sent", lambda attr, old, new: setattr(ack, "drawn", new))


@asynccontextmanager
async def playing_lab(**settings: Any) -> AsyncIterator[Lab]:
    lab = Lab(**settings)
    drawing(lab.screen.ack)
    lab.start()
    lab.ready()
    await until(lambda: lab.last is not None)
    try:
        yield lab
    finally:
        lab.stop()
        await asyncio.wait_for(lab.live._task, 60)
