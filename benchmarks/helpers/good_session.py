"""A session in a process of its own that plays and writes the time of each frame: `python -m ... URL`."""

from __future__ import annotations

import asyncio
import sys
import time

from tests.support.client import Client


async def play(url: str) -> None:
    """Play without end; a line for each frame (monotonic seconds), and one for each thing that goes wrong."""
    client = await (await Client(url).open()).play()
    told = 0
    while True:
        await asyncio.sleep(0.02)
        for at in client.frames[told:]:
            print(f"frame {at}", flush=True)
        told = len(client.frames)
        for words in client.errors:
            print(f"error at {time.monotonic():.1f}: {words}", flush=True)
        client.errors.clear()


if __name__ == "__main__":
    asyncio.run(play(sys.argv[1]))
