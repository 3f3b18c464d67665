"""What methods with weighted particles share: weights, draws, and the smoothing kernel that makes a density of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import Protocol, Self, TypeVar

import numpy as np

from pmdviz.densities import bandwidth
from pmdviz.densities.density import (
    Density,
    KernelDensity,
    Points,
    Shape,
    ShapedDensity,
    effective_sample_size,
    normalise,
    weighted_sum,
)
from pmdviz.densities.product import MANY, DiagonalDensity, Smoothed, diagonal_density, few_density
from pmdviz.errors import TargetError
from pmdviz.kernels.checks import Array, Rng
from pmdviz.kernels.resampling import multinomial, residual, stratified, systematic, thinned
from pmdviz.knobs import Choice, Real, Whole
from pmdviz.methods.base import Method, checked_log_prior, rows_in_words
from pmdviz.methods.step import MethodKnobs, Scalar, Term, Update
from pmdviz.targets import Target

# Weights: what changes them, as terms that add up, and the words and numbers that tell how they are.

SCALARS = (
    Scalar("ess_before", "ESS before the step", "particles", True),
    Scalar("zero_weight", "particles of weight 0", "particles"),
)
PREVIOUS = Term("previous", "weight before", "log w", "What the steps before have made of it.")
NORMALISER = Term("normaliser", "normaliser", "− log Σ w", "The same for all: it makes the weights add up to 1.")
ROUNDING = 1e-9  # equal weights have ESS = m but for rounding, and are never below a threshold of 1
SHAPE_COST = 1.0  # nats that a shape may cost which is estimated from few particles


def ess_below(ess: float, threshold: float, m: int) -> bool:
    """Whether an effective sample size in [1, m] is below `threshold` m."""
    return ess < threshold * m * (1 - ROUNDING)


def equal(m: int) -> Array:
    """-log m for each of m particles, (m,)."""
    return np.full(m, -np.log(m))


def descended(fewest: float, at: int, particles: Array) -> str:
    """The caveat of particles (m, d) that descend from `fewest` effective ones, of iteration `at`; "" for enough.

    Fewer than d + 2 have no covariance. A Gaussian with the covariance of n is d (d + 3) / (4 n) nats off on average
    (Akaike 1974: half a nat a parameter over n).
    """
    m, d = particles.shape
    if m < d + 2 or fewest >= max(d + 2, d * (d + 3) / (4 * SHAPE_COST)):
        return ""
    few = f"at iteration {at:,} they were too few to estimate a covariance, and the ESS since then does not show it"
    cure = "restart with more particles or smaller first steps"
    return f"all descend from {fewest:.1f} effective particles: {few}; {cure}"


def update(*terms: Term, formula: str = "log w′", fresh: bool = False) -> Update:
    """The update of log-weights: the sum of the terms and their normaliser."""
    return Update("weights", formula, "new log-weight", "nats", (*terms, NORMALISER), fresh)


def following(title: str, formula: str, about: str = "") -> Update:
    """The update of log-weights by a likelihood that is added to them; `about` explains that term."""
    return update(PREVIOUS, Term("likelihood", title, formula, about))


def tempered(about: str) -> Update:
    """The same by a rise Δβ of the temperature."""
    return following("likelihood of all data", "+ Δβ log p(X | θ)", about)


def terms(log_weights: Array, **parts: Array) -> dict[str, Array]:
    """The parts (m,) of an update with its normaliser besides: together they are the new `log_weights` (m,)."""
    total = reduce(np.add, parts.values())
    best = int(np.argmax(log_weights))
    return {**parts, "normaliser": np.full(len(log_weights), log_weights[best] - total[best])}


def scalars(ess: float, log_weights: Array) -> dict[str, float]:
    """The numbers of WEIGHTED: the ESS before the step, and how many particles have weight 0 after it."""
    return {"ess_before": ess, "zero_weight": int((log_weights == -np.inf).sum())}


def words(log_weights: Array) -> str:
    """The effective sample size of normalised log-weights (m,), and how many of them are 0, for a step's line."""
    m, ess, zeros = len(log_weights), effective_sample_size(log_weights), int((log_weights == -np.inf).sum())
    return f"ESS {ess:,.0f} of {m:,} ({ess / m:.0%})" + (f" · {zeros:,} particles have weight 0" if zeros else "")


def normalised(log_weights: Array, particles: Array, batch: Array) -> Array:
    """Log-weights (m,) with logsumexp 0. Raises TargetError where no particle has any weight left."""
    if log_weights.max() == -np.inf:
        at, rows = particles[0], rows_in_words(batch)
        cure = "use more particles, larger batches or smaller steps, or widen the prior"
        raise TargetError(f"every particle (one is theta = {at}) has probability 0 after {rows}; {cure}", at, rows)
    return normalise(log_weights)


# Draws of particles from a prior and from a density estimate.

DRAWS = {"balanced": 16, "independent": 1}  # candidates for each draw
MAX_NUMBERS = 4_000_000  # coordinates of all candidates, 32 MB: beyond it each draw has fewer

RESAMPLERS: dict[str, Callable[[Rng, Array, int], Array]] = {
    "systematic": lambda rng, weights, n: systematic(weights, n, rng.random()),
    "stratified": lambda rng, weights, n: stratified(weights, rng.random(n)),
    "residual": lambda rng, weights, n: residual(weights, rng.random(n)),
    "multinomial": lambda rng, weights, n: multinomial(weights, rng.random(n)),
}


def candidates_each(draws: str, n: int, dim: int) -> int:
    """How many candidates there are for each of n draws in `dim` dimensions."""
    return max(1, min(DRAWS[draws], MAX_NUMBERS // (n * dim)))


def from_prior(rng: Rng, target: Target, n: int, draws: str) -> Array:
    """n draws (n, d) from the target's prior; cells are as wide as the prior's sd makes them."""
    each = candidates_each(draws, n, target.dim)
    candidates = target.sample_prior(rng, each * n)
    if each == 1:
        return candidates
    return candidates[thinned(candidates / target.scale, n, rng.random(n))]


def children(rng: Rng, density: Smoothed, n: int, draws: str, resampler: str) -> tuple[Array, Array]:
    """n draws (n, d) from a weighted KDE, parents by resampling plus kernel noise; for each the row (n,) of its parent.

    Cells are made in the units of the kernel, in which the density is smooth.
    """
    d = density.particles.shape[1]
    each = candidates_each(draws, n, d)
    parents = RESAMPLERS[resampler](rng, density.weights, each * n)
    noise = rng.standard_normal((each * n, d))
    if each > 1:
        chosen = thinned(density.in_kernels(parents, noise), n, rng.random(n))
        parents, noise = parents[chosen], noise[chosen]
    return density.displaced(parents, noise), parents


# What methods with weighted particles share: two knobs, draws from the prior, and weights that must not all vanish.

MOST_MOVED = 0.2  # of the weight, since the clusters were chosen


NUM_PARTICLES = Whole(1, (1, 100_000), (5, 50_000), "Particles m", log=True, basic=True, acts="restart")
ESS_THRESHOLD = Real(0.5, "(0, 1]", (0.05, 1), "ESS threshold τ", "fraction of m")


class Weighted(Protocol):
    """A state with weighted particles."""

    @property
    def particles(self) -> Array:
        """(m, d)."""

    @property
    def log_weights(self) -> Array:
        """(m,)."""


class Resizable(Weighted, Protocol):
    """Such a state, which can be copied with changes."""

    def _replace(self, *, particles: Array = ..., log_weights: Array = ...) -> Self:
        """As of a NamedTuple."""


OneState = TypeVar("OneState", bound=Resizable)


def resized(
    rng: Rng,
    state: OneState,
    m: int,
    target: Target,
    others: tuple[str, ...] = (),
    density: Callable[[], Smoothed] | None = None,
) -> tuple[OneState, str, Array | None]:
    """`state` with m particles of equal weight: a random subset of the old ones, or all of them and copies.

    Also the action in words, and the row (m,) that each comes from; "" and None where there are m already. `others`
    name further arrays of the state with a row for each particle. Copies are moved by the noise of their kernel in
    `density()`, unless that takes them out of the prior's support; without a density they are not moved.
    """
    old = len(state.particles)
    if m == old:
        return state, "", None
    order = np.argsort(rng.random(old), kind="stable")
    rows = np.sort(order[:m]) if m < old else np.concatenate([np.arange(old), np.resize(order, m - old)])
    parts = {name: getattr(state, name)[rows] for name in ("particles", *others)}
    if m > old and density is not None:
        moved = density().displaced(rows[old:], rng.standard_normal((m - old, target.dim)))
        inside = checked_log_prior(target, moved) > -np.inf
        parts["particles"][old:][inside] = moved[inside]
    parts["log_weights"] = equal(m)
    words = f"particles {old:,} → {m:,}, {'a random subset' if m < old else 'with copies'} · "
    return state._replace(**parts), words, rows


def covariance(particles: Array, weights: Array, scale: Array) -> Array:
    """Weighted covariance (d, d) of particles (m, d), with a little added that makes few or coincident ones solid."""
    centred = particles - weighted_sum(weights, particles)
    return np.einsum("m,mi,mj->ij", weights, centred, centred) + covariance_floor(particles, weights, scale)


def covariance_floor(particles: Array, weights: Array, scale: Array) -> Array:
    """Diagonal (d, d) that makes a covariance of the particles invertible: 1e-8 of their variance, and a trace more."""
    return np.diag((bandwidth.SPREAD_FLOOR * bandwidth.spread(particles, weights) + bandwidth.PRIOR_FLOOR * scale) ** 2)


def prior_draws(rng: Rng, target: Target, m: int, spread: str = "independent") -> tuple[Array, Array]:
    """m draws (m, d) from the prior and their log prior (m,). Raises TargetError where a draw has none.

    `spread` is a name of DRAWS.
    """
    particles = from_prior(rng, target, m, spread)
    log_prior = checked_log_prior(target, particles)
    if (log_prior == -np.inf).any():
        at = particles[log_prior == -np.inf][0]
        words = f"log_prior of target {target.name!r} is -inf at its own draw theta = {at}"
        raise TargetError(f"{words}; sample_prior and log_prior must describe the same distribution", at)
    return particles, log_prior


# The smoothing kernel of weighted particles: its knobs, and the density estimate that they give.

KERNELS = {
    "isotropic": "round, fixed width",
    "median": "round, by distances",
    "covariance": "shape of all particles",
    "local": "shape of each mode",
    "shaped": "automatic, by cluster",
}
WIDTHS = {"isotropic": 0.1, "median": 0.1, "covariance": 0.35, "local": 0.75, "shaped": 1.0}
BY_RULE = ("bandwidth_rule", WIDTHS)
SCALED = ("bandwidth_rule", ("local", "covariance"))
WIDTH_UNIT = "times the rule"
WIDTH = Real(1.0, (1e-6, 1_000_000), (0.02, 5), "Width of a kernel", WIDTH_UNIT, log=True, basic=True)


class SmoothingKnobs(MethodKnobs):
    """The kernel's knobs, for every method whose state is a set of particles.

    bandwidth_rule: The shape of the kernel around each particle. Round: sd h, or h median distances between particles.
        Shape of all particles, or of each mode: their covariance, scaled by c m^(-1/(d+2β)). Automatic: one kernel
        shape for each cluster, which leaves mean and covariance unchanged; leave-one-out picks the width.
    bandwidth: Width of the smoothing kernel that turns the particles into the density q. Its unit follows the rule:
        units of θ (fixed width), median distances, the factor c (shapes), or times the automatic width. Automatic: up
        to 0.95 of its cluster's width a kernel leaves mean and covariance as they are; a wider one smears the cluster.
    smoothness: Assumed smoothness of the posterior: h shrinks like m^(-1/(d+2β)). 2 suits a Gaussian kernel; the paper
        assumes 1.
    """

    bandwidth_rule = Choice("shaped", KERNELS, "Bandwidth rule", acts="at once")
    bandwidth = WIDTH.at(1.0, label="Bandwidth h", unit=WIDTH_UNIT, acts="at once", default_by=BY_RULE)
    smoothness = Real(2.0, (0, 1000), (0, 6), "Smoothness β", acts="at once", only_if=SCALED)


BANDWIDTH_RULE, BANDWIDTH, SMOOTHNESS = SmoothingKnobs.specs().values()


class SmoothedMethod(Method):
    """A method with `SmoothingKnobs`: its state has particles (m, d) and log weights (m,), and q is their KDE.

    A state may also say of how many candidates `each` of its particles was chosen.
    """

    def density(self, state: Weighted, knobs: SmoothingKnobs, target: Target) -> Smoothed:
        """The weighted KDE before any resampling, by the rule of the knobs."""
        return smoothed(state.particles, state.log_weights, knobs, target.scale, getattr(state, "each", 1))

    def weighted(self, state: Weighted, knobs: SmoothingKnobs) -> Points:
        """The particles as they are, without a density: its clusters would be chosen too early."""
        return Points(state.particles, state.log_weights)


def smoothed(
    particles: Array, log_weights: Array, knobs: SmoothingKnobs, scale: Array, each: int = 1, old: Density | None = None
) -> Smoothed:
    """The KDE of particles (m, d) by the rule of the knobs; `scale` (d,) are the prior's sds.

    Every particle was chosen of so many candidates `each`. The clusters of `old` are kept where it has these
    particles with almost the same weights. Beyond 100 coordinates kernels without a covariance, round
    ones and the kernels of fewer than d + 2 particles, are kept as sds: matrices of d x d would dwarf the particles.
    """
    weights = np.exp(log_weights)
    (m, d), round_ = particles.shape, knobs.bandwidth_rule in ("isotropic", "median")
    if d > MANY and round_:
        return _round(particles, log_weights, knobs, scale)
    if d > MANY and m < d + 2:
        if knobs.bandwidth_rule == "shaped":
            width = min(bandwidth.chosen_shape(particles, weights, each).width * knobs.bandwidth, bandwidth.WIDEST)
            return few_density(particles, log_weights, width, scale)
        h = knobs.bandwidth * m ** (-1.0 / (d + 2 * knobs.smoothness))
        return replace(few_density(particles, log_weights, h, scale), centres=particles)
    if knobs.bandwidth_rule == "shaped":
        shape = bandwidth.chosen_shape(particles, weights, each, _shape_near(old, particles, weights) if old else None)
        return bandwidth.shaped_density(particles, log_weights, shape, knobs.bandwidth, scale)
    rule = bandwidth.RULES[knobs.bandwidth_rule]
    cholesky = rule(particles, weights, knobs.bandwidth, scale, knobs.smoothness)
    given = knobs.bandwidth_rule == "isotropic"  # a given width takes no shape
    return KernelDensity(particles, log_weights, cholesky, m < d + 2 and not given)


def _shape_near(last: Density, particles: Array, weights: Array) -> Shape | None:
    """The shape of a density of the same particles, if at most a fifth of the weight has moved since."""
    if not isinstance(last, ShapedDensity) or not np.array_equal(last.particles, particles):
        return None
    return last.shape if np.abs(weights - last.weights).sum() <= 2 * MOST_MOVED else None


def _round(particles: Array, log_weights: Array, knobs: SmoothingKnobs, scale: Array) -> DiagonalDensity:
    """Round kernels of the width that the rule `isotropic` or `median` gives."""
    (m, d), given = particles.shape, knobs.bandwidth_rule == "isotropic"
    unit = 1.0 if given else bandwidth.typical_distance(particles, np.exp(log_weights), scale)
    sds = np.full(d, knobs.bandwidth * unit)
    return DiagonalDensity(particles, log_weights, particles, sds, m < d + 2 and not given)


def smoothed_along(particles: Array, log_weights: Array, knobs: SmoothingKnobs, scale: Array) -> DiagonalDensity:
    """The same for many coordinates: a kernel without a shape, with the width that suits each coordinate.

    Round kernels stay what they are. The factor of all others gives m^(-1/5) sds of each coordinate.
    """
    if knobs.bandwidth_rule in ("isotropic", "median"):
        return replace(_round(particles, log_weights, knobs, scale), few=False)
    return diagonal_density(particles, log_weights, knobs.bandwidth, scale)
