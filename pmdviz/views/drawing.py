"""Pictures in Bokeh: a figure is built from a picture once; further ones of its shape change nothing but data."""

from __future__ import annotations

import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from bokeh import models
from bokeh.models.glyphs import Image, Line, Patches, Quad, Scatter, Segment, Text, VArea

from pmdviz.pictures import Axis, Mark, Picture
from pmdviz.scenes import style
from pmdviz.scenes.columns import dot_opacity, set_data
from pmdviz.scenes.stage import LAYERS
from pmdviz.views import figures

NOTE_ALPHA = 0.75  # of the paper below words: what lies under them shines through
DOT_PX, SIGN_PX, HOLLOW_PX = 5.0, 9.0, 2.5  # where a mark does not say it
WORDS_PX = style.TEXT_PX
NUMBER_JS = """
const size = Math.abs(value)
if (size === 0 || !Number.isFinite(value)) return String(value)
const rounded = () => Number(value.toPrecision(digits)).toLocaleString("en-US", {maximumFractionDigits: 8})
if (size >= 1e-4 && size < 1e7) return rounded().replace("-", "−")
let power = Math.floor(Math.log10(size) + 1e-9)
const lead = Number((value / 10 ** power).toPrecision(3))
const small = String(power).replace("-", "⁻").replace(/[0-9]/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit])
return (lead === 1 ? "" : `${lead}·`) + `10${small}`
"""  # as `pictures.tick_words`
TICK_JS = f"const value = tick, digits = 6\n{NUMBER_JS}"
ROUND_JS = "const value = Math.abs(number) < 1e-12 * (Math.abs(origin) + unit) ? 0 : number"
UNIT_TICK_JS = f"const number = origin + unit * tick, digits = 6\n{ROUND_JS}\n{NUMBER_JS}"
UNIT_TICKS_JS = """
const [low, high] = [cb_data.start, cb_data.end].map((end) => origin + unit * end).sort((a, b) => a - b)
const power = 10 ** Math.floor(Math.log10((high - low) / 6)), away = (step) => Math.abs(6 - (high - low) / step)
const step = [1, 2, 5, 10].map((part) => part * power).reduce((a, b) => away(a) <= away(b) ? a : b)
const first = Math.ceil(low / step - 1e-9), count = Math.floor(high / step + 1e-9) - first + 1
return Array.from({length: count > 0 ? count : 0}, (_, k) => ((first + k) * step - origin) / unit)
"""  # round numbers, `origin` + `unit` * tick, within the axis
HOVER_JS = "if (value >= {0}) return '> {0}'\nconst digits = 3\n" + NUMBER_JS.replace("{", "{{").replace("}", "}}")
CELL_JS = "return String(Math.round(special_vars.{axis}))"
NOWHERE = {"x": [np.nan], "y": [np.nan], "low": [np.nan], "high": [np.nan]}
Columns = Mapping[str, Any]


@dataclass
class Store:
    """Columns in the browser: those that were sent last, and the names that glyphs have for them."""

    source: models.ColumnDataSource
    sent: Columns | None = None
    named: set[str] = field(default_factory=set)


@dataclass
class Layer:
    """What draws one mark."""

    renderer: models.GlyphRenderer
    mark: Mark
    store: Store
    visible: bool = True  # to ask Bokeh would cost as much as the rest of a frame

    def show(self, on: bool) -> None:
        """Have it seen or not."""
        if on != self.visible:
            self.visible = self.renderer.visible = on


class PictureFigure:
    """A figure of pictures; `drawn` and `sources` are by the keys of marks, or by the name of columns that are shared.

    The reader may zoom along `zoom`, "width" or "both". `more` are pictures that the same figure is to be ready for:
    the y axis of some may be logarithmic, for others not. A page that has a `legend` of its own hides this one: its
    items wait among its tags until a picture is saved. `borders` are the same at any size of the labels.
    """

    put: Callable[[models.ColumnDataSource, Any], None] = staticmethod(set_data)  # a live page has a shorter way

    def __init__(
        self,
        name: str,
        first: Picture,
        zoom: str = "",
        legend: bool = True,
        more: Sequence[Picture] = (),
        borders: Mapping[str, int] | None = None,
        **look: Any,
    ) -> None:
        self.zoom, self.twin = zoom, len({each.y.log for each in (first, *more)}) == 2
        self.log = self.twin or first.y.log
        look |= {"x_axis_type": "log" if first.x.log else "linear", "y_axis_type": "log" if self.log else "linear"}
        self.figure, self._borders = figures.make(name, zoom=zoom, **look), borders
        figures.describe_by_tag(self.figure)
        self.stores: dict[str, Store] = {}
        self.drawn: dict[str, Layer] = {}
        self.signs: dict[str, Layer] = {}  # of the legend
        self.hovers: list[models.HoverTool] = []
        self.hidden: frozenset[str] = frozenset()
        self._spans: dict[str, tuple[float, float]] = {}
        self._axes: tuple[Axis, Axis] | None = None
        self._told: tuple[Mapping[str, str], list[Any]] = {}, []
        self.items: list[models.LegendItem] = []
        self._dark = self._large = False
        self._bar: models.ColorBar | None = None
        self._said: dict[models.Label, str] = {}
        self._about = ""
        self._make_axes()
        self._make_words(legend)
        over: list[Any] = [self.middle, self.corner, self.note]  # BokehJS may keep an old text in a level below
        for picture in (*more, first):
            self.draw_picture(picture)
            over += [self._layer(key).renderer for key in _over(picture) if self._layer(key).renderer not in over]
        figures.float_above(self.figure, over)
        self.set_theme()

    @property
    def sources(self) -> dict[str, models.ColumnDataSource]:
        """The columns, by the keys of marks or by the names that several share."""
        return {name: store.source for name, store in self.stores.items()}

    # Axes, words and the legend

    def _make_axes(self) -> None:
        f = self.figure
        f.extra_y_ranges = {"edge": models.Range1d(0, 1)}
        f.extra_y_scales = {"edge": models.LinearScale()}
        if self.twin:
            f.extra_y_ranges["linear"], f.extra_y_scales["linear"] = models.Range1d(0, 1), models.LinearScale()
            axis = models.LinearAxis(y_range_name="linear", visible=False)
            f.add_layout(axis, "left")
            f.add_layout(models.Grid(axis=axis, dimension=1, y_range_name="linear", visible=False))
        for axis in f.axis:
            axis.update(formatter=models.CustomJSTickFormatter(code=TICK_JS), major_label_policy=models.NoOverlap())

    def _make_words(self, legend: bool) -> None:
        look: dict[str, Any] = {"text": "", "text_font": style.FONT}
        middle = {"y": 0.5, "text_align": "center", "text_baseline": "middle"}
        corner = {"y": 1.0, "x_offset": -6, "y_offset": -3, "text_align": "right", "text_baseline": "top"}
        self.middle, self.corner = (models.Label(x=0, y_range_name="edge", **each, **look) for each in (middle, corner))
        self.note = models.Label(x=8, y=6, x_units="screen", y_units="screen", **look)
        self.legend = models.Legend(items=[], visible=legend, **style.LEGEND)
        for each in (self.middle, self.corner, self.note):
            self.figure.add_layout(each)
        self.figure.add_layout(self.legend, "above")
        figures.fold_legend(self.figure, self.legend)

    def _show_axes(self, picture: Picture) -> None:
        f, y = self.figure, picture.y
        own = f.y_range if y.log == self.log else f.extra_y_ranges["linear"]
        self._set_range("x", f.x_range, picture.x, bool(self.zoom))
        self._set_range(f"y{y.log}", own, y, self.zoom == "both")
        if self._axes == (picture.x, y):
            return
        self._axes, x = (picture.x, y), picture.x
        self.middle.x = (x.low * x.high) ** 0.5 if x.log else (x.low + x.high) / 2
        self.corner.x = max(x.low, x.high)
        f.xaxis.visible = f.xgrid.visible = not x.bare
        for axis, one, free in ((f.xaxis[0], picture.x, bool(self.zoom)), *self._y_axes(y)):
            self._set_ticks(axis, one, free)

    def _y_axes(self, y: Axis) -> list[tuple[Any, Axis, bool]]:
        """The axis on the left that is seen of the two there may be."""
        own = [(axis.y_range_name == "default") == (y.log == self.log) for axis in self.figure.left]
        for axis, grid, mine in zip(self.figure.left, self.figure.ygrid, own, strict=True):
            axis.visible = grid.visible = mine and not y.bare
        return [(axis, y, self.zoom == "both") for axis, mine in zip(self.figure.left, own, strict=True) if mine]

    def _set_range(self, name: str, span: models.Range1d, axis: Axis, free: bool) -> None:
        """The ends of an axis; those that a reader has zoomed to stay."""
        ends = axis.low, axis.high
        seen = self._spans.get(name)
        if seen == ends or (free and seen is not None and seen != (span.start, span.end)):
            return
        span.update(start=ends[0], end=ends[1], reset_start=ends[0], reset_end=ends[1])
        self._spans[name] = ends

    def _set_ticks(self, axis: Any, one: Axis, free: bool) -> None:
        axis.axis_label = one.label
        axis.update(major_label_text_alpha=float(one.numbered), major_tick_line_alpha=float(one.numbered))
        for grid in self.figure.grid:
            if grid.axis is axis:
                grid.visible = one.numbered
        if free and not one.log:  # the browser chooses alike, and the reader may go elsewhere
            units = {"origin": one.origin, "unit": one.unit} if one.rescaled else {}
            if isinstance(axis.ticker, models.FixedTicker) or axis.formatter.args != units:
                ticker = models.CustomJSTicker(major_code=UNIT_TICKS_JS, args=units) if units else models.BasicTicker()
                words = models.CustomJSTickFormatter(code=UNIT_TICK_JS if units else TICK_JS, args=units)
                axis.update(ticker=ticker, formatter=words, major_label_overrides={})
            return
        if not isinstance(axis.ticker, models.FixedTicker):
            axis.ticker = models.FixedTicker(ticks=[])
        if axis.ticker.ticks != one.ticks:
            axis.update(major_label_overrides={tick: one.words(tick) for tick in one.ticks})
            axis.ticker.ticks = one.ticks

    def follow(self) -> None:
        """Set the ranges to the picture's again, after the reader's zoom."""
        self._spans.clear()
        self._show_axes(self.picture)

    # Drawing

    def draw_picture(self, picture: Picture) -> None:
        """Draw a picture; drawing it twice changes nothing."""
        self.picture = picture
        self._show_axes(picture)
        shown = {*map(self._key, picture.marks)}
        for key, mark in picture.marks.items():
            if mark.columns:  # else it is there for the legend
                self._show_mark(key, mark)
        for key, layer in self.drawn.items():
            if key not in shown:
                self._empty(layer)
        self._show_legend(picture)
        self._show_hovers(picture)
        for label, words in ((self.middle, picture.middle), (self.corner, picture.corner), (self.note, picture.note)):
            if words != self._said.get(label):
                self._said[label] = label.text = words
        if picture.about != self._about:
            self._about, self.figure.tags = picture.about, [picture.about]

    def _key(self, key: str) -> str:
        """Of what draws a mark: on the other of two axes it is another renderer."""
        own = self.picture.y.log == self.log or self.picture.marks[key].look.get("edge")
        return key if own else f"{key}, linear"

    def _layer(self, key: str) -> Layer:
        return self.drawn[self._key(key)]

    def _show_mark(self, key: str, mark: Mark) -> None:
        key = self._key(key)
        layer = self.drawn.get(key)
        if layer is None:
            layer = self.drawn[key] = self._made(key, mark)
        before, layer.mark = layer.mark, mark
        if before.role != mark.role or before.look != mark.look:
            self._style(layer)
        layer.show(mark.layer not in self.hidden)
        store = layer.store
        if mark.columns is not store.sent and (store.sent is None or not _same(mark.columns, store.sent)):
            self._send(store, mark)

    def _send(self, store: Store, mark: Mark) -> None:
        store.sent = mark.columns
        self.put(store.source, self._packed(store, mark))

    def _packed(self, store: Store, mark: Mark) -> Any:
        """The columns of a mark as Bokeh takes them; what other marks name of shared ones is there as well."""
        columns: Columns = mark.columns
        match mark.kind:
            case "areas":
                parts = [[axis[columns["level"] == level] for level in np.unique(columns["level"])]
                         for axis in (columns["x"], columns["y"])]  # fmt: skip
                # Never fewer than before: BokehJS may paint with an index of the old ones, and stops at a missing one.
                gone = [np.full(1, np.nan)] * (len(store.source.data.get("xs", ())) - len(parts[0]))
                return {"xs": parts[0] + gone, "ys": parts[1] + gone}
            case "image":
                (left, right), (bottom, top) = columns["x"], columns["y"]
                ends = {"x": [left], "y": [bottom], "dw": [right - left], "dh": [top - bottom]}
                return {"image": [columns["values"]], **ends}
        more: dict[str, Any] = {}
        if "role" in columns:
            table = style.colours(self._dark)
            more["colour"] = [table[role] for role in columns["role"]]
        missing = store.named - columns.keys()
        if missing and "role" not in columns:
            more |= dict.fromkeys(missing, next(iter(columns.values())))
        return {**columns, **more} if more else columns

    def _empty(self, layer: Layer) -> None:
        """Marks that are not in the picture have no points; the columns that others share stay."""
        if "shared" in layer.mark.look:
            layer.show(False)
        elif layer.store.sent is not None:
            layer.store.sent, source = None, layer.store.source
            self.put(source, _gone(layer.mark.kind, source.data))

    def _made(self, key: str, mark: Mark) -> Layer:
        name = mark.look.get("shared", key)
        store = self.stores.get(name)
        if store is None:
            store = self.stores[name] = Store(models.ColumnDataSource(), mark.columns, {*mark.columns})
            store.source.data = dict(self._packed(store, mark))
        store.named |= {mark.look[axis] for axis in ("x", "y") if axis in mark.look}
        where = "edge" if mark.look.get("edge") else "default" if self.picture.y.log == self.log else "linear"
        level = {"image": "image", "band": "underlay"}.get(mark.kind, "glyph")
        renderer = self.figure.add_glyph(store.source, self._glyph(mark), name=key, y_range_name=where, level=level)
        layer = Layer(renderer, mark, store)
        self._style(layer)
        return layer

    def _glyph(self, mark: Mark) -> Any:
        look = mark.look
        at = {"x": look.get("x", "x"), "y": look.get("y", "y")}
        match mark.kind:
            case "line":
                return Line(**at)
            case "areas":
                return Patches(xs="xs", ys="ys", line_color=None)
            case "band":
                return VArea(x="x", y1="low", y2="high")
            case "bars":
                return Quad(left="left", right="right", bottom="bottom", top="top", line_color=None)
            case "dots" | "signs":
                usual = look.get("size", DOT_PX if mark.kind == "dots" else SIGN_PX)
                size = "size" if "size" in mark.columns else usual
                marker = "marker" if "marker" in mark.columns else look.get("marker", "circle")
                return Scatter(**at, size=size, marker=marker, line_color=None)
            case "segments":
                kinds = models.LinearColorMapper([], low=-0.5, high=len(style.PATH_COLOURS) - 0.5)
                line = {"line_alpha": "alpha", "line_color": {"field": "kind", "transform": kinds}}
                line["line_width"] = look.get("width", style.PATH_WIDTH)
                return Segment(x0="x0", y0="y0", x1="x1", y1="y1", **line)
            case "image":
                mapper = models.LinearColorMapper([], low=look.get("low", 0.0), high=look.get("high", 1.0))
                return Image(image="image", x="x", y="y", dw="dw", dh="dh", color_mapper=mapper)
            case _:
                return Text(x="x", y="y", text="text")

    # Colours and looks

    def _style(self, layer: Layer) -> None:
        """Give a layer the look of its mark, in the colours of the theme."""
        mark, glyph = layer.mark, layer.renderer.glyph
        layer.show(mark.layer not in self.hidden)
        if mark.kind == "image":
            self._style_image(glyph, mark, style.theme(self._dark))
        elif mark.kind == "segments":
            glyph.line_color.transform.palette = [style.colours(self._dark)[name] for name in style.PATH_COLOURS]
        else:
            if "role" in mark.columns:
                self._send(layer.store, mark)
            glyph.update(**self._properties(mark))

    def _properties(self, mark: Mark) -> dict[str, Any]:
        """What a glyph of plain colours needs to look as its mark says."""
        look, theme = mark.look, style.theme(self._dark)
        ink = "colour" if "role" in mark.columns else style.colours(self._dark)[mark.role]
        match mark.kind:
            case "line":
                at = {axis: look[axis] for axis in ("x", "y") if axis in look}
                dashes, width = [*style.dash(look.get("dash", ()))], look.get("width", style.LINE_WIDTH)
                line = {"line_color": ink, "line_alpha": look.get("alpha", 1.0)}
                return {**at, **line, "line_dash": dashes, "line_width": width}
            case "dots" | "signs":
                hollow, filled = look.get("hollow"), {"fill_color": ink, "fill_alpha": look.get("alpha", 1.0)}
                if "drawn" in look:
                    filled["fill_alpha"] = dot_opacity(theme.dots, look["drawn"])
                elif hollow:
                    filled["fill_alpha"] = 0.0
                if hollow or mark.kind == "signs":
                    filled |= {"line_color": ink, "line_width": HOLLOW_PX if hollow else 1.0}
                return filled if "size" in mark.columns or "size" not in look else {**filled, "size": look["size"]}
            case "words":
                px = style.PRESENTER_PX if self._large else look.get("px", WORDS_PX)
                font = {"text_font": {"value": style.FONT}, "text_font_size": f"{px}px", "text_color": ink}
                font |= {"text_font_style": "bold"} if look.get("bold") else {}
                paper = {"background_fill_color": theme.paper, "background_fill_alpha": look.get("paper", 0.0)}
                align = {"text_align": look.get("align", "center"), "text_baseline": look.get("baseline", "middle")}
                moved = {"x_offset": look.get("right", 0), "y_offset": look.get("down", 0)}
                return {**font, **align, **moved, **(paper if look.get("paper") else {})}
            case _:  # areas
                edge = {"line_color": theme.paper} if look.get("parted") else {}
                return {"fill_color": ink, "fill_alpha": look.get("alpha", style.AREA_ALPHA), **edge}

    def _style_image(self, glyph: Image, mark: Mark, theme: style.Theme) -> None:
        columns: Columns = mark.columns
        ends, mapper = columns.get("ends", style.USUAL), glyph.color_mapper
        if not mark.look.get("opaque"):
            mapper.update(palette=list(style.palette(self._dark, ends)), nan_color="#00000000")
            return
        layers = [theme.layers[name] for name in ends]
        mapper.update(palette=style.diverging(theme.paper, *layers), nan_color=theme.grid)
        mapper.update(low=mark.look["low"], high=mark.look["high"])
        self._show_bar(mapper, theme)

    def _show_bar(self, mapper: models.LinearColorMapper, theme: style.Theme) -> None:
        """The colours with numbers, to the right."""
        if self._bar is None:
            look = {"formatter": models.CustomJSTickFormatter(code=TICK_JS), "label_standoff": 4}
            self._bar = models.ColorBar(color_mapper=mapper, width=12, padding=4, **look)
            self.figure.add_layout(self._bar, "right")
        font = {"major_label_text_font": style.FONT, "major_label_text_font_size": f"{style.TEXT_PX}px"}
        colours = {"major_label_text_color": theme.muted, "major_tick_line_color": theme.muted}
        self._bar.update(background_fill_color=theme.paper, **font, **colours)

    def set_theme(self, dark: bool = False, presenter: bool = False) -> None:
        """Colours of the light or the dark theme; label size for a screen or a lecture hall."""
        self._dark, self._large = dark, presenter
        figures.apply_theme(self.figure, dark, presenter, self._borders)
        if self.picture.x.bare and self.picture.y.bare:
            self.figure.outline_line_color = None
        for layer in (*self.drawn.values(), *self.signs.values()):
            self._style(layer)
        theme, px = style.theme(dark), style.PRESENTER_PX if presenter else style.TEXT_PX
        for label, colour in ((self.middle, theme.muted), (self.corner, theme.muted), (self.note, theme.text)):
            label.update(text_color=colour, text_font_size=f"{px}px")
        self.note.update(background_fill_color=theme.paper, background_fill_alpha=NOTE_ALPHA)

    def toggle(self, names: Iterable[str]) -> None:
        """Show only these layers of the stage, and what belongs to none."""
        self.hidden = frozenset((*LAYERS, "ghost")).difference(names)
        for layer in self.drawn.values():
            layer.show(layer.mark.layer not in self.hidden)

    # The legend: signs of their own, because BokehJS rebuilds a legend for every change of a source that it names

    def _show_legend(self, picture: Picture) -> None:
        """What there is to be seen; where that stays, so do the items: a different legend is laid out again."""
        marks, legend = picture.marks, picture.legend
        known = [mark for mark in map(marks.get, legend) if mark is not None]
        looks: list = [(mark.role, mark.look.get("dash"), mark.look.get("marker")) for mark in known]
        looks.append([*marks])
        if (legend, looks) == self._told:
            return
        before, self._told = self._told, (legend, looks)
        if [*before[0]] == [*legend] and before[1] == looks and len(self.items) == len(legend):
            for item, words in zip(self.items, legend.values(), strict=True):
                if item.label.value != words:
                    item.label = {"value": words}
            return
        page = self.figure.document
        with page.models.freeze() if page else nullcontext():  # all models of a page are looked through once
            self.items = [models.LegendItem(label=words, renderers=self._signs(key)) for key, words in legend.items()]
            self.items = [item for item in self.items if item.renderers]
            if self.legend.visible:
                self.legend.items = self.items
            else:
                self.legend.tags = self.items

    def _signs(self, key: str) -> list[models.GlyphRenderer]:
        """The legend's sign of a mark, and for those that are seen and hidden with it, with nothing in the picture."""
        found = []
        for name, mark in sorted(self.picture.marks.items(), key=lambda each: each[0] != key):  # its own first
            if key in (name, mark.layer) and mark.kind not in ("image", "words"):
                sign = _sign_of(mark)
                if name not in self.signs:
                    store = Store(models.ColumnDataSource(NOWHERE))
                    renderer = self.figure.add_glyph(store.source, self._glyph(sign), name=name)
                    self.signs[name] = Layer(renderer, sign, store)
                self.signs[name].mark = sign
                self._style(self.signs[name])
                found.append(self.signs[name].renderer)
        return found

    # The pointer

    def _show_hovers(self, picture: Picture) -> None:
        groups: dict[tuple[Any, ...], list[str]] = {}
        for key, mark in picture.marks.items():
            if mark.hover:
                across = bool(mark.look.get("across"))
                told = tuple(mark.hover.items()), across, mark.look.get("ceiling"), mark.kind == "image"
                groups.setdefault(told, []).append(key)
        for k, (told, keys) in enumerate(groups.items()):
            if k == len(self.hovers):
                self.hovers.append(models.HoverTool(renderers=[], attachment="vertical"))
                self.figure.add_tools(self.hovers[k])
            renderers = [self._layer(key).renderer for key in keys]
            if self.hovers[k].tags != [told]:
                self.hovers[k].update(**_hover(*told), tags=[told])
            if self.hovers[k].renderers != renderers:
                self.hovers[k].renderers = renderers
        for rest in self.hovers[len(groups) :]:
            rest.update(renderers=[], tooltips=None, tags=[])


def _sign_of(mark: Mark) -> Mark:
    """The sign of a mark in the legend: a piece of its line or area, or one of its dots."""
    look, role = mark.look, mark.role
    if mark.kind in ("line", "segments"):
        return Mark("line", role, {}, {name: look[name] for name in ("dash", "width") if name in look})
    if mark.kind in ("areas", "band"):
        return Mark("band", role, {}, {"alpha": min(1.0, 2 * look.get("alpha", style.AREA_ALPHA))})
    own = {name: look[name] for name in ("alpha", "marker", "hollow") if name in look}
    if mark.kind == "signs":
        return Mark("signs", role, {}, {**own, "size": look.get("size", SIGN_PX)})
    size = {"size": 9.0, "marker": "square"} if mark.kind == "bars" else {"size": 8.0}
    return Mark("dots", role, {}, {**own, **size})


def _over(picture: Picture) -> list[str]:
    """The marks from the lowest that moves up: they lie above the axes; words and images that stay do not."""
    marks = picture.marks
    first = next((k for k, mark in enumerate(marks.values()) if mark.moves), len(marks))
    above = [key for key in [*marks][first:] if marks[key].moves or marks[key].kind not in ("image", "words", "band")]
    return [key for key in above if marks[key].columns]


def _gone(kind: str, columns: Columns) -> Columns:
    """No points; BokehJS fails without an image, and with fewer areas than before."""
    if kind == "image":
        return {"image": [np.full((1, 1), np.nan, np.float32)], "x": [0.0], "y": [0.0], "dw": [0.0], "dh": [0.0]}
    if kind == "areas":
        return {name: [[np.nan]] * len(values) for name, values in columns.items()}
    return {name: values[:0] for name, values in columns.items()}  # of colours no numbers


def _same(one: Columns, other: Columns) -> bool:
    """Whether two mappings hold equal columns."""
    return one.keys() == other.keys() and all(a is other[name] or _equal(a, other[name]) for name, a in one.items())


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) and one.dtype.kind == "f":
        return np.shape(other) == one.shape and np.asarray(other, one.dtype).tobytes() == one.tobytes()
    return len(one) == len(other) and all(a == b or a != a and b != b for a, b in zip(one, other, strict=True))


def _hover(hover: tuple[tuple[str, str], ...], across: bool, ceiling: float | None, cells: bool) -> dict[str, Any]:
    """The properties of a tool that tells what `Mark.hover` says; of `cells`, x and y are their numbers."""
    tips, formats = [], {}
    for words, text in hover:
        said = ""
        for literal, name, spec, _ in string.Formatter().parse(text):
            said += literal
            if name is None:
                continue
            custom = spec == ".3g" or (cells and name in "xy")
            field_name = f"${name}" if cells and name in "xy" else f"@{name}"
            said += field_name + (f"{{{'custom' if custom else _numeral(spec or '')}}}" if spec or custom else "")
            if custom:
                most = "Infinity" if ceiling is None else f"{ceiling:g}"
                code = CELL_JS.format(axis=name) if field_name[0] == "$" else HOVER_JS.format(most)
                formats[field_name] = models.CustomJSHover(code=code)
        tips.append((words, said))
    mode = {"mode": "vline", "line_policy": "nearest"} if across else {}
    return {"tooltips": tips, "formatters": formats, **mode}


def _numeral(spec: str) -> str:
    """A number's format as numeral.js has it: ".3f" is 0.000, "," is 0,0."""
    whole = "0,0" if "," in spec else "0"
    digits = int(spec.strip(",.f") or 0)
    return f"{whole}.{'0' * digits}" if digits else whole
