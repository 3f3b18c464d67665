"""Every private part of tornado that the served app asks for, tried with tornado 6.5 and 6.6: it needs tornado>=6.5,<7.

`RequestHandler._finished`, `TCPServer._sockets`, `_handlers` and `_handle_connection`, `IOStream._write_buffer`, the
`stream` of a websocket's protocol; and of the loop of asyncio that lies under tornado's `_scheduled`.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tornado.iostream import StreamClosedError


def is_finished(handler: Any) -> bool:
    """Whether a request has been answered."""
    return handler._finished


def has_hung_up(handler: Any) -> bool:
    """Whether who sent a request is no longer there to read the answer."""
    return handler.request.connection.stream.closed()


def listen_by(http: Any, listener: Callable[[socket.socket, Callable[[socket.socket, Any], None]], Any]) -> None:
    """Have connections of a server taken by others: `listener(socket, take)` listens, and has a `close`."""
    for number, listening in http._sockets.items():
        http._handlers[number]()
        http._handlers[number] = listener(listening, http._handle_connection).close


def pace(connection: Any, owed: Callable[[int], float]) -> None:
    """Have what a websocket sends within one turn of the loop go out in one call: a frame has five parts or more.

    `owed(number)` says for how many seconds nothing is read after so many bytes.
    """
    connection.stream = PacedStream(connection.stream, owed)


class PacedStream:
    """A tornado stream that is read as fast as allowed, and that keeps what is written until the turn of the loop."""

    def __init__(self, stream: Any, owed: Callable[[int], float]) -> None:
        self._stream, self._owed = stream, owed
        self._parts: list[bytes] = []

    async def read_bytes(self, number: int) -> bytes:
        """So many bytes; whoever sends faster than allowed waits."""
        found = await self._stream.read_bytes(number)
        if wait := self._owed(number):
            await asyncio.sleep(wait)
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, part: bytes) -> asyncio.Future[None]:
        """Take a part; whoever waits for it goes on at once. Raises StreamClosedError."""
        if self._stream.closed():
            raise StreamClosedError()
        loop = asyncio.get_running_loop()
        if not self._parts:
            loop.call_soon(self._send)
        self._parts.append(bytes(part))
        done = loop.create_future()
        done.set_result(None)
        return done

    def close(self, *args: Any, **kwargs: Any) -> None:
        """Send what waits, and close."""
        self._send()
        self._stream.close(*args, **kwargs)

    def _send(self) -> None:
        parts, self._parts = self._parts, []
        if parts:
            with suppress(StreamClosedError):  # who is gone is told by the stream itself
                self._stream.write(b"".join(parts))


def bytes_waiting(stream: Any) -> int:
    """How many bytes wait until the other side reads."""
    return len(stream._write_buffer or ())


def number_of_timers(loop: Any) -> int:
    """How many callbacks wait for their time."""
    return sum(not timer.cancelled() for timer in loop.asyncio_loop._scheduled)
