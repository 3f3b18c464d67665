"""Every attack on one served process, one after the other, beside a good session in a process of its own."""

from __future__ import annotations

import asyncio
import os
import statistics
import subprocess
import sys
import threading
import time
from argparse import Namespace
from contextlib import suppress
from typing import Any

from benchmarks.helpers.attack_target import HERE, Target, target
from benchmarks.helpers.besiegers import Attack, attacks

OPTIONS = {"seconds": 20}
BEFORE_S, WINDOW_S, AFTER_S = 6.0, 2.0, 8.0
NICENESS = 10  # of the attackers: elsewhere they would not take the server's cores


class Good:
    """A good session in a process of its own."""

    def __init__(self, url: str) -> None:
        command = [sys.executable, "-m", "benchmarks.helpers.good_session", url]
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=HERE
        )
        self.frames: list[float] = []
        self.errors: list[str] = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self._process.stdout:
            word, _, rest = line.strip().partition(" ")
            if word == "frame":
                self.frames.append(float(rest))
            else:
                self.errors.append(line.strip())

    def rates(self, since: float, until: float) -> list[float]:
        """Frames a second in windows of two seconds."""
        edges = [since + k * WINDOW_S for k in range(int((until - since) / WINDOW_S))]
        return [sum(edge <= at < edge + WINDOW_S for at in self.frames) / WINDOW_S for edge in edges]

    def leave(self) -> None:
        """Close it."""
        self._process.terminate()
        self._process.wait()


def run(options: Namespace) -> dict[str, Any]:
    """For each attack: the good session's frames before and meanwhile, memory, lines of the log, what is left."""
    seconds = 6 if options.quick else options.seconds
    figures: dict[str, Any] = {"server": [], "attacks": {}}
    for name, attack in attacks().items():
        try:
            with target(HERE, "--max-sessions", "30") as server:
                figures["attacks"][name] = _besieged(server, attack, seconds)
        except Exception as error:  # a server that breaks is a result too
            figures["attacks"][name] = {"stopped": f"{type(error).__name__}: {str(error)[:200]}"}
    return figures


def _besieged(server: Target, attack: Attack, seconds: float) -> dict[str, Any]:
    good = Good(server.url)
    _until(lambda: len(good.frames) > 20)
    time.sleep(BEFORE_S)
    os.setpriority(os.PRIO_PROCESS, 0, NICENESS)
    memory, lines, start = server.megabytes(), _lines(server), time.monotonic()
    peak = [memory]
    asyncio.run(_attacked(attack, server, seconds, peak))
    stop = time.monotonic()
    with suppress(PermissionError):  # without rights it stays, and the next server begins with it too
        os.setpriority(os.PRIO_PROCESS, 0, 0)
    written = _lines(server) - lines
    time.sleep(AFTER_S)
    before, meanwhile = good.rates(start - BEFORE_S, start), good.rates(start, stop)
    usual = statistics.median(before)
    figures = {
        "frames_per_second_before": usual,
        "meanwhile": statistics.median(meanwhile),
        "worst_two_seconds": min(meanwhile),
        "mean_after": statistics.mean(good.rates(stop, stop + AFTER_S)),
        "mb_more_at_most": round(max(peak) - memory, 1),
        "mb_more_after": round(server.megabytes() - memory, 1),
        "log_lines": written,
        "alive": server.alive,
        "errors_of_the_good_session": good.errors,
        "load": round(os.getloadavg()[0], 1),
    }
    good.leave()
    return figures


async def _attacked(attack: Attack, server: Target, seconds: float, peak: list[float]) -> None:
    task = asyncio.ensure_future(attack(server.url, server.port))
    end = time.monotonic() + seconds
    while time.monotonic() < end and not task.done():
        await asyncio.sleep(0.1)
        with suppress(Exception):
            peak.append(server.megabytes())
    task.cancel()
    with suppress(asyncio.CancelledError, Exception):
        await task


def _lines(server: Target) -> int:
    with open(server._log.name, errors="replace") as log:
        return sum(1 for _ in log)


def _until(condition: Any, seconds: float = 120.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError("the good session got no frames")
        time.sleep(0.05)
