"""Every private part of tornado that the served app asks for, tried with tornado 6.5 and 6.6: it needs tornado>=6.5,<7.

`RequestHandler._finished`, `TCPServer._sockets`, `_handlers` and `_handle_connection`, `IOStream._write_buffer`; and of
the loop of asyncio that lies under tornado's `_scheduled`.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any


def is_finished(handler: Any) -> bool:
    """Whether a request has been answered."""
    return handler._finished


def listen_by(http: Any, listener: Callable[[socket.socket, Callable[[socket.socket, Any], None]], Any]) -> None:
    """Have connections of a server taken by others: `listener(socket, take)` listens, and has a `close`."""
    for number, listening in http._sockets.items():
        http._handlers[number]()
        http._handlers[number] = listener(listening, http._handle_connection).close


def bytes_waiting(stream: Any) -> int:
    """How many bytes wait until the other side reads."""
    return len(stream._write_buffer or ())


def number_of_timers(loop: Any) -> int:
    """How many callbacks wait for their time."""
    return sum(not timer.cancelled() for timer in loop.asyncio_loop._scheduled)
