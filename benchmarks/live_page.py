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
from benchmarks.scripts import script
from pmdviz.cli.tools import pages
from pmdviz.errors import InputError
from pmdviz.wasm import MODULE
from tests.support.browser import await_picture, chromium, lab_server, open_page, play_endlessly

SIZES = {"1440x900": (1440, 900), "1366x625": (1366, 625), "390x844": (390, 844)}
SHARES = {"share": "fps", "throttled_share": "throttled_fps"}  # of the frames of an empty page
OPTIONS = {"seeds": 20, "seconds": 4, "beside": None}
BESIDE = "app.html"  # of a clone of github.com/chi-feng/mcmc-demo, which --beside names
BUDGET, STEPS, PARTICLES, THROTTLED = 20_000, 200, 1_500, 4


JUMP = "([seed, steps]) => { restart(seed); every('step', {steps}) }"


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
            beside = {"served page": _served(browser, seconds)}
            if demo:
                beside["mcmc-demo"] = _foreign(browser, demo, seconds)
        return {
            "bytes": sizes,
            "chromium": chosen,
            "firefox": firefox_frames(file, script("frames"), seconds),
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
    frames = {"empty_fps": beside.evaluate(script("frames"), seconds)[0]}
    beside.close()
    page.add_init_script(script("first_motion"))
    page.goto(f"file://{file}")
    page.wait_for_selector("#play:text('Pause')")
    page.wait_for_function("window.moved", polling=5)
    moved = page.evaluate("window.moved")
    frames["fps"], frames["steps_per_second"] = page.evaluate(script("frames"), seconds)
    page.context.new_cdp_session(page).send("Emulation.setCPUThrottlingRate", {"rate": THROTTLED})
    frames["throttled_fps"] = page.evaluate(script("frames"), seconds)[0]
    pressed = page.evaluate("window.pressed")
    context.close()
    found = {"first_picture_ms": round(pressed), "first_motion_ms": round(moved)}
    own = {name: round(value, 1) for name, value in frames.items()}
    shares = {name: round(own[of] / own["empty_fps"], 3) for name, of in SHARES.items()}
    foreign = sum(not url.startswith(("file:", "blob:", "data:")) for url in asked)
    return {**found, **own, **shares, "requests": foreign}


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
    means = {"page_mean": own.mean(), "page_max": own.max(), "python_mean": theirs.mean(), "standard_error": error}
    rounded = {name: round(float(value), 5) for name, value in means.items()}
    return {"seeds": len(page), **rounded, "largest_difference": float(f"{np.abs(own - theirs).max():.2e}")}


FIRST_FOREIGN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


def _served(browser: Any, seconds: float) -> dict[str, float]:
    """First picture, bytes loaded and frames a second of the served lab."""
    with lab_server() as (port, process):
        warm = open_page(browser, port)
        await_picture(warm, 180)
        warm.close()
        page = open_page(browser, port)
        await_picture(page)
        found = {
            "first_picture_ms": round(page.evaluate("performance.now()")),
            "bytes": page.evaluate(script("loaded")),
        }
        play_endlessly(page)
        found["fps"] = frames_of(page, process.pid, seconds)["frames_per_second"]
        page.close()
    return found


def _foreign(browser: Any, folder: Path, seconds: float) -> dict[str, float]:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.add_init_script("Math.seedrandom = () => 0")  # it comes from another host
    page.goto(f"file://{folder}/{BESIDE}?algorithm=SVGD&delay=0", wait_until="load")
    scripts = page.evaluate("[...document.scripts].map((one) => one.src)")
    files = [folder / BESIDE, *(Path(src.removeprefix("file://")) for src in scripts if src.startswith("file:"))]
    found = {
        "first_picture_ms": round(page.evaluate(f"{FIRST_FOREIGN}.then(() => performance.now())")),
        "bytes": sum(one.stat().st_size for one in files),
    }
    found["fps"] = round(page.evaluate(script("foreign_frames"), seconds), 1)
    page.close()
    return found
