"""The exact posterior of a target whose handle is being dragged: lines under those of the run that is shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource
from bokeh.plotting import figure as Figure

from pmdviz.scenes import style
from pmdviz.scenes.columns import EMPTY_LINE
from pmdviz.views.past import put_below


class MovedLines:
    """Contours, or a curve, in the colour of the exact posterior and dashed: they are where it would be."""

    def __init__(self, figure: Figure) -> None:
        self.source = ColumnDataSource(EMPTY_LINE)
        look: dict[str, Any] = {"line_width": style.LINE_WIDTH, "line_dash": style.DASHES["moved"]}
        self.line = figure.line("x", "y", source=self.source, name="moved", **look)
        put_below(figure, "exact", self.line)
        self.set_theme(dark=False)

    def show(self, columns: Mapping[str, np.ndarray] = EMPTY_LINE) -> None:
        """Draw the lines, or none; where there are none already it costs nothing."""
        if len(columns["x"]) or len(self.source.data["x"]):
            self.source.data = dict(columns)

    def set_theme(self, dark: bool) -> None:
        """The colour of the theme."""
        self.line.glyph.line_color = style.theme(dark).layers["exact"]
