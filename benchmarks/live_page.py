"""The live page from a file with every host blocked: sizes, first motion, frames a second, and TV beside Python's."""

from __future__ import annotations

import gzip
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import pmdviz
from benchmarks.helpers.firefox import firefox_frames
from benchmarks.live import frames_of
from pmdviz.cli.site import pages
from pmdviz.errors import InputError
from pmdviz.wasm import MODULE
from tests.support.browser import (
    await_picture,
    choose_setting,
    chromium,
    free_port,
    hurry,
    lab_command,
    open_page,
    server,
)

SIZES = {"1440x900": (1440, 900), "1366x625": (1366, 625), "390x844": (390, 844)}
OPTIONS = {"seeds": 20, "seconds": 4}
BESIDE = "app.html"  # of a clone of github.com/chi-feng/mcmc-demo, which --beside names
BUDGET, STEPS, PARTICLES, THROTTLED = 20_000, 200, 1_500, 4

# From opening the file to the first step after Play, which is pressed when the first frame is there.
FIRST_MOTION = """
const look = () => {
  const words = document.getElementById("status")?.textContent ?? ""
  if (words.startsWith("iteration 0") && !window.pressed) {
    window.pressed = performance.now()
    document.getElementById("play").click()
  }
  if (/^iteration [1-9]/.test(words)) window.moved = performance.now()
  else requestAnimationFrame(look)
}
requestAnimationFrame(look)
"""

# Pictures of the stage and steps of the run that are shown a second; on an empty page every frame counts.
FRAMES = """(seconds) => new Promise((done) => {
  const stage = document.querySelector(".stage"), status = document.getElementById("status"), start = performance.now()
  const words = () => status?.textContent.match(/iteration ([\\d,]+)/)?.[1] ?? "0"
  const steps = () => Number(words().replaceAll(",", "")), first = steps()
  let pictures = 0, last = null
  const tick = (now) => {
    const picture = stage ? stage.pmdviz : now
    if (picture !== last) pictures++
    last = picture
    const passed = now - start
    if (passed < 1000 * seconds) requestAnimationFrame(tick)
    else done([1000 * pictures / passed, 1000 * (steps() - first) / passed])
  }
  requestAnimationFrame(tick)
})"""
JUMP = "([seed, steps]) => { restart(seed); every('jump', {steps}) }"


def run(options: Any) -> dict[str, Any]:
    """Figures of the default run's page; `--quick` has three seeds and shorter measurements.

    Raises InputError where the folder of `--beside` is not that gallery.
    """
    demo = None if options.beside is None else Path(options.beside).resolve()
    if demo and not (demo / BESIDE).is_file():
        raise InputError(f"--beside needs a clone of github.com/chi-feng/mcmc-demo; {options.beside} has no {BESIDE}")
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
            beside = _beside(browser, demo, seconds)
        return {
            "bytes": sizes,
            "chromium": chosen,
            "firefox": firefox_frames(file, FRAMES, seconds),
            "tv": _compared(found, [float(run.frames[-1].metrics["tv"]) for run in runs]),
            "beside": beside,
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
    frames = {"empty_fps": beside.evaluate(FRAMES, seconds)[0]}
    beside.close()
    page.add_init_script(FIRST_MOTION)
    page.goto(f"file://{file}")
    moved = page.wait_for_selector("#play:text('Pause')") and _when_moved(page)
    frames["fps"], frames["steps_per_second"] = page.evaluate(FRAMES, seconds)
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": THROTTLED})
    frames["throttled_fps"] = page.evaluate(FRAMES, seconds)[0]
    pressed = page.evaluate("window.pressed")
    context.close()
    own = {name: round(value, 1) for name, value in frames.items()}
    foreign = sum(not url.startswith(("file:", "blob:", "data:")) for url in asked)
    return {
        "first_picture_ms": round(pressed),
        "first_motion_ms": round(moved),
        **own,
        "share": round(own["fps"] / own["empty_fps"], 3),
        "throttled_share": round(own["throttled_fps"] / own["empty_fps"], 3),
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


# What others load and draw: the served lab, and the gallery of chi-feng/mcmc-demo with the browser's random numbers.
LOADED = """() => [...performance.getEntriesByType("resource"), ...performance.getEntriesByType("navigation")]
  .reduce((sum, one) => sum + one.transferSize, 0)"""
FOREIGN_FRAMES = """(seconds) => new Promise((done) => {
  let pictures = 0
  const own = viz.render.bind(viz)
  viz.render = () => { pictures++; own() }
  setTimeout(() => done(pictures / seconds), 1000 * seconds)
})"""
FIRST_FOREIGN = (
    "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now()))))"
)


def _beside(browser: Any, folder: Path | None, seconds: float) -> dict[str, Any]:
    """First picture, bytes loaded and frames a second; of the gallery where its folder is given."""
    more = {} if folder is None else {"mcmc-demo": _foreign(browser, folder, seconds)}
    return {"served page": _served(browser, seconds), **more}


def _served(browser: Any, seconds: float) -> dict[str, float]:
    port = free_port()
    with server(lab_command(port), port) as process:
        warm = open_page(browser, port)
        await_picture(warm, 180)
        warm.close()
        page = open_page(browser, port)
        await_picture(page)
        found = {"first_picture_ms": round(page.evaluate("performance.now()")), "bytes": page.evaluate(LOADED)}
        choose_setting(page, "Run length (observations used)", "endless")
        hurry(page)
        page.get_by_role("button", name="Play", exact=True).click()
        found["fps"] = frames_of(page, process.pid, seconds)["frames_per_second"]
        page.close()
    return found


def _foreign(browser: Any, folder: Path, seconds: float) -> dict[str, float]:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.add_init_script("Math.seedrandom = () => 0")  # it comes from another host
    page.goto(f"file://{folder}/{BESIDE}?algorithm=SVGD&delay=0", wait_until="load")
    scripts = page.evaluate("[...document.scripts].map((one) => one.src)")
    files = [folder / BESIDE, *(Path(src.removeprefix("file://")) for src in scripts if src.startswith("file:"))]
    found = {"first_picture_ms": round(page.evaluate(FIRST_FOREIGN)), "bytes": sum(one.stat().st_size for one in files)}
    found["fps"] = round(page.evaluate(FOREIGN_FRAMES, seconds), 1)
    page.close()
    return found
