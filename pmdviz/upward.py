"""What a lower level may ask of a higher one without importing it: the package's top says how each thing is loaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

_ways: dict[str, Callable[[], Callable[..., Any]]] = {}


def provide(name: str, load: Callable[[], Callable[..., Any]]) -> None:
    """Say how the function `name` of a higher level is loaded when it is first asked for."""
    _ways[name] = load


def ask(name: str) -> Callable[..., Any]:
    """The function `name` of a higher level."""
    return _ways[name]()
