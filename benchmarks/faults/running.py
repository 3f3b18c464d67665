"""Plant faults in a copy of the checkout and run the tests of a tier that can see them, the cheapest first."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from typing import Any

from benchmarks.faults.planting import ROOT, Fault, PlaceGone, plant

TIERS = {"default": "not ci and not nightly", "ci": "ci and not nightly"}  # what each adds, as pytest's marks
LEFT_OUT = (".git", ".venv", "dist", "build", ".pytest_cache", ".ruff_cache", ".mypy_cache", ".hypothesis")
FORKING = Path(__file__).with_name("forking.py")
BROWSER = ("lab", "serve", "views", "scenes", "export")  # the code that a browser's test runs in a server's process
PATIENCE = 300, 20  # seconds, and times the CPU seconds that the tests need: a fault may turn a loop endless
FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+?)(?:\[| - |$)", re.MULTILINE)

Covered = dict[str, dict[str, Any]]  # what the plugin of coverage.py notes of each test function


@dataclass
class Outcome:
    """What became of one fault."""

    fault: Fault
    status: str  # a tier that caught it, or "survived", "equivalent", "place gone"
    by: str = ""  # the test that failed, or a reason
    tried: int = 0  # test functions, or files
    gone: tuple[str, ...] = ()  # tests that the fault names and that are no longer there


class Copy:
    """A throwaway copy of a checkout, in which tests run by forking a process that has imported them."""

    def __init__(self, root: Path = ROOT, collect: Iterable[str] = ()) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="pmdviz-faults-")
        self.place = Path(self._folder.name, "pmdviz")
        shutil.copytree(root, self.place, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT))
        self._forking = subprocess.Popen(
            [sys.executable, "-P", str(FORKING)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        here = sorted({test.partition("::")[0] for test in collect if self.has(test)})
        self._send({"place": str(self.place), "environment": environment(self.place), "collect": here})
        self._forking.stdout.readline()  # a fault planted before it is ready would be imported

    def _send(self, what: dict[str, Any]) -> None:
        print(json.dumps(what), file=self._forking.stdin, flush=True)

    def close(self) -> None:
        """End the process and remove the copy."""
        self._forking.stdin.close()
        self._forking.wait()
        self._folder.cleanup()

    def has(self, test: str) -> bool:
        """Whether a test file, or the function in it, is there."""
        path, _, name = test.partition("::")
        file = self.place / path
        return file.exists() and (not name or f"def {name}(" in file.read_text(encoding="utf-8"))

    @contextmanager
    def planted(self, fault: Fault) -> Iterator[dict[str, Any]]:
        """The copy with one fault in it, and what to tell the process about it; caches of the file stay valid."""
        path = self.place / fault.path
        before, times = path.read_text(encoding="utf-8"), path.stat()
        after, _ = plant(before, fault)
        path.write_text(after, encoding="utf-8")
        cache = {"NUMBA_CACHE_DIR": str(self.place.with_name("numba"))} if re.search(r"jit\b", before) else {}
        try:
            yield {"file": str(path), "before": before, "after": after, "environment": cache}
        finally:
            path.write_text(before, encoding="utf-8")
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
            shutil.rmtree(self.place.with_name("numba"), ignore_errors=True)

    def run(self, planted: dict[str, Any], tests: list[str], marks: str, cost: float) -> tuple[int | None, str]:
        """Run tests until the first fails: pytest's exit status, None if they did not end, and their output."""
        output = self.place.with_name("output")
        arguments = ["-x", "-q", "-n", "0", "-m", marks, "-p", "no:cacheprovider", *tests]
        self._send(
            {
                **planted,
                "arguments": arguments,
                "output": str(output),
                "patience": PATIENCE[0] + PATIENCE[1] * cost,
            }
        )
        return json.loads(self._forking.stdout.readline()), output.read_text(encoding="utf-8", errors="replace")


def environment(place: Path) -> dict[str, str]:
    """What the tests find in their environment besides what is there."""
    return {"PYTHONPATH": str(place), "PYTHONDONTWRITEBYTECODE": "1", "CI": "", "PYTEST_ADDOPTS": ""}


def covered_by(faults: list[Fault], marks: str, root: Path = ROOT, jobs: int = 1) -> Covered:
    """Run tests once without faults, and note which faults' statements each test function runs."""
    with tempfile.TemporaryDirectory(prefix="pmdviz-covered-") as folder:
        wanted = Path(folder, "wanted.json")
        wanted.write_text(json.dumps(wanted_lines(faults, root)), encoding="utf-8")
        own = {"FAULTS_WANTED": str(wanted), "FAULTS_COVERED": str(Path(folder, "covered"))}
        command = [sys.executable, "-m", "pytest", "-q", "-m", marks, "-p", "benchmarks.faults.lines"]
        command += ["-p", "no:cacheprovider", "-n", str(jobs), "--dist", "loadfile"]
        subprocess.run(command, cwd=root, env={**os.environ, **environment(root), **own}, check=False)
        return merged(json.loads(path.read_text(encoding="utf-8")) for path in Path(folder).glob("covered.*.json"))


def wanted_lines(faults: list[Fault], root: Path = ROOT) -> dict[str, dict[str, list[str]]]:
    """File -> line -> names of the faults whose statements are there; a fault whose place is gone has none."""
    wanted: dict[str, dict[str, list[str]]] = {}
    for fault in faults:
        try:
            _, lines = plant((root / fault.path).read_text(encoding="utf-8"), fault)
        except (PlaceGone, FileNotFoundError):
            continue
        for line in lines:
            wanted.setdefault(fault.path, {}).setdefault(str(line), []).append(fault.name)
    return wanted


def merged(parts: Iterator[Covered]) -> Covered:
    """What several processes noted."""
    whole: Covered = {}
    for part in parts:
        for test, each in part.items():
            mine = whole.setdefault(test, {**each, "seconds": 0.0})
            mine["seconds"] += each["seconds"]
            mine["passed"] &= each["passed"]
            for kind in ("names", "files", "tiers"):
                mine[kind] = sorted({*mine[kind], *each[kind]})
    return whole


def candidates(fault: Fault, tier: str, covered: Covered, seconds: float) -> tuple[list[str], float]:
    """Test functions that run the fault's statement (or its file, if it runs at import), the cheapest first."""
    usable = {test: each for test, each in covered.items() if each["passed"] and tier in each["tiers"]}
    found = {test: each["seconds"] for test, each in usable.items() if fault.name in each["names"]}
    if not any(fault.name in each["names"] for each in covered.values()):
        found = {test: each["seconds"] for test, each in usable.items() if fault.path in each["files"]}
    chosen, cost = [], 0.0
    for test in sorted(found, key=found.__getitem__):
        if chosen and cost + found[test] > seconds:
            break
        chosen.append(test)
        cost += found[test]
    return chosen, cost


def attempts(
    fault: Fault, tiers: list[str], own: list[str], covered: Covered, seconds: float, browser: bool
) -> Iterator[tuple[str, list[str], float]]:
    """Groups of tests to run one after the other: the tier, the tests, their CPU seconds."""
    for tier in tiers:
        found, cost = candidates(fault, tier, covered, seconds)
        yield tier, own, seconds
        yield tier, found, cost
        if browser and fault.folder in BROWSER:
            yield tier, ["tests/browser"], seconds


def try_fault(fault: Fault, copy: Copy, tiers: list[str], covered: Covered, seconds: float, browser: bool) -> Outcome:
    """Plant one fault and run, until one fails, the tests that it names, those that run it, and those in a browser."""
    if fault.equivalent:
        return Outcome(fault, "equivalent", fault.equivalent)
    own = [test for test in fault.tests if copy.has(test)]
    gone, tried = tuple(test for test in fault.tests if test not in own), 0
    failing = [f"--deselect={test}" for test, each in covered.items() if not each["passed"]]
    try:
        with copy.planted(fault) as planted:
            for tier, tests, cost in attempts(fault, tiers, own, covered, seconds, browser):
                ended = copy.run(planted, [*failing, *tests], TIERS[tier], cost) if tests else (0, "")
                tried += len(tests)
                if (by := caught(*ended)) is not None:
                    return Outcome(fault, tier, by, tried, gone)
    except (PlaceGone, FileNotFoundError) as error:
        return Outcome(fault, "place gone", str(error), gone=gone)
    return Outcome(fault, "survived", "", tried, gone)


def caught(status: int | None, output: str) -> str | None:
    """The test that failed, or else how the fault showed; None if it did not. RuntimeError if no test could run."""
    if status in (0, 5):
        return None
    if status is None:
        return "no end"
    failed = FAILED.search(output)
    if failed or "ImportError while loading conftest" in output or status < 0:
        return failed[1] if failed else "no import" if status > 0 else f"signal {-status}"
    raise RuntimeError(f"pytest ended with status {status}:\n{output[-2000:]}")


def try_all(faults: list[Fault], jobs: int, root: Path = ROOT, **how: Any) -> Iterator[Outcome]:
    """Try the faults in `jobs` copies at a time; yields the outcomes in order, each when it is known."""
    copies: SimpleQueue[Copy] = SimpleQueue()
    for _ in range(jobs):
        copies.put(Copy(root, [*how["covered"], *(test for fault in faults for test in fault.tests)]))

    def one(fault: Fault) -> Outcome:
        copy = copies.get()
        try:
            return try_fault(fault, copy, **how)
        finally:
            copies.put(copy)

    try:
        with ThreadPoolExecutor(jobs) as pool:
            yield from pool.map(one, faults)
    finally:
        for _ in range(jobs):
            copies.get().close()
