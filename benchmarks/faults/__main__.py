"""Plants faults, one small change each, in copies of the checkout, and reports which of them the tests catch.

    python -m benchmarks.faults --json faults.json     # all of them, against both tiers: for a night
    python -m benchmarks.faults --kind listed --names exp-low-half imq-cube

The `listed` faults are promises whose loss would hurt most, each with the tests that should see it. The `sampled` ones
are 120 statements of lab, serve, views, scenes, export, experiments and engine, drawn with a seed; the tests of their
folder are run, and then, for code of a served page, those in a browser. Exit status 1: a listed fault survives, or less
than 70 % of the sampled ones are caught.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

from benchmarks.faults.planting import ROOT, Fault, PlaceGone, listed, plant
from benchmarks.faults.sample import drawn

KINDS = {"listed": (listed, 1.0), "sampled": (drawn, 0.7)}  # and the share that must be caught of those that can be
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


def main() -> int:
    """Try the faults, print what became of each, and how many ended how."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.faults", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--tier", choices=TIERS, default="ci", help="the tests that may catch them; ci includes default"
    )
    parser.add_argument("--kind", nargs="*", choices=KINDS, default=[*KINDS], help="of faults; all without")
    parser.add_argument("--names", nargs="*", default=[], metavar="NAME", help="of faults; all without")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), metavar="N", help="how many at a time")
    parser.add_argument("--no-browser", action="store_true", help="leave out the tests in a browser")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write what became of each fault")
    options = parser.parse_args()
    kinds = {kind: KINDS[kind][0]() for kind in options.kind}
    if unknown := {*options.names} - {fault.name for faults in kinds.values() for fault in faults}:
        print(f"no {' or '.join(kinds)} fault is named {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    tiers, rows, wrong = [*TIERS][: [*TIERS].index(options.tier) + 1], {}, False
    for kind, faults in kinds.items():
        chosen, count = [fault for fault in faults if not options.names or fault.name in options.names], Counter()
        for fault, status, by in try_all(chosen, options.jobs, tiers, not options.no_browser):
            what = {"where": fault.where, "find": fault.find, "replace": fault.replace}
            rows[fault.name] = {**what, "status": status, "by": by}
            count[status] += 1
            print(f"{fault.name:<28} {status:<11} {by or fault.where}", flush=True)
            if options.json:
                options.json.write_text(json.dumps(rows, indent=1, ensure_ascii=False), encoding="utf-8")
        found = sum(count[tier] for tier in TIERS)
        wrong |= found < KINDS[kind][1] * (found + count["survived"])
        print(f"{kind}: {found} of {found + count['survived']} are caught; {dict(count)}")
    return int(wrong)


if __name__ == "__main__":
    sys.exit(main())
