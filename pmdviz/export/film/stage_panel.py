"""The stage of a film frame: matplotlib artists made once, whose data follow the page's columns."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.colors import ListedColormap

from pmdviz.export.film.film import Scene
from pmdviz.export.film.layout import Box, FigureLayout, line, round_ticks, set_ticks
from pmdviz.export.film.path_lines import PathLines
from pmdviz.methods import Method
from pmdviz.scenes import style
from pmdviz.scenes.columns import dot_opacity
from pmdviz.scenes.stage import DRAWN, LAYERS, LEGEND_ORDER, Pair, particles_label
from pmdviz.scenes.stage import Scene as StageScene
from pmdviz.scenes.style import USUAL, palette
from pmdviz.views.stage import OTHERS_PX, WORDS_PX


class StagePanel:
    """Exact posterior, approximation and particles on fixed axes of equal aspect."""

    def __init__(
        self,
        paper: FigureLayout,
        box: Box,
        target: Any,
        method: Method,
        drawn: tuple[StageScene, Pair],
        first: Scene,
    ) -> None:
        scene, pair = drawn
        self.paper, self.words = paper, scene.words(method)
        self.shown = tuple(name for name in LEGEND_ORDER if name in paper.look.layers and name in self.words)
        self.axes = paper.axes(box)
        x, y = scene.ranges(target, pair, first.columns.top)
        self.axes.set(xlim=x, ylim=y)
        for axis, span in ((self.axes.xaxis, x), (self.axes.yaxis, y)):
            set_ticks(axis, round_ticks(*span) if scene.numbered else np.empty(0))
        paper.label(self.axes, *scene.axis_labels(target, pair))
        colours = paper.colours
        self.lines = {
            name: line(self.axes, name, colours.layers[name], zorder=3 + DRAWN.index(name))
            for name in LAYERS if name not in ("particles", "paths")
        }  # fmt: skip
        self.dots = self.axes.scatter([], [], s=[], color=colours.layers["particles"], alpha=colours.dots, linewidths=0)
        self.dots.set_zorder(3 + DRAWN.index("particles"))
        self.paths = PathLines(self.axes, colours, style.PATH_WIDTH, 3 + DRAWN.index("paths"))
        picture = first.columns.image
        ends = picture.ends if picture is not None else USUAL
        self.image = self.axes.imshow(
            np.full((1, 1), np.nan), cmap=ListedColormap(palette(paper.look.dark, ends)), vmin=0, vmax=1,
            origin="lower", interpolation="nearest", aspect="auto", zorder=1, extent=(*x, *y),
        )  # fmt: skip
        self.axes.set(xlim=x, ylim=y)
        self.others = self.axes.scatter([], [], s=OTHERS_PX**2, color=colours.layers["ink"], linewidths=0, zorder=2.5)
        self.note = paper.text(self.axes, 0, 0, "", color=colours.text, zorder=9)
        self.note.set(transform=self.axes.transAxes, position=(8 / _px(self.axes), 6 / _px(self.axes)))
        self.label: str | None = None  # of the dots in the legend, which is drawn with the first frame in any case
        written = first.columns.words
        self.written = [
            paper.text(
                self.axes,
                *place,
                "",
                ha="center",
                va="center",
                fontsize=WORDS_PX,
                zorder=8,
                color=colours.layers["ink"],
            )
            for place in zip(written.x, written.y, strict=True)
        ]
        layers = {**self.lines, "particles": self.dots, "paths": self.paths.artist}
        self.moving = [layers[name] for name in DRAWN if name in self.shown]
        for name, artist in layers.items():
            artist.set_visible(name in self.shown)
        with_image = picture is not None and (not scene.image_of or scene.image_of in self.shown)
        pictured = [self.image, self.others] if with_image or "others" in self.words else []
        self.moving = [*pictured, *self.moving, *self.written, self.note]
        self.image.set_visible(with_image)
        self.others.set_visible("others" in self.words)

    def show(self, scene: Scene) -> bool:
        """Take the data of a scene; returns whether the legend changed, which is not drawn with every frame."""
        columns = scene.columns
        for name in self.lines:
            data = getattr(columns, name)
            self.lines[name].set_data(data["x"], data["y"])
        dots = columns.particles
        self.dots.set_offsets(np.column_stack([dots["x"], dots["y"]]))
        self.dots.set_sizes(dots["size"] ** 2)
        self.dots.set_alpha(dot_opacity(self.paper.colours.dots, columns.drawn))
        self.paths.show(columns.paths)
        self.note.set_text(scene.note)
        for artist, word in zip(self.written, columns.words.text, strict=True):
            artist.set_text(word)
        if columns.image is not None:
            self.image.set_data(np.ma.masked_equal(columns.image.values, 0.5))  # nothing, not paper: axes stay
            self.image.set_extent((*columns.image.x, *columns.image.y))
        self.others.set_offsets(np.column_stack([columns.others["x"], columns.others["y"]]))
        label, self.label = self.label, particles_label(columns, self.words.get("particles", ""))
        if label == self.label:
            return False
        self._legend()
        return True

    def _legend(self) -> None:
        labels = {**self.words, "particles": self.label}
        shown = [*self.shown, *(["others"] if "others" in self.words else [])]
        if shown:
            self.paper.legend(self.axes, [self.paper.layer_handle(name) for name in shown], [labels[n] for n in shown])


def _px(axes: Any) -> float:
    """Side of the axes in design px."""
    return axes.bbox.width * 72 / axes.figure.dpi
