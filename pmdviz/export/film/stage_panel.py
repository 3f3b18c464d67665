"""The stage of a film frame: matplotlib artists made once, whose data follow the page's columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from pmdviz.export.film.film import Scene
from pmdviz.export.film.layout import Box, FigureLayout, line, round_ticks, set_ticks
from pmdviz.scenes.stage import DRAWN, LAYERS, axis_labels, particles_label, ranges


class StagePanel:
    """Exact posterior, approximation and particles on fixed axes of equal aspect."""

    def __init__(self, paper: FigureLayout, box: Box, target: Any, first: Scene) -> None:
        self.paper, self.shown = paper, paper.look.layers
        self.axes = paper.axes(box)
        x, y = ranges(target, first.columns.top)
        self.axes.set(xlim=x, ylim=y)
        for axis, span in ((self.axes.xaxis, x), (self.axes.yaxis, y)):
            set_ticks(axis, round_ticks(*span))
        paper.label(self.axes, *axis_labels(target))
        colours = paper.colours
        self.lines = {
            name: line(self.axes, name, colours.layers[name], zorder=3 + DRAWN.index(name))
            for name in LAYERS if name != "particles"
        }  # fmt: skip
        self.dots = self.axes.scatter([], [], s=[], color=colours.layers["particles"], alpha=colours.dots, linewidths=0)
        self.dots.set_zorder(3 + DRAWN.index("particles"))
        self.note = paper.text(self.axes, 0, 0, "", color=colours.text, zorder=9)
        self.note.set(transform=self.axes.transAxes, position=(8 / _px(self.axes), 6 / _px(self.axes)))
        self.label = ""
        self.moving = [{**self.lines, "particles": self.dots}[name] for name in DRAWN if name in self.shown]
        for name, artist in {**self.lines, "particles": self.dots}.items():
            artist.set_visible(name in self.shown)
        self.moving.append(self.note)

    def show(self, scene: Scene) -> bool:
        """Take the data of a scene; returns whether the legend changed, which is not drawn with every frame."""
        columns = scene.columns
        for name in self.lines:
            data = getattr(columns, name)
            self.lines[name].set_data(data["x"], data["y"])
        dots = columns.particles
        self.dots.set_offsets(np.column_stack([dots["x"], dots["y"]]))
        self.dots.set_sizes(dots["size"] ** 2)
        self.note.set_text(scene.note)
        label, self.label = self.label, particles_label(columns)
        if label == self.label:
            return False
        self._legend()
        return True

    def _legend(self) -> None:
        labels = {**{name: name for name in self.lines}, "particles": self.label}
        handles = [self.paper.layer_handle(name) for name in self.shown]
        self.paper.legend(self.axes, handles, [labels[name] for name in self.shown])


def _px(axes: Any) -> float:
    """Side of the axes in design px."""
    return axes.bbox.width * 72 / axes.figure.dpi
