"""An event loop of its own for a test: the main thread's may belong to Playwright."""

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor


def in_a_thread(scene: Callable[[], Awaitable[None]]) -> None:
    """Run `scene` to its end; what it raises is raised here."""
    with ThreadPoolExecutor(1) as pool:
        pool.submit(lambda: asyncio.run(scene())).result()
