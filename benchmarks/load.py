"""A class in front of one server: many sessions that play at once, some of them real browsers, and one heavy user."""

from __future__ import annotations

import asyncio
import os
import resource
import statistics
import time
from argparse import Namespace
from typing import Any

from tests.support.browser import await_picture, chromium, open_page, play_endlessly
from tests.support.crowd import Crowd, Served, served

OPTIONS = {"sessions": 30, "seconds": 60}
BROWSERS = 2  # of the sessions; a browser costs more CPU than the server does, and here both share the cores
SETTLE_S = 5.0
HEAVY = {"policy": "always", "num_particles": 50_000}


def run(options: Namespace) -> dict[str, Any]:
    """Frames a second of every session, delays of the event loop, memory; then the same beside one heavy session."""
    seconds = 10 if options.quick else options.seconds
    with served() as lab:
        crowd = Crowd(lab.url)
        crowd.join(1)  # what is made once in a process is made
        empty = lab.megabytes()
        with chromium() as browser:
            crowd.join(options.sessions - 1 - BROWSERS)
            pages = [open_page(browser, lab.port) for _ in range(BROWSERS)]
            for page in pages:
                await_picture(page)
                play_endlessly(page)
            together = _measured(lab, crowd, pages, seconds)
            memory = (lab.megabytes() - empty) / (options.sessions - 1)
            first = crowd.clients[0]
            crowd.do(_turn_heavy(first))
            heavy = _measured(lab, crowd, pages, seconds, without=first)
            heavy["heavy_iterations"] = first.iteration
        crowd.leave()
        complaints = lab.complaints()
    slowed = 1 - heavy["frames_per_second"]["median"] / together["frames_per_second"]["median"]
    return {
        "sessions": options.sessions,
        "browsers_among_them": BROWSERS,
        "together": together,
        "memory_mb_per_session": round(memory, 1),
        "beside_one_heavy_session": {"knobs": HEAVY, **heavy, "others_slowed_by": round(slowed, 3)},
        "errors": crowd.errors + complaints,
        "load_after": [round(x, 2) for x in os.getloadavg()],
    }


async def _turn_heavy(client: Any) -> None:
    for knob, value in HEAVY.items():
        client.turn(knob, str(value))
        await asyncio.sleep(1)


def _measured(lab: Served, crowd: Crowd, pages: list[Any], seconds: float, without: Any = None) -> dict[str, Any]:
    time.sleep(SETTLE_S)
    lab.probe()
    cpu, own, start = lab.cpu_seconds(), _own_cpu(), time.monotonic()
    drawn = [_drawn(page) for page in pages]
    time.sleep(seconds)
    end, late = time.monotonic(), lab.probe()
    pairs = zip(pages, drawn, strict=True)
    in_browsers = [(_drawn(page) - before) / (time.monotonic() - start) for page, before in pairs]
    rates = [client.rate(start, end) for client in crowd.clients if client is not without] + in_browsers
    low, middle, high = min(rates), statistics.median(rates), max(rates)
    return {
        "seconds": seconds,
        "frames_per_second": {
            **{name: round(rate, 2) for name, rate in (("slowest", low), ("median", middle), ("fastest", high))},
            "all_together": round(sum(rates), 1),
            "in_browsers": [round(rate, 2) for rate in in_browsers],
        },
        "slowest_over_median": round(low / middle, 2),
        "event_loop_late_ms": {name: late[name] for name in ("p50", "p95", "p99", "worst", "samples")},
        "server_cpu_cores": round((lab.cpu_seconds() - cpu) / (end - start), 2),
        "clients_cpu_cores": round((_own_cpu() - own) / (end - start), 2),
    }


def _drawn(page: Any) -> int:
    return page.evaluate("pmdviz.model('acknowledge').drawn")


def _own_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
