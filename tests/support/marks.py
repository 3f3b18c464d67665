"""Marks of cases of which CI plays a few."""

from collections.abc import Collection, Iterable
from typing import Any

import pytest


def some_in_ci(names: Iterable[str], few: Collection[str]) -> list[Any]:
    """A case for each name: the few are slow tests, all others are run by `python -m pytest -m exhaustive` alone."""
    return [pytest.param(name, marks=pytest.mark.slow if name in few else pytest.mark.exhaustive) for name in names]
