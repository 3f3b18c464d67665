"""Runs pytest many times, with the libraries imported once: `python -P` of this file forks a child for each job.

A job is a line of JSON on standard input: `place` (a checkout), `arguments` of pytest, `environment`, `output` (a file)
and `patience` (seconds). The answer is pytest's exit status, or null after that time. Nothing of pmdviz is imported.
"""

import json
import os
import signal
import sys
import time

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import bokeh.plotting  # noqa: E402, F401
import numba  # noqa: E402, F401
import panel  # noqa: E402, F401
import panel_material_ui  # noqa: E402, F401
import pytest  # noqa: E402


def run(job: dict) -> int | None:
    """Fork, run pytest in the child, and end whatever it has started."""
    child = os.fork()
    if child == 0:
        in_child(job)
    end = time.monotonic() + job["patience"]
    while (ended := os.waitpid(child, os.WNOHANG)) == (0, 0) and time.monotonic() < end:
        time.sleep(0.05)
    try:
        os.killpg(child, signal.SIGKILL)
    except ProcessLookupError:
        pass
    if ended == (0, 0):
        os.waitpid(child, 0)
        return None
    return os.waitstatus_to_exitcode(ended[1])


def in_child(job: dict) -> None:
    """Run pytest on the checkout, with its output in a file."""
    os.setsid()
    os.chdir(job["place"])
    os.environ.update(job["environment"])
    sys.path.insert(0, job["place"])
    out = os.open(job["output"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(out, 1)
    os.dup2(out, 2)
    status = 3
    try:
        status = int(pytest.main(job["arguments"]))
    finally:
        sys.stdout.flush()
        os._exit(status)


for line in sys.stdin:
    print(json.dumps(run(json.loads(line))), flush=True)
