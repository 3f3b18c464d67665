"""Connections that cost a server more than they are worth: idle ones, those with bodies, and more than it has files."""

from __future__ import annotations

import errno
import logging
import socket
from collections.abc import Callable
from functools import partial
from typing import Any

from tornado.ioloop import IOLoop

from pmdviz.serve.bokeh_internals import http_server
from pmdviz.serve.tornado_internals import listen_by

IDLE_S = 60.0  # a connection that asks nothing for so long is closed; a websocket is no such connection
MAX_BODY = 65_536  # bytes; nothing that the app answers has a body
MAX_FILES = 65_536
SPENT = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
WAIT_S = 0.5  # without a file for a connection; then it is tried again
AT_ONCE = 128  # connections taken before others have their turn

log = logging.getLogger(__name__)


def http_limits(longest_message: int) -> dict[str, Any]:
    """Arguments of tornado's HTTPServer; `longest_message` bytes may come at once over a websocket."""
    return {
        "idle_connection_timeout": IDLE_S,
        "body_timeout": IDLE_S,
        "max_body_size": MAX_BODY,
        "max_buffer_size": longest_message + MAX_BODY,
    }


def raise_file_limit() -> int:
    """Let this process have as many files (a connection is one) as it may ask for. Returns their number."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (ValueError, OSError):  # macOS may refuse what it says is allowed
            return soft
        return wanted
    return soft


def accept_patiently(server: Any) -> None:
    """Take connections as tornado does, but wait while there is no file for one; before the loop runs."""
    listen_by(http_server(server), partial(_Listener, server.io_loop))


class _Listener:
    """A socket that listens; the loop asks it only while it can take somebody."""

    def __init__(self, loop: IOLoop, listening: socket.socket, take: Callable[[socket.socket, Any], None]) -> None:
        self._loop, self._socket, self._take = loop, listening, take
        self._closed, self._said = False, False
        self._listen()

    def _listen(self) -> None:
        if not self._closed:
            self._loop.add_handler(self._socket, self._accept, IOLoop.READ)

    def close(self) -> None:
        """Take nobody any more."""
        self._closed = True
        self._loop.remove_handler(self._socket)

    def _accept(self, listening: socket.socket, events: int) -> None:
        for _ in range(AT_ONCE):
            if self._closed:
                return
            try:
                self._take(*listening.accept())
            except BlockingIOError:
                return
            except ConnectionAbortedError:
                continue
            except OSError as error:
                if error.errno not in SPENT:
                    raise
                self._wait(error)
                return

    def _wait(self, error: OSError) -> None:
        if not self._said:  # once is enough: whoever holds the files may do so for long
            self._said = True
            log.warning("no connection can be taken for now: %s; it is tried again every %s s", error, WAIT_S)
        self._loop.remove_handler(self._socket)
        self._loop.call_later(WAIT_S, self._listen)
