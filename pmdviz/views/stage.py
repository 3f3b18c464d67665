"""The stage of a run, the tiles of a race, the picture of the data, and the pictures of experiments."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from bokeh.models import Column, Div, GlyphRenderer, HoverTool

from pmdviz.experiments import Chart, Ellipses, HeatMap, Picture
from pmdviz.methods import Method
from pmdviz.pictures import Mark
from pmdviz.scenes import style
from pmdviz.scenes.chart_columns import colour_numbers, legend_html, legend_of, names_in, picture_of
from pmdviz.scenes.columns import EMPTY_LINE, Image, StageColumns, Tiling
from pmdviz.scenes.data_columns import NO_MOMENT, Columns, DataMoment, data_picture
from pmdviz.scenes.race import Joined, Letters, RaceScene, tiles_picture, tiles_room
from pmdviz.scenes.stage import (
    LAYERS,
    MARKS,
    SCENES,
    Pair,
    Scene,
    particles_label,
    stage_axes,
    stage_picture,
    stage_tips,
)
from pmdviz.views.drawing import PictureFigure

NOTE_LETTERS = 38  # of a line that a phone has room for


class StageView(PictureFigure):
    """One Bokeh figure, built once; `show(frame)` changes its data and nothing else.

    The regions of 50, 80 and 95 % of the exact posterior are areas, q is its region of 95 %; in one dimension both are
    curves and the particles a rug under them. The user zooms and pans; a frame never changes the ranges.
    """

    def __init__(
        self, target: Any, scene: Scene = SCENES["posterior"], pair: Pair = (0, 1), legend: bool = True
    ) -> None:
        self.look_at(target, scene, pair)
        self._below: dict[str, Mark] = {}
        first = stage_picture(scene, target, None, pair, StageColumns(), axes=self._ends)
        marks = {name: mark._replace(hover=self._tips if name == "particles" else {}) for name, mark in MARKS.items()}
        super().__init__("stage", first._replace(marks=marks), zoom="both", legend=legend)  # equal borders: a square
        self.draw_picture(first)

    @property
    def layers(self) -> dict[str, GlyphRenderer]:
        """What draws the layers that can be seen or hidden."""
        return {name: self.drawn[name].renderer for name in LAYERS}

    @property
    def hover(self) -> HoverTool:
        """What tells of a particle."""
        return self.hovers[0] if self.hovers else HoverTool(tooltips=None)

    def look_at(self, target: Any, scene: Scene, pair: Pair, method: Method | None = None) -> None:
        """Take ranges, axis names and words from a target, a scene of it and a method."""
        self.target, self.scene, self.pair, self._top = target, scene, pair, np.nan
        self._ends, self._tips = stage_axes(scene, target, pair, np.nan), stage_tips(scene, target, pair)
        self._image: Image | None = None
        self.name_layers(method)
        if hasattr(self, "picture"):
            x, y = self._ends
            self.picture = self.picture._replace(x=x, y=y)
            self.follow()

    def name_layers(self, method: Method | None) -> None:
        """Take the words of the scene for the layers of a method."""
        self.method, self.words = method, self.scene.words(method)

    def labels(self, columns: StageColumns) -> dict[str, str]:
        """What the layers are called in a picture of these columns."""
        dots = {name: particles_label(columns, self.words[name]) for name in self.words if name == "particles"}
        return {**self.words, **dots}

    def fit(self) -> None:
        """Set the ranges to the target's box again."""
        self.follow()

    def show(self, frame: Any) -> None:
        """Draw `frame`; drawing it twice changes nothing."""
        reason = frame.info.rejuvenated if frame.info else ""
        self.name_layers(frame.method)
        note = f"new particles: {reason}" if reason else frame.caveat.partition(":")[0]
        self.draw(self.scene.columns(frame, self.pair), note)

    def draw(self, columns: StageColumns, note: str = "", with_image: bool = True) -> None:
        """Draw columns that were computed elsewhere (in a worker thread), with a note in the corner.

        Without the image the one before stays: it repaints the whole figure, and the eye does not miss it.
        """
        if not with_image and columns.image is not None and self._image is not None:
            columns = columns._replace(image=self._image)
        self._image = columns.image
        if np.isfinite(columns.top) and not np.isfinite(self._top):
            self._top, self._ends = columns.top, stage_axes(self.scene, self.target, self.pair, columns.top)
        note = note.replace(": ", ":\n") if self._large else "\n".join(textwrap.wrap(note, NOTE_LETTERS))
        made = stage_picture(self.scene, self.target, self.method, self.pair, columns, note, axes=self._ends)
        self.draw_picture(made._replace(marks={**made.marks, **self._below}))

    def draw_below(self, name: str, lines: Mapping[str, np.ndarray] = EMPTY_LINE) -> None:
        """Draw lines under the run's, or none: of a "ghost", or where a target is "moved" to."""
        mark = MARKS[name]._replace(columns=lines)
        if lines is not self._below.get(name, MARKS[name]).columns:
            self._below[name] = mark
            self.draw_picture(self.picture._replace(marks={**self.picture.marks, name: mark}))


class DataView(PictureFigure):
    """The picture of the data: all rows, the batch of the last step lit, and what q and the exact posterior predict."""

    def __init__(self) -> None:
        self._rug: Columns = EMPTY_LINE
        super().__init__("data", data_picture(NO_MOMENT))
        self._moment = NO_MOMENT

    def show(self, moment: DataMoment) -> None:
        """Draw the data as the step of a frame saw them; what stands still is sent once."""
        self._moment = moment
        self.draw_picture(data_picture(moment, self._rug))

    def show_rug(self, columns: Columns) -> None:
        """Dots at the foot of a histogram, one for each observation; none unless the data are being edited."""
        if len(columns["x"]) or len(self._rug["x"]):
            self._rug = dict(columns)
            self.show(self._moment)


# The stage of a race: a tile for each entrant, all in one figure.

SAID = ("titles", "states", "notes")
UNKNOWN_PX = 1000.0  # width of the tiles before the browser has said it


class RaceTiles(PictureFigure):
    """One Bokeh figure, which has as many tiles per row as its `width` allows."""

    def __init__(self) -> None:
        self.tiling, self.width = Tiling(0, 3), UNKNOWN_PX
        self._kept_words: dict[str, Mark] = {}
        self._joined: Joined = {}
        # With `frame_align` it would take over the borders of the traces in the same layout.
        super().__init__("race", tiles_room(style.MOST_ENTRANTS), legend=False, frame_align=False)
        moving = [key for key, layer in self.drawn.items() if layer.mark.moves and layer.mark.kind != "words"]
        self.moving = [self.sources[key] for key in moving]

    def draw(self, scene: RaceScene, with_words: bool = True) -> None:
        """Draw what each method's stage shows into its tile; without new words those before stay."""
        tiling = Tiling.fitting(len(scene.tiles), self.width)
        letters = Letters.fitting(self.width / tiling.size[0])
        made = tiles_picture(scene, tiling, letters, before=self._joined)
        if with_words or tiling != self.tiling:
            self._kept_words = {key: made.marks[key] for key in SAID}
        if tiling != self.tiling:
            self.tiling, (width, height) = tiling, tiling.size
            self.figure.styles = {**self.figure.styles, "aspect-ratio": f"{width:.4f} / {height:.4f}"}
        self.draw_picture(made._replace(marks={**made.marks, **self._kept_words}))

    def set_theme(self, dark: bool = False, presenter: bool = False) -> None:
        """Colours of a theme; nothing is around the tiles."""
        super().set_theme(dark, presenter)
        self.figure.update(**{f"min_border_{side}": 0 for side in style.BORDERS}, outline_line_color=None)


# Pictures of experiments.

HEIGHT, TOP, SIDE = 380, 12, 560  # px, of a figure, above its frame, and of a square at most
BORDERS = {**style.BORDERS, "top": TOP}  # the legend is not part of the figure
SQUARE = {"left": 64, "right": 12, "bottom": 48, "top": 28}  # alike in sum: a square outside is a square inside
Kind = tuple[Any, ...]
NO_NUMBERS: Mapping[str, int] = {}


class ExperimentFigure(PictureFigure):
    """The figure of one picture."""

    def __init__(self, picture: Picture, numbers: Mapping[str, int]) -> None:
        self._borders = SQUARE if isinstance(picture, Ellipses) else BORDERS
        wide = {"sizing_mode": "scale_width", "width": SIDE, "height": SIDE, "max_width": SIDE}
        look: dict[str, Any] = wide if isinstance(picture, Ellipses) else {"height": HEIGHT}
        name = f"picture-{type(picture).__name__.lower()}"
        super().__init__(name, picture_of(picture, numbers), legend=False, borders=self._borders, **look)
        if isinstance(picture, HeatMap):
            self.figure.grid.visible = False

    def show(self, picture: Picture, numbers: Mapping[str, int]) -> None:
        """Draw a picture of the same kind; drawing twice changes nothing."""
        self.draw_picture(picture_of(picture, numbers))

    def set_theme(self, dark: bool = False, presenter: bool = False) -> None:
        """Colours of a theme; the borders stay."""
        super().set_theme(dark, presenter)
        self.figure.update(**{f"min_border_{side}": px for side, px in self._borders.items()})


def kind_of(picture: Picture) -> Kind:
    """What a figure cannot change: the kind of the picture, and of its axes."""
    scales = (picture.x_log, picture.y_log) if isinstance(picture, Chart) else ()
    return type(picture), *scales


class PicturesView:
    """`layout` holds the pictures; `stylesheets` dress it (a grid) and the words over each of them."""

    def __init__(self, stylesheets: Sequence[str] = (), head_stylesheets: Sequence[str] = ()) -> None:
        self.layout = Column(
            children=[], sizing_mode="stretch_width", stylesheets=[*stylesheets], css_classes=["pmdviz-pictures"]
        )
        self._head_stylesheets = [*head_stylesheets]
        self.views: list[ExperimentFigure] = []
        self.heads: list[Div] = []
        self._kinds: list[Kind] = []
        self._shown: Sequence[Picture] = ()
        self.colours: dict[str, int] = {}
        self._dark = False

    def show(self, pictures: Sequence[Picture], known: Mapping[str, int] = NO_NUMBERS) -> None:
        """Draw them all. Only where their kinds are others than before are figures made.

        A name has the same colour in all pictures; `known` are the numbers of colours of others.
        """
        self.colours = {**known, **self.colours}
        kinds = [kind_of(picture) for picture in pictures]
        if kinds != self._kinds:
            self._make(kinds, pictures)
        self._shown = tuple(pictures)
        for view, picture in zip(self.views, pictures, strict=True):
            self.colours |= colour_numbers(names_in(picture), self.colours)
            view.show(picture, self.colours)
        self._show_heads()

    def forget(self) -> None:
        """Other names are to come: colours are assigned again."""
        self.colours = {}

    def _make(self, kinds: list[Kind], pictures: Sequence[Picture]) -> None:
        """Figures of these kinds; those at the front that stay the same are kept."""
        same = next((k for k, pair in enumerate(zip(kinds, self._kinds, strict=False)) if pair[0] != pair[1]), None)
        kept = min(len(kinds), len(self._kinds)) if same is None else same
        new = [ExperimentFigure(picture, self.colours) for picture in pictures[kept:]]
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
        for head, picture in zip(self.heads, self._shown, strict=True):
            text = legend_html(picture.title, legend_of(picture, self.colours), self._dark)
            if head.text != text:
                head.text = text

    def set_theme(self, dark: bool) -> None:
        """Put on the light or the dark theme."""
        self._dark = dark
        for view in self.views:
            view.set_theme(dark)
        self._show_heads()
