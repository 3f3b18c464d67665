"""Endless play in one real browser: frame rate, memory of browser and server, length of traces, layout shift."""

from __future__ import annotations

import os
from argparse import Namespace
from typing import Any

from tests.support.browser import await_picture, choose_setting, chromium, hurry, open_page
from tests.support.crowd import Served, served

OPTIONS = {"minutes": 30}
WARM_UP_S = 10

WATCH_JS = """() => {
  window.shift = 0
  window.shifted = []
  const box = (r) => [r.x, r.y, r.width, r.height].map(Math.round).join(" ")
  const name = (node) => node?.className || node?.nodeName || "gone"
  new PerformanceObserver((list) => { for (const e of list.getEntries()) {
    window.shift += e.value
    for (const s of e.sources) window.shifted.push(`${name(s.node)}: ${box(s.previousRect)} to ${box(s.currentRect)}`)
  }}).observe({type: "layout-shift"})
}"""
STATE_JS = """() => ({
  iteration: pmdviz.iteration(),
  drawn: pmdviz.model("acknowledge").drawn,
  shift: window.shift,
  points: pmdviz.model("traces").renderers[0].data_source.data.visited?.length ?? 0,
})"""


def run(options: Namespace) -> dict[str, Any]:
    """One row a minute, and what the last differs from the first by."""
    seconds = 15 if options.quick else 60
    with served() as lab, chromium() as browser:
        page = open_page(browser, lab.port)
        await_picture(page)
        choose_setting(page, "Run length (observations used)", "endless")
        page.wait_for_function("!/ of [0-9,]+ observations/.test(pmdviz.words())", timeout=120_000)
        hurry(page)
        page.get_by_role("button", name="Play", exact=True).click()
        page.wait_for_timeout(1000 * WARM_UP_S)
        page.evaluate(WATCH_JS)
        devtools = page.context.new_cdp_session(page)
        rows = [_minute(page, devtools, lab, seconds) for _ in range(options.minutes)]
        shifted = page.evaluate("window.shifted.slice(0, 20)")
        complaints = lab.complaints()
    first, last = rows[0], rows[-1]
    return {
        "minutes": options.minutes,
        "seconds_of_a_minute": seconds,
        "frames_per_second_first_and_last": [first["frames_per_second"], last["frames_per_second"]],
        "browser_grew_by_mb": round(last["browser_heap_mb"] - first["browser_heap_mb"], 1),
        "server_grew_by_mb": round(last["server_mb"] - first["server_mb"], 1),
        "trace_points": last["trace_points"],
        "layout_shift": last["layout_shift"],
        "what_shifted": shifted,
        "iterations": last["iteration"],
        "rows": rows,
        "errors": complaints,
        "load_after": [round(x, 2) for x in os.getloadavg()],
    }


def _minute(page: Any, devtools: Any, lab: Served, seconds: float) -> dict[str, Any]:
    before = page.evaluate(STATE_JS)
    page.wait_for_timeout(1000 * seconds)
    after = page.evaluate(STATE_JS)
    devtools.send("HeapProfiler.collectGarbage")
    heap = devtools.send("Runtime.getHeapUsage")["usedSize"]
    return {
        "frames_per_second": round((after["drawn"] - before["drawn"]) / seconds, 1),
        "browser_heap_mb": round(heap / 2**20, 1),
        "server_mb": round(lab.megabytes(), 1),
        "trace_points": after["points"],
        "iteration": after["iteration"],
        "layout_shift": after["shift"],
    }
