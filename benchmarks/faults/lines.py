"""A pytest plugin that notes which faults' statements each test function runs (`-p benchmarks.faults.lines`).

It reads `FAULTS_WANTED`, a JSON file of file -> line -> names of faults, and each process writes its part to
`FAULTS_COVERED`.PID.json: test function -> CPU seconds, the names, the files it ran at all, its tiers, and
whether it passed.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Generator
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import pytest

ROOT = str(Path.cwd()) + os.sep
WANTED: dict[str, dict[str, list[str]]] = json.loads(Path(os.environ["FAULTS_WANTED"]).read_text(encoding="utf-8"))
MONITORED = sys.version_info >= (3, 12)
TOOL = 3  # of the six that sys.monitoring has; coverage.py, profilers and debuggers have names of their own

covered: dict[str, dict[str, Any]] = {}
now: dict[str, Any] = {"names": set(), "files": set()}


def note(code: CodeType, line: int) -> object:
    """Take note of a line of pmdviz once for each test function."""
    if code.co_filename.startswith(ROOT) and code.co_name != "<module>":
        file = code.co_filename.removeprefix(ROOT)
        now["files"].add(file)
        now["names"].update(WANTED.get(file, {}).get(str(line), ()))
    return sys.monitoring.DISABLE if MONITORED else None


def trace(frame: FrameType, event: str, _: object) -> Any:
    """The same by a slower way, before Python 3.12."""
    if not frame.f_code.co_filename.startswith(ROOT):
        return None
    if event == "line":
        note(frame.f_code, frame.f_lineno)
    return trace


if MONITORED:
    sys.monitoring.use_tool_id(TOOL, "faults")
    sys.monitoring.register_callback(TOOL, sys.monitoring.events.LINE, note)
    sys.monitoring.set_events(TOOL, sys.monitoring.events.LINE)
else:
    threading.settrace(trace)
    sys.settrace(trace)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Note under the name of the item's function, without its parameters."""
    global now
    function = item.nodeid.partition("[")[0]
    empty = {"seconds": 0.0, "names": set(), "files": set(), "tiers": set(), "passed": True}
    now = covered.setdefault(function, empty)
    now["tiers"].add("ci" if item.get_closest_marker("ci") else "default")
    if MONITORED:
        sys.monitoring.restart_events()
    begun = time.process_time()
    result = yield
    now["seconds"] += time.process_time() - begun
    return result


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """A test that fails without any fault catches nothing."""
    if report.failed and report.nodeid.partition("[")[0] in covered:
        covered[report.nodeid.partition("[")[0]]["passed"] = False


def pytest_sessionfinish() -> None:
    """Write what this process ran."""
    path = Path(f"{os.environ['FAULTS_COVERED']}.{os.getpid()}.json")
    path.write_text(json.dumps(covered, default=sorted), encoding="utf-8")
