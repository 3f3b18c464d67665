"""Free memory goes back to the system some seconds after a session has ended."""

import asyncio
import sys
import time

import numpy as np
import psutil
import pytest

from pmdviz.serve import memory
from tests.lab.threads import in_a_thread

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="only glibc keeps it; run this test on Linux")


def resident():
    return psutil.Process().memory_info().rss / 2**20


@LINUX
def test_many_ended_sessions_are_one_trim(monkeypatch):
    given = []
    monkeypatch.setattr(memory, "EVERY_S", 0.05)
    monkeypatch.setattr(memory, "release_free_memory", lambda: given.append(True))

    async def trims():
        end = time.monotonic() + 60
        while not given:
            assert time.monotonic() < end
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.2)
        return len(given)

    async def scene():
        for _ in range(5):
            memory.schedule_trim()
        assert await trims() == 1
        given.clear()
        memory.schedule_trim()
        assert await trims() == 1

    in_a_thread(scene)


@LINUX
def test_memory_that_nobody_uses_is_given_back():
    kept, freed = [], []
    for _ in range(4000):  # small blocks, every second one freed: the heap's end stays in use
        freed.append(np.ones(2000))
        kept.append(np.ones(20))
    before = resident()
    freed.clear()
    held = resident()
    assert memory.release_free_memory()
    assert before - resident() > 30
    assert held - resident() > 10, "the C library gave it back by itself: the trim is no longer needed"
