"""The picture of a run: the stage, and the traces where there is room for them."""

from __future__ import annotations

from functools import partial

from pmdviz.export.figure import Drawing, PicturePanel
from pmdviz.export.films import Film, Scene
from pmdviz.export.options import shown_group
from pmdviz.pictures import Picture as Value
from pmdviz.scenes.stage import stage_picture
from pmdviz.scenes.trace_columns import GROUPS, budget_drawn, traces_axes, traces_picture, usual_clock


class Picture(Drawing):
    """The figure of a run."""

    def __init__(self, film: Film, first: Scene) -> None:
        last = film.last_scene()
        super().__init__(film.look, max(len(last.words), len(first.words)))
        stage, traces = self.paper.layout(self.title_lines)
        self.stage = PicturePanel(self.paper, stage, partial(stage_of, film), first)
        self.traces = PicturePanel(self.paper, traces, partial(traces_of, film, last), first) if traces else None
        self.panels = [self.stage, *([self.traces] if self.traces else [])]


def stage_of(film: Film, scene: Scene) -> Value:
    """Exact posterior, approximation and particles."""
    drawn, pair = film.drawn
    target, method = film.run.target, film.run.final.method
    return stage_picture(drawn, target, method, pair, scene.columns, scene.note, film.look.layers)


def traces_of(film: Film, last: Scene, scene: Scene) -> Value:
    """The chosen traces against the chosen clock, on the axes of the whole run."""
    run, method = film.run, film.run.final.method
    group = GROUPS[shown_group(run.target, method, film.look.traces)]
    clock, budget = (
        film.look.clock or usual_clock(method, run.recipe.budget_unit),
        budget_drawn(run.final, run.recipe.budget),
    )
    axes = traces_axes(run.history, group, clock, film.floors, budget, run.recipe.budget_unit)
    return traces_picture(
        scene.history, group, clock, axes, film.floors, scene.marks, [mark.kind for mark in last.marks]
    )
