"""The picture of a run: the stage, and the traces where there is room for them."""

from __future__ import annotations

from functools import partial

from pmdviz.export.figure import Drawing, PicturePanel
from pmdviz.export.films import Film, Scene
from pmdviz.export.pictures import stage_of, traces_of


class Picture(Drawing):
    """The figure of a run."""

    def __init__(self, film: Film, first: Scene) -> None:
        last = film.last_scene()
        super().__init__(film.look, max(len(last.words), len(first.words)))
        stage, traces = self.paper.layout(self.title_lines)
        self.stage = PicturePanel(self.paper, stage, partial(stage_of, film), first)
        self.traces = PicturePanel(self.paper, traces, partial(traces_of, film, last), first) if traces else None
        self.panels = [self.stage, *([self.traces] if self.traces else [])]
