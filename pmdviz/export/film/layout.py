"""Where things stand on a film frame, and axes that look like the page's: the same borders, ticks, fonts' sizes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter

from pmdviz.export.options import NO_TRACES, Look
from pmdviz.scenes import style
from pmdviz.scenes.words import short

MARKERS = {  # of the page -> of matplotlib
    "circle": "o", "triangle": "^", "square": "s", "diamond": "D", "inverted_triangle": "v", "star": "*", "hex": "h",
    "plus": "P", "asterisk": "x",
}  # fmt: skip
FONT = "DejaVu Sans"  # comes with matplotlib: the same film on every machine
BASE = 540.0  # px: a picture of this height is drawn with the page's own sizes, larger ones in proportion
TITLE_PX, TITLE_LARGE_PX = 15.0, 21.0
LINE = 1.5  # a line of the title, in its own size
ONE_LINE, TWO_LINES = (1.0, 0.9, 0.85), (0.95, 0.85)  # sizes of a legend's letters, as shares of the usual one
BELOW = (0.75, 0.65)  # further ones
WIDE = 1.5  # width over height from which the traces stand beside the stage
DOT_IN_LEGEND = 5.5  # px
TICKS, MANTISSAS = 6, (0.5, 1.0, 2.0, 5.0, 10.0)  # the page's way to choose round ticks


# A film's large type has its legends in two lines; the square stays one.
LARGE_BORDERS = {**style.PRESENTER_BORDERS, "top": 52, "right": 28}


class Box(NamedTuple):
    """A rectangle in design px, y upwards."""

    x: float
    y: float
    width: float
    height: float


class FigureLayout:
    """An empty picture of the size that was asked for; lengths in design px (1 px = `scale` real ones)."""

    def __init__(self, look: Look) -> None:
        self.look, self.colours = look, style.theme(look.dark)
        self.scale = min(look.width, look.height) / BASE
        self.width, self.height = look.width / self.scale, look.height / self.scale
        self.text_px = style.PRESENTER_PX if look.large_type else style.TEXT_PX
        self.title_px = TITLE_LARGE_PX if look.large_type else TITLE_PX
        self.borders = LARGE_BORDERS if look.large_type else style.BORDERS
        self.with_traces = look.traces != NO_TRACES and look.width >= WIDE * look.height
        self.figure = Figure(figsize=(self.width / 72, self.height / 72), dpi=72 * self.scale)
        self.figure.patch.set(facecolor=self.colours.paper, alpha=0.0 if look.transparent else 1.0)

    def room(self, title_lines: int) -> Box:
        """All that is below the title."""
        below = self.height - math.ceil((title_lines * LINE + 0.4) * self.title_px)  # whole px: lines stay crisp
        return Box(0.0, 0.0, self.width, below)

    def layout(self, title_lines: int) -> tuple[Box, Box | None]:
        """The outer boxes of the stage (a square) and of the traces beside it."""
        below = self.room(title_lines).height
        side = min(below, self.width)
        left = 0.0 if self.with_traces else (self.width - side) / 2
        stage = Box(left, below - side, side, side)
        traces = Box(side, below - side, self.width - side, side) if self.with_traces else None
        return stage, traces

    def axes(self, box: Box, **borders: float) -> Axes:
        """Axes inside the borders of a box (the usual ones but for those given), in the theme's colours."""
        b = {**self.borders, **borders}
        width, height = box.width - b["left"] - b["right"], box.height - b["bottom"] - b["top"]
        corner = (box.x + b["left"]) / self.width, (box.y + b["bottom"]) / self.height
        axes = self.figure.add_axes((*corner, width / self.width, height / self.height))
        self._dress(axes)
        return axes

    def _dress(self, axes: Axes) -> None:
        colours = self.colours
        axes.set_facecolor("none")
        axes.set_axisbelow(True)
        axes.grid(True, which="major", color=colours.grid, linewidth=1)
        axes.tick_params(
            which="major", direction="out", length=4, width=1, pad=4, color=colours.muted, labelcolor=colours.muted,
            labelsize=self.text_px, labelfontfamily=FONT,
        )  # fmt: skip
        for side, spine in axes.spines.items():
            spine.set(color=colours.muted if side in ("left", "bottom") else colours.grid, linewidth=1)

    def label(self, axes: Axes, x: str, y: str) -> None:
        """The words along the axes."""
        font = {"fontsize": self.text_px, "fontfamily": FONT, "color": self.colours.text, "labelpad": 5}
        axes.set_xlabel(x, **font)
        axes.set_ylabel(y, **font)

    def text(self, axes: Axes, x: float, y: float, words: str, **more: Any) -> Any:
        """Words on axes, in the small size and the muted colour unless said otherwise."""
        usual = {"fontsize": self.text_px, "fontfamily": FONT, "color": self.colours.muted}
        return axes.text(x, y, words, **{**usual, **more})

    def bare_axes(self, box: Box, x: tuple[float, float], y: tuple[float, float]) -> Axes:
        """Axes that fill a box, with nothing to be seen of them."""
        place = (box.x / self.width, box.y / self.height, box.width / self.width, box.height / self.height)
        axes = self.figure.add_axes(place)
        axes.set(xlim=x, ylim=y)
        axes.axis("off")
        return axes

    def layer_handle(self, name: str, colours: Mapping[str, str] | None = None) -> Line2D:
        """What stands for a layer in a legend; `colours` of the layers are the stage's where none are given."""
        colours = self.colours.layers if colours is None else colours
        colour, width = colours["ink" if name in ("others", "paths") else name], style.LINE_WIDTH
        if name not in ("particles", "others"):
            return Line2D([], [], color=colour, linewidth=width, linestyle=dash(name, width))
        look = {"marker": "o", "markersize": DOT_IN_LEGEND, "markeredgewidth": 0, "alpha": self.colours.dots}
        return Line2D([], [], linestyle="none", color=colour, **look)

    def legend(self, axes: Axes, handles: list[Any], labels: list[str], below: bool = False) -> Any:
        """A legend above the axes, or below: in one line, a little smaller if need be, else in two.

        Below there is room for one line alone, which may be smaller still.
        """
        room = axes.bbox.width + 2 * self.borders["right"] * self.scale
        for size in (*ONE_LINE, *BELOW) if below else ONE_LINE:
            made = self._legend(axes, handles, labels, len(labels), size, below)
            if made.get_window_extent().width <= room:
                return made
        for size in TWO_LINES:
            made = self._legend(axes, handles, labels, -(-len(labels) // 2), size, below)
            if made.get_window_extent().width <= room:
                break
        return made

    def _legend(
        self, axes: Axes, handles: list[Any], labels: list[str], columns: int, share: float, below: bool
    ) -> Any:
        px = share * self.text_px
        place: dict[str, Any] = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0)}
        if below:
            place = {"loc": "upper center", "bbox_to_anchor": (0.5, 0.0)}
        return axes.legend(
            handles, labels, **place, ncols=columns, frameon=False,
            prop={"family": FONT, "size": px}, labelcolor=self.colours.text,
            borderpad=0.1, borderaxespad=0.15, labelspacing=0.1, handletextpad=0.4,
            handlelength=style.LEGEND["glyph_width"] / px, columnspacing=style.LEGEND["spacing"] / px,
        )  # fmt: skip


def dash(name: Any, width: float) -> Any:
    """A dash, or the style table's of a layer, for a line of `width`; matplotlib counts in line widths, they in px."""
    pattern = style.DASHES.get(name, name) if isinstance(name, str) else name
    return "solid" if pattern == "solid" else dashes(pattern, width)


def dashes(pattern: Sequence[float], width: float) -> Any:
    """A pattern in px as dashes of a line of `width`; an empty one is solid."""
    return (0, tuple(part / width for part in pattern)) if pattern else "solid"


def line(axes: Axes, name: Any, colour: str, width: float = style.LINE_WIDTH, **more: Any) -> Any:
    """An empty line with a dash, or with that of a layer."""
    (made,) = axes.plot(
        [], [], color=colour, linewidth=width, linestyle=dash(name, width), dash_capstyle="butt",
        solid_capstyle="butt", solid_joinstyle="bevel", dash_joinstyle="bevel", **more,
    )  # fmt: skip
    return made


def round_ticks(low: float, high: float) -> np.ndarray:
    """Ticks inside [low, high] at a step of 1, 2 or 5 times a power of ten, about `TICKS` of them, as on the page."""
    span = high - low
    power = 10.0 ** math.floor(math.log10(span / TICKS))
    step = min((mantissa * power for mantissa in MANTISSAS), key=lambda each: abs(TICKS - span / each))
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return np.arange(first, last + 1) * step


def set_ticks(axis: Any, ticks: np.ndarray) -> None:
    """Put round numbers, in words without exponents, at `ticks` and nowhere else."""
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_minor_locator(FixedLocator([]))
    axis.set_major_formatter(FuncFormatter(lambda value, position: _tick_words(value)))


def _tick_words(value: float) -> str:
    return short(round(value, 12)).replace("-", "−")
