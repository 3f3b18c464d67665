"""What every test can count on: one BLAS thread, reproducible examples, a Chromium, no silent skips in CI."""

import functools
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

# Before NumPy loads: several BLAS threads on busy cores make small products many times slower.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import hypothesis
import pytest

from tests.support.browser import chromium as launched
from tests.support.browser import find_chromium

IN_CI = os.environ.get("CI", "").lower() in {"1", "true"}

# The first call of a kernel compiles it, so one example may take seconds; in CI the examples are always the same.
# How long a machine takes to draw examples is no property of the code either.
for profile, examples in (("default", 20), ("nightly", 300)):
    hypothesis.settings.register_profile(
        f"pmdviz-{profile}",
        deadline=None,
        derandomize=IN_CI,
        max_examples=examples,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
hypothesis.settings.load_profile("pmdviz-default")  # --hypothesis-profile pmdviz-nightly: more of them

NO_CHROMIUM = (
    "no Chromium found: install one (Debian: apt-get install chromium; Ubuntu: snap install chromium; "
    "macOS: brew install --cask chromium) or name an executable in PMDVIZ_CHROMIUM"
)

HERE = Path(__file__).parent
PLATFORM_FOLDERS = ("browser", "lab", "serve", "views")
# Pixels, layout, what a screen reader is told, words, links and targets, every knob, faults and servers: long, and
# the same with every release. Playing, racing, exporting and notebooks are what a release of Panel or Bokeh breaks.
NOT_PLATFORM = (
    *("film_likeness", "reach", "accessible", "links", "addresses", "trouble", "first_seconds"),
    *("knobs", "theory", "serving", "faults", "stage", "player"),
)
PLATFORM_WORDS = re.compile(r"\b(panel|bokeh|served)\b|pmdviz\.(lab|serve)\b")

_not_run: list[str] = []


@functools.cache
def touches_platform(path: Path) -> bool:
    """Whether a test file depends on the releases of Panel, Bokeh or the browser: by its folder, or by its words."""
    inside = path.relative_to(HERE)
    if inside.parts[0] == "browser" and path.stem.removeprefix("test_") in NOT_PLATFORM:
        return False
    if len(inside.parts) > 1:
        return inside.parts[0] in PLATFORM_FOLDERS
    return PLATFORM_WORDS.search(path.read_text(encoding="utf-8")) is not None


def pytest_sessionstart(session: pytest.Session) -> None:
    """Before the workers of a whole run start, compile all kernels: each of them would compile for itself."""
    if getattr(session.config.option, "numprocesses", None) and not session.config.option.collectonly:
        subprocess.run([sys.executable, "-m", "pmdviz", "compile", "--all"], cwd=HERE.parent, check=True)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if touches_platform(item.path):
            item.add_marker(pytest.mark.platform)


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of the system's Chromium; where there is none the test is skipped with how to get one."""
    path = find_chromium()
    if path is None:
        pytest.skip(NO_CHROMIUM)
    return path


@pytest.fixture(scope="session")
def browser(chromium: str) -> Iterator[object]:
    """A Chromium for all tests of a process: Playwright runs once in a thread."""
    with launched() as made:
        yield made


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    # An expected failure is reported as a skip that carries `wasxfail`: that one has run.
    if IN_CI and report.skipped and not hasattr(report, "wasxfail"):
        _not_run.append(report.nodeid)
    if IN_CI and report.passed and hasattr(report, "wasxfail"):
        _not_run.append(f"{report.nodeid} (passed unexpectedly)")


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if IN_CI and report.skipped:
        _not_run.append(report.nodeid)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _not_run:
        terminalreporter.section("CI: a skipped or unexpectedly passing test fails the run", red=True)
        terminalreporter.write_line("\n".join(_not_run))


def pytest_sessionfinish(session: pytest.Session) -> None:
    if _not_run:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
