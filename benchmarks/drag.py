"""A dragged mode in a real headless browser: from the pointer's move to the painted contours of the moved target."""

from __future__ import annotations

import statistics
import sys
from argparse import Namespace
from typing import Any

from tests.support.browser import await_picture, chromium, free_port, lab_command, open_page, server

MOVES, QUICK_MOVES, PX = 50, 10, 4
HANDLE = "pmdviz.find('.handle')"

# From an event of the pointer to the end of the animation frame in which the new lines are painted.
LISTEN_JS = """
() => {
  const source = pmdviz.model("moved").data_source, seen = (window.dragged = {times: [], began: null})
  pmdviz.find(".handle").addEventListener("pointermove", () => { seen.began ??= performance.now() }, {capture: true})
  source.properties.data.change.connect(() => {
    const began = seen.began
    if (began === null || !source.data.x.length) return
    requestAnimationFrame(() => setTimeout(() => { seen.times.push(performance.now() - began); seen.began = null }, 0))
  })
}
"""


def run(options: Namespace) -> dict[str, Any]:
    """Milliseconds of single moves, each after the answer to the one before."""
    port, moves = free_port(), QUICK_MOVES if options.quick else MOVES
    with server(lab_command(port), port), chromium() as browser:
        page = open_page(browser, port)
        await_picture(page)
        page.wait_for_function(f"{HANDLE} && !{HANDLE}.hidden")
        times = dragged(page, moves)
    print(f"{moves} moves: median {statistics.median(times):.0f} ms", file=sys.stderr)
    return {
        "moves": moves,
        "median_ms": statistics.median(times),
        "p95_ms": sorted(times)[int(0.95 * (len(times) - 1))],
        "largest_ms": max(times),
    }


def dragged(page: Any, moves: int) -> list[float]:
    """The milliseconds of each of so many moves of the first handle."""
    handle = page.locator(".handle").first
    box = handle.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.evaluate(LISTEN_JS)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + PX, y)
    page.wait_for_function("dragged.times.length === 1")
    for k in range(1, moves + 1):
        page.evaluate("dragged.began = null")
        page.mouse.move(x - PX * (k % 25), y - PX * (k % 13))
        page.wait_for_function(f"dragged.times.length === {k + 1}", polling=10)
    page.mouse.up()
    return page.evaluate("dragged.times.slice(1)")
