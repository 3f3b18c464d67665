"""Several server processes, one a port, for a proxy to share out: they end together, and one that died is replaced."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from types import FrameType

WATCH_S, PATIENCE_S = 0.2, 5.0


def serve_many(arguments: Sequence[str], ports: Sequence[int]) -> int:
    """Run `pmdviz serve ARGUMENTS --port P` for every port until SIGTERM or SIGINT. Returns the exit status."""
    ending: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:
        ending.append(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    running = {port: _start(arguments, port) for port in ports}
    while not ending:
        time.sleep(WATCH_S)
        for port, process in running.items():
            if process.poll() == 2 and not ending:  # it cannot be used like this, and never will
                _end(list(running.values()))
                return 2
            if process.poll() is not None and not ending:
                print(f"pmdviz: the process at port {port} ended with status {process.returncode}; another is started")
                running[port] = _start(arguments, port)
    _end(list(running.values()))
    return 0


def _start(arguments: Sequence[str], port: int) -> subprocess.Popen:
    return subprocess.Popen([sys.executable, "-m", "pmdviz", "serve", *arguments, "--port", str(port)])


def _end(processes: Sequence[subprocess.Popen]) -> None:
    for process in processes:
        process.terminate()
    end = time.monotonic() + PATIENCE_S
    for process in processes:
        try:
            process.wait(max(0.1, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
