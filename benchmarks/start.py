"""What a start costs: the import, a command without kernels, a whole run from a warm and from an empty cache."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from argparse import Namespace
from statistics import median
from typing import Any

TIMES = 7
HEAVY = ("numba", "scipy", "panel", "bokeh", "param", "numpy")
IMPORT = "import pmdviz"
HELD = f"import sys; import pmdviz; print(*(name for name in {HEAVY!r} if name in sys.modules))"
# numba imports scipy.linalg where it finds SciPy, which is no dependency of this package.
WITHOUT_SCIPY = (
    "import sys; sys.modules['scipy'] = None; from pmdviz.cli.main import main; sys.exit(main(sys.argv[1:]))"
)
RUN = ("run", "--target", "mixture", "--method", "pmd", "--seed", "0", "--json")  # a file follows


def run(options: Namespace) -> dict[str, Any]:
    """Wall and CPU seconds of new processes, medians; the empty cache is tried once."""
    with tempfile.TemporaryDirectory(prefix="pmdviz-start-") as folder:
        return _figures(2 if options.quick else TIMES, f"{folder}/cache", f"{folder}/out.json")


def _figures(times: int, empty: str, out: str) -> dict[str, Any]:
    """The figures; `empty` is a folder for a cache that is empty, `out` a file to write to."""
    module, whole_run = ("-m", "pmdviz"), (*RUN, out)
    seconds(*module, *whole_run)  # fills the cache
    cold = seconds(*module, *whole_run, NUMBA_CACHE_DIR=empty)
    return {
        "python_alone": medians(times, "-c", "pass"),
        "import_pmdviz": medians(times, "-c", IMPORT),
        "imported_with_it": subprocess.run([sys.executable, "-c", HELD], capture_output=True, text=True).stdout.split(),
        "list": medians(times, *module, "list", "--json", out),
        "run_20000_with_floor": medians(times, *module, *whole_run),
        "run_20000_with_floor_without_scipy": medians(times, "-c", WITHOUT_SCIPY, *whole_run),
        "run_20000_with_floor_empty_cache": {"wall_s": round(cold[0], 3), "cpu_s": round(cold[1], 3)},
        "load_after": [round(x, 2) for x in os.getloadavg()],
        "how": f"medians of {times} new processes, interpreter included; a run is the default one, 20,000 data visited",
    }


def medians(times: int, *arguments: str) -> dict[str, float]:
    """Median wall and CPU seconds of `python ARGUMENTS`."""
    found = [seconds(*arguments) for _ in range(times)]
    wall, cpu = (median(values) for values in zip(*found, strict=True))
    return {"wall_s": round(wall, 3), "cpu_s": round(cpu, 3)}


def seconds(*arguments: str, **environment: str) -> tuple[float, float]:
    """Wall and CPU seconds of one new process. CalledProcessError if it fails."""
    before, start = _children_cpu(), time.perf_counter()
    command = [sys.executable, *arguments]
    subprocess.run(command, env={**os.environ, **environment}, check=True, capture_output=True)
    return time.perf_counter() - start, _children_cpu() - before


def _children_cpu() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
