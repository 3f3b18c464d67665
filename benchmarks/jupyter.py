"""Labs in fresh Jupyter servers, driven as a person would: whether each step comes about, and how long it takes."""

from __future__ import annotations

import tempfile
import time
from argparse import Namespace
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from tests.support.browser import chromium, hurry
from tests.support.jupyter_page import LAB, NOTEBOOK, NotebookPage, jupyter

OPTIONS = {"servers": 20}
NOTEBOOKS = 3  # servers of Notebook 7 after those of JupyterLab
TURNS = 10  # of the slider, in each server
WAIT_MS = 60_000
CELLS = ("import pmdviz\nlab = pmdviz.Lab(budget=None)\nlab", "other = pmdviz.Lab('bimodal1d', budget=None)\nother")
PACKAGES = ("jupyterlab", "notebook", "ipykernel", "ipywidgets", "anywidget")

# Moves the slider of the bandwidth by one notch; the milliseconds until a frame is drawn that was computed with it.
TURN_JS = """
async (left) => {
  const ack = pmdviz.model("acknowledge"), slider = pmdviz.find("input[aria-label='bandwidth slider']")
  const before = JSON.parse(ack.shown).bandwidth, start = performance.now()
  slider.value = Number(slider.value) + (left ? -3 : 3)
  slider.dispatchEvent(new Event("input", {bubbles: true}))
  let frame = 0  // the first that was computed with it
  while (!frame || ack.drawn < frame) {
    if (!frame && JSON.parse(ack.shown).bandwidth !== before) frame = ack.sent
    if (frame && ack.drawn >= frame) break
    if (performance.now() - start > 20_000) throw new Error("the slider did not act")
    await new Promise((done) => requestAnimationFrame(done))
  }
  return performance.now() - start
}
"""
OF_JS = "pmdviz.find('.pmdviz-status', document.querySelectorAll('.pmdviz-notebook')[{k}])?.textContent"


def run(options: Namespace) -> dict[str, Any]:
    """`--servers` of JupyterLab, then three of Notebook 7; no step is tried twice."""
    number = min(2, options.servers) if options.quick else options.servers
    flavours = [LAB] * number + [NOTEBOOK] * (1 if options.quick else NOTEBOOKS)
    with chromium() as browser:
        found = [(flavour[0], _one(browser, flavour)) for flavour in flavours]
    return {
        "jupyterlab": _summary([one for name, one in found if name == LAB[0]]),
        "notebook": _summary([one for name, one in found if name == NOTEBOOK[0]]),
        "versions": {name: version(name) for name in PACKAGES},
    }


def _one(browser: Any, flavour: tuple[str, str]) -> dict[str, Any]:
    """A fresh server with a fresh kernel and a fresh browser profile."""
    with tempfile.TemporaryDirectory() as folder, jupyter(Path(folder) / "served", CELLS, flavour) as served:
        page = served.open(browser)
        try:
            return {"failed": "", **_steps(page)}
        except Exception as error:  # whatever it is counts as a failure of this server
            return {"failed": f"{type(error).__name__}: {error}".splitlines()[0]}
        finally:
            page.close()


def _steps(notebook: NotebookPage) -> dict[str, Any]:
    cold = _timed(lambda: _show(notebook, 0))
    before = notebook.page.evaluate("pmdviz.picture()")
    hurry(notebook.page)
    notebook.page.get_by_role("button", name="Play", exact=True).first.click()
    _reach(notebook, 0, 5)
    if notebook.page.evaluate("pmdviz.picture()") == before:
        raise RuntimeError("it does not play: the pixels are the same")
    turns = [notebook.page.evaluate(TURN_JS, k % 2 == 0) for k in range(TURNS)]
    shown = notebook.page.evaluate("JSON.parse(pmdviz.model('acknowledge').shown).bandwidth")
    if notebook.ask("lab.session.knobs.bandwidth") != shown:
        raise RuntimeError(f"the kernel does not have the slider's value {shown}")
    frames = _frames(notebook, 3.0)
    warm = _timed(lambda: _show(notebook, 1))
    notebook.page.get_by_role("button", name="Play", exact=True).first.click()
    _reach(notebook, 1, 5)
    if notebook.ask("[lab.widget.playing, other.widget.playing]") != [True, True]:
        raise RuntimeError("two labs do not play at once")
    if notebook.foreign or notebook.problems:
        raise RuntimeError(f"asked elsewhere: {notebook.foreign}, said by the browser: {notebook.problems}")
    return {"cold_s": cold, "warm_s": warm, "turns_ms": turns, "frames_per_second": frames}


def _timed(act: Callable[[], Any]) -> float:
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def _show(notebook: NotebookPage, k: int) -> None:
    """Run cell k and wait for the first picture of its lab."""
    notebook.run(k)
    _reach(notebook, k, 0)


def _reach(notebook: NotebookPage, k: int, iteration: int) -> None:
    number = f"({OF_JS.format(k=k)} ?? '').match(/iteration ([\\d,]+)/)?.[1].replaceAll(',', '') ?? -1"
    notebook.page.wait_for_function(f"Number({number}) >= {iteration}", timeout=WAIT_MS, polling="raf")


def _frames(notebook: NotebookPage, seconds: float) -> float:
    """Frames that the browser draws in a second while one lab plays."""
    drawn = "pmdviz.model('acknowledge').drawn"
    before, start = notebook.page.evaluate(drawn), time.perf_counter()
    notebook.page.wait_for_timeout(1000 * seconds)
    return (notebook.page.evaluate(drawn) - before) / (time.perf_counter() - start)


def _summary(servers: list[dict[str, Any]]) -> dict[str, Any]:
    good = [one for one in servers if not one["failed"]]
    turns = [turn for one in good for turn in one["turns_ms"]]
    figures: dict[str, Any] = {
        "servers": len(servers),
        "failures": len(servers) - len(good),
        "what_failed": [one["failed"] for one in servers if one["failed"]],
    }
    if good:
        figures["slider_round_trip_ms"] = {"turns": len(turns), **_quantiles(turns)}
        figures["first_picture_cold_s"] = _quantiles([one["cold_s"] for one in good], 2)
        figures["first_picture_warm_s"] = _quantiles([one["warm_s"] for one in good], 2)
        figures["frames_per_second"] = _quantiles([one["frames_per_second"] for one in good], 1)
    return figures


def _quantiles(values: list[float], digits: int = 0) -> dict[str, float]:
    p50, p95 = np.percentile(values, [50, 95])
    return {"p50": round(float(p50), digits), "p95": round(float(p95), digits)}
