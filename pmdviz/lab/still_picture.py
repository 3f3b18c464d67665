"""The still picture of a lab's present frame, drawn like an exported one."""

from __future__ import annotations

import importlib.util
import io

from pmdviz.export.film import Film
from pmdviz.export.options import Look
from pmdviz.lab.runner import Snapshot
from pmdviz.result import Run


def still_png(snapshot: Snapshot, dark: bool = False) -> bytes | None:
    """Stage and traces of a snapshot, 960x540, as PNG; None without Matplotlib (extra `export`)."""
    if importlib.util.find_spec("matplotlib") is None:
        return None
    from pmdviz.export.picture import Picture

    run = Run(snapshot.recipe, snapshot.frame.target, [snapshot.frame], snapshot.history)
    film = Film(run, Look.checked({"theme": "dark" if dark else "light"}), all_floors=False)
    scene, file = film.last_scene(), io.BytesIO()
    Picture(film, scene).save(scene, file, "png")
    return file.getvalue()
