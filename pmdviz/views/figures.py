"""What all Bokeh figures share: colours and label sizes of a theme, words for those who cannot see, folded legends."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from bokeh.models import Axis, CustomJS, GlyphRenderer, Grid, Label, Legend
from bokeh.plotting import figure as Figure

from pmdviz.scenes.style import BORDERS, FONT, PRESENTER_BORDERS, PRESENTER_PX, TEXT_PX, Theme, theme

DIM = "0.35"  # of a picture that a new one takes the place of
FOLD_JS = """
const words = legend.items.map((item) => item.label?.value ?? "").join("")
const width = figure.properties.outer_width.is_unset ? 0 : figure.outer_width  // to ask for an unset one is an error
const large = figure.min_border_left > 70, small = width < 460
const long = words.length > 45 && width < 700, lines = small && words.length > 56 ? 3 : 2
if (width > 0 && words)  // laid out: before that Bokeh 3.10 stumbles over a changed legend
  legend.ncols = small && (words.length > most || large) || long ? Math.ceil(legend.items.length / lines) : "auto"
"""

REPAINT_JS = "requestAnimationFrame(() => figure.change.emit())"  # BokehJS leaves the signs of new items empty


def fold_legend(figure: Figure, legend: Legend, most: int = 28) -> None:
    """Have the browser fold the legend into two or three lines where a narrow figure has no room for all its words."""
    fold = CustomJS(args={"figure": figure, "legend": legend, "most": most}, code=FOLD_JS)
    figure.js_on_change("outer_width", fold)
    legend.js_on_change("items", fold, CustomJS(args={"figure": figure}, code=REPAINT_JS))  # another scene's words


DESCRIBE_JS = """
const picture = Bokeh.index.find_one(figure)?.canvas_view.events_el
if (picture) {
  picture.dataset.what = words
  picture.setAttribute("role", "img")
  picture.setAttribute("aria-label", [words, picture.dataset.now].filter(Boolean).join(". "))
}
"""


def describe(figure: Figure, words: str) -> None:
    """Have the browser tell those who cannot see the figure what it is: the Tab key stops there."""
    figure.js_on_change("inner_width", CustomJS(args={"figure": figure, "words": words}, code=DESCRIBE_JS))


DESCRIBE_BY_TAG_JS = "const words = figure.tags[0] ?? ''\n" + DESCRIBE_JS


def describe_by_tag(figure: Figure) -> None:
    """The same where the words change: they are the figure's first tag."""
    tell = CustomJS(args={"figure": figure}, code=DESCRIBE_BY_TAG_JS)
    figure.js_on_change("inner_width", tell)
    figure.js_on_change("tags", tell)


MOVING_JS = (Path(__file__).with_name("static") / "moving.js").read_text(encoding="utf-8")


def float_above(figure: Figure, moving: Iterable[GlyphRenderer | Label]) -> None:
    """Put what moves in a level of its own, painted by a script of ours.

    A frame then repaints neither grid nor axes nor legend.
    """
    renderers = list(moving)
    for renderer in renderers:
        renderer.level = "overlay"
    figure.js_on_change("inner_width", CustomJS(args={"moving": renderers}, code=MOVING_JS))


def dim(figure: Figure, on: bool) -> None:
    """Fade an old picture, or show it fully again. A class in place of a style would lay out the page anew."""
    if is_dim(figure) != on:  # asked with every frame
        figure.styles = {**figure.styles, "opacity": DIM if on else "1"}


def is_dim(figure: Figure) -> bool:
    """Whether it is faded."""
    return bool(figure.styles.get("opacity") == DIM)


def apply_theme(figure: Figure, dark: bool = False, presenter: bool = False) -> None:
    """Give a figure the colours of a theme and the label size of a screen or of a lecture hall; lines keep theirs."""
    colours, px = theme(dark), PRESENTER_PX if presenter else TEXT_PX
    borders = PRESENTER_BORDERS if presenter else BORDERS
    if figure.min_border_left != borders["left"]:
        figure.update(**{f"min_border_{side}": width for side, width in borders.items()})
    paper = dict.fromkeys(("background_fill_color", "border_fill_color", "border_line_color"), colours.paper)
    figure.update(**paper, outline_line_color=colours.grid)  # without a colour the border is left a thin line
    for part in (*figure.left, *figure.right, *figure.above, *figure.below, *figure.center):
        if isinstance(part, Axis):
            _theme_axis(part, colours, px)
        elif isinstance(part, Grid):
            part.grid_line_color = colours.grid
        elif isinstance(part, Legend):
            _theme_legend(part, colours, px)


def _theme_legend(legend: Legend, colours: Theme, px: int) -> None:
    legend.update(
        label_text_color=colours.text,
        label_text_font=FONT,
        label_text_font_size=f"{px}px",
        background_fill_alpha=0.0,
        border_line_alpha=0.0,
    )


def _theme_axis(axis: Axis, colours: Theme, px: int) -> None:
    axis.update(
        axis_label_text_color=colours.text,
        axis_label_text_font=FONT,
        axis_label_text_font_size=f"{px}px",
        axis_label_text_font_style="normal",
        axis_label_standoff=6,
        major_label_text_color=colours.muted,
        major_label_text_font=FONT,
        major_label_text_font_size=f"{px}px",
        axis_line_color=colours.muted,
        major_tick_line_color=colours.muted,
        minor_tick_line_color=None,
        major_tick_in=0,
    )
