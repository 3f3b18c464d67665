"""How far a run's last frame is from the exact posterior: the divergences, and the class of Theorem 5."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pmdviz.densities.density import Density
from pmdviz.densities.grid import Grid
from pmdviz.engine.frame import Frame
from pmdviz.errors import InputError, shown, unknown
from pmdviz.metrics import METRICS
from pmdviz.targets import Target
from pmdviz.targets.mass import Box

ErrorFunction = Callable[[Frame], float | None]
CELLS = {1: 4096, 2: 256}  # a side, over each mode of the posterior
REACH, LINE = 8.5, 4096  # sds of a Gaussian family, and cells, on the line of each coordinate


class Bounded(NamedTuple):
    """A function f with |f| <= 1 of one coordinate in units of the prior's sd, and an antiderivative of it.

    Means over cells are differences of the antiderivative: a jump within a cell costs nothing.
    """

    f: Callable[[np.ndarray], np.ndarray]
    antiderivative: Callable[[np.ndarray], np.ndarray]


BOUNDED: dict[str, Bounded] = {
    "cos(2u)": Bounded(lambda u: np.cos(2 * u), lambda u: 0.5 * np.sin(2 * u)),
    "u > 0.5": Bounded(lambda u: (u > 0.5).astype(float), lambda u: np.maximum(u - 0.5, 0.0)),
    "tanh(u)": Bounded(np.tanh, lambda u: np.logaddexp(u, -u)),
}
_exact_values: dict[tuple, np.ndarray] = {}


def bounded_error(frame: Frame) -> float | None:
    """Mean over f and coordinates of |E_q f - E_p f|, the error of Theorem 5 of Dai et al. 2016.

    f runs over BOUNDED, u is a coordinate in units of the prior's sd. Of particles and chains q is the weighted
    points themselves, without smoothing (Eq. 4); None without an exact posterior.
    """
    target = frame.target
    if target.planar is None:
        return None
    if target.key not in _exact_values:
        _exact_values[target.key] = exact_values(target)
    return float(np.abs(_values_of(frame) - _exact_values[target.key]).mean())


def exact_values(target: Target) -> np.ndarray:
    """E_p f for every coordinate and function, (d, functions)."""
    parts = [_marginals(target, box) for box in target.exact.boxes]
    mass = sum(masses[0].sum() for _, masses in parts)
    return sum(_expectations(edges / target.scale[:, None], masses) for edges, masses in parts) / mass


def _marginals(target: Target, box: Box) -> tuple[np.ndarray, np.ndarray]:
    """Edges (d, cells + 1) and masses (d, cells) of the cells along each coordinate of a box."""
    grid = Grid(box, CELLS[len(box)])
    p = np.exp(target.exact.log_density(grid.points)).reshape(grid.shape) * grid.cell_volume
    edges = np.array([np.linspace(low, high, grid.side + 1) for low, high in box])
    masses = p[None] if len(box) == 1 else np.array([p.sum(axis=0), p.sum(axis=1)])  # the first coordinate runs fastest
    return edges, masses


def _expectations(edges: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """sum over cells of mass times the cell's mean of f, (d, functions); edges (d, cells + 1) in units of u."""
    means = [np.diff(each.antiderivative(edges), axis=1) / np.diff(edges, axis=1) for each in BOUNDED.values()]
    return np.array([(masses * mean).sum(axis=1) for mean in means]).T


def _values_of(frame: Frame) -> np.ndarray:
    """E_q f for every coordinate and function, (d, functions)."""
    if frame.method.family == "parametric":
        return _of_gaussians(frame.density, frame.target.scale)
    u, weights = frame.particles / frame.target.scale, frame.weights
    return np.array([(weights[:, None] * each.f(u)).sum(axis=0) for each in BOUNDED.values()]).T


def _of_gaussians(density: Density, scale: np.ndarray) -> np.ndarray:
    """The same for a mixture of Gaussians, component by component along each coordinate."""
    nodes = np.linspace(-REACH, REACH, LINE + 1)
    masses = np.exp(-0.5 * (0.5 * (nodes[1:] + nodes[:-1])) ** 2)
    masses /= masses.sum()
    sds = density.kernel_sds  # (m, d)
    values = 0.0
    for weight, centre, sd in zip(density.weights, density.centres, sds, strict=True):
        edges = (centre[:, None] + sd[:, None] * nodes) / scale[:, None]
        values = values + weight * _expectations(edges, np.broadcast_to(masses, (len(centre), LINE)))
    return values


PLANAR = ("tv", "kl_forward", "kl_reverse", "cross_entropy")  # the columns of a sweep's table are these
ERRORS: dict[str, tuple[str, Callable[[Frame], float | None]]] = {
    **{name: (METRICS[name].label, METRICS[name].measure) for name in PLANAR},
    "bounded": ("error of bounded functions", bounded_error),
}


def chosen_error(error: Any) -> tuple[str, dict[str, ErrorFunction]]:
    """The name of the error asked for, and what is measured besides the usual: a metric, or a person's own function.

    Raises InputError.
    """
    known = {**ERRORS, **METRICS}
    if isinstance(error, str):
        if error not in known:
            raise unknown("error", error, known)
        return error, {} if error in ERRORS else {error: partial(_of_metric, error)}
    if not callable(error):
        raise InputError(f"error must be one of {', '.join(known)}, or a function of a frame; given: {shown(error)}")
    name = getattr(error, "__name__", "")
    if name in known:
        raise InputError(f"error {name!r} is the name of a metric; give your function another")
    if not name.isidentifier():
        raise InputError(f"error must be a function with a name of its own, not a lambda; given: {shown(error)}")
    return name, {name: error}


def _of_metric(name: str, frame: Frame) -> float | None:
    """A metric of the table. Raises InputError where it does not apply."""
    if name not in frame.metric_names:
        raise InputError(
            f"error {name!r} is unavailable for method {frame.method.name!r} on target {frame.target.name!r}; "
            f"available: {', '.join(frame.metric_names)}"
        )
    return frame.metrics[name]


def measured(frame: Frame, own: Mapping[str, ErrorFunction]) -> dict[str, float]:
    """Every error of a frame; NaN where one is unavailable."""
    found = {name: measure(frame) for name, (_, measure) in ERRORS.items()}
    found |= {name: measure(frame) for name, measure in own.items()}
    return {name: float("nan") if value is None else float(value) for name, value in found.items()}
