"""The stage of a race: a tile for each entrant, all in one figure."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from bokeh.models import ColumnDataSource, GlyphRenderer, Line, LinearColorMapper, Scatter
from bokeh.plotting import figure as Figure

from pmdviz.scenes import style
from pmdviz.scenes.columns import EMPTY_PATHS, StageColumns, Tiling, set_data
from pmdviz.scenes.race import (
    Place,
    RaceScene,
    Tile,
    places,
    tile_dots,
    tile_images,
    tile_lines,
    tile_paths,
    tile_points,
)
from pmdviz.scenes.style import USUAL as USUAL_ENDS
from pmdviz.scenes.style import palette
from pmdviz.views import figures

LAYERS = ("particles", "paths", "exact", "approximate")
OWN = ("particles", "approximate")  # layers in the colour of their method
NO_IMAGE: dict[str, list[Any]] = {name: [] for name in ("image", "x", "y", "dw", "dh")}
OTHERS_PX = 2.5  # of dots in ink
LINE_PX, PATH_PX = 1.6, 1.2  # px
SAMPLE = 0.11  # length of the sample of a line beside a title, in tiles
MOST = len(style.ENTRANTS_LIGHT)  # methods that can be told apart
LETTERS = {2: 20, 3: 26}  # of a title, by tiles a row
NOTE_LETTERS = {2: 26, 3: 34}
EMPTY = 'No methods yet: open "Methods and settings" and press Add'


class RaceTiles:
    """One Bokeh figure; every frame changes the columns of two sources a method.

    Colours mean methods: approximation and particles have the colour of the method's traces, whose line stands beside
    the title; the exact posterior is neutral.
    """

    def __init__(self) -> None:
        nothing = np.empty(0, np.float32)
        own = [f"{name}-{k}" for name in OWN for k in range(MOST)]
        self.sources = {name: ColumnDataSource({"x": nothing, "y": nothing}) for name in ("exact", "others", *own)}
        for k in range(MOST):
            self.sources[f"particles-{k}"].data["size"] = nothing
        self.sources["paths"] = ColumnDataSource(EMPTY_PATHS)
        self.moving = [self.sources[name] for name in ("exact", "paths", *own)]
        self.sources["image"] = ColumnDataSource(NO_IMAGE)
        self.frames = ColumnDataSource({name: [] for name in ("left", "right", "bottom", "top")})
        self.heads = ColumnDataSource({name: [] for name in ("x", "end", "y", "colour", "dash", "marker")})
        self.words = ColumnDataSource(
            {name: [] for name in ("x", "left", "y", "below", "note_y", "title", "state", "note")}
        )
        self.middle = ColumnDataSource({"x": [0.5], "y": [0.5], "text": [""]})
        self.put: Callable[[ColumnDataSource, dict[str, np.ndarray]], None] = set_data  # a live page has a shorter way
        self.tiling, self._exact_of, self._dark, self._ends = Tiling(0, 3), (), False, USUAL_ENDS
        self._with_particles, self._with_paths = True, False
        self.figure = _figure()
        figures.describe(self.figure, "Picture: exact posterior, approximation and particles of every method")
        self._drawn = 0  # tiles
        self._draw_glyphs()
        self.set_theme()

    def _draw_glyphs(self) -> None:
        f = self.figure
        self.boxes = f.quad("left", "right", "bottom", "top", source=self.frames, fill_alpha=0)
        self.colours = LinearColorMapper(palette(False), low=0.0, high=1.0, nan_color="#00000000")
        f.image("image", "x", "y", "dw", "dh", source=self.sources["image"], color_mapper=self.colours, level="image")
        self.others = f.scatter("x", "y", source=self.sources["others"], size=OTHERS_PX, line_color=None)
        self.layers = {"particles": [self._dots(k) for k in range(MOST)], "exact": [self._line("exact", "exact")]}
        self.layers["approximate"] = [self._line(f"approximate-{k}", "approximate") for k in range(MOST)]
        self.layers["paths"] = [self._paths()]
        self.samples = f.segment(
            "x", "y", "end", "y", source=self.heads, line_color="colour", line_dash="dash", line_width=style.LINE_WIDTH
        )
        self.marks = f.scatter(
            "end", "y", source=self.heads, marker="marker", size=8, fill_color="colour", line_color="colour"
        )
        text: dict[str, Any] = {"source": self.words, "text_font": {"value": style.FONT}, "text_baseline": "middle"}
        self.titles = f.text("x", "y", "title", text_font_style="bold", **text)
        self.states = f.text("left", "below", "state", **text)
        self.notes = f.text("left", "note_y", "note", x_offset=4, **{**text, "text_baseline": "bottom"})
        self.notes.glyph.update(background_fill_alpha=0.75)
        moving = [layer for name in LAYERS for layer in self.layers[name]]
        figures.float_above(f, [self.others, *moving, self.notes])
        self.empty = f.text("x", "y", "text", source=self.middle, text_align="center", text_font={"value": style.FONT})

    def _dots(self, k: int) -> GlyphRenderer:
        dots = Scatter(x="x", y="y", size="size", line_color=None)
        return self.figure.add_glyph(self.sources[f"particles-{k}"], dots)

    def _paths(self) -> GlyphRenderer:
        self.path_colours = LinearColorMapper([], low=-0.5, high=len(style.PATH_COLOURS) - 0.5)
        return self.figure.segment(
            *("x0", "y0", "x1", "y1"), source=self.sources["paths"], line_alpha="alpha", line_width=PATH_PX,
            line_color={"field": "kind", "transform": self.path_colours},
        )  # fmt: skip

    def _line(self, source: str, layer: str) -> GlyphRenderer:
        line = Line(x="x", y="y", line_width=LINE_PX, line_dash=style.DASHES[layer])
        return self.figure.add_glyph(self.sources[source], line)

    def arrange(self, tiling: Tiling) -> None:
        """Lay out so many tiles: frames, ranges, samples of lines, and the figure's shape."""
        self.tiling, self._exact_of = tiling, ()
        width, height = tiling.size
        (x0, x1), (y0, y1) = tiling.ranges
        self.figure.x_range.update(start=x0, end=x1)
        self.figure.y_range.update(start=y0, end=y1)
        self.figure.styles = {**self.figure.styles, "aspect-ratio": f"{width:.4f} / {height:.4f}"}
        corners = np.array([tiling.corner(k) for k in range(tiling.number)]).reshape(-1, 2)
        left, bottom = corners[:, 0], corners[:, 1]
        self.frames.data = {"left": left, "right": left + 1, "bottom": bottom, "top": bottom + 1}
        self.middle.data = {"x": [(x0 + x1) / 2], "y": [(y0 + y1) / 2], "text": ["" if tiling.number else EMPTY]}
        self._show_heads()

    def _show_heads(self) -> None:
        n, colours = self.tiling.number, style.entrant_colours(self._dark)
        corners = np.array([self.tiling.corner(k) for k in range(n)]).reshape(-1, 2)
        self.heads.data = {
            "x": corners[:, 0],
            "end": corners[:, 0] + SAMPLE,
            "y": corners[:, 1] + 1 + 0.7 * self.tiling.head,
            "colour": list(colours[:n]),
            "dash": [list(dash) for dash in style.ENTRANT_DASHES[:n]],
            "marker": list(style.ENTRANT_MARKERS[:n]),
        }

    def draw(self, scene: RaceScene) -> None:
        """Draw what each method's stage shows into its tile."""
        tiles = [tile.columns for tile in scene.tiles]
        at = places(scene.scene, scene.pair, scene.recipe.target, tiles, self.tiling)
        exact = tuple(tile.exact["x"] for tile in tiles)
        if len(exact) != len(self._exact_of) or any(a is not b for a, b in zip(exact, self._exact_of, strict=True)):
            self._exact_of = exact
            self.put(self.sources["exact"], tile_lines([tile.exact for tile in tiles], at))
        for k, (tile, place) in enumerate(zip(tiles, at, strict=True)):
            self.put(self.sources[f"approximate-{k}"], tile_lines([tile.approximate], [place]))
            self.put(self.sources[f"particles-{k}"], tile_dots([tile.particles], [place]))
        self._clear(len(tiles))
        if any(tile.paths is not EMPTY_PATHS for tile in tiles) or self._with_paths:
            self._with_paths = any(len(tile.paths["x0"]) for tile in tiles)
            self.put(self.sources["paths"], tile_paths([tile.paths for tile in tiles], at))
        self._draw_rest(tiles, at)
        if scene.scene.shows_theta != self._with_particles:
            self._with_particles = scene.scene.shows_theta
            self._colour()

    def _clear(self, drawn: int) -> None:
        """Empty the layers of tiles that are gone."""
        nothing = np.empty(0, np.float32)
        for k in range(drawn, self._drawn):
            self.put(self.sources[f"approximate-{k}"], {"x": nothing, "y": nothing})
            self.put(self.sources[f"particles-{k}"], {"x": nothing, "y": nothing, "size": nothing})
        self._drawn = drawn

    def _draw_rest(self, tiles: Sequence[StageColumns], at: Sequence[Place]) -> None:
        """Images and other dots, where the scene has them or had them."""
        images = [tile.image for tile in tiles if tile.image is not None]
        if images and images[0].ends != self._ends:
            self._ends = images[0].ends
            self.colours.palette = list(palette(self._dark, self._ends))
        if images or self.sources["image"].data["image"]:
            self.sources["image"].data = tile_images([tile.image for tile in tiles], at)
        if any(len(tile.others["x"]) for tile in tiles) or len(self.sources["others"].data["x"]):
            self.sources["others"].data = tile_points([tile.others for tile in tiles], at)

    def _colour(self) -> None:
        """Exact posterior neutral; approximation and particles in the colour of their method."""
        for k in range(MOST):
            colours = style.tile_layers(self._dark, k, self._with_particles)
            look = {"fill_color": colours["particles"], "fill_alpha": style.theme(self._dark).dots}
            self.layers["particles"][k].glyph.update(**look)
            self.layers["approximate"][k].glyph.line_color = colours["approximate"]
        self.layers["exact"][0].glyph.line_color = colours["exact"]

    def say(self, tiles: Sequence[Tile]) -> None:
        """Write titles, states and notes."""
        tiling = self.tiling
        corners = [tiling.corner(k) for k in range(len(tiles))]
        self.words.data = {
            **self.said(tiles),
            "left": [x for x, _ in corners],
            "x": [x + SAMPLE + 0.06 for x, _ in corners],
            "y": [y + 1 + 0.7 * tiling.head for _, y in corners],
            "below": [y + 1 + 0.25 * tiling.head for _, y in corners],
            "note_y": [y + 0.02 for _, y in corners],
            "title": [cut(tile.title, LETTERS[tiling.columns]) for tile in tiles],
        }

    def said(self, tiles: Sequence[Tile]) -> dict[str, list[str]]:
        """What changes of the words while a race runs: the states, and the notes in lines."""
        letters = NOTE_LETTERS[self.tiling.columns]
        return {
            "state": [tile.state for tile in tiles],
            "note": [textwrap.fill(tile.note, letters, max_lines=4) for tile in tiles],
        }

    def set_theme(self, dark: bool = False, presenter: bool = False) -> None:
        """Colours of the light or the dark theme; label size for a screen or a lecture hall."""
        self._dark, colours = dark, style.theme(dark)
        self.figure.update(background_fill_color=colours.paper, border_fill_color=colours.paper)
        self._colour()
        self.others.glyph.fill_color = colours.layers["ink"]
        self.path_colours.palette = [colours.layers[name] for name in style.PATH_COLOURS]
        self.colours.palette = list(palette(dark, self._ends))
        self.boxes.glyph.line_color = colours.muted
        large, small = ("18px", "18px") if presenter else ("13px", "12px")
        self.titles.glyph.update(text_color=colours.text, text_font_size=large)
        self.states.glyph.update(text_color=colours.text, text_font_size=small)
        self.notes.glyph.update(text_color=colours.text, text_font_size=small, background_fill_color=colours.paper)
        self.empty.glyph.update(text_color=colours.muted, text_font_size=large)
        self._show_heads()


def cut(text: str, letters: int) -> str:
    """`text`, or its beginning and end in so many letters: both the method and its last setting can be read."""
    if len(text) <= letters:
        return text
    end = (letters - 1) // 2
    return f"{text[: letters - 1 - end].rstrip()}…{text[-end:].lstrip()}"


def _figure() -> Figure:
    # With `frame_align` it would take over the borders of the traces in the same layout.
    figure = figures.make("race", borders=dict.fromkeys(style.BORDERS, 0), frame_align=False)
    figure.axis.visible = figure.grid.visible = False
    figure.outline_line_color = None
    return figure
