"""Still pictures of the present frame of a lab or a race, drawn like exported ones."""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pmdviz.export.film.film import Film
from pmdviz.export.film.race_film import FLOORS, RaceFilm, RaceScene
from pmdviz.export.options import Look, RaceLook
from pmdviz.lab.loop.race_runner import RaceSnapshot
from pmdviz.lab.loop.runner import Snapshot
from pmdviz.lab.panels.race_words import status_fields, tile_words
from pmdviz.targets import Target


def can_draw() -> bool:
    """Whether Matplotlib is there (extra `export`)."""
    return importlib.util.find_spec("matplotlib") is not None


def still_png(snapshot: Snapshot, dark: bool = False) -> bytes:
    """Stage and traces of a snapshot, 960x540, as PNG."""
    from pmdviz.export.film.picture import Picture

    film = Film(snapshot.run, Look.checked(_theme(dark)), all_floors=False)
    scene = film.last_scene()
    return _png(Picture(film, scene), scene)


def race_png(snapshot: RaceSnapshot, dark: bool = False) -> bytes:
    """Tiles and traces of a race's snapshot, 960x540, as PNG."""
    from pmdviz.export.film.race_picture import RacePicture

    film = _Present(snapshot, RaceLook.checked(_theme(dark)))
    scene = film.last_scene()
    return _png(RacePicture(film, scene), scene)


def _theme(dark: bool) -> dict[str, str]:
    return {"theme": "dark" if dark else "light"}


def _png(picture: Any, scene: Any) -> bytes:
    file = io.BytesIO()
    picture.save(scene, file, "png")
    return file.getvalue()


@dataclass(frozen=True)
class _Present(RaceFilm):
    """A snapshot in the place of a film's last moment: nothing is replayed."""

    result: Any  # the snapshot

    @property
    def target(self) -> Target:
        return self.result.target

    @property
    def labels(self) -> list[str]:
        return [tile.label for tile in self.result.tiles]

    @property
    def histories(self) -> list[Mapping[str, np.ndarray]]:
        return [tile.trace for tile in self.result.tiles]

    @property
    def longest(self) -> int:
        return len(self.last_scene().words)

    def last_scene(self, tick: Any = None) -> RaceScene:
        snapshot = self.result
        weighted = next((tile.metrics for tile in snapshot.tiles if tile.frame.num_draws), {})
        return RaceScene(
            visited=max((tile.frame.visited for tile in snapshot.tiles), default=0),
            tiles=tuple(tile.columns for tile in snapshot.tiles),
            at_tiles=tuple(tile_words(snapshot)),
            traces=tuple(tile.trace for tile in snapshot.tiles),
            floors={metric: weighted.get(name) for metric, name in FLOORS.items()},
            words=status_fields(snapshot)["pmdviz-status"],
        )
