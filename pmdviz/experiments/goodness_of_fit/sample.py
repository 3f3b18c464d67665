"""The points to be tested: an array as it is, or what a frame holds, made as nearly independent as a test supposes."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from pmdviz.densities.chains import FEWEST as FEWEST_DRAWS
from pmdviz.densities.chains import correlation_time, halves, normal_scores
from pmdviz.engine.frame import Frame
from pmdviz.engine.run import Run
from pmdviz.engine.session import Session
from pmdviz.errors import InputError
from pmdviz.targets import Target
from pmdviz.targets.reference.enumeration import Enumeration, states_of
from pmdviz.targets.space import Discrete

MOST, FEWEST = 1000, 10  # points that are tested
TAUS = 2.0  # correlation times from one draw of a chain that is taken to the next: a correlation near exp(-4) is left
SHARE_OF_ESS = 0.1  # of resampled particles; with all of them sizes up to 0.3 were measured at level 0.05


class Sample(NamedTuple):
    """Points to be tested, and what was done to have them."""

    points: np.ndarray  # (n, d)
    words: str


class Route(NamedTuple):
    """How points come out of one kind of frame."""

    fits: Callable[[Frame], bool]
    take: Callable[[Frame, np.random.Generator], Sample]


def sample_of(given: Any, target: Target, rng: np.random.Generator) -> Sample:
    """Points (n, d) of `target` from an array, a Frame, a Session or a Run; at most 1,000 of them.

    Raises InputError for what is none of these, for fewer than 10 points, values that are not finite, and frames whose
    points vary less than independent ones by design.
    """
    frame = frame_of(given)
    points, words = points_of(frame, rng) if frame is not None else Sample(given, "")
    points = target.space.check(points)
    if not np.isfinite(points).all():
        raise InputError("the sample must hold finite numbers; it has NaN or infinite ones")
    if len(points) > MOST:
        at_random = f"{MOST:,} of {len(points):,} points, at random"
        points = points[rng.choice(len(points), size=MOST, replace=False)]
        words = f"{words}; {at_random}" if words else at_random
    if len(points) < FEWEST:
        how = f" ({words}): run it longer or with more particles" if words else ": give more"
        raise InputError(
            f"a test needs at least {FEWEST} independent points; the sample has {len(points)}{how}", "sample"
        )
    return Sample(points, words)


def frame_of(given: Any) -> Frame | None:
    """The frame that a Run or a Session stands at; None for an array."""
    if isinstance(given, Run):
        return given.final
    if isinstance(given, Session):
        return given.frame
    return given if isinstance(given, Frame) else None


def points_of(frame: Frame, rng: np.random.Generator) -> Sample:
    """Points of a frame and what was done to have them, by the first of ROUTES that fits. Raises InputError."""
    return next(route for route in ROUTES if route.fits(frame)).take(frame, rng)


def weighted(frame: Frame) -> bool:
    """Whether particles differ in weight."""
    return bool(np.ptp(frame.weights) > 1e-9 * frame.weights.max())


def is_balanced(frame: Frame) -> bool:
    """Whether particles were drawn evenly spread, by the method's knob `draws`."""
    return getattr(frame.knobs, "draws", "") == "balanced"


def refuse_balanced(frame: Frame, rng: np.random.Generator) -> Sample:
    """Their sums vary less than those of independent points: what a test does with them is unknown."""
    knob, words = frame.knobs.specs()["draws"], "and vary less than independent points, which a test supposes"
    raise InputError(
        f"the particles of method {frame.method.name!r} were drawn evenly spread, {words}: run it with "
        "draws = 'independent'",
        "sample",
        f"The particles were drawn evenly spread, {words}: set {knob.label} to “{knob.said('independent')}”.",
    )


def refuse_cancelling(frame: Frame, rng: np.random.Generator) -> Sample:
    """Weights that depend on all points at once."""
    raise InputError(
        f"a test supposes independent points; of method {frame.method.name!r} {frame.method.varies_less(frame.knobs)}: "
        "test a run of importance or mala instead",
        "sample",
    )


def thinned(frame: Frame, rng: np.random.Generator) -> Sample:
    """Of chains every ceil(2 tau)-th draw, tau the longest correlation time of some functions of the draws."""
    chains = frame.chains
    if chains.shape[1] < FEWEST_DRAWS:
        raise InputError(f"a test needs more than {chains.shape[1]} draws of a chain: run it longer", "sample")
    tau = longest_correlation_time(chains, isinstance(frame.target.space, Discrete))
    step = int(np.ceil(TAUS * tau))
    points, total = chains[:, step - 1 :: step].reshape(-1, chains.shape[2]), chains.shape[0] * chains.shape[1]
    return Sample(points, f"one draw in {step:,} of {total:,}, as the chain's correlation time is {tau:.1f} draws")


def longest_correlation_time(chains: np.ndarray, states: bool) -> float:
    """tau >= 1 of chains (C, n, d): the longest of any coordinate and of their mean; of real ones of squares too.

    Of real coordinates by normal scores. Trajectories that swing to the other side have coordinates that are hardly
    correlated, and an energy that is.
    """
    coordinates = [halves(one) for one in np.moveaxis(chains, 2, 0) if one.min() < one.max()]
    if not coordinates:
        return float(chains.shape[1])
    scores = coordinates if states else [normal_scores(one) for one in coordinates]
    more = [np.mean(scores, axis=0)] if states else [one**2 for one in scores]
    return max([1.0, *(correlation_time(one) for one in scores + more if one.min() < one.max())])


def by_weight(frame: Frame, rng: np.random.Generator) -> Sample:
    """Particle i with probability w_i / max w: of independent particles and importance weights these are iid from p."""
    particles, weights = frame.particles, frame.weights
    kept = rng.random(len(weights)) * weights.max() < weights
    words = f"{kept.sum():,} of {len(weights):,} particles, each taken with probability w / max w"
    return few_of_a_generation(frame, Sample(particles[kept], words), rng)


def few_of_a_generation(frame: Frame, sample: Sample, rng: np.random.Generator) -> Sample:
    """A tenth of the ESS at most where particles have been resampled: their parents' errors are common to all."""
    most = int(SHARE_OF_ESS / (frame.weights**2).sum())
    if not frame.rejuvenations or len(sample.points) <= most:
        return sample
    chosen = rng.choice(len(sample.points), size=most, replace=False)
    return Sample(sample.points[chosen], f"{sample.words}, and {most:,} of these, as they share ancestors")


def from_density(frame: Frame, rng: np.random.Generator) -> Sample:
    """Independent draws: one at a time, as a density's draws are stratified among themselves."""
    density = frame.density
    points = np.concatenate([density.sample(rng, 1) for _ in range(MOST)])
    return Sample(points, f"{MOST:,} independent draws of the fitted density")


def as_they_are(frame: Frame, rng: np.random.Generator) -> Sample:
    """Equally weighted particles."""
    reason = frame.method.varies_less(frame.knobs)
    note = f"; {reason} than independent points, and rejections are rarer or more frequent than alpha" if reason else ""
    return few_of_a_generation(frame, Sample(np.array(frame.particles), f"the particles as they are{note}"), rng)


ROUTES = (
    Route(lambda frame: frame.method.family == "chain", thinned),
    Route(lambda frame: frame.method.family != "particles", from_density),
    Route(is_balanced, refuse_balanced),
    Route(lambda frame: weighted(frame) and bool(frame.method.varies_less(frame.knobs)), refuse_cancelling),
    Route(weighted, by_weight),
    Route(lambda frame: True, as_they_are),
)


# Discrete states as numbers, and sums over the coordinates of what depends on a pair of values.

MAX_STATES = 2**12  # that a test visits all of


def codes_of(space: Discrete, points: np.ndarray) -> np.ndarray:
    """The place of each coordinate's value among the values in ascending order, (n, d) -> (n, d)."""
    return np.searchsorted(np.sort(space.values), points)


def pair_sums(codes: np.ndarray, table: np.ndarray, factors: np.ndarray | None = None) -> np.ndarray:
    """sum_k f_ik table[c_ik, c_jk] for every pair, (n, n), from codes (n, d) and a table (K, K); f (n, d) or 1."""
    rows = np.eye(len(table))[codes]
    if factors is not None:
        rows = rows * factors[:, :, None]
    columns = table.T[codes]
    flat = len(codes), -1
    return np.einsum("ik,jk->ij", rows.reshape(flat), columns.reshape(flat))  # not BLAS: its bits depend on threads


def log_p(target: Target, points: np.ndarray) -> np.ndarray:
    """Unnormalised log probabilities (n,), in nats. Raises InputError where one is not finite."""
    values = target.log_joint(points)
    if not np.isfinite(values).all():
        bad = target.space.words(points[~np.isfinite(values)][0])
        raise InputError(f"the sample holds {bad}, at which log p of target {target.name!r} is not finite")
    return values


def inverse_weights(log_density: np.ndarray) -> np.ndarray:
    """1 / p, of mean 1 over the points, from log p (n,)."""
    weights = np.exp(log_density.min() - log_density)
    return weights / weights.mean()


def neighbour_ratios(target: Target, points: np.ndarray) -> np.ndarray:
    """p(z with coordinate k at its next value) / p(z), (n, d); after the largest value comes the smallest."""
    values, codes, own = np.sort(target.space.values), codes_of(target.space, points), log_p(target, points)
    following = values[(codes + 1) % len(values)]
    ratios = np.empty(points.shape)
    for k in range(points.shape[1]):
        moved = points.copy()
        moved[:, k] = following[:, k]
        ratios[:, k] = np.exp(target.log_joint(moved) - own)
    return ratios


def enumerated(target: Target) -> tuple[np.ndarray, np.ndarray]:
    """All states (S, d), and their probabilities (S,). Raises InputError where there are more than 4,096."""
    space = target.space
    if not isinstance(space, Discrete) or space.num_states > MAX_STATES:
        raise InputError(f"target {target.name!r} does not have {MAX_STATES:,} discrete states or fewer")
    exact = target.reference()
    known = exact if isinstance(exact, Enumeration) else Enumeration(space, target.log_joint)
    return states_of(space, np.arange(space.num_states)), known.probabilities


# The kernel of GF-KSD on discrete states with the latent points integrated out, for any number of values.

REACH = 9.0  # sds of N(0, 1) beyond which there is 1e-19 of it
NODES = 16  # of Gauss-Legendre in each panel
WIDEST = 0.5  # panel, in sds and in square roots of h


class Tables(NamedTuple):
    """What one coordinate gives."""

    kernel: np.ndarray  # (K, K) A
    stein: np.ndarray  # (K, K) S


@lru_cache(maxsize=64)
def tables_of(num_values: int, h: float) -> Tables:
    """A and S for K values, to about 1e-13."""
    x, mass, bins = nodes_of(num_values, h)
    kernel, stein = np.zeros((num_values, num_values)), np.zeros((num_values, num_values))
    for a in range(num_values):
        own = bins == a
        squared = (x[own, None] - x) ** 2
        k = np.exp(-squared / h) * mass[own, None] * mass
        kappa = k * (x[own, None] * x - (2 / h + 4 / h**2) * squared + 2 / h)
        for table, values in ((kernel, k), (stein, kappa)):
            table[a] = np.add.reduceat(values.sum(axis=0), np.searchsorted(bins, np.arange(num_values)))
    return Tables(kernel, stein)


def nodes_of(num_values: int, h: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Nodes (Q,) on the line, ascending, their share of the mass of their bin, and the number of that bin."""
    quantile = NormalDist().inv_cdf
    edges = [-REACH, *(quantile(k / num_values) for k in range(1, num_values)), REACH]
    roots, weights = np.polynomial.legendre.leggauss(NODES)
    widest, found = WIDEST * min(1.0, np.sqrt(h)), []
    for number, (low, high) in enumerate(zip(edges, edges[1:], strict=False)):
        ends = np.linspace(low, high, 1 + int(np.ceil((high - low) / widest)))
        half = 0.5 * np.diff(ends)
        x = ((ends[:-1] + half)[:, None] + half[:, None] * roots).ravel()
        mass = (half[:, None] * weights).ravel() * np.exp(-0.5 * x**2)
        found.append((x, mass / mass.sum(), np.full(len(x), number)))
    x, mass, bins = (np.concatenate(parts) for parts in zip(*found, strict=True))
    return x, mass, bins


def integrated_kernel(codes: np.ndarray, weights: np.ndarray, num_values: int, h: float) -> np.ndarray:
    """Kbar (n, n) of states with `codes` (n, d), `weights` (n,) proportional to 1/p, and h > 0 in units of p0."""
    tables = tables_of(num_values, float(h))
    smallest = np.finfo(float).tiny  # bins that no kernel joins
    joined = np.maximum(tables.kernel, smallest)
    product = np.exp(pair_sums(codes, np.log(joined)))
    return np.outer(weights, weights) * product * pair_sums(codes, tables.stein / joined)
