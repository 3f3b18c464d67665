"""A picture is a value: axes, marks and words as plain arrays and names, which every renderer draws alike.

Scenes make pictures and know no renderer; a renderer (Bokeh, matplotlib) builds its figure once, and then draws any
picture of the same shape. Ticks and their numbers are computed here, and only here.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple, Never

import numpy as np

COUNT, MANTISSAS = 6, (0.5, 1.0, 2.0, 5.0, 10.0)  # of a linear axis; Bokeh chooses alike where the reader may zoom
LOG_STEPS = ((0.7, (1, 1.5, 2, 3, 4, 5, 7)), (2.5, (1, 2, 5)), (3.5, (1, 3)), (math.inf, (1,)))  # decades, and in each
MOST = 12  # on a logarithmic axis
CLOSE = 1e-9  # rounding of an end, which is a tick nevertheless
HIGH = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class Axis(NamedTuple):
    """One axis of a picture; it may fall, with `low` above `high`.

    The number at a value is `origin` + `unit` * value: of standardised data, in the units that they had before.
    """

    label: str
    low: float
    high: float
    log: bool = False
    numbered: bool = True  # whether the numbers along it mean something
    whole: bool = False  # whether it counts: ticks are whole numbers
    origin: float = 0.0
    unit: float = 1.0

    @property
    def bare(self) -> bool:
        """Whether nothing of it is to be seen."""
        return not self.label and not self.numbered

    @property
    def ticks(self) -> list[float]:
        """Where round numbers are along the axis."""
        if not self.numbered:
            return []
        low, high = sorted((self.origin + self.unit * self.low, self.origin + self.unit * self.high))
        found = ticks(low, high, self.log)
        return [(tick - self.origin) / self.unit for tick in found if not self.whole or tick == round(tick)]

    @property
    def rescaled(self) -> bool:
        """Whether the numbers are in other units than the values."""
        return (self.origin, self.unit) != (0.0, 1.0)

    def words(self, tick: float) -> str:
        """The number at a tick."""
        return tick_words(self.origin + self.unit * tick)


NOTHING: Mapping[str, Never] = MappingProxyType({})


class Mark(NamedTuple):
    """One layer of a picture.

    Attributes
    ----------
    kind : str
        line (x, y with NaN gaps), areas (x, y: closed outlines with NaN gaps, and level: parts of one level are filled
        together by the nonzero rule, so holes stay open), band (x, low, high), bars (left, right, bottom, top), dots
        (x, y, and size, a diameter in px), signs (x, y: one marker each), segments (x0, y0, x1, y1, alpha, kind: a
        number in `style.PATH_COLOURS`), image (values, x, y, ends) or words (x, y, text).
    role : str
        What it is of, which has one colour in all renderers: a key of `scenes.style.colours`.
    columns : mapping
        The arrays that its kind names; where several marks share them, `look` says which are "x" and "y", and what the
        "shared" columns are called. Further columns are for `hover` and `ids`. Signs may have a column marker, and a
        column role. A mark without columns is there for the legend alone.
    look : mapping
        Of a line: dash (a key of `style.DASHES` or lengths in px), width (px), alpha. Of dots: size (px, without such
        a column), drawn (how many there are, for their opacity), marker, hollow. Of signs: marker, size (px),
        hollow, edge (y is a share of the picture's height). Of areas, bands and bars: alpha. Of words: px, align
        (left, center, right), baseline (top, middle, bottom), right and down (offsets, px), edge (y is a share of the
        picture's height), bold, beside (up and to the right of its place). Of an image: opaque, low and high (values
        of both ends). Of what has `hover`: across (asked for by x alone), ceiling (larger numbers are "> ceiling"). Of
        marks in a legend over the figure: sign.
    hover : mapping
        The text at the pointer for each point: words -> a format of its columns: "{x:.3f}", "{visited:,}", "{y:.3g}".
    ids : str
        The column that identifies each point, for picking and for motion between pictures; "" where nothing is picked.
    drags : str
        What a person drags with it; "" for nothing.
    layer : str
        The layer that it is shown and hidden with; "" where it is always seen.
    moves : bool
        Whether its columns change with every frame; the others stay where they are.
    """

    kind: str
    role: str
    columns: Mapping[str, np.ndarray | Sequence[float] | Sequence[str]]
    look: Mapping[str, Any] = NOTHING
    hover: Mapping[str, str] = NOTHING
    ids: str = ""
    drags: str = ""
    layer: str = ""
    moves: bool = False


class Picture(NamedTuple):
    """Axes, the marks by their keys from the lowest up, the legend's words by the same keys, and other words.

    These are in the middle, in the upper right corner, and as a note in the lower left one; a title above; `about` is
    for those who cannot see the picture. With `equal` a unit is as long along x as along y.
    """

    x: Axis
    y: Axis
    marks: Mapping[str, Mark]
    legend: Mapping[str, str]
    middle: str = ""
    corner: str = ""
    note: str = ""
    title: str = ""
    about: str = ""
    equal: bool = False


def nice(value: float, up: bool = True) -> float:
    """The nearest of 1, 2, 5 x 10^k at or above `value` (or at or below it)."""
    if not value > 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(value))
    steps = [power * step for step in (1, 2, 5, 10)]
    if up:
        return next(step for step in steps if step >= value * (1 - CLOSE))
    return next(step for step in reversed(steps) if step <= value * (1 + CLOSE))


def ticks(low: float, high: float, log: bool = False) -> list[float]:
    """Round numbers in [low, high]; on a logarithmic axis the finer ones over few decades, powers of ten over many."""
    if log:
        decades, first = math.log10(high / low), math.floor(math.log10(low))
        steps = next(steps for most, steps in LOG_STEPS if decades <= most)
        powers = (10.0**power for power in range(first, math.ceil(math.log10(high)) + 1))
        every = (step * power for power in powers for step in steps)
        found = [tick for tick in every if low * (1 - CLOSE) <= tick <= high * (1 + CLOSE)]
        if len(found) > 1:
            return found[:: -(-len(found) // MOST)]
        step = 10.0 ** math.floor(math.log10(high - low))
    else:
        power = 10.0 ** math.floor(math.log10((high - low) / COUNT))
        step = min((mantissa * power for mantissa in MANTISSAS), key=lambda each: abs(COUNT - (high - low) / each))
    numbers = range(math.ceil(low / step - CLOSE), math.floor(high / step + CLOSE) + 1)
    return [float(f"{k * step:.12g}") for k in numbers]


def tick_words(value: float) -> str:
    """A number at a tick: "1,500", "−0.05", "10⁻⁵"."""
    value = float(f"{round(value, 12):.3e}")  # four digits
    if value == 0 or 1e-4 <= abs(value) < 1e7:
        return _short(value)
    power = math.floor(math.log10(abs(value)))
    lead = _short(round(value / 10.0**power, 3))
    return f"{'' if lead == '1' else f'{lead}·'}10{str(power).translate(HIGH)}"


def _short(value: float) -> str:
    """Without zeros at its end."""
    return f"{value:,.9f}".rstrip("0").rstrip(".").replace("-", "−")
