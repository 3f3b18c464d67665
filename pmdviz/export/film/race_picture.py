"""The picture of a race: a tile for each entrant, and one metric of all beside them."""

from __future__ import annotations

from collections.abc import Sequence

from pmdviz.export.film.picture import Drawing
from pmdviz.export.film.race_traces_panel import RaceTracesPanel
from pmdviz.export.film.tiles_panel import TilesPanel
from pmdviz.export.options import RaceLook
from pmdviz.scenes.race import Columns, RaceScene
from pmdviz.scenes.tiling import Tiling

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
        self.traces = RaceTracesPanel(self.paper, rest, first, histories) if beside else None
        self.panels = [self.tiles, *([self.traces] if self.traces else [])]
