"""`python -P probe.py serve ...`: `pmdviz serve ...` whose /probe says how late the loop is and what is left open."""

import asyncio
import gc
import json
import sys
import threading
import time
from typing import Any

from tornado.web import RequestHandler

from pmdviz.cli.main import main
from pmdviz.serve import server

EVERY_S = 0.02
ADDRESS = "/probe"


class Probe:
    """Asks the event loop to be called every 20 ms and notes how many milliseconds later it was."""

    def __init__(self, server: Any) -> None:
        self._server, self.late_ms = server, []
        self._task: asyncio.Task | None = None

    async def watch(self) -> None:
        while True:
            wanted = time.monotonic() + EVERY_S
            await asyncio.sleep(EVERY_S)
            self.late_ms.append(1000 * (time.monotonic() - wanted))

    def report(self, collect: bool) -> dict[str, Any]:
        """The delays since the last report and what the process holds now."""
        late, self.late_ms = sorted(self.late_ms), []
        if collect:
            gc.collect()
        sessions = [s for app in self._server._tornado.applications.values() for s in app.sessions]
        return {
            "samples": len(late),
            **{f"p{share}": _quantile(late, share / 100) for share in (50, 95, 99)},
            "worst": round(late[-1], 1) if late else None,
            "sessions": len(sessions),
            "tasks": sorted(task.get_coro().__qualname__ for task in asyncio.all_tasks()),
            "callbacks": sum(not timer.cancelled() for timer in self._server.io_loop.asyncio_loop._scheduled),
            "threads": threading.active_count(),
            "labs": sum(type(thing).__name__ == "Lab" for thing in gc.get_objects()) if collect else None,
        }


def attach(server: Any) -> None:
    """Measure in `server`, and answer under /probe (/probe?collect=1 looks through the memory first)."""
    probe = Probe(server)

    class Handler(RequestHandler):
        def get(self) -> None:
            self.write(json.dumps(probe.report(bool(self.get_argument("collect", "")))))

    server._tornado.add_handlers(r".*", [(ADDRESS, Handler)])
    server.io_loop.add_callback(_begin, probe)


def _begin(probe: Probe) -> None:
    probe._task = asyncio.ensure_future(probe.watch())


def _quantile(ordered: list[float], share: float) -> float | None:
    return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 1) if ordered else None


if __name__ == "__main__":
    made = server._server

    def probed(*arguments: Any) -> Any:
        found = made(*arguments)
        attach(found)
        return found

    server._server = probed
    sys.exit(main())
