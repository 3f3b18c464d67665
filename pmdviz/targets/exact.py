"""The exact posterior: in closed form, by a mixture, or by a sum over cells; and draws where it is not known.

The exact posterior of a target: in closed form for a Gaussian, by a grid sum in one and two dimensions.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeGuard

import numpy as np

from pmdviz.densities.density import GaussianMixture, Grid, normalise
from pmdviz.errors import TargetError
from pmdviz.kernels.checks import Array, Rng
from pmdviz.kernels.factors import cholesky, inverse
from pmdviz.kernels.mixture import gaussian_mixture_log_density
from pmdviz.streams import stream

if TYPE_CHECKING:
    from pmdviz.targets.base import Target

LogDensity = Callable[[Array], Array]
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

    centres: Array
    values: Array
    width: Array

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


def may_hold_mass(values: Array, siblings: int) -> Array:
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


def beside(cells: Cells, chosen: Array) -> Array:
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


def _groups(raster: Array) -> Array:
    """Labels (n,) of the connected groups of places (n, d), diagonal neighbours included: each takes its least one."""
    places = tuple(raster.T + 1)
    labels = np.full((RASTER + 2,) * len(places), (RASTER + 2) ** len(places))
    free = np.ones(labels.shape, bool)
    free[places] = False
    labels[places] = np.ravel_multi_index(places, labels.shape)
    near = labels
    while True:
        for axis in range(labels.ndim):
            near = np.minimum.reduce([near, np.roll(near, 1, axis), np.roll(near, -1, axis)])
        near[free] = labels.size
        if np.array_equal(near, labels):
            return np.unique(labels[places], return_inverse=True)[1]
        labels = near


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


def _checked(log_density: LogDensity, points: Array) -> Array:
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


def find_modes(target: Target) -> GaussianMixture | None:
    """Gaussians where the posterior has its mass, each once as wide as log p is curved there and once twice as wide.

    Newton's method with a trust region runs from up to 64 draws from the prior. Each run contributes the place where it
    ends, and the place on its way where Laplace's approximation log p - 1/2 log det(H / 2 pi) is largest: the mass of a
    funnel is not at its mode. None without a gradient, beyond 20 coordinates, or where the search costs more than 1e8
    gradients. This method is our own.
    """
    num_starts = int(min(STARTS, MOST_COST / (2 * target.dim * STEPS * target.num_data)))
    if not {"reals", "gradient"} <= target.offers or target.dim > MAX_DIM or num_starts < FEWEST_STARTS:
        return None
    with np.errstate(all="ignore"):
        starts = target.sample_prior(stream("modes"), num_starts) / target.scale
        log_p = _log_p(target, starts)
        usable = np.isfinite(log_p)
        return _mixture_of(_climbed(target, starts[usable], log_p[usable]), target.scale) if usable.any() else None


def _climbed(target: Target, x: Array, log_p: Array) -> list[Array]:
    """Log masses (2 s,), centres (2 s, d) and curvatures (2 s, d, d) of -log p: the best of each path, then its end.

    The mass is the log of Laplace's approximation to the integral of p, -inf where there is none. Coordinates are
    divided by the prior's sds.
    """
    s, d = x.shape
    widths, radius, places = np.full((s, d), 1e-4), np.ones(s), []  # the longest step that is allowed
    for _ in range(STEPS):
        gradient, curvature = _slopes(target, x, widths)
        usable = np.isfinite(gradient).all(axis=1) & np.isfinite(curvature).all(axis=(1, 2))
        curvature[~usable], gradient[~usable] = np.eye(d), 0.0
        values, vectors = np.linalg.eigh(curvature)
        places.append((_laplace(log_p, values, usable), x, curvature))
        widths = np.clip(0.01 / np.sqrt(np.maximum(np.einsum("sii->si", curvature), FLAT)), 1e-9, 1e-3)
        steep = np.maximum(np.abs(values), FLAT)  # Newton steps go upward also where log p is convex
        step = np.einsum("sij,sj->si", vectors, np.einsum("sji,sj->si", vectors, gradient) / steep)
        if (np.abs(np.einsum("si,si->s", gradient, step)) < 1e-8).all():
            break
        # Steps are shortened to the trust radius; those that do not raise log p are not taken.
        length = np.linalg.norm(step, axis=1)
        there = x + step * np.minimum(1.0, radius / np.maximum(length, 1e-300))[:, None]
        log_there = _log_p(target, there)
        higher = log_there >= log_p
        radius = np.where(higher, 2 * radius, np.minimum(radius, length) / 4)
        x, log_p = np.where(higher[:, None], there, x), np.where(higher, log_there, log_p)
    paths = [np.array(every) for every in zip(*places, strict=True)]  # (steps, s, ...)
    best = paths[0].argmax(axis=0), np.arange(s)
    return [np.concatenate([every[best], every[-1]]) for every in paths]


def _slopes(target: Target, x: Array, widths: Array) -> tuple[Array, Array]:
    """Gradient (s, d) of log p, and the curvature (s, d, d) of -log p by central differences of the gradient."""
    s, d = x.shape
    moves = widths[:, :, None] * np.eye(d)
    points = np.stack([x[:, None] + moves, x[:, None] - moves])
    gradients = (target.grad_log_joint(points.reshape(-1, d) * target.scale) * target.scale).reshape(2, s, d, d)
    curvature = -(gradients[0] - gradients[1]) / (2 * widths[:, :, None])
    return gradients.mean(axis=(0, 2)), 0.5 * (curvature + curvature.transpose(0, 2, 1))


def _log_p(target: Target, x: Array) -> Array:
    """log p (s,), -inf where it is not a number or outside the prior's support."""
    values = target.log_joint_on_support(x * target.scale)
    return np.where(np.isfinite(values), values, -np.inf)


def _laplace(log_p: Array, values: Array, usable: Array) -> Array:
    """log p + d/2 log 2 pi - 1/2 log det H, (s,); -inf where H is not positive definite."""
    solid = usable & (values > FLAT).all(axis=1)
    volume = 0.5 * (np.log(2 * np.pi) - np.log(np.maximum(values, FLAT))).sum(axis=1)
    return np.where(solid, log_p + volume, -np.inf)


def _mixture_of(found: list[Array], scale: Array) -> GaussianMixture | None:
    """Those that differ, heaviest first, half of the weight spread evenly and half by mass."""
    mass, centres, curvatures = found
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
    means, log_weights = np.concatenate([centres[kept]] * 2) * scale, np.log(np.concatenate([shares, shares]) / 2)
    return GaussianMixture(means, log_weights, np.concatenate([factors, WIDER * factors]))


# Points of a picture that a person can drag: true parameters and modes, from which the data are simulated again.


class Handle(NamedTuple):
    """A point that can be dragged, and the options of the target when it lies elsewhere.

    `moved(x, y)` gives options as they come from outside: values beyond their bounds are for the caller to clip
    (`KnobSpec.bounds`). In one dimension the second coordinate is always 0.
    """

    name: str  # such as "first mode"
    at: tuple[float, float]
    moved: Callable[[float, float], dict[str, float]]


KEPT_GRIDS = 12


class Reference(Protocol):
    """The interface of a reference: in closed form, on a grid, by enumeration, or as draws."""

    mean: Array  # (d,)
    cov: Array  # (d, d)
    mean_error: Array  # (d,) Monte Carlo standard error of `mean`; 0 where it is exact
    log_z: float | None  # log of the normalising constant p(X), where it is known

    def sample(self, rng: Rng, n: int) -> Array:
        """n draws (n, d)."""


class Exact(Reference, Protocol):
    """The interface of an exact posterior, whose `mean_error` is 0."""

    box: Box  # holds all but 1e-9 of the mass
    boxes: tuple[Box, ...]  # so do these, which do not overlap: one for each mode that stands apart

    def log_density(self, points: Array) -> Array:
        """log p(points | X), (n, d) -> (n,)."""

    def on_grid(self, grid: Grid, everywhere: bool = True) -> Array:
        """log p at the cell centres, shape `grid.shape`; unless `everywhere`, -inf outside `boxes`."""

    def mass_in(self, box: Box) -> float:
        """At least so much of the posterior's mass lies in `box`."""

    def narrowest(self, unit: Array) -> float:
        """Smallest sd of a mode in any direction, coordinates divided by `unit` (d,)."""


def probabilities(log_p: Array, volume: float = 1.0) -> tuple[Array, float]:
    """Probabilities (k,) of cells of one volume by their unnormalised log density, and the log of its normaliser."""
    peak = log_p.max()
    mass = np.exp(log_p - peak)
    return mass / mass.sum(), float(peak + np.log(mass.sum() * volume))


class Normalised:
    """An unnormalised log density (n, d) -> (n,), `_log_p`, whose normaliser is known."""

    _log_p: LogDensity
    log_z: float | None
    mean: Array  # (d,)
    cov: Array  # (d, d)

    def log_density(self, points: Array) -> Array:
        """log p(points), (n, d) -> (n,)."""
        return self._log_p(np.asarray(points, float)) - (self.log_z or 0.0)


class OnGrids:
    """log p at the cells of the last few grids; computed once each, safe to ask from several threads."""

    boxes: tuple[Box, ...]

    def __init__(self) -> None:
        self._kept: dict[tuple[Grid, bool], Array] = {}
        self._lock = threading.Lock()  # held while a grid is computed; a finished grid is read without it

    def log_density(self, points: Array) -> Array:
        """log p(points), (n, d) -> (n,)."""
        raise NotImplementedError

    def on_grid(self, grid: Grid, everywhere: bool = True) -> Array:
        """log p at the cell centres, shape `grid.shape`, read-only; unless `everywhere`, -inf outside `boxes`."""
        key = grid, everywhere
        found = self._kept.get(key)
        if found is not None:
            return found
        with self._lock:
            if key not in self._kept:
                points = grid.points
                asked = everywhere | np.any([Grid(box, 1).holds(points) for box in self.boxes], axis=0)
                values = np.full(len(points), -np.inf)
                values[asked] = self.log_density(points[asked])
                values.flags.writeable = False
                newest = list(self._kept.items())[1 - KEPT_GRIDS :]
                self._kept = {**dict(newest), key: values.reshape(grid.shape)}  # a new table: readers hold no lock
            return self._kept[key]


class GridExact(Normalised, OnGrids):
    """A posterior normalised by a sum over the small cells of `start_box` that hold its mass.

    The box `grows`, for a posterior with one mode, where that mode lies outside it.
    """

    def __init__(self, log_joint: LogDensity, start_box: Box, enough: int | None = None, grows: bool = False) -> None:
        super().__init__()
        self._log_p = log_joint
        self._cells = (grown_cells if grows else mass_cells)(log_joint, start_box, enough)
        self.box, self.boxes = self._cells.box, mode_boxes(self._cells)
        self._probability, self.log_z = probabilities(self._cells.values, float(np.prod(self._cells.width)))
        self.mean = self._probability @ self._cells.centres
        self.mean_error = np.zeros(len(self.mean))
        centred = self._cells.centres - self.mean
        self.cov = (centred * self._probability[:, None]).T @ centred
        self._mode_cov = _curvature_cov(log_joint, self._cells, self.cov)

    def sample(self, rng: Rng, n: int) -> Array:
        """n iid draws (n, d): a cell by its mass, uniform within the cell (cells are far below the posterior's sd)."""
        cells = rng.choice(len(self._probability), size=n, p=self._probability)
        return self._cells.centres[cells] + (rng.random((n, len(self.box))) - 0.5) * self._cells.width

    def mass_in(self, box: Box) -> float:
        """Share of the posterior's mass in `box`."""
        return float(self._probability[Grid(box, 1).holds(self._cells.centres)].sum())

    def narrowest(self, unit: Array) -> float:
        """Smallest sd of the highest mode in any direction, coordinates divided by `unit`."""
        return float(np.sqrt(np.linalg.eigvalsh(self._mode_cov / np.outer(unit, unit))[0]))


def read_only(values: Iterable[Array | float | None]) -> None:
    """Forbid writing to the arrays among them."""
    for array in values:
        if isinstance(array, np.ndarray):
            array.flags.writeable = False


def _curvature_cov(log_p: Callable[[Array], Array], cells: Cells, cov: Array) -> Array:
    """Covariance of the Gaussian with the curvature of log p at its highest cell, by second differences.

    At the edge of the support, without curvature, it is `cov`.
    """
    peak, steps, d = cells.centres[cells.values.argmax()], np.diag(cells.width), len(cov)
    a, b = steps[:, None], steps
    ends = np.array([peak + a + b, peak + a - b, peak - a + b, peak - a - b])  # (4, d, d, d)
    values = log_p(ends.reshape(-1, d)).reshape(4, d, d)
    if not np.isfinite(values).all():
        return cov
    precision = -(values[0] - values[1] - values[2] + values[3]) / (4 * np.outer(cells.width, cells.width))
    eigenvalues, vectors = np.linalg.eigh(precision)
    widest = np.max([high - low for low, high in cells.box])
    return (vectors / np.maximum(eigenvalues, 1.0 / widest**2)) @ vectors.T


# The reference of a run as draws, and its density where that is known.


def has_density(reference: Reference | None) -> TypeGuard[Exact]:
    """Whether the reference has a log density, and so is exact."""
    return hasattr(reference, "log_density")


class DrawsReference:
    """Draws (k, n, d) of k independent chains or estimates, with the standard errors of their means.

    `mean_error` is the sd of the chains' means over sqrt(k).
    """

    log_z: float | None = None

    def __init__(self, chains: Array) -> None:
        k, _, d = chains.shape
        self.draws = np.array(chains.reshape(-1, d), float)
        self.mean, centred = self.draws.mean(axis=0), self.draws - self.draws.mean(axis=0)
        self.cov = np.einsum("ni,nj->ij", centred, centred) / (len(self.draws) - 1)
        self.mean_error = chains.mean(axis=1).std(axis=0, ddof=1) / np.sqrt(k)

    def sample(self, rng: Rng, n: int) -> Array:
        """n of the draws (n, d), each at most once while there are enough."""
        return self.draws[rng.choice(len(self.draws), size=n, replace=n > len(self.draws))]


# A mixture of Gaussians, known in closed form: density, moments, draws, and marginals of its coordinates.

BOX_SDS = 8.0  # of a component, to either side: all but 1e-15 of it
MAX_COMPONENTS = 64  # with separate boxes


class GaussianMixtureExact(OnGrids):
    """sum_k w_k N(mean_k, C_k), everything in closed form.

    Parameters
    ----------
    weights : array (k,)
        At least 0; they are divided by their sum.
    means : array (k, d)
    cov : array (d, d), or (k, d, d)
        Of every component, or of each.
    log_z : float or None
        Log of the integral of the density that a run is given, in nats; None where it is not known.
    log_density : function (n, d) -> (n,), optional
        The same log density by another formula, for a mixture whose sum over components is slow.
    """

    def __init__(
        self, weights: Array, means: Array, cov: Array, log_z: float | None = 0.0, log_density: LogDensity | None = None
    ) -> None:
        super().__init__()
        self.weights, self.means, self.covs = np.array(weights, float), np.array(means, float), np.array(cov, float)
        self.weights /= self.weights.sum()
        self.log_z = log_z
        self._given = log_density
        self._shared = self.covs.ndim == 2
        self._choleskys = cholesky(self.covs.reshape(-1, *self.covs.shape[-2:]))  # (1 or k, d, d)
        self._inverses = np.array([inverse(factor) for factor in self._choleskys])
        self.mean, self.cov = self._moments()
        self.mean_error = np.zeros(self.means.shape[1])
        self.box, self.boxes = self._boxes()

    def log_density(self, points: Array) -> Array:
        """log sum_k w_k N(points | mean_k, C_k), (n, d) -> (n,)."""
        points = np.asarray(points, float)
        if self._given is not None:
            return self._given(points)
        with np.errstate(divide="ignore"):
            log_weights = np.log(self.weights)
        kept = np.flatnonzero(self.weights)
        if self._shared:
            white, means = self._whitened(points, 0), self._whitened(self.means[kept], 0)
            return gaussian_mixture_log_density(white, means, log_weights[kept], 1.0) + self._log_jacobian(0)
        total = np.full(len(points), -np.inf)
        for k in map(int, kept):  # one after the other: the memory does not grow with their number
            squares = (self._whitened(points - self.means[k], k) ** 2).sum(axis=1)
            constant = log_weights[k] + self._log_jacobian(k) - 0.5 * self.means.shape[1] * np.log(2 * np.pi)
            total = np.logaddexp(total, constant - 0.5 * squares)
        return total

    def sample(self, rng: Rng, n: int) -> Array:
        """n iid draws (n, d): a component by its weight, then a draw from it."""
        chosen = rng.choice(len(self.weights), size=n, p=self.weights) if len(self.weights) > 1 else np.zeros(n, int)
        noise = rng.standard_normal((n, self.means.shape[1]))
        if self._shared:
            return self.means[chosen] + np.einsum("ni,ji->nj", noise, self._choleskys[0])
        draws = self.means[chosen]
        for k in np.unique(chosen):
            draws[chosen == k] += np.einsum("ni,ji->nj", noise[chosen == k], self._choleskys[k])
        return draws

    def marginal_log_density(self, coordinates: Sequence[int]) -> Callable[[Array], Array]:
        """log p of some of the coordinates, (n, k) -> (n,): the mixture of theirs."""
        chosen = list(coordinates)
        covs = self.covs[..., np.array(chosen)[:, None], chosen]
        return GaussianMixtureExact(self.weights, self.means[:, chosen], covs).log_density

    def mass_in(self, box: Box) -> float:
        """The mass in `box`; at least so much lies there where coordinates are correlated within a component."""
        low, high = np.array(box).T
        sds = np.sqrt(np.diagonal(self.covs, axis1=-2, axis2=-1))
        inside = normal_cdf((high - self.means) / sds) - normal_cdf((low - self.means) / sds)  # (k, d)
        correlated = (self._choleskys != self._choleskys * np.eye(self.means.shape[1])).any()
        shares = np.maximum(1.0 - (1.0 - inside).sum(axis=1), 0.0) if correlated else inside.prod(axis=1)
        return float((self.weights * shares).sum())

    def narrowest(self, unit: Array) -> float:
        """Smallest sd of a component in any direction, coordinates divided by `unit` (d,)."""
        return float(np.linalg.svd(self._choleskys / np.asarray(unit)[:, None], compute_uv=False).min())

    def _whitened(self, points: Array, k: int) -> Array:
        """L_k^-1 x; not by BLAS, whose last bits depend on threads."""
        return np.einsum("ni,ji->nj", points, self._inverses[k])

    def _log_jacobian(self, k: int) -> float:
        return -float(np.log(np.diagonal(self._choleskys[k])).sum())

    def _moments(self) -> tuple[Array, Array]:
        """Mean (d,) and covariance (d, d): within the components and between them."""
        mean = (self.weights[:, None] * self.means).sum(axis=0)
        away = self.means - mean
        within = self.covs if self._shared else (self.weights[:, None, None] * self.covs).sum(axis=0)
        return mean, within + np.einsum("ki,kj->ij", self.weights[:, None] * away, away)

    def _boxes(self) -> tuple[Box, tuple[Box, ...]]:
        """The box that holds every component, and the boxes of separate groups, for a grid that needs them."""
        reach = BOX_SDS * np.sqrt(np.diagonal(self.covs, axis1=-2, axis2=-1))
        low, high = self.means - reach, self.means + reach
        whole = _box(low.min(axis=0), high.max(axis=0))
        if self.means.shape[1] > 2 or len(self.means) > MAX_COMPONENTS:
            return whole, (whole,)
        apart = merged([_box(*ends) for ends in zip(low, high, strict=True)])
        return whole, tuple(apart) if len(apart) <= MAX_BOXES else (whole,)


class GaussianExact(GaussianMixtureExact):
    """N(mean, cov), a mixture of one; `log_z` = log p(X) where it is given."""

    def __init__(self, mean: Array, cov: Array, log_z: float | None = None) -> None:
        super().__init__(np.ones(1), np.array(mean, float)[None], np.array(cov, float)[None], log_z)


def _box(low: Array, high: Array) -> Box:
    return tuple((float(a), float(b)) for a, b in zip(low, high, strict=True))


def normal_cdf(z: Array) -> Array:
    """Phi(z), element by element."""
    return _half_erfc(-np.asarray(z) / 2**0.5)


_half_erfc = np.vectorize(lambda u: 0.5 * math.erfc(u), otypes=[float])
