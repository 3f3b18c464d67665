"""The pictures of experiments: charts, heat maps, histograms and ellipses, each under its title and legend."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from bokeh.models import (
    BasicTicker,
    ColorBar,
    Column,
    ColumnDataSource,
    CustomJSHover,
    CustomJSTickFormatter,
    Div,
    FixedTicker,
    GlyphRenderer,
    HoverTool,
    LinearColorMapper,
    NoOverlap,
)

from pmdviz.experiments.base import Chart, Ellipses, HeatMap, Histogram, Picture
from pmdviz.scenes import style
from pmdviz.scenes.chart_columns import (
    Entry,
    Lines,
    bars,
    chart_columns,
    chart_legend,
    colour_numbers,
    colour_of,
    dash_of,
    ellipse_legend,
    ellipse_points,
    heat_columns,
    heat_legend,
    histogram_legend,
    histogram_spans,
    legend_html,
    mark_dash,
    marks,
    outlines,
    slope_dash,
    square,
)
from pmdviz.views import figures

HEIGHT, TOP = 380, 12  # px, of a figure and above its frame: the legend is no part of it
LINE = 44  # characters of an axis's words in a line
NUMBER_JS = """
const size = Math.abs(value)
if (size === 0 || !Number.isFinite(value)) return String(value)
if (size >= 1e-4 && size < 1e7)
  return Number(value.toPrecision(digits)).toLocaleString("en-US", {maximumFractionDigits: 8})
let power = Math.floor(Math.log10(size) + 1e-9)
const lead = Number((value / 10 ** power).toPrecision(3))
const small = String(power).replace("-", "⁻").replace(/[0-9]/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit])
return (lead === 1 ? "" : `${lead}·`) + `10${small}`
"""  # never 1e-05
TICK_JS = f"const value = tick, digits = 6\n{NUMBER_JS}"
HOVER_JS = f"const digits = 3\n{NUMBER_JS}"


NOTHING: Mapping[str, list[float]] = {"x": [], "y": []}


class PictureView:
    """A figure that `show` brings up to date. Subclasses draw one kind of picture, and say what its legend is."""

    what: ClassVar[str] = ""  # the kind, in the words for those who cannot see it

    def __init__(self, x_log: bool = False, y_log: bool = False, **look: Any) -> None:
        scales = {"x_axis_type": "log" if x_log else "linear", "y_axis_type": "log" if y_log else "linear"}
        name = f"picture-{self.what.lower().replace(' ', '-')}"
        self.figure = figures.make(
            name, **{"height": HEIGHT, "borders": {**style.BORDERS, "top": TOP}, **scales, **look}
        )
        for axis in (self.figure.xaxis[0], self.figure.yaxis[0]):
            axis.update(formatter=CustomJSTickFormatter(code=TICK_JS), major_label_policy=NoOverlap())
        figures.describe_by_tag(self.figure)
        self.dark = False
        self.colours: Mapping[str, int] = {}  # numbers of those of series and groups, by their names

    def show(self, picture: Any) -> None:
        """Draw a picture; drawing twice changes nothing."""
        self.draw(picture)
        for axis, words in ((self.figure.xaxis[0], picture.x_label), (self.figure.yaxis[0], picture.y_label)):
            axis.axis_label = "\n".join(textwrap.wrap(words, LINE))
        self._tell(picture)

    def reach(self, x: tuple[float, float], y: tuple[float, float]) -> None:
        """Set the ends of both axes."""
        for span, (start, end) in ((self.figure.x_range, x), (self.figure.y_range, y)):
            span.update(start=start, end=end)

    def draw_lines(self, drawn: list[GlyphRenderer], found: Sequence[Mapping[str, Any]], **look: Any) -> None:
        """As many lines as there are columns; what one had that is no longer there is emptied.

        `look` holds what `figure.line` takes, and as `dashes` a function of the number of a line.
        """
        dashes = look.pop("dashes", lambda k: ())
        for k in range(len(drawn), len(found)):
            source = ColumnDataSource(dict(NOTHING))
            drawn.append(self.figure.line("x", "y", source=source, line_dash=list(dashes(k)), **look))
        for k, line in enumerate(drawn):
            line.data_source.data = dict(found[k] if k < len(found) else NOTHING)

    def number(self, name: str, k: int) -> int:
        """The number of the colour of `name`, the k-th of this picture."""
        return self.colours.get(name, k)

    def _tell(self, picture: Any) -> None:
        """The words for those who cannot see it."""
        about = picture.title or f"{picture.y_label} against {picture.x_label}"
        names = ", ".join(entry.words for entry in self.legend(picture))
        tags = [f"{self.what}: {about}" + (f"; {names}" if names else "")]
        if self.figure.tags != tags:
            self.figure.tags = tags

    def draw(self, picture: Any) -> None:
        """Bring sources and ranges up to date."""
        raise NotImplementedError

    def legend(self, picture: Any) -> Sequence[Entry]:
        """What stands over the figure."""
        raise NotImplementedError

    def set_theme(self, dark: bool) -> None:
        """Colours of the light or the dark theme."""
        self.dark = dark
        top = self.figure.min_border_top
        figures.apply_theme(self.figure, dark)
        self.figure.min_border_top = top
        self.paint()

    def paint(self) -> None:
        """Put the theme's colours on what is drawn."""
        raise NotImplementedError


def number_hover() -> CustomJSHover:
    """Numbers of a tooltip with three digits."""
    return CustomJSHover(code=HOVER_JS)


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
        self.draw_lines(self.slants, found.slopes, line_width=1.6, dashes=slope_dash)
        self.legs.data = found.legs
        self.paint()
        self._show_levels(found.levels, found.x.span)
        self._name_tips(picture)
        self.reach(found.x.span, found.y.span)
        for axis, own in ((self.figure.xaxis[0], found.x), (self.figure.yaxis[0], found.y)):
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
        figures.write(theme.muted, False, self.level_texts)
        self.level_texts.glyph.background_fill_color = theme.paper


CELL_JS = "return String(Math.round(special_vars.{axis}))"


class HeatMapView(PictureView):
    """One heat map with its colour bar."""

    what = "Heat map"

    def __init__(self) -> None:
        super().__init__()
        self.source = ColumnDataSource({"image": [], "width": [], "height": []})
        self.mapper = LinearColorMapper(palette=["#000000"], low=-1, high=1)
        self.image = self.figure.image(
            "image", x=-0.5, y=-0.5, dw="width", dh="height", source=self.source, color_mapper=self.mapper
        )
        self.bar = ColorBar(
            color_mapper=self.mapper,
            width=12,
            padding=4,
            label_standoff=4,
            formatter=CustomJSTickFormatter(code=TICK_JS),
        )
        self.figure.add_layout(self.bar, "right")
        for axis in (self.figure.xaxis[0], self.figure.yaxis[0]):
            axis.ticker = BasicTicker(min_interval=1)
        self.figure.grid.visible = False
        self.hover = HoverTool(renderers=[self.image], attachment="vertical")
        self.figure.add_tools(self.hover)
        self.set_theme(False)

    def draw(self, picture: HeatMap) -> None:
        """The matrix, and the ends of the colours."""
        found = heat_columns(picture)
        rows, columns = found.image.shape
        self.source.data = {"image": [found.image], "width": [columns], "height": [rows]}
        self.mapper.update(low=-found.top, high=found.top)
        self.reach((-0.5, columns - 0.5), (rows - 0.5, -0.5))
        tips = [
            (picture.y_label, "$y{custom}"),
            (picture.x_label, "$x{custom}"),
            (picture.value_label, "@image{custom}"),
        ]
        if self.hover.tooltips != tips:
            cells = {f"${axis}": CustomJSHover(code=CELL_JS.format(axis=axis)) for axis in "xy"}
            self.hover.update(tooltips=tips, formatters={**cells, "@image": number_hover()})

    def legend(self, picture: HeatMap) -> list[Entry]:
        """What the colours mean."""
        return heat_legend(picture)

    def paint(self) -> None:
        """Colours of a theme."""
        theme = style.theme(self.dark)
        palette = style.diverging(theme.paper, theme.layers["exact"], theme.layers["approximate"])
        self.mapper.update(palette=palette, nan_color=theme.grid)
        self.bar.update(
            background_fill_color=theme.paper,
            major_label_text_color=theme.muted,
            major_label_text_font=style.FONT,
            major_label_text_font_size=f"{style.TEXT_PX}px",
            major_tick_line_color=theme.muted,
        )


class HistogramView(PictureView):
    """One histogram."""

    what = "Histogram"

    def __init__(self) -> None:
        super().__init__()
        self.source = ColumnDataSource({"left": [], "right": [], "top": []})
        self.bars = self.figure.quad(
            left="left", right="right", bottom=0, top="top", source=self.source, fill_alpha=0.55, line_width=1
        )
        self.marks: list[GlyphRenderer] = []
        for axis in (self.figure.xaxis[0], self.figure.yaxis[0]):
            axis.ticker = BasicTicker(desired_num_ticks=7)
        number = dict.fromkeys(("@left", "@right", "@top"), number_hover())
        tips = [("from", "@left{custom}"), ("to", "@right{custom}"), ("", "@top{custom}")]
        self.figure.add_tools(HoverTool(renderers=[self.bars], tooltips=tips, formatters=number, attachment="vertical"))
        self.set_theme(False)

    def draw(self, picture: Histogram) -> None:
        """Bars and marks."""
        self.source.data = bars(picture)
        self.draw_lines(self.marks, marks(picture), line_width=2.5, dashes=mark_dash)
        self.paint()
        self.reach(*histogram_spans(picture))

    def legend(self, picture: Histogram) -> list[Entry]:
        """The marks."""
        return histogram_legend(picture)

    def paint(self) -> None:
        """Colours of a theme."""
        colour = colour_of(0, self.dark)
        self.bars.glyph.update(fill_color=colour, line_color=style.theme(self.dark).paper)
        for k, mark in enumerate(self.marks):
            mark.glyph.line_color = colour_of(k + 1, self.dark)


SIDE = 560  # px at most
THIN, THICK = 1.2, 3.0  # px
BORDERS = {"left": 64, "right": 12, "bottom": 48, "top": 28}  # alike in sum: a square outside is a square inside


class EllipsesView(PictureView):
    """One picture of ellipses, square."""

    what = "Ellipses"

    def __init__(self) -> None:
        super().__init__(sizing_mode="scale_width", width=SIDE, height=SIDE, max_width=SIDE, borders=BORDERS)
        self.points = ColumnDataSource({"x": [], "y": []})
        self.dots = self.figure.scatter("x", "y", source=self.points, size=4, fill_alpha=0.35, line_alpha=0.0)
        self.groups: list[GlyphRenderer] = []
        self.numbers: list[int] = []  # of their colours
        for axis in (self.figure.xaxis[0], self.figure.yaxis[0]):
            axis.ticker = BasicTicker(desired_num_ticks=7)
        self.set_theme(False)

    def draw(self, picture: Ellipses) -> None:
        """The points, and a line with gaps for each group."""
        points = ellipse_points(picture)
        drawn = [outlines(group.means, group.covs) for group in picture.groups]
        self.points.data = points
        self.draw_lines(self.groups, drawn)
        self.numbers = [self.number(one.name, k) for k, one in enumerate(picture.groups)]
        for group, one in zip(self.groups, picture.groups, strict=False):
            group.glyph.update(line_width=THICK if one.bold else THIN, line_alpha=1.0 if one.bold else 0.75)
        self.paint()
        self.reach(*square([points, *drawn]))

    def legend(self, picture: Ellipses) -> list[Entry]:
        """The groups."""
        return ellipse_legend(picture, self.colours)

    def paint(self) -> None:
        """Colours of a theme."""
        self.dots.glyph.fill_color = style.theme(self.dark).muted
        for number, group in zip(self.numbers, self.groups, strict=False):
            group.glyph.line_color = colour_of(number, self.dark)

    def set_theme(self, dark: bool) -> None:
        """Colours of the light or the dark theme; the borders keep the figure square."""
        super().set_theme(dark)
        self.figure.update(**{f"min_border_{side}": px for side, px in BORDERS.items()})


VIEWS: dict[type, Callable[..., PictureView]] = {
    Chart: ChartView,
    HeatMap: HeatMapView,
    Histogram: HistogramView,
    Ellipses: EllipsesView,
}
Kind = tuple[Any, ...]
NO_NUMBERS: Mapping[str, int] = {}


def kind_of(picture: Picture) -> Kind:
    """What a figure cannot change: the kind of the picture, and of its axes."""
    scales = (picture.x_log, picture.y_log) if isinstance(picture, Chart) else ()
    return type(picture), *scales


def names_in(picture: Picture) -> list[str]:
    """Of its series or groups, each of which has a colour."""
    if isinstance(picture, Chart):
        return [one.name for one in picture.series]
    return [one.name for one in picture.groups] if isinstance(picture, Ellipses) else []


class PicturesView:
    """`layout` holds the pictures; `stylesheets` dress it (a grid) and the words over each of them."""

    def __init__(self, stylesheets: Sequence[str] = (), head_stylesheets: Sequence[str] = ()) -> None:
        self.layout = Column(
            children=[], sizing_mode="stretch_width", stylesheets=[*stylesheets], css_classes=["pmdviz-pictures"]
        )
        self._head_stylesheets = [*head_stylesheets]
        self.views: list[PictureView] = []
        self.heads: list[Div] = []
        self._kinds: list[Kind] = []
        self._shown: Sequence[Picture] = ()
        self.colours: dict[str, int] = {}
        self._dark = False

    def show(self, pictures: Sequence[Picture], known: Mapping[str, int] = NO_NUMBERS) -> None:
        """Draw them all. Only where their kinds are others than before are figures made.

        What has one name in several pictures has one colour; `known` are the numbers of colours of others.
        """
        self.colours = {**known, **self.colours}
        kinds = [kind_of(picture) for picture in pictures]
        if kinds != self._kinds:
            self._make(kinds)
        self._shown = tuple(pictures)
        for view, picture in zip(self.views, pictures, strict=True):
            view.colours = colour_numbers(names_in(picture), self.colours)
            self.colours |= view.colours
            view.show(picture)
        self._show_heads()

    def forget(self) -> None:
        """Other names are to come: colours are given out anew."""
        self.colours = {}

    def _make(self, kinds: list[Kind]) -> None:
        """Figures of these kinds; those at the front that stay the same are kept."""
        same = next((k for k, pair in enumerate(zip(kinds, self._kinds, strict=False)) if pair[0] != pair[1]), None)
        kept = min(len(kinds), len(self._kinds)) if same is None else same
        new = [VIEWS[kind[0]](*kind[1:]) for kind in kinds[kept:]]
        for view in new:
            view.set_theme(self._dark)
        self.views, self._kinds = [*self.views[:kept], *new], kinds
        heads = [Div(text="", stylesheets=self._head_stylesheets, sizing_mode="stretch_width") for _ in new]
        self.heads = [*self.heads[:kept], *heads]
        boxes = [
            Column(children=[head, view.figure], sizing_mode="stretch_width", css_classes=["pmdviz-picture"])
            for head, view in zip(heads, new, strict=True)
        ]
        self.layout.children = [*self.layout.children[:kept], *boxes]

    def _show_heads(self) -> None:
        for head, view, picture in zip(self.heads, self.views, self._shown, strict=True):
            text = legend_html(picture.title, view.legend(picture), self._dark)
            if head.text != text:
                head.text = text

    def set_theme(self, dark: bool) -> None:
        """Put on the light or the dark theme."""
        self._dark = dark
        for view in self.views:
            view.set_theme(dark)
        self._show_heads()
