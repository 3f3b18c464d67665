"""The stage: exact posterior, approximation and particles of one frame; and the picture of the data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from bokeh.models import (
    ColumnDataSource,
    GlyphRenderer,
    HoverTool,
    Label,
    Legend,
    LegendItem,
    LinearColorMapper,
    NumeralTickFormatter,
)
from bokeh.plotting import figure as Figure

from pmdviz.methods import Method
from pmdviz.scenes import style
from pmdviz.scenes.columns import (
    EMPTY_DOTS,
    EMPTY_LINE,
    EMPTY_PATHS,
    NO_WORDS,
    Image,
    StageColumns,
    Words,
    dot_opacity,
    set_data,
)
from pmdviz.scenes.data_columns import NO_BARS, Columns, DataGround, DataMoment
from pmdviz.scenes.stage import DRAWN, LAYERS, SCENES, Pair, Scene, particles_label
from pmdviz.scenes.style import USUAL as USUAL_ENDS
from pmdviz.scenes.style import palette
from pmdviz.views import figures

NO_IMAGE: dict[str, list] = {name: [] for name in ("image", "x", "y", "dw", "dh")}
NOTE_ALPHA = 0.75  # of the paper below a note: what lies under it shines through
OTHERS_PX = 5.0  # of dots in ink
WORDS_PX = 11  # of words in the picture
TIPS = [("weight", "@weight{0.000000}"), ("log q", "@log_density{0.00} nats")]


class StageView:
    """One Bokeh figure, built once; `show(frame)` changes its data and nothing else.

    Contours are the 50, 80 and 95 % highest-density regions of each density's own mass; in one dimension the
    densities are curves and the particles a rug under them. The ranges belong to the user: only `fit` sets them.

    A page that has its own words for the layers hides the `legend`: its items wait among its tags until a picture is
    saved, since BokehJS builds a legend anew, hidden or not, for every change of a source that it names.
    """

    def __init__(
        self, target: Any, scene: Scene = SCENES["posterior"], pair: Pair = (0, 1), legend: bool = True
    ) -> None:
        self.sources = {name: ColumnDataSource(_EMPTY[name]) for name in (*LAYERS, "others")}
        self.sources["image"] = ColumnDataSource(NO_IMAGE)
        self.sources["words"] = ColumnDataSource({name: [] for name in NO_WORDS._fields})
        self.figure = figures.make("stage", zoom="both")  # equal borders: square outside is square inside
        figures.describe(self.figure, "Picture: exact posterior, approximation and particles")
        self._add_glyphs()
        self.items: list[LegendItem] = []
        self.legend = Legend(items=[], visible=legend, **style.LEGEND)
        self.figure.add_layout(self.legend, "above")
        figures.fold_legend(self.figure, self.legend)
        note: dict[str, Any] = {"x_units": "screen", "y_units": "screen", "text_font": style.FONT, "level": "overlay"}
        self.note = Label(x=8, y=6, text="", **note)
        self.figure.add_layout(self.note)
        figures.float_above(self.figure, [self.others, *(self.layers[name] for name in DRAWN), self.note])
        self.hover = HoverTool(renderers=[self.layers["particles"]], attachment="vertical")
        self.figure.add_tools(self.hover)
        self.put: Callable[[ColumnDataSource, dict[str, np.ndarray]], None] = set_data  # a live page has a shorter way
        self._shown: dict[str, Any] = {"others": EMPTY_LINE, "prior": EMPTY_LINE, "paths": EMPTY_PATHS}
        self._dark, self._large, self._ends, self._drawn = False, False, USUAL_ENDS, 0
        self.hidden: frozenset[str] = frozenset()
        self.words: dict[str, str] = {}
        self.look_at(target, scene, pair)

    def _add_glyphs(self) -> None:
        self.colours = LinearColorMapper(palette(False), low=0.0, high=1.0, nan_color="#00000000")
        self.path_colours = LinearColorMapper(
            [style.LIGHT.layers[name] for name in style.PATH_COLOURS], low=-0.5, high=len(style.PATH_COLOURS) - 0.5
        )
        self.image = self.figure.image(
            "image", "x", "y", "dw", "dh", source=self.sources["image"], color_mapper=self.colours, level="image"
        )
        self.others = self.figure.scatter(
            "x", "y", source=self.sources["others"], size=OTHERS_PX, line_color=None, name="others"
        )
        self.written = self.figure.text(
            "x", "y", "text", source=self.sources["words"], text_font={"value": style.FONT}, text_align="center",
            text_baseline="middle", name="words",
        )  # fmt: skip
        made = {name: self._layer(name) for name in DRAWN}
        self.layers = {name: made[name] for name in LAYERS}

    def _layer(self, name: str) -> GlyphRenderer:
        look: dict[str, Any] = {"source": self.sources[name], "name": name}
        if name == "particles":  # without an outline, which would double the cost of a dot
            return self.figure.scatter("x", "y", size="size", line_color=None, fill_alpha=style.LIGHT.dots, **look)
        if name == "paths":
            kinds = {"field": "kind", "transform": self.path_colours}
            line = {"line_alpha": "alpha", "line_width": style.PATH_WIDTH, "line_color": kinds}
            return self.figure.segment("x0", "y0", "x1", "y1", **line, **look)
        return self.figure.line("x", "y", line_width=style.LINE_WIDTH, line_dash=style.DASHES[name], **look)

    def look_at(self, target: Any, scene: Scene, pair: Pair, method: Method | None = None) -> None:
        """Take ranges, axis names and words from a target, a scene of it and a method."""
        names = target.parameter_names
        flat = target.dim == 1
        self.target, self.scene, self.pair, self._top = target, scene, pair, np.nan
        self.name_layers(method)
        self.toggle(name for name in LAYERS if name not in self.hidden)
        self.figure.xaxis.axis_label, self.figure.yaxis.axis_label = scene.axis_labels(target, pair)
        first, second = (names[0], "") if flat else (names[k] for k in pair)
        self._number_axes(scene.numbered)
        theta = [(first, "@x{0.000}")] + ([] if flat else [(second, "@y{0.000}")])
        self.hover.tooltips = theta + TIPS if scene.shows_theta else None
        self.fit()

    def _number_axes(self, on: bool) -> None:
        """Numbers, ticks and grid, or none where a scene has no use for them."""
        for axis in self.figure.axis:
            axis.update(major_label_text_alpha=float(on), major_tick_line_alpha=float(on))
        for grid in self.figure.grid:
            grid.visible = on

    def fit(self) -> None:
        """Set the ranges to the target's box; the only place that touches them."""
        x, y = self.scene.ranges(self.target, self.pair, self._top)
        for span, (low, high) in ((self.figure.x_range, x), (self.figure.y_range, y)):
            span.update(start=low, end=high, reset_start=low, reset_end=high)

    def show(self, frame: Any) -> None:
        """Draw `frame`; drawing it twice changes nothing."""
        reason = frame.info.rejuvenated if frame.info else ""
        self.name_layers(frame.method)
        self.draw(
            self.scene.columns(frame, self.pair),
            f"new particles: {reason}" if reason else frame.caveat.partition(":")[0],
        )

    def draw(self, columns: StageColumns, note: str = "", with_image: bool = True) -> None:
        """Draw columns that were computed elsewhere (in a worker thread), with a note in the corner.

        Without the image the one before stays: it repaints the whole figure, and the eye does not miss it.
        """
        for name in (*LAYERS, "others"):
            data = getattr(columns, name)
            if self._shown.get(name) is not data:
                self.put(self.sources[name], data)
                self._shown[name] = data
        if with_image or columns.image is None:
            self._draw_image(columns.image)
        if not _same_words(self._shown.get("words", NO_WORDS), columns.words):
            self._shown["words"] = columns.words
            self.sources["words"].data = {name: list(values) for name, values in columns.words._asdict().items()}
        if np.isfinite(columns.top) and not np.isfinite(self._top):
            self._top = columns.top
            self.fit()
        self._thin_dots(columns.drawn)
        self._label(columns, note)

    def _draw_image(self, image: Image | None) -> None:
        if image is None and not self.sources["image"].data["image"]:
            return
        if image is None:
            self.sources["image"].data = NO_IMAGE
            return
        if image.ends != self._ends:
            self._ends = image.ends
            self.colours.palette = list(palette(self._dark, self._ends))
        (left, right), (bottom, top) = image.x, image.y
        self.sources["image"].data = {
            **{"image": [image.values], "x": [left], "y": [bottom]},
            **{"dw": [right - left], "dh": [top - bottom]},
        }

    def _thin_dots(self, drawn: int) -> None:
        if drawn != self._drawn:
            self._drawn = drawn
            self.layers["particles"].glyph.fill_alpha = dot_opacity(style.theme(self._dark).dots, drawn)

    def name_layers(self, method: Method | None) -> None:
        """The scene's words in the legend, for the layers that it draws."""
        words = self.scene.words(method)
        if words == self.words:
            return
        self.words, drawn = words, {**self.layers, "others": self.others}
        self.items = [LegendItem(label=word, renderers=[drawn[name]]) for name, word in words.items()]
        if self.legend.visible:
            self.legend.items = self.items
        else:
            self.legend.tags = self.items

    def labels(self, columns: StageColumns) -> dict[str, str]:
        """What the layers are called in a picture of these columns."""
        dots = {name: particles_label(columns, self.words[name]) for name in self.words if name == "particles"}
        return {**self.words, **dots}

    def _label(self, columns: StageColumns, note: str) -> None:
        for item, label in zip(self.items, self.labels(columns).values(), strict=True):
            if item.label.value != label:
                item.label = {"value": label}
        note = note.replace(": ", ":\n") if self._large else note  # large letters are too long for one line
        if self.note.text != note:
            self.note.text = note

    def toggle(self, names: Iterable[str]) -> None:
        """Show only the layers in `names`."""
        shown = {*names}
        self.hidden = frozenset(LAYERS) - shown
        for name, renderer in self.layers.items():
            renderer.visible = name in shown
        self.image.visible = self.scene.image_of not in self.hidden

    def set_theme(self, dark: bool = False, presenter: bool = False) -> None:
        """Colours of the light or the dark theme; label size for a screen or a lecture hall."""
        figures.apply_theme(self.figure, dark, presenter)
        self._dark, self._large, colours = dark, presenter, style.theme(dark)
        for name in ("exact", "approximate", "prior"):
            self.layers[name].glyph.line_color = colours.layers[name]
        self.path_colours.palette = [colours.layers[name] for name in style.PATH_COLOURS]
        opacity = dot_opacity(colours.dots, self._drawn)
        self.layers["particles"].glyph.update(fill_color=colours.layers["particles"], fill_alpha=opacity)
        self.others.glyph.fill_color = colours.layers["ink"]
        self.written.glyph.update(
            text_color=colours.layers["ink"], text_font_size=f"{style.TEXT_PX if presenter else WORDS_PX}px"
        )
        self.colours.palette = list(palette(dark, self._ends))
        self.note.update(text_color=colours.text, background_fill_color=colours.paper, background_fill_alpha=NOTE_ALPHA)
        self.note.text_font_size = figures.text_px(presenter)


_EMPTY: dict[str, dict[str, np.ndarray]] = {
    **dict.fromkeys(("exact", "approximate", "prior", "others"), EMPTY_LINE),
    "particles": EMPTY_DOTS,
    "paths": EMPTY_PATHS,
}


def _same_words(one: Words, two: Words) -> bool:
    """Whether the same words stand at the same places."""
    return one.text == two.text and np.array_equal(one.x, two.x) and np.array_equal(one.y, two.y)


class LinesBelow:
    """Lines over the dots of a stage and under those of the run: a ghost's, or where a dragged handle would put p."""

    def __init__(self, figure: Figure, name: str, layer: str) -> None:
        self.layer = layer
        self.source = ColumnDataSource(EMPTY_LINE)
        look: dict[str, Any] = {"line_width": style.LINE_WIDTH, "line_dash": style.DASHES[name]}
        self.line = figure.line("x", "y", source=self.source, name=name, **look)
        figures.put_below(figure, "exact", self.line)
        self._shown: Mapping[str, np.ndarray] = EMPTY_LINE
        self.set_theme(dark=False)

    def show(self, columns: Mapping[str, np.ndarray] = EMPTY_LINE) -> None:
        """Draw the lines, or none; what is drawn already costs nothing."""
        if columns is not self._shown:
            self._shown = columns
            self.source.data = dict(columns)

    def set_theme(self, dark: bool) -> None:
        """The colour of the theme."""
        self.line.glyph.line_color = style.theme(dark).layers[self.layer]


# The picture of the data: all rows, the batch of the last step lit, and what q and the exact posterior predict.

ALL, LIT = 0.3, 0.85  # opacity of the data, and of those of this step
DATA_WORDS = {
    "data": "data",
    "batch": "batch of this step",
    "exact": "predicted: exact posterior",
    "approximate": "predicted: approximation",
}


class DataView:
    """One Bokeh figure; what changes with the frame lies in the overlay."""

    def __init__(self) -> None:
        none: list[float] = []
        self.bars, self.lit_bars = (ColumnDataSource(dict(NO_BARS)) for _ in range(2))
        self.dots, self.lit_dots, self.exact, self.approximate = (
            ColumnDataSource({"x": none, "y": none}) for _ in range(4)
        )
        self.figure = f = figures.make("data")
        f.yaxis.formatter = NumeralTickFormatter(format="0,0.[0000]")
        figures.describe(f, "The data, the batch of this step, and what approximation and exact posterior predict")
        self.data_marks = [self._quads(self.bars), f.scatter("x", "y", source=self.dots, size=7, line_color=None)]
        self.batch_marks = [
            self._quads(self.lit_bars),
            f.scatter("x", "y", source=self.lit_dots, size=7, line_color=None),
        ]
        self.lines = {
            name: f.line("x", "y", source=source, line_width=style.LINE_WIDTH, line_dash=style.DASHES[name])
            for name, source in (("exact", self.exact), ("approximate", self.approximate))
        }
        self.rug_source = ColumnDataSource({"x": none, "y": none})
        self.rug = f.scatter("x", "y", source=self.rug_source, size=5, line_color=None, name="rug")
        self._add_legend()
        figures.float_above(f, [*self.batch_marks, *self.lines.values()])
        self._ground: DataGround | None = None

    def _quads(self, source: ColumnDataSource) -> Any:
        return self.figure.quad("left", "right", "top", 0, source=source, line_color=None)

    def _add_legend(self) -> None:
        """Signs of their own stand for what moves: see `TracesView`."""
        key: dict[str, Any] = {"x": "x", "y": "y", "source": ColumnDataSource({"x": [np.nan], "y": [np.nan]})}
        squares = [self.figure.scatter(marker="square", size=9, line_color=None, **key) for _ in range(2)]
        lines = [self.figure.line(line_width=style.LINE_WIDTH, line_dash=style.DASHES[n], **key) for n in self.lines]
        self.keys = dict(zip(DATA_WORDS, [*squares, *lines], strict=True))
        self.legend = Legend(**style.LEGEND)
        self.figure.add_layout(self.legend, "above")
        figures.fold_legend(self.figure, self.legend)

    def show(self, moment: DataMoment) -> None:
        """Draw the data as the step of a frame saw them; what stands still is sent once."""
        if moment.ground is not self._ground:
            self._show_ground(moment.ground)
        self.lit_bars.data, self.lit_dots.data = moment.bars, moment.dots
        self.approximate.data = moment.approximate

    def show_rug(self, columns: Columns) -> None:
        """Dots at the foot of a histogram, one for each datum; none while nobody edits the data."""
        if len(columns["x"]) or len(self.rug_source.data["x"]):
            self.rug_source.data = dict(columns)

    def _show_ground(self, ground: DataGround) -> None:
        self._ground, f = ground, self.figure
        self.bars.data, self.dots.data, self.exact.data = ground.bars, ground.dots, ground.exact
        f.xaxis.axis_label, f.yaxis.axis_label = ground.labels
        (x0, x1), (y0, y1) = ground.ranges
        f.x_range.update(start=x0, end=x1)
        f.y_range.update(start=y0, end=y1)
        names = [name for name in DATA_WORDS if name not in self.lines or len(ground.exact["x"])]
        self.legend.items = [LegendItem(label=DATA_WORDS[name], renderers=[self.keys[name]]) for name in names]

    def set_theme(self, dark: bool = False, presenter: bool = False) -> None:
        """Colours of the light or the dark theme; label size for a screen or a lecture hall."""
        figures.apply_theme(self.figure, dark, presenter)
        colours = style.theme(dark)
        for name, line in self.lines.items():
            line.glyph.line_color = self.keys[name].glyph.line_color = colours.layers[name]
        for name, marks, alpha in (("data", self.data_marks, ALL), ("batch", self.batch_marks, LIT)):
            for mark in (*marks, self.keys[name]):
                mark.glyph.update(fill_color=colours.muted, fill_alpha=alpha)
        self.rug.glyph.update(fill_color=colours.text, fill_alpha=LIT)
