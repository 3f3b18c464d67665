"""Tests that are coroutines run in an event loop of their own."""

from tests.lab.threads import pytest_pyfunc_call  # noqa: F401
