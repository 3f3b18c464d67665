"""The numbers of a run or of a race as columns, with the unit of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pmdviz.densities.density import Points
from pmdviz.engine.run import Run
from pmdviz.experiments.race import RaceResult
from pmdviz.methods import METHODS
from pmdviz.metrics import METRICS

UNITS = {
    "iteration": "iterations",
    "visited": "observations used",
    "seconds": "seconds of computing",
    "num_particles": "particles",
    "rejuvenations": "since the start",
    "limited_steps": "since the start",
    "density_evaluations": "pairs of particle and observation",
    "gradient_evaluations": "pairs of particle and observation",
    "weight": "share of the mass",
    "log_density": "nats, log of the approximation",
    "seed": "of the run",
}
UNITS |= {scalar.name: scalar.unit or scalar.title for method in METHODS.values() for scalar in method.scalars}
UNITS |= {name: ", ".join(filter(None, [metric.unit, metric.about])) for name, metric in METRICS.items()}
MODE_MASS = "mode_mass{}"  # of the mode so numbered, by its first coordinate


def particle_columns(run: Run) -> dict[str, np.ndarray]:
    """The particles of the last frame: theta1, theta2, ..., weight, log_density of the approximation there.

    Points without a density have no such column.
    """
    thetas = {f"theta{k + 1}": np.ascontiguousarray(x) for k, x in enumerate(run.particles.T)}
    points = isinstance(run.final.density, Points)
    return {**thetas, "weight": run.weights, **({} if points else {"log_density": run.log_density(run.particles)})}


def race_columns_of(result: RaceResult, table: str) -> Mapping[str, np.ndarray]:
    """The columns of a race's `table`: "rows", how each run ended, or "histories", what was measured on the way."""
    return _rows(result) if table == "rows" else _histories(result)


def _rows(result: RaceResult) -> dict[str, np.ndarray]:
    columns: dict[str, np.ndarray] = {}
    for name in dict.fromkeys(name for row in result.rows for name in row):
        values = [row.get(name) for row in result.rows]
        if name != "mode_masses":
            columns[name] = _column(values)
        elif values[0] is not None:
            masses = np.array(values, float)
            columns |= {MODE_MASS.format(k + 1): masses[:, k] for k in range(masses.shape[1])}
    return columns


def _histories(result: RaceResult) -> dict[str, np.ndarray]:
    """One history behind the other; what one of them has not measured is NaN."""
    found = result.histories
    lengths = [len(history["iteration"]) for history in found.values()]
    keys = {"method": [label for label, _ in found], "seed": [seed for _, seed in found]}
    names = dict.fromkeys(name for history in found.values() for name in history)
    nothing = [np.full(length, np.nan) for length in lengths]
    return {name: np.repeat(_column(each), lengths) for name, each in keys.items()} | {
        name: np.concatenate([history.get(name, none) for history, none in zip(found.values(), nothing, strict=True)])
        for name in names
    }


def _column(values: Sequence[Any]) -> np.ndarray:
    return np.array([np.nan if value is None else value for value in values])
