"""What a kind of file needs to be written: its entry in the table, and one job of writing."""

from __future__ import annotations

import importlib.util
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from pmdviz.errors import InputError
from pmdviz.export.options import Look

if TYPE_CHECKING:
    from pmdviz.export.film.picture import Drawing
    from pmdviz.export.player import Player

MEGABYTE = 1_000_000
REQUIREMENTS = {  # module -> what pip installs it by, as the extras say
    "matplotlib": "matplotlib>=3.9",
    "PIL": "pillow>=10.3",
    "imageio_ffmpeg": "imageio-ffmpeg>=0.5",
    "pyarrow": "pyarrow>=16",
}
Progress = Callable[[int, int], None]  # (frames done, frames in all); what it raises ends the export


class Subject(Protocol):
    """A run or a race as a writer sees it: scenes to draw, who draws them, columns of a table, and texts."""

    look: Look

    @property
    def frames(self) -> int:
        """How many frames the film has. Raises InputError where that is unavailable."""

    @property
    def dots(self) -> int:
        """How many dots a frame has."""

    @property
    def lines(self) -> tuple[str, ...]:
        """Colours of lines other than the layers'."""

    def scenes(self, tick: Callable[[], None]) -> Iterator[Any]:
        """The scenes in order; `tick` is called after every iteration of the replay and may raise to end it."""

    def last_scene(self, tick: Callable[[], None]) -> Any:
        """The last one of them alone."""

    @property
    def title(self) -> str:
        """What it is, in a few words."""

    def picture(self, first: Any) -> Drawing:
        """What draws the scenes as pixels; `first` is one of them."""

    def player(self, scenes: Iterable[Any]) -> Player:
        """What shows the scenes in a page."""

    def columns(self) -> Mapping[str, np.ndarray]:
        """The columns of the table that is asked for."""

    def python(self) -> str:
        """Lines of Python that repeat what is seen."""

    def recipe(self) -> str:
        """All that is needed for that, as JSON."""


@dataclass(frozen=True)
class Job:
    """One file to be written: `path` is a temporary name, moved into place when `Writer.write` has returned."""

    film: Subject
    path: Path
    progress: Progress

    @property
    def look(self) -> Look:
        """How it is to look."""
        return self.film.look

    def scenes(self) -> Iterator[Any]:
        """The scenes of the film; progress is told between any two iterations of the replay."""
        total, done = self.film.frames, 0

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
            picture = picture or self.film.picture(scene)
            yield picture.draw(scene)


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

    @property
    def missing(self) -> list[str]:
        """Modules that this kind of file needs and that are not installed."""
        return [module for module, _ in self.needs if importlib.util.find_spec(module) is None]

    def check_installed(self) -> None:
        """Raise InputError, with the cure, where a library that this kind of file needs is missing."""
        if missing := self.missing:
            words = f"writing {self.suffix} needs {' and '.join(missing)}"
            raise InputError(f"{words}; to install it: {install_command(missing)}")


def install_command(modules: Iterable[str]) -> str:
    """The line for a terminal that installs modules where this Python would find them."""
    return shlex.join([sys.executable, "-m", "pip", "install", *(REQUIREMENTS[name] for name in modules)])


DRAWING = (("matplotlib", "export"),)
