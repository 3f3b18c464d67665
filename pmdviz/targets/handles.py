"""Points of a picture that a person can drag: true parameters and modes, of which the data are simulated anew."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple


class Handle(NamedTuple):
    """A point that can be dragged, and the options of the target when it lies elsewhere.

    `moved(x, y)` gives options as they come from outside: values beyond their bounds are for the caller to clip
    (`KnobSpec.bounds`). In one dimension y is always 0.
    """

    name: str  # such as "first mode"
    at: tuple[float, float]
    moved: Callable[[float, float], dict[str, Any]]
