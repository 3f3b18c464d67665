"""The mean of ten runs, as in Figure 3 of the PMD paper: what the method gives on average, and not in one lucky run."""

from __future__ import annotations

import threading
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pmdviz.densities.grid import Grid
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.metrics.distances import once
from pmdviz.scenes.columns import MAX_DRAWN, StageColumns, heat_image, region_areas, region_lines
from pmdviz.scenes.stage.posterior import DifferenceScene

RUNS, SIDE = 10, 200  # runs, and cells of the grid along each axis
EVERY, MEMORY = 10**9, 2**20  # a run is measured at its ends alone; bytes that it keeps to go back in time
KEPT = 8  # sets of runs that are continued; the oldest is forgotten


class Runs(NamedTuple):
    """The runs of one method with one setting, which are continued by one thread at a time."""

    turn: threading.Lock
    sessions: list[Session]


_kept: dict[Any, Runs] = {}
_lock = threading.Lock()


class MeanOfRunsScene(DifferenceScene):
    """(1/10) sum_k q_k: the densities of ten runs with the seeds 0 to 9, each at the iteration of the frame.

    They have the settings that are in force in the frame, from their start. In the plane the mean is an image with its
    regions of 50, 80 and 95 % as dashed lines, in one dimension a curve.
    """

    name = "mean_of_runs"
    title = f"Mean of {RUNS} runs"
    order = 16
    computes = True
    legend = {"exact": "exact posterior", "approximate": f"mean of {RUNS} runs"}

    def columns(self, frame: Any, pair: tuple[int, int], limit: int = MAX_DRAWN) -> StageColumns:
        """The mean and the exact posterior on one grid over the target's box."""
        target = frame.target
        grid = Grid(target.view_box, SIDE)
        mean = np.mean([each.density.on_grid(grid) for each in frames_of(frame)], axis=0)
        p = once(target, "mean of runs", lambda: np.exp(target.exact.log_density(grid.points)).reshape(grid.shape))
        exact = once(target, "mean of runs, lines", partial(region_lines, grid.axes, p))
        areas = once(target, "mean of runs, areas", partial(region_areas, grid.axes, p))
        plane = len(grid.axes) == 2
        drawn = StageColumns(exact, region_lines(grid.axes, mean), areas=areas)
        return drawn._replace(image=heat_image(mean, grid.box)) if plane else drawn._replace(top=float(p.max()))


def frames_of(frame: Any) -> list[Any]:
    """The frames of all runs at the iteration of `frame`; a run whose budget ends before is at its end."""
    budget = {"budget": frame.budget, "budget_unit": frame.budget_unit}
    start = partial(Recipe, frame.target, frame.method.name, **budget, **frame.knobs.as_dict())
    key = frame.target.key, frame.method.name, frame.knobs, *budget.values()
    with _lock:
        _kept[key] = found = _kept.pop(key, None) or Runs(threading.Lock(), [])
        for old in [*_kept][:-KEPT]:
            del _kept[old]
    with found.turn:
        if not found.sessions:
            found.sessions.extend(Session(start(seed=seed), EVERY, MEMORY) for seed in range(RUNS))
        return [session.seek(frame.iteration) for session in found.sessions]
