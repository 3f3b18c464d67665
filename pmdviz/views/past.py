"""The run that a branch has left, in grey under the picture and the traces, and where one stands in the run so far."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
from bokeh.models import ColumnDataSource, GlyphRenderer, LegendItem
from bokeh.plotting import figure as Figure

from pmdviz.scenes import style
from pmdviz.scenes.columns import EMPTY_LINE
from pmdviz.scenes.trace_columns import Group, column, trace_columns
from pmdviz.views import figures

CURSOR_PX = 1.5
NOWHERE = {"x": [], "y": []}


class Standing(NamedTuple):
    """What traces show besides the run itself."""

    iteration: int | None = None  # where one stands; None at the end of what was run
    ghost: Callable[[Iterable[str]], Mapping[str, np.ndarray]] | None = None  # its history, a function of some metrics
    name: str = ""  # of the ghost, in the legend


AT_THE_END = Standing()


class StageGhost:
    """Contours of another run's q: over the dots of a stage, and under the lines that it is about."""

    def __init__(self, figure: Figure) -> None:
        self.source = ColumnDataSource(EMPTY_LINE)
        look: dict[str, Any] = {"line_width": style.LINE_WIDTH, "line_dash": style.DASHES["ghost"]}
        self.line = figure.line("x", "y", source=self.source, name="ghost", **look)
        put_below(figure, "exact", self.line)
        self._shown: Any = EMPTY_LINE

    def show(self, columns: Mapping[str, np.ndarray]) -> None:
        """Draw the contours; what is drawn already costs nothing."""
        if columns is not self._shown:
            self._shown = columns
            self.source.data = dict(columns)

    def set_theme(self, dark: bool) -> None:
        """The colour of the theme."""
        self.line.glyph.line_color = style.theme(dark).layers["ghost"]


class PastOnTraces:
    """Grey traces of another run, and an upright line where one stands."""

    def __init__(self, figure: Figure) -> None:
        self.source, self.cursor_source = ColumnDataSource(NOWHERE), ColumnDataSource(NOWHERE)
        look: dict[str, Any] = {"line_width": style.LINE_WIDTH, "line_dash": style.DASHES["ghost"]}
        self.lines = {  # one on each axis: a renderer does not change its own
            log: figure.line("x", "y", source=self.source, name=f"ghost_{name}", y_range_name=name, **look)
            for log, name in ((True, "default"), (False, "linear"))
        }
        self.key = figure.line("x", "y", source=ColumnDataSource({"x": [np.nan], "y": [np.nan]}), **look)
        upright: dict[str, Any] = {"y_range_name": "edge", "line_width": CURSOR_PX, "name": "cursor"}
        self.cursor = figure.line("x", "y", source=self.cursor_source, **upright)
        put_below(figure, figure.renderers[0].name, self.cursor, *self.lines.values())
        self._clock: tuple[np.ndarray, np.ndarray] | None = None  # of the run so far: a clock, and the iterations

    def values(self, group: Group, standing: Standing) -> list[np.ndarray]:
        """What the axis must have room for."""
        if standing.ghost is None:
            return []
        history = standing.ghost(group.metrics)
        return [column(history, name) for name in group.metrics]

    def show(
        self,
        group: Group,
        clock: str,
        history: Mapping[str, np.ndarray],
        span: tuple[float, float],
        standing: Standing,
    ) -> None:
        """Draw the ghost's traces and the cursor against `clock`, of which `history` has the run's own times."""
        self._clock = history[clock], history["iteration"]
        for log, line in self.lines.items():
            line.visible = log == group.log
        self._put(self.cursor_source, _cursor(self._clock, standing.iteration))
        self._put(self.source, _ghost(group, clock, span, standing) if standing.ghost else NOWHERE)

    def _put(self, source: ColumnDataSource, data: Mapping[str, Any]) -> None:
        same = (np.array_equal(data[name], source.data[name], equal_nan=True) for name in ("x", "y"))
        if not all(same):
            source.data = dict(data)

    def iteration_at(self, x: float) -> int | None:
        """The iteration of the run so far that is nearest to a place on the axis; None where nothing has been run."""
        if self._clock is None or len(self._clock[0]) < 2:
            return None
        return round(float(np.interp(x, *self._clock)))

    def items(self, name: str) -> list[LegendItem]:
        """What stands for the ghost in the legend, where there is little room."""
        return [LegendItem(label=name.removeprefix("the "), renderers=[self.key])] if name else []

    def set_theme(self, dark: bool) -> None:
        """The colours of the theme."""
        colours = style.theme(dark)
        for line in (*self.lines.values(), self.key):
            line.glyph.line_color = colours.layers["ghost"]
        self.cursor.glyph.line_color = colours.text


def put_below(figure: Figure, first: str, *renderers: GlyphRenderer) -> None:
    """Have them painted by the script that paints what moves, before the renderer of the name `first`."""
    others = [each for each in figure.renderers if each not in renderers]
    at = [each.name for each in others].index(first)
    figure.renderers = [*others[:at], *renderers, *others[at:]]
    figures.float_above(figure, renderers)


def _cursor(clock: tuple[np.ndarray, np.ndarray], iteration: int | None) -> Mapping[str, Any]:
    if iteration is None:
        return NOWHERE
    x = float(np.interp(iteration, clock[1], clock[0]))
    return {"x": [x, x], "y": [0.0, 1.0]}


def _ghost(group: Group, clock: str, span: tuple[float, float], standing: Standing) -> Mapping[str, Any]:
    """All of its lines in one, with gaps between them."""
    columns = trace_columns(standing.ghost(group.metrics), group, span)
    gap = np.full(1, np.nan, np.float32)
    return {
        "x": np.concatenate([part for _ in group.metrics for part in (columns[clock], gap)]),
        "y": np.concatenate([part for name in group.metrics for part in (columns[name], gap)]),
    }
