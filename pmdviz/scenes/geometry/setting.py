"""One setting of the Geometry page: both paths over three states and over a density, as plain arrays."""

from __future__ import annotations

from functools import cache, cached_property
from typing import NamedTuple

import numpy as np

from pmdviz.scenes.contours import contour_line
from pmdviz.scenes.geometry.knobs import MOVED, STARTS, GeometryKnobs
from pmdviz.scenes.geometry.steps import forward_kl, gradient_path, mirror_path

STATES = ("A", "B", "C")
CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])  # (3, 2), of an equilateral triangle
LEVELS = (0.02, 0.1, 0.3, 0.7, 1.3, 2.0, 3.0)  # nats, of the contours of KL(q‖p)
SIDE = 120  # cells along an edge of the triangle for its contours
LEAST = 0.005  # of a state in a start that was dragged
SHARES = (0.7, 0.3)  # of B and C in what the posterior leaves to them

GRID = np.linspace(-4.0, 4.0, 161)  # theta, in the density's picture
CELL = GRID[1] - GRID[0]
MODES, WEIGHTS, PRIOR_SD = (-1.5, 1.5), (0.6, 0.4), 2.0


class Paths(NamedTuple):
    """Both paths from one start to one posterior, (t + 1, K) each."""

    p: np.ndarray
    mirror: np.ndarray
    gradient: np.ndarray


def posterior(peak: float) -> np.ndarray:
    """P over A, B, C: `peak`, and what is left shared between B and C."""
    return np.array([peak, *(share * (1 - peak) for share in SHARES)])


def masses(log_density: np.ndarray) -> np.ndarray:
    """Of the cells of the grid, sum 1."""
    grown = np.exp(log_density - log_density.max())
    return grown / grown.sum()


def two_modes(peak: float) -> np.ndarray:
    """The masses of 0.6 N(-1.5, s²) + 0.4 N(1.5, s²) on the grid, with s from 0.85 at peak 0.4 to 0.3 at 0.95."""
    sd = 0.25 + (1 - peak)
    modes = [np.log(weight) - 0.5 * ((GRID - mode) / sd) ** 2 for weight, mode in zip(WEIGHTS, MODES, strict=True)]
    return masses(np.logaddexp(*modes))


def wide_prior() -> np.ndarray:
    """The masses of N(0, 2²) on the grid."""
    return masses(-0.5 * (GRID / PRIOR_SD) ** 2)


def place(q: np.ndarray) -> dict[str, np.ndarray]:
    """Columns x, y of distributions (n, 3) in the triangle."""
    xy = np.atleast_2d(q) @ CORNERS
    return {"x": xy[:, 0], "y": xy[:, 1]}


def start_at(x: float, y: float) -> np.ndarray:
    """The distribution at a point of the triangle's plane; outside it the parts below LEAST are raised to it."""
    q = np.linalg.solve(np.vstack([CORNERS.T, np.ones(3)]), [x, y, 1.0])
    q = np.maximum(q, LEAST)
    return q / q.sum()


@cache
def contours(peak: float) -> dict[str, np.ndarray]:
    """Columns x, y (float32) of the lines of equal KL(q‖p) in the triangle, at LEVELS."""
    one, two = np.meshgrid(np.arange(SIDE + 1), np.arange(SIDE + 1))
    q = np.stack([one, two, SIDE - one - two], axis=-1) / SIDE
    inside = np.maximum(q, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(inside > 0, inside * np.log(inside / posterior(peak)), 0.0)
    kl = np.where(q[..., 2] >= 0, terms.sum(axis=-1), np.nan)
    lines = contour_line(q[0, :, 0], q[:, 0, 1], kl, np.array(LEVELS))
    parts = np.stack([lines["x"], lines["y"], 1 - lines["x"] - lines["y"]], axis=-1)
    return {name: column.astype(np.float32) for name, column in place(parts).items()}


class Geometry:
    """What the page shows of its knobs; `moved` is the start where it was dragged.

    Arrays are computed at the first look. KLs are forward, KL(p‖q_t), (t + 1,) in nats.
    """

    def __init__(self, knobs: GeometryKnobs, moved: np.ndarray | None = None) -> None:
        self.knobs, own = knobs, moved if moved is not None else STARTS["far"]
        self.start = own if knobs.start == MOVED else STARTS[knobs.start]

    def _paths(self, start: np.ndarray, p: np.ndarray) -> Paths:
        gamma, steps = self.knobs.gamma, self.knobs.steps
        return Paths(p, mirror_path(start, p, gamma, steps), gradient_path(start, p, gamma, steps))

    @cached_property
    def states(self) -> Paths:
        """Over A, B, C."""
        return self._paths(self.start, posterior(self.knobs.peak))

    @cached_property
    def density(self) -> Paths:
        """Over the cells of the grid."""
        return self._paths(wide_prior(), two_modes(self.knobs.peak))

    @cached_property
    def mirror_kl(self) -> np.ndarray:
        """Of the mirror steps."""
        return forward_kl(self.states.p, self.states.mirror)

    @cached_property
    def gradient_kl(self) -> np.ndarray:
        """Of the gradient steps; infinite where they are at an edge."""
        return forward_kl(self.states.p, self.states.gradient)

    def bound(self, t: np.ndarray | int) -> np.ndarray:
        """KL(p‖q_0) (1-γ)^t, which KL(p‖q_t) of the mirror steps never exceeds."""
        return self.mirror_kl[0] * self.left(t)

    def left(self, t: np.ndarray | int) -> np.ndarray:
        """(1-γ)^t, the share of log q_0 in log q_t."""
        return (1 - self.knobs.gamma) ** np.asarray(t, float)

    @property
    def been_zero(self) -> int:
        """How many of the states have had probability 0 on the gradient's way."""
        return int((self.states.gradient == 0).any(axis=0).sum())

    @property
    def cut(self) -> float:
        """The share of the grid at which the last gradient step is 0."""
        return float((self.density.gradient[-1] == 0).mean())
