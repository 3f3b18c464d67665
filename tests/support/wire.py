"""Bokeh's protocol as a browser speaks it, in as few lines as a bench needs: open a page, send and receive patches."""

import asyncio
import itertools
import json
import re
import socket
import struct
from collections.abc import Callable, Iterator
from http.cookies import SimpleCookie
from typing import Any

from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.websocket import WebSocketClientConnection, WebSocketClosedError, websocket_connect

TOKEN = re.compile(r'"token":"([^"]+)"')
PATIENCE_S = 120.0  # on a busy machine thirty pages at once take their time

Patched = Callable[[list[dict[str, Any]], dict[str, bytes]], None]


class Wire:
    """One websocket session of a Bokeh server; calls `patched` for every patch, `failed` for errors and a hang-up."""

    def __init__(self, url: str, patched: Patched, failed: Callable[[str], None]) -> None:
        self.url, self._patched, self._failed = url.rstrip("/"), patched, failed
        self.closed = False  # whether the server has hung up
        self.cookies: dict[str, str] = {}
        self._socket: WebSocketClientConnection | None = None
        self._reader: asyncio.Task | None = None
        self._document: asyncio.Future | None = None
        self._numbers = itertools.count(1)

    async def open(self, query: str = "") -> dict[str, Any]:
        """Fetch the page, connect, and return the document. Raises RuntimeError for a page without a session."""
        fetch = HTTPRequest(f"{self.url}/{query}", request_timeout=PATIENCE_S, connect_timeout=PATIENCE_S)
        page = await AsyncHTTPClient(max_clients=1000).fetch(fetch, raise_error=False)
        token = TOKEN.search(page.body.decode()) if page.code == 200 else None
        if token is None:
            raise RuntimeError(f"no session in the page: status {page.code} {page.error or ''}")
        for line in page.headers.get_list("Set-Cookie"):
            self.cookies.update({name: crumb.value for name, crumb in SimpleCookie(line).items()})
        cookies = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        address = self.url.replace("http", "ws", 1) + "/ws"
        connect = HTTPRequest(
            address,
            headers={"Origin": self.url, "Cookie": cookies},
            connect_timeout=PATIENCE_S,
            request_timeout=PATIENCE_S,
        )
        self._socket = await websocket_connect(connect, subprotocols=["bokeh", token[1]], max_message_size=2**26)
        await self._message()  # ACK
        self._reader = asyncio.ensure_future(self._read())
        self._document = asyncio.get_running_loop().create_future()
        self._send("PULL-DOC-REQ", {})
        return await asyncio.wait_for(self._document, PATIENCE_S)

    def patch(self, model: str, **values: Any) -> None:
        change = {"kind": "ModelChanged", "model": {"id": model}}
        self._send("PATCH-DOC", {"events": [{**change, "attr": name, "new": new} for name, new in values.items()]})

    def send_event(self, name: str, values: dict[str, Any]) -> None:
        data = {"type": "event", "name": name, "values": _encoded(values)}
        self._send("PATCH-DOC", {"events": [{"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": data}]})

    def send_text(self, text: str) -> None:
        """Send one fragment of a message, whatever it is; nothing once the connection is closed."""
        try:
            self._socket.write_message(text)
        except WebSocketClosedError:
            self.closed = True

    async def close(self, cut: bool = False) -> None:
        """Say goodbye; `cut` resets the connection instead, as a lost network does."""
        if self._reader is not None:
            self._reader.cancel()
            await asyncio.gather(self._reader, return_exceptions=True)
        if self._socket is None or self._socket.protocol is None:
            return
        stream = getattr(self._socket.protocol, "stream", None)
        if cut and stream is not None and stream.socket is not None:
            stream.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            stream.close()
        else:
            self._socket.close(1001, "the tab was closed")

    def _send(self, kind: str, content: dict[str, Any]) -> None:
        header = {"msgid": f"c{next(self._numbers)}", "msgtype": kind}
        for part in (header, {}, content):
            self.send_text(json.dumps(part))

    async def _fragment(self) -> Any:
        got = await self._socket.read_message()
        if got is None:
            raise ConnectionResetError("the server closed the connection")
        return got

    async def _message(self) -> tuple[str, Any, dict[str, bytes]]:
        header = json.loads(await self._fragment())
        await self._fragment()  # metadata
        content, buffers = json.loads(await self._fragment()), {}
        for _ in range(header.get("num_buffers", 0)):
            name = json.loads(await self._fragment())["id"]
            buffers[name] = await self._fragment()
        return header["msgtype"], content, buffers

    async def _read(self) -> None:
        try:
            while True:
                kind, content, buffers = await self._message()
                if kind == "PATCH-DOC":
                    self._patched(content["events"], buffers)
                elif kind == "PULL-DOC-REPLY":
                    self._document.set_result(content["doc"])
                elif kind == "ERROR":
                    self._failed(f"the server says: {content.get('text')}")
        except OSError as error:
            self.closed = True
            self._failed(str(error))


def objects(part: Any) -> Iterator[dict[str, Any]]:
    """Every model in a part of a document: name of its type, id, attributes."""
    if isinstance(part, dict):
        if part.get("type") == "object" and "id" in part:
            yield {"name": part["name"], "id": part["id"], "attributes": part.get("attributes", {})}
        for inner in part.values():
            yield from objects(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from objects(inner)


def _encoded(value: Any) -> Any:
    """Plain values in Bokeh's form: an object is a map unless it names a model."""
    if isinstance(value, dict) and set(value) != {"id"}:
        return {"type": "map", "entries": [[name, _encoded(inner)] for name, inner in value.items()]}
    return value
