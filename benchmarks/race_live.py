"""The Race page in a real headless browser with six entrants: first picture, frames drawn, CPU of each frame."""

from __future__ import annotations

import os
import time
from argparse import Namespace
from typing import Any

from tests.support.browser import await_picture, chromium, cpu_seconds, free_port, hurry, lab_command, open_page, server

WARM_UP_S, MEASURED_S = 2.0, 20.0

# A frame counts when, behind a paint, the tiles' pixels have changed and the iteration in the words has risen.
COUNT_FRAMES_JS = """
async (seconds) => {
  const ack = pmdviz.model("race-acknowledge")
  const page = pmdviz.find(".pmdviz-race"), tiles = pmdviz.find(".pmdviz-race-tiles")
  const canvases = pmdviz.canvases(tiles.shadowRoot)
  const status = pmdviz.find(".pmdviz-status", page.shadowRoot)
  const small = Object.assign(document.createElement("canvas"), {width: 96, height: 96})
  const g = small.getContext("2d", {willReadFrequently: true})
  const picture = () => {
    g.clearRect(0, 0, 96, 96)
    for (const c of canvases) if (c.width && c.height) g.drawImage(c, 0, 0, 96, 96)
    let hash = 0
    for (const v of g.getImageData(0, 0, 96, 96).data) hash = (hash * 31 + v) | 0
    return hash
  }
  const iteration = () => Number((status.textContent.match(/iteration ([\\d,]+)/) ?? [0, "-1"])[1].replaceAll(",", ""))
  let last = iteration(), seen = picture(), frames = 0
  const start = performance.now(), drawn = ack.drawn, from = last
  const painted = Bokeh.index.find_one(pmdviz.model("race")).repainted
  const look = () => {
    const now = iteration()
    if (now <= last) return
    const next = picture()
    if (next !== seen) { frames += 1; last = now; seen = next }
  }
  painted.connect(look)
  await new Promise((done) => setTimeout(done, seconds * 1000))
  painted.disconnect(look)
  const elapsed = (performance.now() - start) / 1000
  return {frames, elapsed, acknowledged: ack.drawn - drawn, iterations: last - from}
}
"""


def run(options: Namespace) -> dict[str, Any]:
    """All figures of the Race page; `--quick` measures for a few seconds."""
    seconds = 5.0 if options.quick else MEASURED_S
    port = free_port()
    with server(lab_command(port), port) as process, chromium() as browser:
        page = open_page(browser, port)
        await_picture(page)
        page.wait_for_timeout(WARM_UP_S * 1000)
        figures: dict[str, Any] = {"first_picture_s": _first_picture(page), "entrants": _entrants(page)}
        page.get_by_label("Budget of each (observations used)").select_option("endless")
        page.wait_for_function("JSON.parse(pmdviz.model('race-acknowledge').shown).budget === null", timeout=30_000)
        hurry(page)
        page.get_by_role("button", name="Play", exact=True).click()
        page.wait_for_timeout(WARM_UP_S * 1000)
        before = cpu_seconds(process.pid)
        counted = page.evaluate(COUNT_FRAMES_JS, seconds)
        after = cpu_seconds(process.pid)
    frames = max(1, counted["frames"])
    figures["playing"] = {
        "frames_per_second": round(counted["frames"] / counted["elapsed"], 1),
        "frames": counted["frames"],
        **{f"{who}_cpu_ms_per_frame": round(1000 * (after[who] - before[who]) / frames, 1) for who in before},
        "acknowledged_frames": counted["acknowledged"],
        "iterations": counted["iterations"],
    }
    figures["load_after"] = [round(x, 2) for x in os.getloadavg()]
    return figures


def _first_picture(page: Any) -> float:
    """Seconds from the press on the tab to the first frame that the browser has drawn."""
    start = time.perf_counter()
    page.get_by_role("tab", name="Race").click()
    page.wait_for_function("pmdviz.model('race-acknowledge')?.drawn > 0", timeout=60_000, polling="raf")
    return round(time.perf_counter() - start, 2)


def _entrants(page: Any) -> list[str]:
    return page.evaluate("JSON.parse(pmdviz.model('race-acknowledge').shown).entrants")
