"""The live page from a file with every host blocked: sizes, first motion, frames a second, and TV beside Python's."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import pmdviz
from benchmarks.helpers.firefox import firefox_frames
from pmdviz.cli.site import pages
from pmdviz.wasm.files import MODULE
from tests.support.browser import chromium

SIZES = {"1440x900": (1440, 900), "1366x625": (1366, 625), "390x844": (390, 844)}
OPTIONS = {"seeds": 20, "seconds": 4}
BUDGET, STEPS, PARTICLES, THROTTLED = 20_000, 200, 1_500, 4

# From opening the file to the first step after Play, which is pressed when the first frame is there.
FIRST_MOTION = """
const look = () => {
  const words = document.getElementById("status")?.textContent ?? ""
  if (words.startsWith("iteration 0") && !window.pressed) {
    window.pressed = true
    document.getElementById("play").click()
  }
  if (/^iteration [1-9]/.test(words)) window.moved = performance.now()
  else requestAnimationFrame(look)
}
requestAnimationFrame(look)
"""

# Frames of the screen in which a new step is shown; on an empty page every frame counts.
FRAMES = """(seconds) => new Promise((done) => {
  const status = document.getElementById("status"), start = performance.now()
  let frames = 0, last = ""
  const tick = (now) => {
    const words = status ? status.textContent : now
    if (words !== last) frames++
    last = words
    if (now - start < 1000 * seconds) requestAnimationFrame(tick)
    else done(1000 * frames / (now - start))
  }
  requestAnimationFrame(tick)
})"""
JUMP = "([seed, steps]) => { restart(seed); every('jump', {steps}) }"


def run(options: Any) -> dict[str, Any]:
    """Figures of the default run's page; `--quick` has three seeds and shorter measurements."""
    seeds, seconds = (3, 1) if options.quick else (options.seeds, options.seconds)
    runs = [pmdviz.run(seed=seed, budget=BUDGET, num_particles=PARTICLES, floor=False) for seed in range(seeds)]
    with tempfile.TemporaryDirectory() as place:
        file = Path(runs[0].export(Path(place) / "lab.html", live=True))
        empty = Path(place) / "empty.html"
        empty.write_text("<!doctype html><title>empty</title>", "utf-8")
        sizes = {"page": _size(file.read_bytes()), "kernels": _size(MODULE.read_bytes())}
        sizes |= {f"site {name}": _size(text.encode()) for name, text in pages().items()}
        with chromium() as browser:
            chosen = {name: _of_size(browser, file, empty, size, seconds) for name, size in SIZES.items()}
            found = _tv(browser, file, seeds)
        return {
            "bytes": sizes,
            "chromium": chosen,
            "firefox": firefox_frames(file, FRAMES, seconds),
            "tv": _compared(found, [float(run.frames[-1].metrics["tv"]) for run in runs]),
        }


def _size(content: bytes) -> dict[str, int]:
    return {"bytes": len(content), "compressed": len(gzip.compress(content, 9))}


def _of_size(browser: Any, file: Path, empty: Path, size: tuple[int, int], seconds: float) -> dict[str, float]:
    """First motion, and frames a second of the page and of an empty one, also with a slower processor."""
    context = browser.new_context(viewport=dict(zip(("width", "height"), size, strict=True)))
    asked: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    page, beside = context.new_page(), context.new_page()
    beside.goto(f"file://{empty}")
    frames = {"empty_fps": beside.evaluate(FRAMES, seconds)}
    beside.close()
    page.add_init_script(FIRST_MOTION)
    page.goto(f"file://{file}")
    moved = page.wait_for_selector("#play:text('Pause')") and _when_moved(page)
    frames["fps"] = page.evaluate(FRAMES, seconds)
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": THROTTLED})
    frames["throttled_fps"] = page.evaluate(FRAMES, seconds)
    context.close()
    own = {name: round(value, 1) for name, value in frames.items()}
    foreign = sum(not url.startswith(("file:", "blob:", "data:")) for url in asked)
    return {
        "first_motion_ms": round(moved),
        **own,
        "share": round(own["fps"] / own["empty_fps"], 3),
        "requests": foreign,
    }


def _when_moved(page: Any) -> float:
    page.evaluate("() => new Promise((done) => { const f = () => window.moved ? done() : setTimeout(f, 5); f() })")
    return page.evaluate("window.moved")


def _tv(browser: Any, file: Path, seeds: int) -> list[float]:
    """TV of the page's own run at the end of the budget."""
    page, found = browser.new_page(), []
    page.goto(f"file://{file}")
    for seed in range(seeds):
        page.locator("#status", has_text="iteration 0,").wait_for()
        page.evaluate(JUMP, [seed, STEPS])
        page.locator("#status", has_text=f"iteration {STEPS},").wait_for()
        found.append(page.evaluate("runs[0].frame.tv"))
        page.evaluate("restart()")
    return found


def _compared(page: list[float], python: list[float]) -> dict[str, Any]:
    """Means, their difference, and the standard error of a mean of so many runs."""
    own, theirs = np.array(page), np.array(python)
    error = float(theirs.std(ddof=1) / np.sqrt(len(theirs)))
    return {
        "seeds": len(page),
        "page_mean": round(float(own.mean()), 5),
        "page_max": round(float(own.max()), 5),
        "python_mean": round(float(theirs.mean()), 5),
        "standard_error": round(error, 5),
        "largest_difference": float(f"{np.abs(own - theirs).max():.2e}"),
    }
