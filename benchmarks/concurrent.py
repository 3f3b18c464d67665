"""Much at once beside one good session: exports, race pages, half-open websockets, measurements of the theory."""

from __future__ import annotations

import asyncio
import contextlib
import time
from argparse import Namespace
from collections.abc import Callable, Coroutine
from typing import Any

from benchmarks.helpers.attack_target import Target, target
from tests.support.client import Client
from tests.support.crowd import Crowd
from tests.support.raw_client import ask, connected
from tests.support.wire import TOKEN

OPTIONS = {"seconds": 30}
EXPORTS, RACES, HALF_OPEN, THEORIES = 20, 30, 300, 10
FRAMES = 12  # iterations of a run before it is exported: so many a film has
EXPORT = "Save a file: film, page, picture or data"


def run(options: Namespace) -> dict[str, Any]:
    """For each: how many came so far, what the good session got meanwhile, and the server's memory and files after."""
    seconds, share = (5, 0.1) if options.quick else (options.seconds, 1.0)
    return {
        "exports": _crowded(round(EXPORTS * share), _export, seconds),
        "race_pages": _crowded(round(RACES * share), _race, seconds),
        "theory": _crowded(max(1, round(THEORIES * share)), _theory, seconds),
        "half_open_websockets": _half_open(round(HALF_OPEN * share), seconds),
    }


def _crowded(number: int, act: Callable[[Client], Coroutine[Any, Any, None]], seconds: float) -> dict[str, Any]:
    with target() as server:
        crowd = Crowd(server.url)

        def together() -> dict[str, Any]:
            done = crowd.do(_all(crowd, number, act))
            return {"asked": number, "reached": done, "peak_mb": round(server.megabytes(), 1)}

        before = server.megabytes()
        figures = server.beside(together, seconds)
        crowd.leave()
        return {"mb_before": round(before, 1), **figures, **_rest(server)}


async def _all(crowd: Crowd, number: int, act: Callable[[Client], Coroutine[Any, Any, None]]) -> int:
    """Everybody opens a page, one after the other, and then all act at once; how many got through."""
    come = []
    for _ in range(number):
        with contextlib.suppress(Exception):  # a page that does not come is one fewer that is reached
            come.append(await Client(crowd.url).open())
    crowd.clients += come
    ends = await asyncio.gather(*(act(client) for client in come), return_exceptions=True)
    return sum(end is None for end in ends)


async def _export(client: Client) -> None:
    await client.until(lambda: client.iteration >= 0)
    client.press("space")
    await client.until(lambda: client.iteration >= FRAMES)
    client.press("space")
    client.heard = []
    client.wire.patch(_card(client), collapsed=False)
    await client.until(lambda: any(m["attributes"].get("label") == "Export" for m in client.models.values()))
    client.click("Export")
    await client.until(lambda: any("is ready." in text for text in client.heard or ()))


def _card(client: Client) -> str:
    return next(m["id"] for m in client.models.values() if m["name"].endswith("Card") and EXPORT in str(m))


async def _race(client: Client) -> None:
    await client.show("race", "Bands")
    client.click("Play")


async def _theory(client: Client) -> None:
    await client.show("theory", "Measure")
    client.click("Measure")


def _half_open(number: int, seconds: float) -> dict[str, Any]:
    """Half of them say nothing after the first line, the others are websockets of one page that send nothing."""
    with target() as server:
        token = TOKEN.search(ask(server.port, "/").text)
        lines = [
            "GET /ws HTTP/1.1",
            f"Host: 127.0.0.1:{server.port}",
            f"Origin: http://127.0.0.1:{server.port}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==",
            f"Sec-WebSocket-Protocol: bokeh, {token[1] if token else ''}",
        ]
        whole = "\r\n".join([*lines, "", ""]).encode()

        def hold() -> dict[str, Any]:
            half = number // 2
            with connected(server.port, half, b"GET /ws HTTP/1.1\r\n") as silent:
                with connected(server.port, half, whole) as open_:
                    time.sleep(seconds)
                    return {"asked": 2 * half, "reached": len(silent) + len(open_), "files": server.process.num_fds()}

        return {**server.beside(hold), **_rest(server)}


def _rest(server: Target) -> dict[str, Any]:
    """What is left a while after everybody has gone."""
    time.sleep(8)
    left = server.probe(collect=True)
    return {
        "afterwards": {"mb": round(server.megabytes(), 1), "sessions": left["sessions"], "labs": left["labs"]},
        "complaints": server.complaints(("Traceback", "never"))[:3],
    }
