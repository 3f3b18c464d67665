"""Tests that are coroutines run in an event loop of their own; work that is held back waits at a gate."""

import threading

import pytest

from tests.lab.threads import pytest_pyfunc_call  # noqa: F401


@pytest.fixture
def gate():
    """Opened at the end, whatever happens: the thread of all tests waits at it."""
    made = threading.Event()
    yield made
    made.set()
