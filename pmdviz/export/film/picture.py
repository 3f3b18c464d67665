"""One picture, drawn again and again: what stands still is drawn once, what moves with every frame."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import numpy as np
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg

from pmdviz.export.film.film import Film, Scene
from pmdviz.export.film.layout import FONT, FigureLayout
from pmdviz.export.film.stage_panel import StagePanel
from pmdviz.export.film.traces_panel import TracesPanel
from pmdviz.export.options import Look

LETTER = 0.56  # mean width of a letter of the title, in its size
VECTOR = {"svg.hashsalt": "pmdviz", "svg.fonttype": "none", "pdf.fonttype": 42}


class Panel(Protocol):
    """A part of a picture."""

    moving: list[Any]  # what is drawn with every frame, from the lowest up

    def show(self, scene: Any) -> bool | None:
        """Take the data of a scene; whether something changed that is not drawn with every frame."""


class Drawing:
    """A film's figure: the state in words above its panels, which the kinds of film add."""

    def __init__(self, look: Look, longest: int) -> None:
        self.paper = paper = FigureLayout(look)
        self.figure, self.canvas = paper.figure, FigureCanvasAgg(paper.figure)
        self._letters = int(0.96 * paper.width / (LETTER * paper.title_px))
        self.title_lines = 1 if longest <= self._letters else 2
        font = {"fontsize": paper.title_px, "fontfamily": FONT, "color": paper.colours.text, "linespacing": 1.2}
        top = 1 - 0.35 * paper.title_px / paper.height
        self.title = self.figure.text(0.5, top, "", ha="center", va="top", **font)
        self.panels: list[Panel] = []
        self._ground: Any = None

    @property
    def moving(self) -> list[Any]:
        """All that is drawn with every frame."""
        return [self.title, *(artist for panel in self.panels for artist in panel.moving)]

    def _take(self, scene: Any) -> None:
        if any([panel.show(scene) for panel in self.panels]):
            self._ground = None
        self.title.set_text(folded(scene.words) if self.title_lines == 2 else scene.words)

    def draw(self, scene: Any) -> np.ndarray:
        """The scene as pixels (height, width, 4), uint8 RGBA; valid until the next call."""
        self._take(scene)
        if self._ground is None:
            self._animate(True)
            self.canvas.draw()
            self._ground = self.canvas.copy_from_bbox(self.figure.bbox)
        self.canvas.restore_region(self._ground)
        for artist in self.moving:
            artist.draw(self.canvas.renderer)
        return np.asarray(self.canvas.buffer_rgba())

    def save(self, scene: Any, path: Path, form: str) -> None:
        """The scene as a file of a format that matplotlib writes; the same scene gives the same bytes."""
        self._take(scene)
        self._animate(False)
        undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(form, {})
        with rc_context(VECTOR):
            self.figure.savefig(path, format=form, metadata=undated, facecolor=self.figure.get_facecolor())
        self._ground = None

    def _animate(self, on: bool) -> None:
        for artist in self.moving:
            artist.set_animated(on)


class Picture(Drawing):
    """The figure of a run: the stage, and the traces where there is room for them."""

    def __init__(self, film: Film, first: Scene) -> None:
        last = film.last_scene()
        super().__init__(film.look, max(len(last.words), len(first.words)))
        stage, traces = self.paper.layout(self.title_lines)
        self.stage = StagePanel(self.paper, stage, film.run.target, film.run.final.method, film.drawn, first)
        self.traces = TracesPanel(self.paper, traces, film.run, film.floors, last) if traces else None
        self.panels = [self.stage, *([self.traces] if self.traces else [])]


def folded(words: str) -> str:
    """Words in two lines, broken at the comma nearest their middle."""
    commas = [k for k in range(len(words)) if words.startswith(", ", k)]
    if not commas:
        return words
    at = min(commas, key=lambda k: abs(k - len(words) / 2))
    return f"{words[: at + 1]}\n{words[at + 2 :]}"
