"""Several server processes, one a port, for a proxy to share out: they end together, one that died is replaced."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from types import FrameType

WATCH_S, PATIENCE_S = 0.2, 5.0
EARLY_S, MOST_EARLY = 10.0, 3  # a process that ends sooner, so often in a row, would do so for ever


def serve_many(arguments: Sequence[str], ports: Sequence[int]) -> int:
    """Run `pmdviz serve ARGUMENTS --port P` for every port until SIGTERM or SIGINT. Returns the exit status."""
    ending: list[int] = []

    def end(number: int, frame: FrameType | None) -> None:
        ending.append(number)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    running = {port: _start(arguments, port) for port in ports}
    begun, early = dict.fromkeys(ports, time.monotonic()), dict.fromkeys(ports, 0)
    while not ending:
        time.sleep(WATCH_S)
        for port, process in running.items():
            status = process.poll()
            if status is None or ending:
                continue
            early[port] = early[port] + 1 if time.monotonic() - begun[port] < EARLY_S else 0
            if status == 2 or early[port] >= MOST_EARLY:  # it cannot be used like this, and never will
                _end(list(running.values()))
                return 2 if status == 2 else _given_up(port, status)
            print(f"pmdviz: the process at port {port} ended with status {status}; another is started", flush=True)
            running[port], begun[port] = _start(arguments, port), time.monotonic()
    _end(list(running.values()))
    return 0


def _given_up(port: int, status: int) -> int:
    words = f"ended within {EARLY_S:.0f} s {MOST_EARLY} times in a row, the last time with status {status}"
    print(f"pmdviz: the process at port {port} {words}; its words above say why. All have been ended", file=sys.stderr)
    return 1


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
