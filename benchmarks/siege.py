"""Every attack on one served process, one after the other, beside a good session."""

from __future__ import annotations

import asyncio
import base64
import gzip
import itertools
import os
import statistics
import subprocess
import sys
import time
from argparse import Namespace
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.websocket import WebSocketClosedError, websocket_connect

from tests.support.browser import end
from tests.support.client import Client
from tests.support.crowd import Crowd, Served, served
from tests.support.decoding import ARRAY
from tests.support.raw_client import HOST, ask, forged
from tests.support.wire import TOKEN

OPTIONS = {"seconds": 20}
BEFORE_S, WINDOW_S, AFTER_S = 6.0, 2.0, 8.0
NICENESS = 10  # of the attackers: elsewhere they would not take the server's cores
LONG, MEGABYTE = 60_000, 1_000_000
HEAD = '{"msgid":"x","msgtype":"PATCH-DOC"}'
PAGE, TARGETS = "/?embed=1", ("banana", "mixture")
Act = Callable[[str, int], Awaitable[Any]]  # of the server's address and its port


def again(act: Act, pause: float = 0.0, at_once: int = 1) -> Act:
    """Do it again and again until it is cancelled, in so many tasks at once."""

    async def endless(url: str, port: int) -> None:
        while True:
            try:
                await act(url, port)
            except (TimeoutError, OSError, RuntimeError, WebSocketClosedError):
                await asyncio.sleep(0.2)
            await asyncio.sleep(pause)

    async def attack(url: str, port: int) -> None:
        await asyncio.gather(*(endless(url, port) for _ in range(at_once)))

    return attack


def raw(path: str, pause: float, stay: float, headers: tuple[str, ...] = (), times: int = 1) -> Act:
    """Connections that ask for a path and hang up after a while."""
    content = "\r\n".join([f"GET {path} HTTP/1.1", f"Host: {HOST}", *headers, "", ""]).encode("latin-1") * times

    async def once(url: str, port: int) -> None:
        _, writer = await asyncio.wait_for(asyncio.open_connection(HOST, port), 5)
        writer.write(content)
        await writer.drain()
        await asyncio.sleep(stay)
        writer.transport.abort()

    return again(once, pause)


def sends(send: Callable[[Client, int], None], pause: float = 0.0) -> Act:
    """Sends to its own session as long as it is let; then opens another one."""

    async def once(url: str, port: int) -> None:
        client = await Client(url).open()
        try:
            for k in itertools.count():
                if client.wire.closed:
                    break
                send(client, k)
                await asyncio.sleep(pause)
        finally:
            await client.close()

    return again(once, 0.5)


def change(client: Client, attr: str, new: Any, model: str = "") -> None:
    """Change a property of the model that acknowledges frames, or of the first one whose type is called so."""
    named = (one["id"] for one in client.models.values() if model in one["name"])
    client.wire.patch(next(named) if model else client.ack_id, **{attr: new})


def dress(client: Client, k: int) -> None:
    """Four style sheets of 10 kB."""
    sheet = {"type": "object", "name": "InlineStyleSheet", "attributes": {"css": "x" * 10_000}}
    change(client, "stylesheets", [{**sheet, "id": f"s{k}-{j}"} for j in range(4)], "Toolbar")


def lists_in_lists(client: Client, k: int) -> None:
    """7.8 MB of lists."""
    for part in (HEAD, "{}", "[" + "[]," * 2_600_000 + "[]]"):
        client.wire.send_text(part)


def with_token(kept: bool) -> Act:
    """Websockets with the token of one page, which is not opened by a browser; kept open or closed again."""

    async def attack(url: str, port: int) -> None:
        if kept:
            await (await Client(url).open()).play()
        token, held = TOKEN.search((await read(url, port)).body.decode())[1], []

        async def once(url: str, port: int) -> None:
            request = HTTPRequest(url.replace("http", "ws", 1) + "/ws", headers={"Origin": url})
            try:
                held.append(await websocket_connect(request, subprotocols=["bokeh", token]))
                if not kept:
                    held.pop().close()
            except Exception:
                await asyncio.sleep(0.05 if kept else 0.02)

        await again(once, 0.01 if kept else 0.0)(url, port)

    return attack


async def read(url: str, port: int) -> Any:
    """A page read to its end, without a websocket."""
    return await AsyncHTTPClient(force_instance=True).fetch(f"{url}{PAGE}", raise_error=False, request_timeout=60)


async def pull(url: str, port: int) -> None:
    """A whole document, twenty times."""
    client = await Client(url).open()
    for _ in range(20):
        client.wire._send("PULL-DOC-REQ", {})
    await asyncio.sleep(0.5)
    await client.close()


async def unfinished(url: str, port: int) -> None:
    """The first part of a message, and one in pieces that never end."""
    client = await Client(url).open()
    client.wire.send_text(HEAD)
    for k in range(2000):
        await client.wire._socket.protocol._write_frame(False, 0 if k else 1, b"x" * 4000)
        await asyncio.sleep(0.001)
    await client.close()


INLINE = base64.b64encode(gzip.compress(bytes(40 * MEGABYTE))).decode()
STRINGS = {**ARRAY, "dtype": "S1000000", "array": ["x"] * 400, "shape": [400]}
HANDSHAKE = (
    *("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"),
    *("Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==", f"Sec-WebSocket-Protocol: bokeh, {forged('x')}"),
    f"Origin: http://{'x' * LONG}",
)
ATTACKS: dict[str, Act] = {
    "array_of_106_bytes": sends(lambda c, k: change(c, "tags", {**ARRAY, "dtype": "U500000000"}), 0.2),
    "packed_bytes": sends(lambda c, k: change(c, "tags", [{"type": "bytes", "data": INLINE}]), 0.2),  # 40 MB in 54 kB
    "many_strings": sends(lambda c, k: change(c, "tags", [STRINGS], "FileInput"), 0.2),  # 400 MB, retained
    "pages_and_hang_up": raw(PAGE, 0.3, 0.05),
    "pages_and_stay": again(read),
    "scripts": raw("/autoload.js?bokeh-autoload-element=x", 0.2, 0.05),
    "tokens_again": with_token(kept=False),
    "lists_in_lists": sends(lists_in_lists, 0.5),
    "long_headers": sends(lambda c, k: c.wire.send_text("x" * 7 * MEGABYTE), 0.5),
    "long_origins": raw("/ws", 0.02, 0.01, HANDSHAKE),
    "hundred_sockets": with_token(kept=True),
    "turned_knobs": sends(lambda c, k: c.turn("bandwidth", 0.05 + 0.01 * (k % 50)), 0.001),
    "ready_again": sends(lambda c, k: c.wire.send_event("document_ready", {}), 0.001),
    "pings": sends(lambda c, k: c.wire._socket.ping(b"x"), 0.0002),
    "empty_parts": sends(lambda c, k: c.wire.send_text(""), 0.0002),
    "keys": sends(lambda c, k: c.press(("space", "right", "left", "r")[k % 4]), 0.001),
    "frames_drawn": sends(lambda c, k: change(c, "drawn", k * 10**6), 0.0002),
    "targets": sends(lambda c, k: c.wire.patch(c.found("title", "Target")["id"], value=TARGETS[k % 2]), 0.02),
    "tabs": sends(lambda c, k: change(c, "active", ("race", "theory", "lab")[k % 3], "TabBar"), 0.02),
    "uploads": sends(lambda c, k: change(c, "value", "QUJD" * MEGABYTE, "FileInput"), 0.2),
    "styles": sends(dress, 0.02),
    "pulls": again(pull, 0.2, at_once=3),
    "pipelined_pages": raw(PAGE, 0.1, 5.0, times=100),
    "unfinished_messages": again(unfinished, 0.2, at_once=3),
    "bad_links": raw(f"/?run=1.{'A' * LONG}", 0.2, 0.1),
}


def run(options: Namespace) -> dict[str, Any]:
    """For each attack: the good session's frames before and meanwhile, memory, lines of the log, what is left."""
    seconds = 6 if options.quick else options.seconds
    figures: dict[str, Any] = {"server": [], "attacks": {}}
    for name in ATTACKS:
        try:
            with served("--max-sessions", "30") as server:
                figures["attacks"][name] = _besieged(server, name, seconds)
        except Exception as error:  # a server that breaks is a result too
            figures["attacks"][name] = {"stopped": f"{type(error).__name__}: {str(error)[:200]}"}
    return figures


def _besieged(server: Served, name: str, seconds: float) -> dict[str, Any]:
    """The good session plays in this process; the attackers, which must not take the server's cores, in another."""
    crowd = Crowd(server.url)
    good = crowd.join(1)[0]
    crowd.do(good.until(lambda: len(good.frames) > 20))
    time.sleep(BEFORE_S)
    lines, memory, start = len(server.complaints([""])), [server.megabytes()], time.monotonic()  # every line of the log
    command = [sys.executable, "-m", __name__, name, server.url]
    attackers = subprocess.Popen(command, cwd=Path(__file__).parents[1], stderr=subprocess.DEVNULL)
    while time.monotonic() < start + seconds and attackers.poll() is None:
        time.sleep(0.1)
        with suppress(Exception):
            memory.append(server.megabytes())
    if attackers.poll() is not None:
        raise RuntimeError("the attackers gave up")
    end(attackers)
    stop, written = time.monotonic(), len(server.complaints([""])) - lines
    time.sleep(AFTER_S)
    before, meanwhile = _rates(good, start - BEFORE_S, start), _rates(good, start, stop)
    crowd.leave()
    return {
        "frames_per_second_before": statistics.median(before),
        "meanwhile": statistics.median(meanwhile),
        "worst_two_seconds": min(meanwhile),
        "seconds_below_four_fifths": _longest(meanwhile, 0.8 * statistics.median(before)),
        "mean_after": statistics.mean(_rates(good, stop, stop + AFTER_S)),
        "mb_more_at_most": round(max(memory) - memory[0], 1),
        "mb_more_after": round(server.megabytes() - memory[0], 1),
        "log_lines": written,
        "alive": server.process.is_running() and ask(server.port, "/liveness", timeout=5).status == 200,
        "errors_of_the_good_session": good.errors,
        "load": round(os.getloadavg()[0], 1),
    }


def _rates(client: Client, since: float, until: float) -> list[float]:
    """Frames a second in windows of two seconds."""
    edges = [since + k * WINDOW_S for k in range(int((until - since) / WINDOW_S))]
    return [sum(edge <= at < edge + WINDOW_S for at in client.frames) / WINDOW_S for edge in edges]


def _longest(rates: list[float], least: float) -> float:
    """Seconds of the longest stretch of windows that have fewer frames a second."""
    stretches = itertools.groupby(rates, key=lambda rate: rate < least)
    return WINDOW_S * max((len([*windows]) for below, windows in stretches if below), default=0)


if __name__ == "__main__":
    os.nice(NICENESS)
    asyncio.run(ATTACKS[sys.argv[1]](sys.argv[2], urlsplit(sys.argv[2]).port))
