"""The history of a run as a table in plain text."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping

import numpy as np

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
}


def history_csv(history: Mapping[str, np.ndarray]) -> str:
    """Comma-separated values: a comment line with the units, a line of names, one line a measured frame.

    A value that cannot be had is an empty cell; an infinite one is `inf`.
    """
    text = io.StringIO()
    known = [f"{name}: {UNITS[name]}" for name in history if name in UNITS]
    text.write(f"# {'; '.join(known)}\n")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(history)
    writer.writerows([_cell(value) for value in row] for row in zip(*history.values(), strict=True))
    return text.getvalue()


def _cell(value: float) -> str:
    if isinstance(value, (float, np.floating)) and np.isnan(value):
        return ""
    return repr(value.item() if isinstance(value, np.generic) else value)
