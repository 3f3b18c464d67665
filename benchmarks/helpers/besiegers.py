"""Attacks on a running server as coroutines that go on until they are cancelled: the review's, and ten more."""

from __future__ import annotations

import asyncio
import base64
import gzip
import itertools
from collections.abc import Callable, Coroutine
from typing import Any

from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.websocket import WebSocketClosedError, websocket_connect

from tests.support.client import Client
from tests.support.mutations import ARRAY
from tests.support.raw_client import HOST, forged
from tests.support.wire import TOKEN

Attack = Callable[[str, int], Coroutine[Any, Any, None]]
LONG = 60_000
MEGABYTE = 1_000_000


async def _raw(port: int, content: bytes, stay: float = 0.0) -> None:
    """A connection that sends this and hangs up after a while."""
    try:
        _, writer = await asyncio.wait_for(asyncio.open_connection(HOST, port), 5)
        writer.write(content)
        await writer.drain()
        await asyncio.sleep(stay)
        writer.transport.abort()
    except (TimeoutError, OSError):
        await asyncio.sleep(0.05)


def _get(path: str, *headers: str) -> bytes:
    return "\r\n".join([f"GET {path} HTTP/1.1", f"Host: {HOST}", *headers, "", ""]).encode("latin-1")


async def _again(act: Callable[[], Coroutine[Any, Any, Any]], pause: float = 0.0) -> None:
    while True:
        try:
            await act()
        except (TimeoutError, OSError, RuntimeError, WebSocketClosedError):
            await asyncio.sleep(0.2)
        await asyncio.sleep(pause)


async def _session(url: str) -> Client:
    return await Client(url).open()


def _of_session(send: Callable[[Client, int], None], pause: float = 0.0, open_s: float = 1e9) -> Attack:
    """Sends to its own session again and again, as long as it is let; then opens another one."""

    async def attack(url: str, port: int) -> None:
        async def once() -> None:
            client = await _session(url)
            try:
                for k in itertools.count():
                    if client.wire.closed:
                        break
                    send(client, k)
                    await asyncio.sleep(pause)
            finally:
                await client.close()

        await _again(once, 0.5)

    return attack


def _change(client: Client, attr: str, new: Any, model: str = "") -> None:
    client.wire._send("PATCH-DOC", {"events": [
        {"kind": "ModelChanged", "model": {"id": model or client.ack_id}, "attr": attr, "new": new}
    ]})  # fmt: skip


def _model(client: Client, name: str) -> str:
    return next(model["id"] for model in client.models.values() if name in model["name"])


def _select(client: Client, title: str) -> str:
    return client.found("title", title)["id"]


INLINE = base64.b64encode(gzip.compress(bytes(40 * MEGABYTE))).decode()


async def array_of_106_bytes(url: str, port: int) -> None:
    """C1: an array of four strings of 500,000,000 characters."""
    await _of_session(lambda c, k: _change(c, "tags", {**ARRAY, "dtype": "U500000000"}), 0.2)(url, port)


async def packed_bytes(url: str, port: int) -> None:
    """C1: 54 kB that unpack to 40 MB."""
    await _of_session(lambda c, k: _change(c, "tags", [{"type": "bytes", "data": INLINE}]), 0.2)(url, port)


async def many_strings(url: str, port: int) -> None:
    """C1: 400 strings of a megabyte each, retained."""
    many = {**ARRAY, "dtype": "S1000000", "array": ["x"] * 400, "shape": [400]}
    await _of_session(lambda c, k: _change(c, "tags", [many], _model(c, "FileInput")), 0.2)(url, port)


async def pages_and_hang_up(url: str, port: int) -> None:
    """H1: pages asked for by senders who hang up."""
    await _again(lambda: _raw(port, _get("/?embed=1"), 0.05), 0.3)


async def pages_and_stay(url: str, port: int) -> None:
    """H1: the same, read to their end, and no websocket is opened."""
    client = AsyncHTTPClient(force_instance=True)
    await _again(lambda: client.fetch(f"{url}/?embed=1", raise_error=False, request_timeout=60))


async def scripts(url: str, port: int) -> None:
    """H2: autoload.js."""
    await _again(lambda: _raw(port, _get("/autoload.js?bokeh-autoload-element=x"), 0.05), 0.2)


async def tokens_again(url: str, port: int) -> None:
    """H3: the token of a session that has ended."""
    page = await AsyncHTTPClient(force_instance=True).fetch(f"{url}/", raise_error=False)
    token = TOKEN.search(page.body.decode())[1]

    async def once() -> None:
        request = HTTPRequest(url.replace("http", "ws", 1) + "/ws", headers={"Origin": url})
        try:
            (await websocket_connect(request, subprotocols=["bokeh", token])).close()
        except Exception:
            await asyncio.sleep(0.02)

    await _again(once)


async def lists_in_lists(url: str, port: int) -> None:
    """H4: 7.8 MB of lists."""
    text = "[" + "[]," * 2_600_000 + "[]]"

    def send(client: Client, k: int) -> None:
        for part in ('{"msgid":"x","msgtype":"PATCH-DOC"}', "{}", text):
            client.wire.send_text(part)

    await _of_session(send, 0.5)(url, port)


async def long_headers(url: str, port: int) -> None:
    """H5: the header of a message, 7 MB."""
    await _of_session(lambda c, k: c.wire.send_text("x" * 7 * MEGABYTE), 0.5)(url, port)


async def long_origins(url: str, port: int) -> None:
    """H5: handshakes with an Origin of 60 kB."""
    more = (
        *("Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"),
        *("Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==", f"Sec-WebSocket-Protocol: bokeh, {forged('x')}"),
        f"Origin: http://{'x' * LONG}",
    )
    await _again(lambda: _raw(port, _get("/ws", *more), 0.01), 0.02)


async def hundred_sockets(url: str, port: int) -> None:
    """M3: one session, a hundred websockets."""
    client = await _session(url)
    await client.play()
    page = await AsyncHTTPClient(force_instance=True).fetch(f"{url}/", raise_error=False)
    token, held = TOKEN.search(page.body.decode())[1], []

    async def once() -> None:
        request = HTTPRequest(url.replace("http", "ws", 1) + "/ws", headers={"Origin": url})
        try:
            held.append(await websocket_connect(request, subprotocols=["bokeh", token]))
        except Exception:
            await asyncio.sleep(0.05)

    await _again(once, 0.01)


turned_knobs = _of_session(lambda c, k: c.turn("bandwidth", 0.05 + 0.01 * (k % 50)), 0.001)
ready_again = _of_session(lambda c, k: c.wire.send_event("document_ready", {}), 0.001)
pings = _of_session(lambda c, k: c.wire._socket.ping(b"x"), 0.0002)
empty_parts = _of_session(lambda c, k: c.wire.send_text(""), 0.0002)

# Not in the review:
keys = _of_session(lambda c, k: c.press(("space", "right", "left", "r")[k % 4]), 0.001)
frames_drawn = _of_session(lambda c, k: _change(c, "drawn", k * 10**6), 0.0002)
targets = _of_session(lambda c, k: _change(c, "value", ("banana", "mixture")[k % 2], _select(c, "Target")), 0.02)
tabs = _of_session(lambda c, k: _change(c, "active", ("race", "theory", "lab")[k % 3], _model(c, "TabBar")), 0.02)
uploads = _of_session(lambda c, k: _change(c, "value", "QUJD" * MEGABYTE, _model(c, "FileInput")), 0.2)


def _dress(client: Client, k: int) -> None:
    sheet = {"type": "object", "name": "InlineStyleSheet", "attributes": {"css": "x" * 10_000}}
    _change(client, "stylesheets", [{**sheet, "id": f"s{k}-{j}"} for j in range(4)], _model(client, "Toolbar"))


styles = _of_session(_dress, 0.02)


async def pulls(url: str, port: int) -> None:
    """A whole document, again and again, on connections of its own."""

    async def once() -> None:
        client = await _session(url)
        for _ in range(20):
            client.wire._send("PULL-DOC-REQ", {})
        await asyncio.sleep(0.5)
        await client.close()

    await asyncio.gather(*(_again(once, 0.2) for _ in range(3)))


async def pipelined_pages(url: str, port: int) -> None:
    """A hundred requests for pages on one connection."""
    await _again(lambda: _raw(port, _get("/?embed=1") * 100, 5.0), 0.1)


async def unfinished_messages(url: str, port: int) -> None:
    """Hundred connections, each with the first part of a message; and one in pieces that never end."""

    async def once() -> None:
        client = await _session(url)
        client.wire.send_text('{"msgid":"x","msgtype":"PATCH-DOC"}')
        for _ in range(2000):
            protocol = client.wire._socket.protocol
            await protocol._write_frame(False, 0x1 if _ == 0 else 0x0, b"x" * 4000)
            await asyncio.sleep(0.001)
        await client.close()

    await asyncio.gather(*(_again(once, 0.2) for _ in range(3)))


async def bad_links(url: str, port: int) -> None:
    """Links of 60 kB that cannot be read."""
    await _again(lambda: _raw(port, _get(f"/?run=1.{'A' * LONG}"), 0.1), 0.2)


def attacks() -> dict[str, Attack]:
    """All of them by name."""
    review = (array_of_106_bytes, packed_bytes, many_strings, pages_and_hang_up, pages_and_stay, scripts, tokens_again,
              lists_in_lists, long_headers, long_origins, hundred_sockets)  # fmt: skip
    named = {"turned_knobs": turned_knobs, "ready_again": ready_again, "pings": pings, "empty_parts": empty_parts}
    own = {"keys": keys, "frames_drawn": frames_drawn, "targets": targets}
    own |= {"tabs": tabs, "uploads": uploads, "styles": styles}
    more = (pulls, pipelined_pages, unfinished_messages, bad_links)
    return {**{one.__name__: one for one in review}, **named, **own, **{one.__name__: one for one in more}}
