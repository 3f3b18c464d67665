"""What all Bokeh figures share: themes, words for those who cannot see, folded legends; scripts of *Inside*."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from bokeh import models
from bokeh.events import Tap
from bokeh.models import CustomJS, Legend, Range1d
from bokeh.plotting import figure as Figure

from pmdviz.files import static_text
from pmdviz.render import MARKS
from pmdviz.scenes import style
from pmdviz.scenes.style import BORDERS, FONT, PRESENTER_BORDERS, PRESENTER_PX, TEXT_PX, Theme, theme

DIM = "0.35"  # of a picture that a new one takes the place of
FOLD_JS = """
const words = legend.items.map((item) => item.label?.value ?? "").join("")
const width = figure.properties.outer_width.is_unset ? 0 : figure.outer_width  // reading an unset one is an error
const large = figure.min_border_left > 70, small = width < 460
const long = words.length > 45 && width < 700, lines = small && words.length > 56 ? 3 : 2
if (width > 0 && words)  // laid out: before that Bokeh 3.10 stumbles over a changed legend
  legend.ncols = small && (words.length > 28 || large) || long ? Math.ceil(legend.items.length / lines) : "auto"
"""

REPAINT_JS = "requestAnimationFrame(() => figure.change.emit())"  # BokehJS leaves the signs of new items empty


def fold_legend(figure: Figure, legend: Legend) -> None:
    """Have the browser fold the legend into two or three lines where a narrow figure has no room for all its words."""
    fold = CustomJS(args={"figure": figure, "legend": legend}, code=FOLD_JS)
    figure.js_on_change("outer_width", fold)
    legend.js_on_change("items", fold, CustomJS(args={"figure": figure}, code=REPAINT_JS))  # another scene's words


DESCRIBE_JS = """
const words = figure.tags[0] ?? ''
const picture = Bokeh.index.find_one(figure)?.canvas_view.events_el
if (picture) {
  picture.dataset.what = words
  picture.setAttribute("role", "img")
  picture.setAttribute("aria-label", [words, picture.dataset.now].filter(Boolean).join(". "))
}
"""


def describe_by_tag(figure: Figure) -> None:
    """Have the browser tell those who cannot see the figure its first tag: the Tab key stops there."""
    tell = CustomJS(args={"figure": figure}, code=DESCRIBE_JS)
    figure.js_on_change("inner_width", tell)
    figure.js_on_change("tags", tell)


MOVING_JS = MARKS + static_text(Path(__file__).with_name("static") / "figures.js", "moving")
DRAG_JS = static_text(Path(__file__).with_name("static") / "figures.js", "drag_start")


def float_above(figure: Figure, moving: Iterable[models.GlyphRenderer | models.Label]) -> None:
    """Put what moves in a level of its own, painted by a script of ours.

    A frame then repaints neither grid nor axes nor legend.
    """
    renderers = list(moving)
    for renderer in renderers:
        renderer.level = "overlay"
    figure.js_on_change("inner_width", CustomJS(args={"moving": renderers}, code=MOVING_JS))


def dim(figure: Figure, on: bool) -> None:
    """Fade an old picture, or show it fully again. A class instead of a style would lay out the page again."""
    if (figure.styles.get("opacity") == DIM) != on:  # asked with every frame
        figure.styles = {**figure.styles, "opacity": DIM if on else "1"}


def make(name: str, height: int = 480, zoom: str = "", **more: Any) -> Figure:
    """A figure as wide as its place, with ranges of its own; `zoom` is "width" or "both" where a person may move it."""
    usual: dict[str, Any] = {
        "x_range": Range1d(0, 1), "y_range": Range1d(0, 1), "sizing_mode": "stretch_width", "height": height,
        "tools": [], "toolbar_location": None, "output_backend": "canvas",
    }  # fmt: skip
    made = Figure(name=name, **{**usual, **more})
    made.toolbar.logo = None
    if zoom:
        ctrl = {"modifiers": {"ctrl": True}}  # else the page scrolls
        wheel = models.WheelZoomTool(dimensions=zoom, zoom_on_axis=False, **ctrl)
        made.add_tools(models.PanTool(dimensions=zoom), wheel)
        made.toolbar.active_scroll = wheel
    return made


def apply_theme(figure: Figure, dark: bool, presenter: bool, borders: Mapping[str, int] | None) -> None:
    """Give a figure the colours of a theme and the label size of a screen or of a lecture hall; lines keep theirs."""
    colours, px = theme(dark), PRESENTER_PX if presenter else TEXT_PX
    borders = borders or (PRESENTER_BORDERS if presenter else BORDERS)
    if figure.min_border_left != borders["left"]:
        figure.update(**{f"min_border_{side}": width for side, width in borders.items()})
    paper = dict.fromkeys(("background_fill_color", "border_fill_color", "border_line_color"), colours.paper)
    figure.update(**paper, outline_line_color=colours.grid)  # without a colour the border is left a thin line
    for part in (*figure.left, *figure.right, *figure.above, *figure.below, *figure.center):
        if isinstance(part, models.Axis):
            part.update(**_font("axis_label_text", colours.text, px), **_font("major_label_text", colours.muted, px))
            part.update(axis_label_text_font_style="normal", axis_label_standoff=6, axis_line_color=colours.muted)
            part.update(major_tick_line_color=colours.muted, minor_tick_line_color=None, major_tick_in=0)
        elif isinstance(part, models.Grid):
            part.grid_line_color = colours.grid
        elif isinstance(part, Legend):
            part.update(**_font("label_text", colours.text, px), background_fill_alpha=0.0, border_line_alpha=0.0)


def _font(text: str, colour: str, px: int) -> dict[str, str]:
    """The properties of one kind of text."""
    return {f"{text}_color": colour, f"{text}_font": FONT, f"{text}_font_size": f"{px}px"}


# The script and the style that draw `scenes.inside`: the same for the page, a notebook and an exported player.

_STATIC = Path(__file__).with_name("static")
GAIN, LOSS = {False: "#C24E00", True: "#FF9A4D"}, {False: "#0067A8", True: "#6CC3FF"}
MIDDLE, BARS = {False: "#c9c9c9", True: "#4a4a4a"}, {False: "#d2d2d2", True: "#4a4a4a"}


def _inside_palette(theme: Theme, dark: bool) -> dict[str, object]:
    """Colours by what they are for."""
    return {
        **{"paper": theme.paper, "text": theme.text, "muted": theme.muted, "grid": theme.grid, **theme.layers},
        **{"gain": GAIN[dark], "loss": LOSS[dark], "middle": MIDDLE[dark], "bars": BARS[dark]},
        "terms": list(style.entrant_colours(dark)),
        "paths": [theme.layers[name] for name in style.PATH_COLOURS],
    }


def elements_script() -> str:
    """JavaScript that defines `make(tag, attributes, ...children)` and `typeset(formula)`."""
    return static_text(_STATIC / "inside.js", "make")


def inside_script() -> str:
    """JavaScript that defines `inside_view(host)`, and nothing else."""
    palettes = {name: _inside_palette(style.theme(dark), dark) for name, dark in (("light", False), ("dark", True))}
    text = static_text(_STATIC / "inside.js")
    inner = f"const PALETTES = {json.dumps(palettes)}\n{MARKS}{text}\nreturn inside_view"
    return f"const inside_view = (() => {{\n{inner}\n}})()\n"


def pick_by_tap(figure: Any) -> None:
    """Have a tap on the stage pick a particle: its script tells the page where it was, and no server."""
    code = static_text(_STATIC / "figures.js", "pick")
    figure.js_on_event(Tap, CustomJS(args={"stage": figure}, code=code))


def inside_stylesheet() -> str:
    """The style of what it makes."""
    return static_text(_STATIC / "inside.css")
