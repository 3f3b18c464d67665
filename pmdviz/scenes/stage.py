"""The stage without a figure: its ranges, its labels, and the layers that can be seen."""

from __future__ import annotations

from typing import Any

import numpy as np

from pmdviz.scenes import words
from pmdviz.scenes.columns import StageColumns

LAYERS = ("exact", "approximate", "particles")
DRAWN = ("particles", "exact", "approximate")  # dots below, the dashes over the solid lines


def square(box: tuple[tuple[float, float], ...]) -> tuple[tuple[float, float], tuple[float, float]]:
    """The box of the first two coordinates, widened about its centre to equal sides (equal aspect)."""
    half = max(high - low for low, high in box[:2]) / 2
    return tuple(((low + high) / 2 - half, (low + high) / 2 + half) for low, high in box[:2])


def ranges(target: Any, top: float) -> tuple[tuple[float, float], tuple[float, float]]:
    """Where the stage's axes begin and end; `top` is the highest density of a curve (one dimension, else unused)."""
    if target.dim > 1:
        return square(target.view_box)
    top = top if np.isfinite(top) else 1.0
    return target.view_box[0], (-0.1 * top, 1.12 * top)


def axis_labels(target: Any) -> tuple[str, str]:
    """The words along the stage's axes."""
    names = target.parameter_names
    return names[0], f"density (1 / unit of {names[0]})" if target.dim == 1 else names[1]


def particles_label(columns: StageColumns) -> str:
    """The particles in the legend, with how many of them are drawn if not all."""
    every = columns.drawn == columns.num_particles
    drawn = "" if every else f" ({words.count(columns.drawn)} of {words.count(columns.num_particles)} drawn)"
    return f"particles{drawn}"
