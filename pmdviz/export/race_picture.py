"""The picture of a race: a tile for each entrant, and one metric of all next to them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial

from pmdviz.export.figure import LETTER, Box, Drawing, FigureLayout, PicturePanel
from pmdviz.export.options import RaceLook
from pmdviz.export.pictures import race_traces_of
from pmdviz.pictures import Picture
from pmdviz.scenes.columns import Tiling
from pmdviz.scenes.race import Columns, RaceScene
from pmdviz.scenes.tiles import Letters, tile_words, tiles_picture

WIDE_PX = 1_000.0  # the page's tiles in a window that is wide enough
SHARE = 0.62  # of the width is for the tiles; the traces have what they leave
TOP = 14.0  # px above the axes: without a legend; the tiles' titles show the lines
LEGEND_LINES = 1.7  # height of the legend below the tiles, in its letters
TITLE_SHARE, LARGE_SHARE = 0.068, 0.09  # most height of a title's letters, in tiles


class RacePicture(Drawing):
    """The figure of a race, with axes for `histories`, all that there is to come, and words of `longest` letters."""

    def __init__(self, look: RaceLook, first: RaceScene, histories: Sequence[Columns], longest: int) -> None:
        super().__init__(look, longest)
        room = self.paper.room(self.title_lines)
        beside = self.paper.with_traces
        part = room._replace(width=SHARE * room.width) if beside else room
        tiling = Tiling.fitting(len(first.tiles), WIDE_PX)
        legend = LEGEND_LINES * self.paper.text_px if {*look.layers} & {*tile_words(first.scene)} else 0.0
        box, letters = fitted(self.paper, part, tiling, legend)
        self.tiles = PicturePanel(self.paper, box, partial(self._tiles, tiling, letters), first)
        rest = room._replace(x=box.x + box.width, width=room.width - box.width - box.x)
        self.traces = None
        if beside:
            self.traces = PicturePanel(
                self.paper, rest, partial(race_traces_of, look, histories, first), first, top=TOP
            )
        self.panels = [self.tiles, *([self.traces] if self.traces else [])]

    def _tiles(self, tiling: Tiling, letters: Letters, scene: RaceScene) -> Picture:
        made = tiles_picture(scene, tiling, letters, self.paper.look.layers)
        paths = made.legend.keys() & {"paths"}  # these speak for themselves
        return made._replace(legend={key: words for key, words in made.legend.items() if key not in paths})


def fitted(paper: FigureLayout, room: Box, tiling: Tiling, legend: float) -> tuple[Box, Letters]:
    """The place of the tiles in a room, above a legend of so many px, and the words for which they have room."""
    width, height = tiling.size
    unit = min(room.width / width, (room.height - legend) / height)
    left = 0.0 if paper.with_traces else (room.width - unit * width) / 2
    top = math.floor(room.height - (room.height - legend - unit * height) / 2)  # whole px, as on the page
    px = min(paper.text_px, (LARGE_SHARE if paper.look.large_type else TITLE_SHARE) * unit)
    place = Box(room.x + left, room.y + top - unit * height, unit * width, unit * height)
    return place, Letters.fitting(unit, px, LETTER)
