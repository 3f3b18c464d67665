"""The stage: exact posterior, approximation and particles of one frame; and the picture of the data."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from bokeh.models import GlyphRenderer, HoverTool

from pmdviz.methods import Method
from pmdviz.pictures import Mark
from pmdviz.scenes.columns import EMPTY_LINE, Image, StageColumns
from pmdviz.scenes.data_columns import NO_MOMENT, Columns, DataMoment, data_picture
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

    def toggle(self, names: Iterable[str]) -> None:
        """Show only the layers in `names`."""
        self.hide(frozenset((*LAYERS, "ghost")).difference(names))


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
