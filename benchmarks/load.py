"""A class in front of one server: many sessions that play at once, some of them real browsers, and one heavy user."""

from __future__ import annotations

import os
import resource
import statistics
import time
from argparse import Namespace
from typing import Any

from tests.support.browser import await_picture, choose_setting, chromium, hurry, open_page
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
            pages = [_playing_page(browser, lab.port) for _ in range(BROWSERS)]
            together = _measured(lab, crowd, pages, seconds)
            memory = (lab.megabytes() - empty) / (options.sessions - 1)
            heavy = _beside_heavy(lab, crowd, pages, seconds)
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


def _playing_page(browser: Any, port: int) -> Any:
    page = open_page(browser, port)
    await_picture(page)
    choose_setting(page, "Run length (observations used)", "endless")
    page.wait_for_function("!/ of [0-9,]+ observations/.test(pmdviz.words())", timeout=120_000)
    hurry(page)
    page.get_by_role("button", name="Play", exact=True).click()
    return page


def _beside_heavy(lab: Served, crowd: Crowd, pages: list[Any], seconds: float) -> dict[str, Any]:
    """The first client turns heavy; the figures are those of all the others."""
    first = crowd.clients[0]
    for knob, value in HEAVY.items():
        crowd.do(_turn(first, knob, value))
        time.sleep(1)
    figures = _measured(lab, crowd, pages, seconds, without=first)
    figures["heavy_iterations"] = first.iteration
    return figures


async def _turn(client: Any, knob: str, value: Any) -> None:
    client.turn(knob, str(value))


def _measured(lab: Served, crowd: Crowd, pages: list[Any], seconds: float, without: Any = None) -> dict[str, Any]:
    time.sleep(SETTLE_S)
    lab.probe()
    cpu, own, start = lab.cpu_seconds(), _own_cpu(), time.monotonic()
    drawn = [_drawn(page) for page in pages]
    time.sleep(seconds)
    end, late = time.monotonic(), lab.probe()
    in_browsers = [
        (_drawn(page) - before) / (time.monotonic() - start) for page, before in zip(pages, drawn, strict=True)
    ]
    rates = [client.rate(start, end) for client in crowd.clients if client is not without] + in_browsers
    middle = statistics.median(rates)
    return {
        "seconds": seconds,
        "frames_per_second": {
            "slowest": round(min(rates), 2),
            "median": round(middle, 2),
            "fastest": round(max(rates), 2),
            "all_together": round(sum(rates), 1),
            "in_browsers": [round(rate, 2) for rate in in_browsers],
        },
        "slowest_over_median": round(min(rates) / middle, 2),
        "event_loop_late_ms": {name: late[name] for name in ("p50", "p95", "p99", "worst", "samples")},
        "server_cpu_cores": round((lab.cpu_seconds() - cpu) / (end - start), 2),
        "clients_cpu_cores": round((_own_cpu() - own) / (end - start), 2),
    }


def _drawn(page: Any) -> int:
    return page.evaluate("pmdviz.model('acknowledge').drawn")


def _own_cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime
