"""A chart: lines, points and bands of several series, triangles of slopes, and horizontal levels."""

from __future__ import annotations

from typing import Any, NamedTuple

from bokeh.models import BasicTicker, ColumnDataSource, FixedTicker, GlyphRenderer, HoverTool

from pmdviz.experiments.base import Chart
from pmdviz.scenes import style
from pmdviz.scenes.chart_columns import Entry, Lines, chart_columns, chart_legend, colour_of, dash_of, slope_dash
from pmdviz.views.picture import PictureView, number_hover

SIZES = (7, 5, 3)  # px of a point, by how many there are
ABOVE, BELOW = -3, 18  # px from a level to the foot of its words


class Slot(NamedTuple):
    """What draws one series."""

    points: ColumnDataSource
    edges: ColumnDataSource
    band: GlyphRenderer
    line: GlyphRenderer
    dots: GlyphRenderer


class ChartView(PictureView):
    """One chart; series come and go without a new figure, but its axes stay log or linear."""

    what = "Chart"

    def __init__(self, x_log: bool, y_log: bool) -> None:
        super().__init__(x_log, y_log)
        self.slots: list[Slot] = []
        self.numbers: list[int] = []  # of their colours
        self.slants: list[GlyphRenderer] = []
        self.hover = HoverTool(renderers=[], attachment="vertical")
        self.figure.add_tools(self.hover)
        self.levels = ColumnDataSource({"y": [], "left": [], "right": []})
        self.level_words = ColumnDataSource({"x": [], "y": [], "text": [], "offset": []})
        self.legs = ColumnDataSource({"xs": [], "ys": []})
        f = self.figure
        self.leg_lines = f.multi_line("xs", "ys", source=self.legs, line_width=1)
        self.level_lines = f.segment(
            "left", "y", "right", "y", source=self.levels, line_width=1.5, line_dash=style.DASHES["floor"]
        )
        self.level_texts = f.text(
            "x", "y", "text", source=self.level_words, y_offset="offset", x_offset=-4, text_align="right",
            text_baseline="bottom", background_fill_alpha=0.9, level="annotation",
        )  # fmt: skip
        self.set_theme(False)

    def draw(self, picture: Chart) -> None:
        """Every series in its place, the axes around them."""
        found = chart_columns(picture)
        for _ in range(len(self.slots), len(found.series)):
            self._add_slot()
        for k, slot in enumerate(self.slots):
            self._fill(slot, k, found.series[k] if k < len(found.series) else None)
        for k, (slot, one) in enumerate(zip(self.slots, picture.series, strict=False)):
            slot.dots.name = one.name
            self.numbers[k] = self.number(one.name, k)
        for _ in range(len(self.slants), len(found.slopes)):
            self._add_slant()
        for k, slant in enumerate(self.slants):
            slant.data_source.data = found.slopes[k] if k < len(found.slopes) else {"x": [], "y": []}
        self.legs.data = found.legs
        self.paint()
        self._show_levels(found.levels, found.x.span)
        self._name_tips(picture)
        f = self.figure
        for span, axis, own in ((f.x_range, f.xaxis[0], found.x), (f.y_range, f.yaxis[0], found.y)):
            start, end = own.span
            span.update(start=start, end=end)
            axis.ticker = FixedTicker(ticks=own.ticks) if own.ticks else BasicTicker(desired_num_ticks=7)

    def _add_slot(self) -> None:
        f, points = self.figure, ColumnDataSource({"x": [], "y": []})
        edges = ColumnDataSource({"x": [], "low": [], "high": []})
        band = f.varea("x", "low", "high", source=edges, fill_alpha=0.18, level="underlay")
        line = f.line("x", "y", source=points, line_width=style.LINE_WIDTH)
        dots = f.scatter("x", "y", source=points, size=SIZES[0], line_alpha=0.0)
        dots.nonselection_glyph = line.nonselection_glyph = None
        self.numbers.append(len(self.slots))
        self.slots.append(Slot(points, edges, band, line, dots))
        self.hover.renderers = [slot.dots for slot in self.slots]

    def _fill(self, slot: Slot, k: int, lines: Lines | None) -> None:
        if lines is None:
            slot.points.data, slot.edges.data = {"x": [], "y": []}, {"x": [], "low": [], "high": []}
            return
        slot.points.data, slot.edges.data = lines.points, lines.band
        slot.line.visible = lines.look != "points"
        slot.line.glyph.line_dash = list(dash_of(k, lines.look))
        count = len(lines.points["x"])
        slot.dots.glyph.size = SIZES[(count > 12) + (count > 200)]
        seen = lines.marked and (lines.look != "dashes" or count == 1)  # unseen ones still answer the pointer
        slot.dots.glyph.fill_alpha = (0.55 if lines.look == "points" and count > 40 else 1.0) if seen else 0.0

    def _add_slant(self) -> None:
        dash = list(slope_dash(len(self.slants)))
        source = ColumnDataSource({"x": [], "y": []})
        self.slants.append(self.figure.line("x", "y", source=source, line_width=1.6, line_dash=dash))

    def _show_levels(self, levels: dict[str, list], ends: tuple[float, float]) -> None:
        n = len(levels["y"])
        self.levels.data = {"y": levels["y"], "left": [ends[0]] * n, "right": [ends[1]] * n}
        offsets = [BELOW if below else ABOVE for below in levels["below"]]
        self.level_words.data = {"x": [ends[1]] * n, "y": levels["y"], "text": levels["text"], "offset": offsets}

    def _name_tips(self, picture: Chart) -> None:
        tips = [("", "$name"), (picture.x_label, "@x{custom}"), (picture.y_label, "@y{custom}")]
        if self.hover.tooltips != tips:
            self.hover.update(tooltips=tips, formatters={"@x": number_hover(), "@y": number_hover()})

    def legend(self, picture: Chart) -> list[Entry]:
        """The series and the slopes."""
        return chart_legend(picture, self.colours)

    def paint(self) -> None:
        """Colours of a theme."""
        theme = style.theme(self.dark)
        for number, slot in zip(self.numbers, self.slots, strict=True):
            colour: Any = colour_of(number, self.dark)
            slot.band.glyph.fill_color = slot.line.glyph.line_color = slot.dots.glyph.fill_color = colour
        for muted in (self.leg_lines, self.level_lines, *self.slants):
            muted.glyph.line_color = theme.muted
        self.level_texts.glyph.update(
            text_color=theme.muted,
            text_font={"value": style.FONT},
            text_font_size=f"{style.TEXT_PX}px",
            background_fill_color=theme.paper,
        )
