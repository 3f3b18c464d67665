"""The numbers of a run as columns, with the unit of each."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pmdviz.result import Run

UNITS = {
    "iteration": "iterations",
    "visited": "data points",
    "tv": "0 to 1",
    "kl_forward": "nats, KL(exact || approximation)",
    "kl_reverse": "nats, KL(approximation || exact)",
    "cross_entropy": "nats, -E_exact log approximation",
    "ess": "particles",
    "mass_outside": "share of the approximation outside the grid",
    "seconds": "seconds of computing",
    "num_particles": "particles",
    "step_size": "gamma",
    "rejuvenations": "since the start",
    "density_evaluations": "pairs of particle and datum",
    "gradient_evaluations": "pairs of particle and datum",
    "weight": "share of the mass",
    "log_density": "nats, log of the approximation",
}


def particle_columns(run: Run) -> dict[str, np.ndarray]:
    """The particles of the last frame: theta1, theta2, ..., weight, log_density of the approximation there."""
    thetas = {f"theta{k + 1}": np.ascontiguousarray(x) for k, x in enumerate(run.particles.T)}
    return {**thetas, "weight": run.weights, "log_density": run.log_density(run.particles)}


def columns_of(run: Run, table: str) -> Mapping[str, np.ndarray]:
    """The columns of `table`, "history" or "particles"."""
    return run.history if table == "history" else particle_columns(run)
