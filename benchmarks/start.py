"""What a start costs: import, commands, a whole run; and a page's first minute on a machine that never ran it."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

from benchmarks.scripts import script
from tests.support.browser import await_picture, choose_setting, chromium, end, lab_server, open_page

TIMES = 7
HEAVY = ("numba", "scipy", "panel", "bokeh", "param", "numpy")
HELD = f"import sys; import pmdviz; print(*(name for name in {HEAVY!r} if name in sys.modules))"
# numba imports scipy.linalg where it finds SciPy, which is no dependency of this package.
WITHOUT_SCIPY = (
    "import sys; sys.modules['scipy'] = None; from pmdviz.cli.main import main; sys.exit(main(sys.argv[1:]))"
)
MOST_S = 300.0  # that a cold page may take
CHOSEN_S = 10.0
CHOICE = {"Target": "Banana (2-D)", "Method": "Stein variational gradient descent"}
CHOSEN_JS = """!pmdviz.model('acknowledge').shown.includes('"schedule"')"""  # a knob of pmd
RUN = ("run", "--target", "mixture", "--method", "pmd", "--seed", "0", "--json")  # a file follows


def run(options: Namespace) -> dict[str, Any]:
    """Wall and CPU seconds of new processes, medians; the empty cache is tried once."""
    with tempfile.TemporaryDirectory(prefix="pmdviz-start-") as folder:
        figures = _figures(2 if options.quick else TIMES, f"{folder}/cache", f"{folder}/out.json")
    with chromium() as browser:
        figures["first_minute_idle"] = first_minute(browser)
        figures["another_run_after_10_s"] = another_run(browser)
        loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
        try:
            figures["first_minute_beside_two_python_loops"] = first_minute(browser)
        finally:
            for loop in loops:
                end(loop)
    return figures | {"load_after": [round(x, 2) for x in os.getloadavg()]}


def _figures(times: int, empty: str, out: str) -> dict[str, Any]:
    """The figures; `empty` is a folder for a cache that is empty, `out` a file to write to."""
    module, whole_run = ("-m", "pmdviz"), (*RUN, out)
    seconds(*module, *whole_run)  # fills the cache
    cold = seconds(*module, *whole_run, NUMBA_CACHE_DIR=empty)
    return {
        "python_alone": medians(times, "-c", "pass"),
        "import_pmdviz": medians(times, "-c", "import pmdviz"),
        "imported_with_it": subprocess.run([sys.executable, "-c", HELD], capture_output=True, text=True).stdout.split(),
        "list": medians(times, *module, "list", "--json", out),
        "run_20000_with_floor": medians(times, *module, *whole_run),
        "run_20000_with_floor_without_scipy": medians(times, "-c", WITHOUT_SCIPY, *whole_run),
        "run_20000_with_floor_empty_cache": {"wall_s": round(cold[0], 3), "cpu_s": round(cold[1], 3)},
        "how": f"medians of {times} new processes, interpreter included; a run is the default one, 20,000 observations",
    }


@contextmanager
def cold_server() -> Iterator[tuple[int, float]]:
    """A server with an empty cache of kernels: its port, and when it first answered."""
    with tempfile.TemporaryDirectory(prefix="pmdviz-cold-", ignore_cleanup_errors=True) as cache:
        with lab_server(NUMBA_CACHE_DIR=cache) as (port, _):
            yield port, time.monotonic()


def first_minute(browser: Any) -> dict[str, float]:
    """From the server's first answer to page and live run, from the click on Play to motion, and the longest rest."""
    with cold_server() as (port, answered):
        page = open_page(browser, port)
        await_picture(page, MOST_S)
        found = {"page_s": time.monotonic() - answered}
        found["click_to_motion_s"] = page.evaluate(script("play"))
        found["longest_rest_s"] = page.evaluate(script("rest"))
        found["live_s"] = time.monotonic() - answered
        page.close()
        return {name: round(value, 2) for name, value in found.items()}


def another_run(browser: Any) -> dict[str, Any]:
    """SVGD on the banana, chosen 10 s after the server's first answer, beside a page that plays the default run."""
    with cold_server() as (port, answered):
        playing, page = open_page(browser, port), open_page(browser, port)
        for each in (playing, page):
            await_picture(each, MOST_S)
        playing.evaluate(script("play"))
        page.wait_for_timeout(max(0.0, 1000 * (CHOSEN_S + answered - time.monotonic())))
        chosen = time.monotonic()
        for label, title in CHOICE.items():
            choose_setting(page, label, title)
        page.wait_for_function(CHOSEN_JS, timeout=1000 * MOST_S)
        page.get_by_role("button", name="Play", exact=True).click(timeout=1000 * MOST_S)
        page.wait_for_function("pmdviz.iteration() >= 1", timeout=1000 * MOST_S, polling="raf")
        return {"chosen": list(CHOICE.values()), "first_live_step_s": round(time.monotonic() - chosen, 2)}


def medians(times: int, *arguments: str) -> dict[str, float]:
    """Median wall and CPU seconds of `python ARGUMENTS`."""
    found = [seconds(*arguments) for _ in range(times)]
    wall, cpu = (median(values) for values in zip(*found, strict=True))
    return {"wall_s": round(wall, 3), "cpu_s": round(cpu, 3)}


def seconds(*arguments: str, **environment: str) -> tuple[float, float]:
    """Wall and CPU seconds of one new process. CalledProcessError if it fails."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run([sys.executable, *arguments], env={**os.environ, **environment}, check=True, capture_output=True)
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
