"""The columns of the Geometry page's three pictures, name of a layer -> its columns."""

from __future__ import annotations

import numpy as np

from pmdviz.scenes.geometry.knobs import MOST_STEPS
from pmdviz.scenes.geometry.setting import CELL, GRID, STATES, Geometry, contours, place, wide_prior

Columns = dict[str, np.ndarray]
KL_SPAN = (1e-4, 20.0)  # nats, of the axis; infinite values are marked near its top
TOP = 12.0
OUT_OF_SIGHT = -MOST_STEPS  # a step for the legend, which draws no sign of a layer without points


def triangle_columns(geometry: Geometry) -> dict[str, Columns]:
    """Both paths, where they end, start, posterior, and the lines of equal KL(q‖p)."""
    states = geometry.states
    return {
        "contours": contours(geometry.knobs.peak),
        "mirror": place(states.mirror) | _told(states.mirror),
        "gradient": place(states.gradient) | _told(states.gradient),
        "mirror_end": place(states.mirror[-1]),
        "gradient_end": place(states.gradient[-1]),
        "posterior": place(states.p),
        "start": place(geometry.start),
    }


def density_columns(geometry: Geometry) -> dict[str, Columns]:
    """Exact posterior, start and both q_t per unit of theta; "cut" lies where the gradient's is 0."""
    found = geometry.density
    curves = {"exact": found.p, "start": wide_prior(), "mirror": found.mirror[-1], "gradient": found.gradient[-1]}
    columns = {name: {"x": GRID, "y": masses / CELL} for name, masses in curves.items()}
    return columns | {"cut": {"x": GRID, "y": np.where(found.gradient[-1] == 0, 0.0, np.nan)}}


def kl_columns(geometry: Geometry) -> dict[str, Columns]:
    """Forward KL of both up to now and the bound for all t; 0 has no place on a log axis, "infinite" is marked."""
    t = np.arange(geometry.knobs.steps + 1)
    everything = np.arange(MOST_STEPS + 1)
    at_edge = t[np.isinf(geometry.gradient_kl)]
    columns = {"mirror": (t, geometry.mirror_kl), "gradient": (t, geometry.gradient_kl)}
    columns["bound"] = (everything, geometry.bound(everything))
    drawn = {name: {"x": x, "y": _on_log_axis(y)} for name, (x, y) in columns.items()}
    marks = np.concatenate([[OUT_OF_SIGHT], at_edge])
    return drawn | {"infinite": {"x": marks, "y": np.full(len(marks), TOP)}}


def _told(points: np.ndarray) -> Columns:
    """What the pointer is told of each step of a path."""
    return {"t": np.arange(len(points)), **dict(zip(STATES, points.T, strict=True))}


def _on_log_axis(values: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(values) & (values > 0), values, np.nan)
