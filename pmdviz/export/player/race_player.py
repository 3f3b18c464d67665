"""The player of a race: its tiles in one figure, and one metric of all beside them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from pmdviz.export.film.race_film import RaceFilm
from pmdviz.export.options import NO_TRACES, traced
from pmdviz.export.player.payload import race_payload, row_texts
from pmdviz.export.player.player import Player
from pmdviz.scenes import style
from pmdviz.scenes.race import CLOCK_OF, RaceScene, tiles_legend
from pmdviz.scenes.tiling import Tiling
from pmdviz.views.race_tiles import RaceTiles
from pmdviz.views.race_traces import SLOTS, RaceTraces

WIDE_PX = 1_000.0  # the page's tiles in a window that is wide enough
LINES = {"exact": "solid", "approximate": "dashed", "particles": "dot", "paths": "solid"}
MIN_PX = 620.0  # narrower tiles would have words over one another


class RacePage(Player):
    """The page of a race."""

    what, script, least = "race", "race.js", MIN_PX

    def __init__(self, film: RaceFilm, scenes: Iterable[RaceScene]) -> None:
        super().__init__(film, scenes)
        scenes = self.scenes
        self.tiling = Tiling.fitting(len(scenes[0].tiles), WIDE_PX)
        width, height = self.tiling.size
        self.ratio = width / height
        self.tiles = self._tiles()
        self.figures = [self.tiles.figure]
        self.payload = race_payload(scenes, self.tiling)
        for scene, frame in zip(scenes, self.payload["frames"], strict=True):
            frame |= self.tiles.said(scene.tiles)
        self.payload["rows"] = []
        if self.look.traces != NO_TRACES:
            self._add_traces()

    def legend(self) -> list[tuple[str, str, str]]:
        """The layers of the tiles."""
        scene = self.scenes[0].scene
        colours, words = dict(style.tile_layers(self.look.dark, 0, scene.shows_theta)), tiles_legend(scene)
        colours["paths"] = colours[style.PATH_COLOURS[0]]
        return [(words[name], colours[name], LINES[name]) for name in self.look.layers if name in words]

    def _tiles(self) -> RaceTiles:
        view, first = RaceTiles(), self.scenes[0]
        view.arrange(self.tiling)
        view.draw(first)
        view.say(first.tiles)
        view.set_theme(self.look.dark, self.look.large_type)
        for name, layers in view.layers.items():
            for layer in layers:
                layer.visible = name in self.look.layers
        for name, source in {**view.sources, "words": view.words}.items():
            self.named(source, name)
        view.figure.update(sizing_mode="stretch_both", styles={})
        return view

    def _add_traces(self) -> None:
        last = self.scenes[-1]
        recipe = last.recipe
        view, clock = RaceTraces([traced(recipe, self.look.traces)]), self.look.clock or CLOCK_OF[recipe.budget_unit]
        view.unit = recipe.budget_unit
        view.show([tile.trace for tile in last.tiles], last.floors, last.budget)
        view.choose(clock)
        view.set_theme(self.look.dark, self.look.large_type)
        (panel,) = view.panels.values()
        sources = view.sources[: len(last.tiles)]
        for k, source in enumerate(sources):
            self.named(source, f"traces-{k}")
        self.named(panel.fronts, "fronts")
        panel.figure.update(sizing_mode="stretch_both")
        self.figures.append(panel.figure)
        self.payload |= {"metric": SLOTS[0], "clock": clock}
        self.payload["rows"] = [row_texts(source.data) for source in sources]
        counted = CLOCK_OF[recipe.budget_unit]
        for scene, frame in zip(self.scenes, self.payload["frames"], strict=True):
            pairs = zip(sources, scene.tiles, strict=True)
            frame["rows"] = [_seen(source.data[counted], tile.trace[counted][-1]) for source, tile in pairs]


def _seen(spent: np.ndarray, now: float) -> int:
    """How many rows of a trace are there when `now` has been spent."""
    return int(np.searchsorted(spent, np.float32(now), side="right"))
