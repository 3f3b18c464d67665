"""The app in a real headless browser: frames drawn, slider to picture, first picture, CPU seconds of each frame."""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from argparse import Namespace
from pathlib import Path
from typing import Any

from benchmarks.scripts import script
from tests.support.browser import await_picture, chromium, cpu_seconds, lab_server, open_page, play_endlessly

WARM_UP_S, MEASURED_S, MOVES = 3.0, 20.0, 30
EMPTY_PAGE = Path(__file__).parents[1] / "tests/support/empty_page.py"


def run(options: Namespace) -> dict[str, Any]:
    """All figures of the live app; `--quick` measures for a few seconds."""
    seconds, moves = (5.0, 6) if options.quick else (MEASURED_S, MOVES)
    figures: dict[str, Any] = {"empty_acknowledged_page": ceiling(seconds)}
    with tempfile.TemporaryDirectory() as cache, chromium() as browser:
        figures["cold"] = _first_picture(browser, cache)
        figures["warm"] = _first_picture(browser, cache)
        with lab_server() as (port, process):
            page = open_page(browser, port)
            await_picture(page)
            start = play_endlessly(page)
            page.wait_for_function("pmdviz.iteration() >= 1", timeout=10_000, polling="raf")
            figures["first_change_after_play_ms"] = round((time.perf_counter() - start) * 1000)
            figures["playing"] = frames_of(page, process.pid, seconds)
            figures["slider_to_picture_playing_ms"] = _moves(page, moves)
            page.get_by_role("button", name="Pause", exact=True).click()
            page.wait_for_timeout(1000)
            figures["slider_to_picture_paused_ms"] = _moves(page, moves)
    figures["load_after"] = [round(x, 2) for x in os.getloadavg()]
    return figures


def ceiling(seconds: float) -> dict[str, Any]:
    """Frames a second of a page with one empty figure that acknowledges each frame, two in flight."""
    command = (sys.executable, "-m", "panel", "serve", str(EMPTY_PAGE), "--liveness")
    with lab_server(*command) as (port, process), chromium() as browser:
        page = open_page(browser, port, path=f"/{EMPTY_PAGE.stem}")
        page.wait_for_function("window.pmdviz && pmdviz.model('acknowledge')?.drawn > 10", timeout=60_000)
        before, start = cpu_seconds(process.pid), time.perf_counter()
        drawn = page.evaluate("pmdviz.model('acknowledge').drawn")
        page.wait_for_timeout(seconds * 1000)
        count = page.evaluate("pmdviz.model('acknowledge').drawn") - drawn
        return _rates(count, time.perf_counter() - start, before, cpu_seconds(process.pid))


def _first_picture(browser: Any, cache: str) -> dict[str, Any]:
    """Seconds from opening the page to a word of progress, and to the first picture; the first call compiles."""
    with lab_server(NUMBA_CACHE_DIR=cache) as (port, _):
        page = open_page(browser, port)
        said = "document.getElementById('opening')?.innerText.trim() || window.pmdviz?.words().trim()"
        page.wait_for_function(said, timeout=180_000, polling=20)
        found = {"words_s": _since_opening(page)}
        await_picture(page, 180)
        found["picture_s"] = _since_opening(page)
        page.close()
        second = open_page(browser, port)  # the server is warm now: what a second visitor waits
        await_picture(second, 180)
        found["second_visitor_picture_s"] = _since_opening(second)
        second.close()
        return {name: round(value, 2) for name, value in found.items()}


def _since_opening(page: Any) -> float:
    """Seconds since the page was asked for, by the browser's own clock."""
    return page.evaluate("performance.now()") / 1000


def frames_of(page: Any, server_pid: int, seconds: float) -> dict[str, Any]:
    """What a page that plays shows in so many seconds, once it is warm."""
    page.wait_for_timeout(WARM_UP_S * 1000)
    before = cpu_seconds(server_pid)
    counted = page.evaluate(script("count_frames"), seconds)
    rates = _rates(counted["frames"], counted["elapsed"], before, cpu_seconds(server_pid))
    return {**rates, "acknowledged_frames": counted["acknowledged"], "iterations": counted["iterations"]}


def _rates(frames: int, elapsed: float, before: dict[str, float], after: dict[str, float]) -> dict[str, Any]:
    spent = {f"{who}_cpu_ms_per_frame": round(1000 * (after[who] - before[who]) / max(1, frames), 1) for who in before}
    return {"frames_per_second": round(frames / elapsed, 1), "frames": frames, **spent}


def _moves(page: Any, moves: int) -> dict[str, Any]:
    """The bandwidth slider moved to `moves` places, one after the other."""
    found = []
    for k in range(moves):
        found.append(page.evaluate(script("move"), ["bandwidth", 100 + (37 * (k + 1)) % 80]))
        page.wait_for_timeout(150)
    seen = sorted(value for value in found if value is not None)
    return {
        "moves": moves,
        "lost": moves - len(seen),
        "p50": round(statistics.median(seen)),
        "p95": round(seen[min(len(seen) - 1, int(0.95 * len(seen)))]),
    }
