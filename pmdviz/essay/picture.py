"""What a picture of the essay is: one slider, panels of lines and dots for each of its values, and rows of numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pmdviz.engine.recipe import Recipe

DIGITS = 5  # that are kept of a number: far below what an eye sees in a picture of 400 px
POINT = 6.0  # size of a measured point


class Axis(NamedTuple):
    """One axis: its label and its range, in the units of what is drawn."""

    label: str
    low: float
    high: float
    log: bool = False


class Layer(NamedTuple):
    """A line, dots, or a vertical marker, in one of the colours of `scenes.style`.

    `kind` is line, marker, dots (particles, which lie on one another) or points (measured values). `columns` holds
    {x (n,), y (n,)} once where nothing changes, else once for each value of the slider. Dots and points have `size`
    (n,), to which their areas are proportional: of particles how many times the mean weight each has.
    """

    name: str  # in the legend; "" for what needs no name
    colour: str
    columns: Sequence[Mapping[str, Any]]
    kind: str = "line"


class Panel(NamedTuple):
    """One set of axes."""

    title: str
    x: Axis
    y: Axis
    layers: Sequence[Layer]


class Found(NamedTuple):
    """What a picture computes: its panels, and rows, name -> one number for each value of the slider."""

    panels: Sequence[Panel]
    rows: Mapping[str, Sequence[float]]


class Picture(NamedTuple):
    """A picture before it is computed."""

    name: str  # in the prose: {name.row:format}
    title: str
    slider: str  # label of the one variable
    values: Sequence[float]
    shown: str  # the format of a value, such as "g"
    start: int  # place of the value that is seen first
    said: str  # what a screen reader is told of a value, in the form of the prose
    recipe: Callable[[], Recipe]  # what "Turn it yourself" opens
    compute: Callable[[], Found]


def static(**columns: Any) -> list[Mapping[str, Any]]:
    """Columns that are the same for every value."""
    return [columns]


def marker(at: Sequence[float], low: float, high: float) -> Layer:
    """A vertical line at the value of the slider."""
    return Layer("", "muted", [{"x": [x, x], "y": [low, high]} for x in at], "marker")


def found(panels: Sequence[Panel], rows: Mapping[str, Sequence[float]], **fixed: float) -> Found:
    """Panels and rows; of `fixed` the same number for every value."""
    count = len(next(iter(rows.values())))
    return Found(panels, {**rows, **{name: [float(value)] * count for name, value in fixed.items()}})


def rounded(value: Any) -> Any:
    """Numbers as they are kept: so many digits, None for what is not finite."""
    if isinstance(value, Mapping):
        return {name: rounded(each) for name, each in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return rounded(value._asdict())
    if isinstance(value, (list, tuple, np.ndarray)):
        return [rounded(each) for each in value]
    if isinstance(value, (bool, str)):
        return value
    return float(f"{float(value):.{DIGITS}g}") if np.isfinite(value) else None
