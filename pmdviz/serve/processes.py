"""Several server processes, one a port, for a proxy to share out: they end together, one that died is replaced.

A pair of sockets ties each one to its parent: it is handed the key of the sessions there, which is in no environment
and on no command line; it says there that it listens; and where the parent is gone, however it ended, it ends too.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from types import FrameType

WATCH_S, PATIENCE_S = 0.2, 5.0
EARLY_S, MAX_EARLY = 10.0, 3  # a process that ends sooner, so often in a row, would do so for ever
UNUSABLE = 2  # the status of a server that cannot be used as it was asked
WORKER = "PMDVIZ_WORKER"  # in the environment of a process whose standard input is the socket to its parent
KEY_BYTES = 32


def new_key() -> bytes:
    """A key by which sessions are signed."""
    return secrets.token_hex(KEY_BYTES).encode()


class Parent:
    """The process that started this one, as seen from here.

    Attributes
    ----------
    key : bytes
        By which all processes of the parent sign their sessions.
    """

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self.key = connection.makefile("rb").readline().strip()

    def listening(self) -> None:
        """Say that this process takes visitors."""
        with contextlib.suppress(OSError):  # it may just have ended
            self._connection.sendall(b"!")

    def follow(self) -> None:
        """End this process when the parent has ended, whatever its threads are at."""
        threading.Thread(target=self._follow, name="pmdviz-parent", daemon=True).start()

    def _follow(self) -> None:
        with contextlib.suppress(OSError):
            while self._connection.recv(1):
                pass
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(PATIENCE_S)
        os._exit(1)


def parent() -> Parent | None:
    """The parent of a process of `--num-procs`; None for any other process."""
    if not os.environ.pop(WORKER, ""):
        return None
    return Parent(socket.socket(fileno=os.dup(0)))


class Worker:
    """A server process that this one started."""

    def __init__(self, arguments: Sequence[str], port: int, key: bytes) -> None:
        self._connection, theirs = socket.socketpair()
        self._connection.sendall(key + b"\n")  # waits there, also for a process that ends before it reads
        self._connection.setblocking(False)
        with theirs:
            self.process = _start(arguments, port, theirs)
        self.began, self._listened = time.monotonic(), False

    @property
    def listened(self) -> bool:
        """Whether it has ever taken visitors."""
        if not self._listened:
            with contextlib.suppress(OSError):  # nothing was said so far
                self._listened = bool(self._connection.recv(1))
        return self._listened

    def close(self) -> None:
        """Let go what belongs to a process that has ended."""
        self._connection.close()


def supervise(arguments: Sequence[str], ports: Sequence[int]) -> int:
    """Run `pmdviz serve ARGUMENTS --port P` for every port until SIGTERM or SIGINT. Returns the exit status."""
    ending: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:
        ending.append(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    key = new_key()
    running = {port: Worker(arguments, port, key) for port in ports}
    early = dict.fromkeys(ports, 0)
    while not ending:
        time.sleep(WATCH_S)
        for port, worker in running.items():
            status = worker.process.poll()
            if status is None or ending:
                continue
            early[port] = early[port] + 1 if time.monotonic() - worker.began < EARLY_S else 0
            unusable = status == UNUSABLE and not worker.listened  # later on it is something else that ended it so
            if unusable or early[port] >= MAX_EARLY:  # it cannot be used like this, and never will
                _end(list(running.values()))
                return UNUSABLE if unusable else _given_up(port, status)
            print(f"pmdviz: the process at port {port} ended with status {status}; another is started", flush=True)
            worker.close()
            running[port] = Worker(arguments, port, key)
    _end(list(running.values()))
    return 0


def _given_up(port: int, status: int) -> int:
    words = f"ended within {EARLY_S:.0f} s {MAX_EARLY} times in a row, the last time with status {status}"
    print(f"pmdviz: the process at port {port} {words}; its words above say why. All have been ended", file=sys.stderr)
    return 1


def _start(arguments: Sequence[str], port: int, connection: socket.socket) -> subprocess.Popen:
    """The process; `-P` keeps the current folder out of where it looks for modules."""
    command = [sys.executable, "-P", "-m", "pmdviz", "serve", *arguments, "--port", str(port)]
    return subprocess.Popen(command, stdin=connection, env={**os.environ, WORKER: "1"})


def _end(workers: Sequence[Worker]) -> None:
    for worker in workers:
        worker.process.terminate()
    end = time.monotonic() + PATIENCE_S
    for worker in workers:
        try:
            worker.process.wait(max(0.1, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            worker.process.kill()
            worker.process.wait()
        worker.close()
