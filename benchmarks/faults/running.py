"""Plant faults in copies of the checkout and run the tests that should see them, tier by tier."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

from benchmarks.faults.planting import ROOT, Fault, PlaceGone, plant

TIERS = {"default": "not ci and not nightly", "ci": "ci and not nightly"}  # what each adds, as pytest's marks
LEFT_OUT = (".git", ".venv", "dist", "build", ".pytest_cache", ".ruff_cache", ".mypy_cache", ".hypothesis")
SERVED = ("lab", "serve", "views", "scenes", "export")  # the code that a browser's test runs in a server's process
PATIENCE_S = 900.0  # of one run of pytest: a fault may turn a loop endless
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+?)(?:\[| - |$)", re.MULTILINE)


class Outcome(NamedTuple):
    """What became of one fault."""

    fault: Fault
    status: str  # a tier that caught it, or "survived", "place gone"
    by: str = ""  # the test that failed, or a reason


def try_all(faults: list[Fault], jobs: int, tiers: list[str], browser: bool) -> Iterator[Outcome]:
    """Try the faults in `jobs` copies at a time; yields the outcomes in order, each when it is known."""
    copies: SimpleQueue[Path] = SimpleQueue()

    def one(fault: Fault) -> Outcome:
        copy = copies.get()
        try:
            return try_fault(fault, copy, tiers, browser)
        finally:
            copies.put(copy)

    with tempfile.TemporaryDirectory(prefix="pmdviz-faults-") as folder, ThreadPoolExecutor(jobs) as pool:
        for k in range(jobs):
            copy = Path(folder, str(k), "pmdviz")
            copies.put(shutil.copytree(ROOT, copy, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT)))
        yield from pool.map(one, faults)


def try_fault(fault: Fault, copy: Path, tiers: list[str], browser: bool) -> Outcome:
    """Plant one fault in a copy, and run its tests until one fails."""
    path = copy / fault.path
    try:
        before, times = path.read_text(encoding="utf-8"), path.stat()
        path.write_text(plant(before, fault), encoding="utf-8")
    except (PlaceGone, FileNotFoundError) as error:
        return Outcome(fault, "place gone", str(error))
    own = {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1", "CI": "", "PYTEST_ADDOPTS": ""}
    try:
        with tempfile.TemporaryDirectory(prefix="pmdviz-numba-") as cache:
            if re.search(r"jit\b", before):  # callers of a kernel are compiled with it
                own["NUMBA_CACHE_DIR"] = cache
            for tier in tiers:
                for tests in groups(fault, browser):
                    if (by := caught(copy, TIERS[tier], tests, own)) is not None:
                        return Outcome(fault, tier, by)
    finally:
        path.write_text(before, encoding="utf-8")
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))  # bytecode stays valid
    return Outcome(fault, "survived")


def groups(fault: Fault, browser: bool) -> list[list[str]]:
    """The tests that a fault names; without any those of its folder, and of a served page those in a browser."""
    if fault.tests:
        return [[*fault.tests]]
    return [[f"tests/{fault.folder}"]] + [["tests/browser"]] * (browser and fault.folder in SERVED)


def caught(copy: Path, marks: str, tests: list[str], own: dict[str, str]) -> str | None:
    """The first test that fails, or else how the fault showed; None if it did not. RuntimeError if none could run."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-m", marks, "-p", "no:cacheprovider", *tests]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True, "timeout": PATIENCE_S}
    try:
        done = subprocess.run(command, cwd=copy, env={**os.environ, **own}, check=False, **pipes)
    except subprocess.TimeoutExpired:
        return "no end"
    if done.returncode in (0, 5):  # all passed, or there are none in this tier
        return None
    failed = FAILED.search(done.stdout)
    if failed or "ImportError while loading conftest" in done.stdout or done.returncode < 0:
        return failed[1] if failed else "no import" if done.returncode > 0 else f"signal {-done.returncode}"
    raise RuntimeError(f"pytest ended with status {done.returncode}:\n{done.stdout[-2000:]}")
