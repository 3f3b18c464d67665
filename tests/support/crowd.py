"""Many clients at once on an event loop of their own, for benches whose main thread drives real browsers."""

import asyncio
import json
import sys
import threading
import urllib.request
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import psutil

from tests.support.browser import free_port, server
from tests.support.client import Client

T = TypeVar("T")
PROBED = (sys.executable, "-P", str(Path(__file__).with_name("probe.py")))  # in place of `python -m pmdviz`
COMPLAINTS = ("Traceback", "never retrieved", "never awaited", "ERROR", "Exception", "error")


class Crowd:
    """Clients of one server; `do` runs a coroutine on their loop and waits for it."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.clients: list[Client] = []
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="crowd", daemon=True)
        self._thread.start()

    def do(self, work: Coroutine[Any, Any, T], timeout: float | None = None) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout)

    def join(self, number: int) -> list[Client]:
        """Let so many more come and play, one after the other. Returns them."""
        come = [self.do(self._one()) for _ in range(number)]
        self.clients += come
        return come

    async def _one(self) -> Client:
        client = Client(self.url)
        await client.open()
        return await client.play()

    def leave(self) -> None:
        for client in self.clients:
            self.do(client.close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)

    @property
    def errors(self) -> list[str]:
        return [f"client {k}: {sentence}" for k, client in enumerate(self.clients) for sentence in client.errors]


class Served:
    """A server under test, as seen from outside and through its probe."""

    def __init__(self, process: Any, port: int, log: Any) -> None:
        self.url, self._log = f"http://127.0.0.1:{port}", log
        self.port, self.process = port, psutil.Process(process.pid)

    def probe(self, collect: bool = False) -> dict[str, Any]:
        with urllib.request.urlopen(f"{self.url}/probe{'?collect=1' if collect else ''}", timeout=60) as answer:
            return json.load(answer)

    def megabytes(self) -> float:
        return self.process.memory_info().rss / 2**20

    def cpu_seconds(self) -> float:
        times = self.process.cpu_times()
        return times.user + times.system

    def complaints(self, words: Sequence[str] = COMPLAINTS) -> list[str]:
        """Lines of the log that no healthy server writes."""
        with open(self._log.name, encoding="utf-8", errors="replace") as log:
            return [line.strip() for line in log if any(word in line for word in words)]


@contextmanager
def served(*more: str, **environment: str) -> Iterator[Served]:
    """A lab server with its probe and a log; ended at the end."""
    import tempfile

    port = free_port()
    with tempfile.NamedTemporaryFile("w", prefix="pmdviz-", suffix=".log") as log:
        with server([*PROBED, "serve", "--port", str(port), *more], port, log=log, **environment) as process:
            yield Served(process, port, log)
