"""What a kind of file needs to be written: its entry in the table, and one job of writing."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from pmdviz.errors import InputError
from pmdviz.export.film import Film, Scene
from pmdviz.export.options import Look
from pmdviz.result import Run

if TYPE_CHECKING:
    from pmdviz.export.picture import Picture

MEGABYTE = 1_000_000
Progress = Callable[[int, int], None]  # (frames done, frames in all); what it raises ends the export


@dataclass(frozen=True)
class Job:
    """One file to be written: `path` is a temporary name, moved into place when `Writer.write` has returned."""

    run: Run
    look: Look
    path: Path
    progress: Progress

    @cached_property
    def film(self) -> Film:
        """The run as scenes."""
        return Film(self.run, self.look)

    def scenes(self) -> Iterator[Scene]:
        """The scenes of the film; progress is told between any two iterations of the replay."""
        total, done = len(self.film.iterations), 0

        def tick() -> None:
            self.progress(done, total)

        for scene in self.film.scenes(tick):
            yield scene
            done += 1
            tick()

    def pictures(self) -> Iterator[np.ndarray]:
        """The film's frames as pixels (height, width, 4), uint8 RGBA; each is valid until the next one."""
        picture = None
        for scene in self.scenes():
            picture = picture or self.picture(scene)
            yield picture.draw(scene)

    def picture(self, first: Scene) -> Picture:
        """The figure that draws this film."""
        from pmdviz.export.picture import Picture

        return Picture(self.film, first)


@dataclass(frozen=True)
class Writer:
    """A kind of file: what it is, the options that mean something to it, what it needs, how it is written."""

    suffix: str
    title: str
    options: tuple[str, ...]
    write: Callable[[Job], None]
    needs: tuple[tuple[str, str], ...] = ()  # (module, extra of pmdviz that installs it)
    forecast: Callable[[Look, int, int], float] = lambda look, frames, dots: MEGABYTE  # bytes, rather too many
    check: Callable[[Look], Any] = lambda look: None  # raises InputError for what this kind cannot do

    def check_installed(self) -> None:
        """Raise InputError, with the cure, where a library that this kind of file needs is missing."""
        for module, extra in self.needs:
            if importlib.util.find_spec(module) is None:
                raise InputError(f"writing {self.suffix} needs {module}: pip install 'pmdviz[{extra}]'")


DRAWING = (("matplotlib", "export"),)
