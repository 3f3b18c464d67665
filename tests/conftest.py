"""What every test can count on: one BLAS thread, reproducible examples, a Chromium, no silent skips in CI."""

import inspect
import os
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

_not_run: list[str] = []


def pytest_sessionstart(session: pytest.Session) -> None:
    """Before the workers of a whole run start, compile all kernels: each of them would compile for itself."""
    if getattr(session.config.option, "numprocesses", None) and not session.config.option.collectonly:
        subprocess.run([sys.executable, "-m", "pmdviz", "compile", "--all"], cwd=Path(__file__).parents[1], check=True)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Run a test that is a coroutine in an event loop of its own."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    from tests.lab.threads import in_a_thread

    given = {name: pyfuncitem.funcargs[name] for name in inspect.signature(pyfuncitem.obj).parameters}
    in_a_thread(lambda: pyfuncitem.obj(**given))
    return True


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
    from playwright.sync_api import expect

    expect.set_options(timeout=30_000)
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
