"""Requests as no browser sends them: paths and headers as given, forged tokens, connections that say nothing."""

import base64
import contextlib
import http.client
import json
import socket
import time
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

HOST = "127.0.0.1"
NONE: Mapping[str, str] = {}


class Answer(NamedTuple):
    """What came back; status 0 where the server hung up or did not answer in time."""

    status: int
    headers: Mapping[str, str]
    text: str
    seconds: float


def ask(port: int, path: str, method: str = "GET", headers: Mapping[str, str] = NONE, timeout: float = 60.0) -> Answer:
    began = time.monotonic()
    connection = http.client.HTTPConnection(HOST, port, timeout=timeout)
    try:
        connection.request(method, path, headers=dict(headers))
        answer = connection.getresponse()
        upgraded = answer.status == 101
        text = "" if upgraded else answer.read().decode("utf-8", "replace")
        return Answer(answer.status, dict(answer.getheaders()), text, time.monotonic() - began)
    except (OSError, http.client.HTTPException):
        return Answer(0, {}, "", time.monotonic() - began)
    finally:
        connection.close()


def shake_hands(port: int, token: str, origin: str | None = "", timeout: float = 60.0, path: str = "/ws") -> Answer:
    """Ask for a websocket with a token; an empty origin is the server's own, None sends none. 101: it was given."""
    headers = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": base64.b64encode(b"0123456789abcdef").decode(),
        "Sec-WebSocket-Protocol": f"bokeh, {token}",
    }
    if origin is not None:
        headers["Origin"] = origin or f"http://{HOST}:{port}"
    return ask(port, path, headers=headers, timeout=timeout)


def forged(session_id: str, payload: Any = None) -> str:
    """A token as Bokeh makes them, without a signature; `payload` is what it unpacks to."""
    content: dict[str, Any] = {"session_id": session_id, "session_expiry": 4_000_000_000}
    if payload is not None:
        content["__bk__zlib_"] = _text(zlib.compress(json.dumps(payload).encode(), 9))
    return _text(json.dumps(content).encode())


def _text(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).decode().rstrip("=")


@contextlib.contextmanager
def connected(port: int, number: int, first: bytes = b"") -> Iterator[list[socket.socket]]:
    """So many connections that send `first` and nothing more; as many as the server takes."""
    made: list[socket.socket] = []
    try:
        for _ in range(number):
            connection = socket.socket()
            made.append(connection)
            connection.settimeout(2)
            try:
                connection.connect((HOST, port))
                connection.sendall(first)
            except OSError:
                break
        yield made
    finally:
        for connection in made:
            connection.close()
