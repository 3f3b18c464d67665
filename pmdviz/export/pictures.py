"""The pictures of a film's scenes, for every renderer."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pmdviz.export.films import Film, Scene
from pmdviz.export.options import RaceLook, shown_group, traced
from pmdviz.pictures import Picture
from pmdviz.scenes.race import CLOCK_OF, Columns, RaceScene, spans
from pmdviz.scenes.race import traces_picture as race_traces
from pmdviz.scenes.stage import stage_picture
from pmdviz.scenes.trace_columns import (
    GROUPS,
    UNKNOWN,
    budget_drawn,
    clock_end,
    traces_axes,
    traces_picture,
    usual_clock,
)


def stage_of(film: Film, scene: Scene) -> Picture:
    """Exact posterior, approximation and particles."""
    drawn, pair = film.drawn
    target, method = film.run.target, film.run.final.method
    return stage_picture(drawn, target, method, pair, scene.columns, scene.note, film.look.layers)


def traces_of(film: Film, last: Scene, scene: Scene) -> Picture:
    """The chosen traces against the chosen clock, on the axes of the whole run."""
    run, method = film.run, film.run.final.method
    group = GROUPS[shown_group(run.target, method, film.look.traces)]
    clock, budget = (
        film.look.clock or usual_clock(method, run.recipe.budget_unit),
        budget_drawn(run.final, run.recipe.budget),
    )
    axes = traces_axes(run.history, group, clock, film.floors, budget, run.recipe.budget_unit)
    expected = [mark.kind for mark in last.marks]
    made = traces_picture(scene.history, group, clock, axes, film.floors, scene.marks, expected)
    signs = made.marks["marks"]._replace(hover={}, ids="")  # their words again in every frame would be most of a file
    return made._replace(marks={**made.marks, "marks": signs})


def race_traces_of(look: RaceLook, histories: Sequence[Columns], first: RaceScene, scene: RaceScene) -> Picture:
    """The chosen metric of all against the chosen clock, on the axes of the whole race."""
    recipe, metric = first.recipe, traced(first.recipe, look.traces)
    clock = look.clock or CLOCK_OF[recipe.budget_unit]
    end = clock_end(clock, max(float(one[clock][-1]) for one in histories), first.budget, recipe.budget_unit)
    limits = spans(dict.fromkeys([*recipe.shown, metric]), histories, first.floors)
    made = race_traces([tile.trace for tile in scene.tiles], metric, clock, end, limits, first.floors[metric.name])
    unknown = all(np.isnan(history[metric.name]).all() for history in histories)
    return made._replace(middle=UNKNOWN.format(metric.title) if unknown else "")
