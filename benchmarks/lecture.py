"""The lecture: going to any iteration, frames with the step panel and with a ghost, and ancestors beside the ESS."""

from __future__ import annotations

import os
import random
import statistics
from argparse import Namespace
from typing import Any

import numpy as np

import benchmarks.live as live
from pmdviz import Recipe, Session
from tests.support.browser import (
    await_picture,
    choose_setting,
    chromium,
    close_sheet,
    free_port,
    hurry,
    lab_command,
    open_page,
    open_sheet,
    server,
)

ITERATIONS, VISITS, MEASURED_S, ROUNDS = 1_000, 60, 15.0, 3
SEEDS = range(8)
RESAMPLING: dict[str, dict[str, Any]] = {
    "pmd": {},
    "pmd:policy=always": {"policy": "always"},
    "smc": {},
    "smc_mcmc": {},
}

# From the change of the time line to the first changed pixels behind words that say the wanted iteration.
VISIT_JS = """
async (wanted) => {
  const line = pmdviz.find("input.pmdviz-time"), before = pmdviz.picture()
  const start = performance.now()
  line.value = wanted
  for (const kind of ["input", "change"]) line.dispatchEvent(new Event(kind, {bubbles: true}))
  return await new Promise((done) => {
    const look = () => {
      if (pmdviz.iteration() === wanted && pmdviz.picture() !== before) done(performance.now() - start)
      else if (performance.now() - start > 20000) done(null)
      else requestAnimationFrame(look)
    }
    requestAnimationFrame(look)
  })
}
"""


def run(options: Namespace) -> dict[str, Any]:
    """All figures; `--quick` with fewer repetitions."""
    visits, seconds, rounds = (10, 4.0, 1) if options.quick else (VISITS, MEASURED_S, ROUNDS)
    figures: dict[str, Any] = {"ancestors": _ancestors(SEEDS[:2] if options.quick else SEEDS)}
    figures["empty_acknowledged_page"] = live.ceiling(seconds)
    port = free_port()
    with server(lab_command(port), port) as process, chromium() as browser:
        page = open_page(browser, port)
        await_picture(page)
        choose_setting(page, "Run length (observations used)", "endless")
        hurry(page)
        _played(page, process.pid, 1.0, warm=20)  # the first visitor of a fresh cache waits for the kernels
        figures["frames"] = _frames(page, process.pid, seconds, rounds)
        figures["visit_ms"] = _visits(page, visits)
    figures["load_after"] = [round(x, 2) for x in os.getloadavg()]
    return figures


def _frames(page: Any, server_pid: int, seconds: float, rounds: int) -> dict[str, Any]:
    """Frames a second, plain, with the panel open and with a ghost, one after the other and several times over."""
    found: dict[str, list[dict[str, Any]]] = {"plain": [], "panel": [], "ghost": []}
    for _ in range(rounds):
        found["plain"].append(_played(page, server_pid, seconds))
        page.keyboard.press("i")
        found["panel"].append(_played(page, server_pid, seconds))
        page.keyboard.press("i")
        _branch(page)
        found["ghost"].append(_played(page, server_pid, seconds))
        page.get_by_role("button", name="Keep", exact=True).click()
        page.get_by_role("button", name="Keep", exact=True).wait_for(state="hidden")
    mean = {what: statistics.mean(one["frames_per_second"] for one in rows) for what, rows in found.items()}
    shares = {f"{what}_of_plain": round(mean[what] / mean["plain"], 3) for what in ("panel", "ghost")}
    return {"frames_per_second": {what: round(value, 1) for what, value in mean.items()}, **shares, "rounds": found}


def _played(page: Any, server_pid: int, seconds: float, warm: int = 0) -> dict[str, Any]:
    """A few seconds of play from where the run stands, or from iteration `warm` on."""
    page.get_by_role("button", name="Play", exact=True).click()
    page.wait_for_function(f"pmdviz.iteration() >= {warm}", timeout=180_000)
    rates = live.frames_of(page, server_pid, seconds)
    page.get_by_role("button", name="Pause", exact=True).click()
    page.get_by_role("button", name="Play", exact=True).wait_for()
    return rates


def _branch(page: Any) -> None:
    """From here on with a slightly other step size, which changes the run and not what a step costs."""
    open_sheet(page, "Compare")
    page.get_by_role("button", name="Branch here", exact=True).click()
    page.get_by_role("button", name="Keep", exact=True).wait_for()
    open_sheet(page, "All settings")
    box = page.locator("input#knob-eta")
    box.fill("1.9" if box.input_value() == "2" else "2")
    box.press("Enter")
    close_sheet(page)


def _visits(page: Any, visits: int) -> dict[str, Any]:
    """The time line moved to iterations at random, of a run of a thousand or more."""
    page.get_by_role("button", name="Play", exact=True).click()
    page.wait_for_function(f"pmdviz.iteration() >= {ITERATIONS}", timeout=600_000)
    page.get_by_role("button", name="Pause", exact=True).click()
    page.get_by_role("button", name="Play", exact=True).wait_for()
    page.wait_for_timeout(1000)
    choose, found, last = random.Random(0), [], page.evaluate("pmdviz.iteration()")
    for _ in range(visits):
        found.append(page.evaluate(VISIT_JS, choose.randrange(1, ITERATIONS)))
        page.wait_for_timeout(100)
    seen = sorted(value for value in found if value is not None)
    times = {"p50": round(statistics.median(seen)), "p95": round(seen[min(len(seen) - 1, int(0.95 * len(seen)))])}
    return {"visits": visits, "lost": visits - len(seen), "iterations": last, **times}


def _ancestors(seeds: range) -> dict[str, dict[str, list[float]]]:
    """At the end of runs on the mixture: ESS as a share of m, ancestors, and TV; mean and standard error each."""
    found = {}
    for label, knobs in RESAMPLING.items():
        rows = np.array([_end(label.partition(":")[0], seed, knobs) for seed in seeds])
        errors = rows.std(axis=0, ddof=1) / np.sqrt(len(rows))
        names = ("ess_share", "ancestors", "tv")
        found[label] = {
            n: [round(float(x), 4) for x in pair] for n, *pair in zip(names, rows.mean(0), errors, strict=True)
        }
    return found


def _end(method: str, seed: int, knobs: dict[str, Any]) -> tuple[float, float, float]:
    session = Session(Recipe("mixture", method, seed=seed, **knobs), metrics_every=10**9)
    while not session.done:
        session.advance(1_000)
    frame = session.frame
    return frame.metrics["ess"] / len(frame.particles), frame.metrics["ancestors"], frame.metrics["tv"]
