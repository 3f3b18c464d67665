"""Hundreds of sessions that come, play and go, a third of them cut off: what stays in the server, and how it ends."""

from __future__ import annotations

import asyncio
import os
import time
from argparse import Namespace
from typing import Any

from tests.support.client import Client
from tests.support.crowd import Crowd, Served, served

OPTIONS = {"sessions": 300}
AT_ONCE = 10
PLAYED_S = 3.0
SETTLED_AFTER = 50  # sessions after which the memory should no longer grow
CUT_EVERY = 3  # each third connection is reset instead of closed
LEFT = ("sessions", "labs", "tasks", "threads", "callbacks")  # before the first and after the last
GONE_S = 25.0  # a closed session is reaped within 4 s, a page that nobody fetched after 15 s
PLAYING_AT_THE_END = 10


def run(options: Namespace) -> dict[str, Any]:
    """Memory from outside after every tenth session, what is left open, and the end by SIGTERM while ten play."""
    number = 60 if options.quick else options.sessions
    with served() as lab:
        crowd, before = Crowd(lab.url), lab.probe(collect=True)
        memory, errors, iterations = [], [], []
        for done in range(0, number, AT_ONCE):
            come = crowd.do(_visits(lab.url, min(AT_ONCE, number - done), done))
            errors += [sentence for client in come for sentence in client.errors]
            iterations += [client.iteration for client in come]
            time.sleep(GONE_S if done + AT_ONCE in (SETTLED_AFTER, number) else 0)
            memory.append((done + len(come), round(lab.megabytes(), 1)))
        time.sleep(GONE_S)
        after = lab.probe(collect=True)
        settled = next(mb for sessions, mb in memory if sessions >= min(SETTLED_AFTER, number // 2))
        figures = {
            "sessions": number,
            "cut_by_a_reset": len(range(0, number, CUT_EVERY)),
            "iterations_fewest": min(iterations),
            "memory_mb": memory,
            "grown_after_the_first_mb": round(lab.megabytes() - settled, 1),
            "left": {name: [before[name], after[name]] for name in LEFT},
            "end": _end(lab, crowd),
        }
        figures["errors"] = errors + lab.complaints()
    return {**figures, "load_after": [round(x, 2) for x in os.getloadavg()]}


async def _visits(url: str, number: int, before: int) -> list[Client]:
    return await asyncio.gather(*(_visit(url, (before + k) % CUT_EVERY == 0) for k in range(number)))


async def _visit(url: str, cut: bool) -> Client:
    client = await (await Client(url).open()).play()
    await asyncio.sleep(PLAYED_S)
    await client.until(lambda: client.iteration >= 1)
    await client.close(cut)
    return client


def _end(lab: Served, crowd: Crowd) -> dict[str, Any]:
    """SIGTERM while ten play: the seconds until the process is gone, and its status."""
    crowd.join(PLAYING_AT_THE_END)
    time.sleep(2)
    playing = sum(client.iteration > 0 for client in crowd.clients)
    start = time.monotonic()
    lab.process.terminate()
    status = lab.process.wait(20)
    return {"playing": playing, "seconds": round(time.monotonic() - start, 2), "status": status}
