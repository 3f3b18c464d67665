"""Where a density has its mass: cells found by splitting, and modes found by Newton's method.

The cells that hold a density's mass, found by splitting: narrow modes in a wide box, without a fine grid over it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from pmdviz.densities.density import GaussianMixture, normalise
from pmdviz.densities.grid import Grid
from pmdviz.errors import TargetError
from pmdviz.streams import stream

LogDensity = Callable[[np.ndarray], np.ndarray]
Box = tuple[tuple[float, float], ...]

NATS_KEPT = 50.0  # cells whose log density is further below the peak hold no mass
NATS_BOXED = 30.0  # the same for the boxes that metrics are measured on
PARTS = 3  # that a cell is split into along each edge
COARSE_SIDE = {1: 512, 2: 32}
ENOUGH = {1: 4096, 2: 25_000}  # cells: 0.05 to 0.15 sd wide where there is one mode
RASTER, MAX_BOXES = 64, 8  # places along each edge to separate groups of cells; more groups: one box
MAX_DOUBLINGS = 40  # of a box that does not hold the mass
MAX_SPLITS = 60  # 3^-60 of the box is below rounding


class Cells(NamedTuple):
    """Equal cells: centres (n, d), log density there (n,), edges (d,)."""

    centres: np.ndarray
    values: np.ndarray
    width: np.ndarray

    @property
    def box(self) -> Box:
        """The smallest box that holds all cells."""
        low, high = self.centres.min(axis=0) - self.width / 2, self.centres.max(axis=0) + self.width / 2
        return tuple((float(a), float(b)) for a, b in zip(low, high, strict=True))


def mass_cells(log_density: LogDensity, box: Box, enough: int | None = None) -> Cells:
    """Cells with the mass of an unnormalised density (n, d) -> (n,) in `box`, in one or two dimensions.

    About `enough` of them: more than usual for a density whose mass is not a blob, such as a thin ridge.
    Raises TargetError for NaN, +inf, or a density that is 0 everywhere it was asked for.
    """
    dim, grid = len(box), Grid(box, COARSE_SIDE[len(box)])
    cells = _split(log_density, Cells(grid.points, np.empty(0), grid.extent / grid.side), PARTS)
    for _ in range(MAX_SPLITS):
        kept = may_hold_mass(cells.values, PARTS**dim)
        kept |= (cells.values == -np.inf) & beside(cells, kept)  # the edge of the support may run through them
        cells = Cells(cells.centres[kept], cells.values[kept], cells.width)
        parts = int(np.ceil(((enough or ENOUGH[dim]) / len(cells.centres)) ** (1 / dim)))
        if parts <= 1:
            break
        cells = _split(log_density, cells, min(parts, PARTS))
        if parts <= PARTS:
            break
    return cells


def grown_cells(log_density: LogDensity, box: Box, enough: int | None = None) -> Cells:
    """`mass_cells` of a box that is doubled until none of them lies at its edge. Raises TargetError.

    For a density with one mode, such as a log-concave one, which is found wherever it lies.
    """
    cells = mass_cells(log_density, box, enough)
    for _ in range(MAX_DOUBLINGS):
        edges = np.array(box), np.array(cells.box)
        if (np.abs(edges[0] - edges[1]) > cells.width[:, None] / 2).all():
            break
        box = tuple((1.5 * low - 0.5 * high, 1.5 * high - 0.5 * low) for low, high in box)
        cells = mass_cells(log_density, box, enough)
    return cells


def may_hold_mass(values: np.ndarray, siblings: int) -> np.ndarray:
    """Which cells lie, or may reach, within NATS_KEPT of the peak; `siblings` in a row come from one cell.

    A narrow peak between the centres can be far above all of them, by less than the values differ among siblings:
    for a quadratic by at most a quarter of that.
    """
    families = values.reshape(-1, siblings)
    known = families > -np.inf
    highest = families.max(axis=1, keepdims=True)
    lowest = np.where(known, families, highest).min(axis=1, keepdims=True)
    spread = np.where(known.any(axis=1, keepdims=True), highest - np.where(np.isfinite(lowest), lowest, 0), -np.inf)
    reach = np.maximum(families, lowest) + spread
    return (reach >= values.max() - NATS_KEPT).ravel()  # at 1e17 nats and more, 50 make no difference


def beside(cells: Cells, chosen: np.ndarray) -> np.ndarray:
    """Which cells (n,) touch one of the chosen ones (n,), or are one."""
    places = np.rint((cells.centres - cells.centres.min(axis=0)) / cells.width).astype(np.int64) + 1
    strides = np.cumprod([1, *(places.max(axis=0) + 2)])[:-1]
    keys = places @ strides
    around = np.array(np.meshgrid(*[[-1, 0, 1]] * len(strides))).reshape(len(strides), -1).T @ strides
    return np.isin(keys, np.unique(keys[chosen][:, None] + around))


def mode_boxes(cells: Cells) -> tuple[Box, ...]:
    """Boxes that do not overlap and together hold the mass: one for each group of cells that stands apart.

    The omitted part is below exp(-NATS_BOXED) of the peak. Groups are found on a raster of at most 64 places along
    each edge; boxes that overlap become one.
    """
    heavy = cells.values >= cells.values.max() - NATS_BOXED
    cells = Cells(cells.centres[heavy], cells.values[heavy], cells.width)
    low, width = np.array([pair[0] for pair in cells.box]), np.ptp(cells.box, axis=1)
    raster = np.minimum(((cells.centres - low) / width * RASTER).astype(int), RASTER - 1)
    labels = _groups(raster)
    boxes = [Cells(cells.centres[labels == k], cells.values, cells.width).box for k in range(labels.max() + 1)]
    return tuple(merged(boxes)) if len(boxes) <= MAX_BOXES else (cells.box,)


def _groups(raster: np.ndarray) -> np.ndarray:
    """Labels (n,) of the connected groups of places (n, d), diagonal neighbours included."""
    places, which = np.unique(raster, axis=0, return_inverse=True)
    numbers = {tuple(place): k for k, place in enumerate(places.tolist())}
    around = np.array(np.meshgrid(*[[-1, 0, 1]] * raster.shape[1])).reshape(raster.shape[1], -1).T
    labels, label = np.full(len(places), -1), 0
    for start in range(len(places)):
        if labels[start] >= 0:
            continue
        labels[start], waiting = label, [start]
        while waiting:
            for place in (places[waiting.pop()] + around).tolist():
                k = numbers.get(tuple(place))
                if k is not None and labels[k] < 0:
                    labels[k] = label
                    waiting.append(k)
        label += 1
    return labels[which.ravel()]


def merged(boxes: list[Box]) -> list[Box]:
    """The boxes with those that overlap made one, until none does."""
    for i, a in enumerate(boxes):
        for j, b in enumerate(boxes[:i]):
            if all(low < b[k][1] and b[k][0] < high for k, (low, high) in enumerate(a)):
                joined = tuple((min(p[0], r[0]), max(p[1], r[1])) for p, r in zip(a, b, strict=True))
                return merged([joined, *(box for k, box in enumerate(boxes) if k not in (i, j))])
    return boxes


def _split(log_density: LogDensity, cells: Cells, parts: int) -> Cells:
    width = cells.width / parts
    steps = (np.arange(parts) - (parts - 1) / 2)[:, None] * np.eye(len(width))[:, None] * width
    offsets = steps[0] if len(width) == 1 else (steps[0][:, None] + steps[1]).reshape(-1, 2)
    centres = (cells.centres[:, None] + offsets).reshape(-1, len(width))
    return Cells(centres, _checked(log_density, centres), width)


def _checked(log_density: LogDensity, points: np.ndarray) -> np.ndarray:
    values = log_density(points)
    bad = np.isnan(values) | (values == np.inf)
    if bad.any():
        theta, value = points[bad][0], values[bad][0]
        words = f"log_prior + log_likelihood is {value} at theta = {theta}, where the exact posterior is computed"
        raise TargetError(words, theta)
    if values.max() == -np.inf:
        words = "the prior times the likelihood is 0 wherever it was tried"
        raise TargetError(f"{words}, first at theta = {points[0]}; give bounds that hold the posterior", points[0])
    return values


# Where a posterior has its mass, by Newton's method, and points of a picture that can be dragged.
#
# A check of an approximation draws from these Gaussians besides, because draws of q alone never see a mode that q
# lacks.

STARTS, FEWEST_STARTS, STEPS = 64, 8, 40
MAX_DIM, MOST_COST = 20, 1e8  # coordinates; pairs of a point and an observation whose gradient is evaluated
MAX_KEPT = 32  # Gaussians
APART = 0.5  # sds of a Gaussian by which the next one's centre differs
MODE_NATS_KEPT = 15.0  # below the largest mass
FLAT = 0.01  # least curvature in units of the prior: a Gaussian of 10 prior sds
WIDER = 2.0  # sds of the second Gaussian at each place: p may have heavier tails than a Gaussian


class Climbers(NamedTuple):
    """Points on their way up, in coordinates divided by the prior's sds, and the best Gaussian that each has met."""

    x: np.ndarray  # (s, d)
    log_p: np.ndarray  # (s,)
    radius: np.ndarray  # (s,) the longest step that is allowed
    mass: np.ndarray  # (s,) largest log of Laplace's approximation to the integral of p so far; -inf: none
    centre: np.ndarray  # (s, d) where that was
    curvature: np.ndarray  # (s, d, d) there, of -log p


class Posterior(Protocol):
    """The part of a target that the search for modes uses."""

    offers: frozenset[str]
    dim: int
    num_data: int
    data_rows: np.ndarray
    scale: np.ndarray

    def sample_prior(self, rng: np.random.Generator, m: int) -> np.ndarray:
        """m draws (m, d) of the prior."""

    def log_prior(self, theta: np.ndarray) -> np.ndarray:
        """(m, d) -> (m,) in nats."""

    def log_likelihood(self, theta: np.ndarray, batch: np.ndarray) -> np.ndarray:
        """(m, d) -> (m,) in nats."""

    def grad_log_joint(self, theta: np.ndarray) -> np.ndarray:
        """(m, d) -> (m, d), of log prior and log likelihood of all data."""


def find_modes(target: Posterior) -> GaussianMixture | None:
    """Gaussians where the posterior has its mass, each once as wide as log p is curved there and once twice as wide.

    Newton's method with a trust region runs from up to 64 draws from the prior. Each run contributes the place where it
    ends, and the place on its way where Laplace's approximation log p - 1/2 log det(H / 2 pi) is largest: the mass of a
    funnel is not at its mode. None without a gradient, beyond 20 coordinates, or where the search costs more than 1e8
    gradients. This method is our own.
    """
    num_starts = int(min(STARTS, MOST_COST / (2 * target.dim * STEPS * target.num_data)))
    if not {"reals", "gradient"} <= target.offers or target.dim > MAX_DIM or num_starts < FEWEST_STARTS:
        return None
    starts = target.sample_prior(stream("modes"), num_starts)
    with np.errstate(all="ignore"):
        gaussians = [*_climbed(target, starts / target.scale)]
        return _mixture_of(gaussians, target.scale)


def _climbed(target: Posterior, x: np.ndarray) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """(log masses, centres, curvatures) of the best places on each path, and of its ends."""
    log_p = _log_p(target, x)
    x, log_p = x[np.isfinite(log_p)], log_p[np.isfinite(log_p)]
    s, d = x.shape
    widths = np.full((s, d), 1e-4)
    at = Climbers(x, log_p, np.ones(s), np.full(s, -np.inf), x, np.tile(np.eye(d), (s, 1, 1)))
    ends = np.full(s, -np.inf), x, at.curvature
    for _ in range(STEPS if s else 0):
        gradient, curvature = _slopes(target, at.x, widths)
        usable = np.isfinite(gradient).all(axis=1) & np.isfinite(curvature).all(axis=(1, 2))
        curvature[~usable], gradient[~usable] = np.eye(d), 0.0
        values, vectors = np.linalg.eigh(curvature)
        mass = _laplace(at.log_p, values, usable)
        better = mass > at.mass
        at = at._replace(
            mass=np.where(better, mass, at.mass),
            centre=np.where(better[:, None], at.x, at.centre),
            curvature=np.where(better[:, None, None], curvature, at.curvature),
        )
        ends = mass, at.x, curvature
        widths = np.clip(0.01 / np.sqrt(np.maximum(np.einsum("sii->si", curvature), FLAT)), 1e-9, 1e-3)
        steep = np.maximum(np.abs(values), FLAT)  # Newton steps go upward also where log p is convex
        step = np.einsum("sij,sj->si", vectors, np.einsum("sji,sj->si", vectors, gradient) / steep)
        if (np.abs(np.einsum("si,si->s", gradient, step)) < 1e-8).all():
            break
        at = _moved(target, at, step)
    return [(at.mass, at.centre, at.curvature), ends]


def _moved(target: Posterior, at: Climbers, step: np.ndarray) -> Climbers:
    """Take the steps, shortened to the trust radius, that raise log p; the others halve their radius twice."""
    length = np.linalg.norm(step, axis=1)
    there = at.x + step * np.minimum(1.0, at.radius / np.maximum(length, 1e-300))[:, None]
    log_p = _log_p(target, there)
    higher = log_p >= at.log_p
    return at._replace(
        x=np.where(higher[:, None], there, at.x),
        log_p=np.where(higher, log_p, at.log_p),
        radius=np.where(higher, 2 * at.radius, np.minimum(at.radius, length) / 4),
    )


def _slopes(target: Posterior, x: np.ndarray, widths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gradient (s, d) of log p, and the curvature (s, d, d) of -log p by central differences of the gradient."""
    s, d = x.shape
    moves = widths[:, :, None] * np.eye(d)
    points = np.stack([x[:, None] + moves, x[:, None] - moves])
    gradients = (target.grad_log_joint(points.reshape(-1, d) * target.scale) * target.scale).reshape(2, s, d, d)
    curvature = -(gradients[0] - gradients[1]) / (2 * widths[:, :, None])
    return gradients.mean(axis=(0, 2)), 0.5 * (curvature + curvature.transpose(0, 2, 1))


def _log_p(target: Posterior, x: np.ndarray) -> np.ndarray:
    """log p (s,), -inf where it is not a number or outside the prior's support."""
    theta = x * target.scale
    values = target.log_prior(theta)
    inside = np.isfinite(values)
    if inside.any():
        values[inside] += target.log_likelihood(theta[inside], target.data_rows)
    return np.where(np.isfinite(values), values, -np.inf)


def _laplace(log_p: np.ndarray, values: np.ndarray, usable: np.ndarray) -> np.ndarray:
    """log p + d/2 log 2 pi - 1/2 log det H, (s,); -inf where H is not positive definite."""
    solid = usable & (values > FLAT).all(axis=1)
    volume = 0.5 * (np.log(2 * np.pi) - np.log(np.maximum(values, FLAT))).sum(axis=1)
    return np.where(solid, log_p + volume, -np.inf)


def _mixture_of(found: list[tuple[np.ndarray, np.ndarray, np.ndarray]], scale: np.ndarray) -> GaussianMixture | None:
    """Those that differ, heaviest first, half of the weight spread evenly and half by mass."""
    mass, centres, curvatures = (np.concatenate(parts) for parts in zip(*found, strict=True))
    kept: list[int] = []
    for k in np.argsort(-mass):
        if len(kept) == MAX_KEPT or not mass[k] > mass.max() - MODE_NATS_KEPT:
            break
        moves = centres[kept] - centres[k]
        if all(move @ curvatures[j] @ move > APART**2 for j, move in zip(kept, moves, strict=True)):
            kept.append(int(k))
    if not kept:
        return None
    shares = 0.5 * np.exp(normalise(mass[kept])) + 0.5 / len(kept)
    factors = np.linalg.cholesky(np.linalg.inv(curvatures[kept])) * scale[:, None]
    return GaussianMixture(
        np.concatenate([centres[kept]] * 2) * scale,
        np.log(np.concatenate([shares, shares]) / 2),
        np.concatenate([factors, WIDER * factors]),
    )


# Points of a picture that a person can drag: true parameters and modes, from which the data are simulated again.


class Handle(NamedTuple):
    """A point that can be dragged, and the options of the target when it lies elsewhere.

    `moved(x, y)` gives options as they come from outside: values beyond their bounds are for the caller to clip
    (`KnobSpec.bounds`). In one dimension the second coordinate is always 0.
    """

    name: str  # such as "first mode"
    at: tuple[float, float]
    moved: Callable[[float, float], dict[str, float]]
