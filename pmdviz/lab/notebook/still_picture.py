"""Still pictures of the present frame of a lab or a race, drawn like exported ones."""

from __future__ import annotations

import importlib.util
import io
from typing import Any

from pmdviz.export.film.film import Film
from pmdviz.export.options import Look, RaceLook
from pmdviz.lab.loop.runner import Snapshot
from pmdviz.scenes.race import RaceScene


def can_draw() -> bool:
    """Whether Matplotlib is there (extra `export`)."""
    return importlib.util.find_spec("matplotlib") is not None


def still_png(snapshot: Snapshot, dark: bool = False) -> bytes:
    """Stage and traces of a snapshot, 960x540, as PNG."""
    from pmdviz.export.film.picture import Picture

    film = Film(snapshot.run, Look.checked(_theme(dark)), all_floors=False)
    scene = film.last_scene()
    return _png(Picture(film, scene), scene)


def race_png(scene: RaceScene, dark: bool = False) -> bytes:
    """Tiles and traces of a race, 960x540, as PNG."""
    from pmdviz.export.film.race_picture import RacePicture

    traces = [tile.trace for tile in scene.tiles]
    return _png(RacePicture(RaceLook.checked(_theme(dark)), scene, traces, len(scene.words)), scene)


def _theme(dark: bool) -> dict[str, str]:
    return {"theme": "dark" if dark else "light"}


def _png(picture: Any, scene: Any) -> bytes:
    file = io.BytesIO()
    picture.save(scene, file, "png")
    return file.getvalue()
