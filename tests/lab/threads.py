"""An event loop of its own for a test: the main thread's may belong to Playwright."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def in_a_thread(scene: Callable[[], Awaitable[Any]]) -> Any:
    """Run `scene` to its end; what it gives is given back, and what it raises is raised here."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(scene())).result()
