"""The picture of a race: a tile for each entrant, and one metric of all beside them."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.collections import LineCollection
from matplotlib.patches import Rectangle

from pmdviz.export.figure import (
    FONT,
    LETTER,
    MARK_PX,
    MARKERS,
    Box,
    Drawing,
    FigureLayout,
    PicturePanel,
    dashes,
    image,
    line,
    set_segments,
)
from pmdviz.export.options import RaceLook
from pmdviz.export.pictures import race_traces_of
from pmdviz.scenes import style
from pmdviz.scenes.columns import Tiling
from pmdviz.scenes.race import (
    Columns,
    Place,
    RaceScene,
    places,
    tile_dots,
    tile_images,
    tile_lines,
    tile_paths,
    tile_points,
    tiles_legend,
)
from pmdviz.scenes.stage import LAYERS as LEGEND_ORDER
from pmdviz.views.race_tiles import LAYERS, LINE_PX, OTHERS_PX, PATH_PX, SAMPLE, cut

WIDE_PX = 1_000.0  # the page's tiles in a window that is wide enough
SHARE = 0.62  # of the width is for the tiles; the traces have what they leave


class RacePicture(Drawing):
    """The figure of a race, with axes for `histories`, all that there is to come, and words of `longest` letters."""

    def __init__(self, look: RaceLook, first: RaceScene, histories: Sequence[Columns], longest: int) -> None:
        super().__init__(look, longest)
        tiling = Tiling.fitting(len(first.tiles), WIDE_PX)
        room = self.paper.room(self.title_lines)
        beside = self.paper.with_traces
        part = room._replace(width=SHARE * room.width) if beside else room
        self.tiles = TilesPanel(self.paper, part, tiling, first)
        rest = room._replace(x=self.tiles.right, width=room.width - self.tiles.right)
        self.traces: PicturePanel | None = None
        if beside:
            inks = {f"entrant-{k}": colour for k, colour in enumerate(style.entrant_colours(look.dark))}
            make = partial(race_traces_of, look, histories, first)
            self.traces = PicturePanel(self.paper, rest, make, first, inks, top=TOP)
        self.panels = [self.tiles, *([self.traces] if self.traces else [])]


LEGEND_LINES = 1.7  # height of the legend below the tiles, in its letters
TITLE_SHARE, LARGE_SHARE = 0.068, 0.09  # most height of a title's letters, in tiles
STATE_SHARE, NOTE_SHARE = 0.92, 0.8  # of the state's and the note's letters, in the title's
BOLD = 0.62  # width of a letter in bold type, in its height
BESIDE = 0.06  # between the sample of a line and the title, in tiles


class TilesPanel:
    """A tile for each entrant in one pair of axes, laid out as on the page."""

    def __init__(self, paper: FigureLayout, room: Box, tiling: Tiling, first: RaceScene) -> None:
        self.paper, self.tiling, self.words = paper, tiling, tiles_legend(first.scene)
        self.shown = tuple(name for name in paper.look.layers if name in self.words)
        width, height = tiling.size
        legend = LEGEND_LINES * paper.text_px if self.shown else 0.0
        self.unit = min(room.width / width, (room.height - legend) / height)
        left = 0.0 if paper.with_traces else (room.width - self.unit * width) / 2
        top = math.floor(room.height - (room.height - legend - self.unit * height) / 2)  # whole px, as on the page
        below = top - self.unit * height
        self.right = left + self.unit * width
        box = Box(room.x + left, room.y + below, self.unit * width, self.unit * height)
        self.axes = paper.bare_axes(box, *tiling.ranges)
        self.px = min(paper.text_px, (LARGE_SHARE if paper.look.large_type else TITLE_SHARE) * self.unit)
        self._add_heads([tile.title for tile in first.tiles])
        self._add_moving(first)
        colours = style.tile_layers(paper.look.dark, 0, first.scene.shows_theta)
        named = [name for name in LEGEND_ORDER if name in self.shown and name != "paths"]  # these speak for themselves
        if named:
            handles = [paper.layer_handle(name, colours) for name in named]
            paper.legend(self.axes, handles, [self.words[name] for name in named], below=True)

    def _add_heads(self, titles: list[str]) -> None:
        """Frames, samples of the traces' lines, titles: what stands still."""
        colours = style.entrant_colours(self.paper.look.dark)
        letters = int((1 - SAMPLE - BESIDE) * self.unit / (BOLD * self.px))
        self.titles: list[Any] = []
        self.samples: list[Any] = []
        for k, title in enumerate(titles):
            x, y = self.tiling.corner(k)
            edge = {"fill": False, "edgecolor": self.paper.colours.muted, "linewidth": 1, "zorder": 7}
            self.axes.add_patch(Rectangle((x, y), 1, 1, **edge))
            high = y + 1 + 0.7 * self.tiling.head
            dash = dashes(style.ENTRANT_DASHES[k], style.LINE_WIDTH)
            look: dict[str, Any] = {"color": colours[k], "linewidth": style.LINE_WIDTH, "clip_on": False}
            self.samples += self.axes.plot([x, x + SAMPLE], [high, high], linestyle=dash, dash_capstyle="butt", **look)
            self.axes.plot([x + SAMPLE], [high], marker=MARKERS[style.ENTRANT_MARKERS[k]], markersize=MARK_PX, **look)
            self.titles.append(self._text(x + SAMPLE + BESIDE, high, cut(title, letters), self.px, fontweight="bold"))

    def _add_moving(self, first: RaceScene) -> None:
        colours = self.paper.colours
        layers = self._layers(first)
        corners = [self.tiling.corner(k) for k in range(self.tiling.number)]
        below = 1 + 0.25 * self.tiling.head
        self.states = [self._text(x, y + below, "", STATE_SHARE * self.px) for x, y in corners]
        paper = {"facecolor": colours.paper, "alpha": 0.75, "edgecolor": "none", "pad": 1.0}
        over: dict[str, Any] = {"va": "bottom", "zorder": 8, "bbox": paper}
        self.notes = [self._text(x + 0.02, y + 0.02, "", NOTE_SHARE * self.px, **over) for x, y in corners]
        for name, artists in layers.items():
            for artist in artists:
                artist.set_visible(name in self.shown)
        images = [tile.columns.image for tile in first.tiles if tile.columns.image is not None]
        self.images = [self._image(images[0].ends) for _ in first.tiles] if images else []
        look: dict[str, Any] = {"color": colours.layers["ink"], "linewidths": 0, "zorder": 2.5}
        self.others = self.axes.scatter([], [], s=OTHERS_PX**2, **look)
        rest = [*self.images, self.others]
        self.moving = [
            *rest,
            *(artist for name in LAYERS if name in self.shown for artist in layers[name]),
            *self.states,
            *self.notes,
        ]

    def _layers(self, first: RaceScene) -> dict[str, list[Any]]:
        """The exact posterior's lines in grey; each method's approximation and particles in its colour."""
        dark, with_particles = self.paper.look.dark, first.scene.shows_theta
        own = [style.tile_layers(dark, k, with_particles) for k in range(len(first.tiles))]
        order = {name: 3 + k for k, name in enumerate(LAYERS)}
        look: dict[str, Any] = {"alpha": self.paper.colours.dots, "linewidths": 0, "zorder": order["particles"]}
        self.dots = [self.axes.scatter([], [], s=[], color=colours["particles"], **look) for colours in own]
        self.paths = LineCollection([], linewidths=PATH_PX, zorder=order["paths"])
        self.axes.add_collection(self.paths, autolim=False)
        self.exact = line(self.axes, "exact", own[0]["exact"], LINE_PX, zorder=order["exact"])
        self.approximate = [
            line(self.axes, "approximate", each["approximate"], LINE_PX, zorder=order["approximate"]) for each in own
        ]
        return {
            "particles": self.dots,
            "paths": [self.paths],
            "exact": [self.exact],
            "approximate": self.approximate,
        }

    def _image(self, ends: tuple[str, str]) -> Any:
        made = image(self.axes, self.paper.look.dark, ends)
        self.axes.set(xlim=self.tiling.ranges[0], ylim=self.tiling.ranges[1])
        return made

    def _text(self, x: float, y: float, words: str, px: float, **more: Any) -> Any:
        look = {"fontsize": px, "fontfamily": FONT, "color": self.paper.colours.text, "va": "center", **more}
        return self.axes.text(x, y, words, **look)

    def show(self, scene: RaceScene) -> None:
        """Take the data of a scene."""
        tiles = [tile.columns for tile in scene.tiles]
        at = places(scene.scene, scene.pair, scene.recipe.target, tiles, self.tiling)
        _draw_line(self.exact, tile_lines([tile.exact for tile in tiles], at))
        for tile, place, drawn, dots in zip(tiles, at, self.approximate, self.dots, strict=True):
            _draw_line(drawn, tile_lines([tile.approximate], [place]))
            data = tile_dots([tile.particles], [place])
            dots.set_offsets(np.column_stack([data["x"], data["y"]]))
            dots.set_sizes(data["size"] ** 2)
        set_segments(self.paths, tile_paths([tile.paths for tile in tiles], at), self.paper.colours)
        self._show_rest(scene, at)
        letters = int(self.unit / (LETTER * NOTE_SHARE * self.px))
        for tile, state, note in zip(scene.tiles, self.states, self.notes, strict=True):
            state.set_text(tile.state)
            note.set_text(textwrap.fill(tile.note, letters, max_lines=4))
            note.set_visible(bool(tile.note))

    def _show_rest(self, scene: RaceScene, at: Sequence[Place]) -> None:
        """The images and the other dots of the tiles."""
        tiles = [tile.columns for tile in scene.tiles]
        rows = tile_images([tile.image for tile in tiles], at)
        for artist, values, x, y, dw, dh in zip(self.images, *rows.values(), strict=False):
            artist.set_data(values)
            artist.set_extent((x, x + dw, y, y + dh))
        points = tile_points([tile.others for tile in tiles], at)
        self.others.set_offsets(np.column_stack([points["x"], points["y"]]))


def _draw_line(drawn: Any, data: Columns) -> None:
    drawn.set_data(data["x"], data["y"])


TOP = 14.0  # px above the axes: there is no legend, the tiles' titles bear the lines
