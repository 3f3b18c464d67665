"""`python -m benchmarks.paired CHECKOUT`: every row of `bench engine` here against another checkout, in turn.

Both checkouts keep a process, and each row is timed here, there, here, there, and so on. The table has the median of
the ratios here / there with its 95 % interval by the sign test. A row has fallen where the interval lies above 1.05.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parents[1]
LEAST_S = 0.03  # CPU seconds of a measurement, which repeats the call
FALLEN = 1.05


def serve() -> None:
    """The rows of this checkout: answers a line with a row's number by the CPU milliseconds of a call."""
    from benchmarks.helpers import engine_kernels, engine_methods
    from pmdviz.kernels import pool

    pool.set_threads(1)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})  # both sides on one core, which others may slow
    engine_methods.STEPS.setdefault("structured", 20)
    contests = [*engine_kernels.contests(True), *engine_methods.contests()]
    calls = [one.ours for one in contests]
    for call in calls:
        call()
    print(json.dumps([f"{one.name}, {one.size}" for one in contests]), flush=True)
    for line in sys.stdin:
        begun, done = time.process_time(), 0
        while time.process_time() - begun < LEAST_S:
            calls[int(line)]()
            done += 1
        print(1000 * (time.process_time() - begun) / done, flush=True)


def main() -> int:
    """Print the table; 1 if a row has fallen."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.paired", description=__doc__)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--pairs", type=int, default=12, help="at least 10")
    options = parser.parse_args()
    sides, command = [], [sys.executable, "-c", f"import runpy; runpy.run_path({__file__!r})['serve']()"]
    for root in (HERE, options.checkout.resolve()):
        environment = {**os.environ, "PYTHONPATH": str(root)}
        pipes = {"text": True, "stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        sides.append(subprocess.Popen(command, cwd=root, env=environment, **pipes))
    names = [json.loads(side.stdout.readline()) for side in sides]
    rank = int(0.5 * options.pairs - 0.98 * options.pairs**0.5)  # of the sign test
    fallen = 0
    for name in [name for name in names[0] if name in names[1]]:
        times = []
        for _ in range(options.pairs):
            for side, own in zip(sides, names, strict=True):
                print(own.index(name), file=side.stdin, flush=True)
                times.append(float(side.stdout.readline()))
        times = np.reshape(times, (-1, 2))
        ratios = np.sort([here / there for here, there in times])
        low, high = ratios[rank], ratios[-1 - rank]
        fallen += low > FALLEN
        said = f"{np.median(ratios):6.3f} [{low:.3f}, {high:.3f}] {'FALLEN' if low > FALLEN else '':6}"
        print(f"{said} {np.median(times, 0)[0]:9.4g} ms  {name}", flush=True)
    only = set(names[0]) ^ set(names[1])
    print(f"{fallen} rows have fallen; on one side only: {sorted(only)}")
    for side in sides:
        side.stdin.close()
        side.wait()
    return int(fallen > 0)


if __name__ == "__main__":
    sys.exit(main())
