"""Questions about one sample: whether it comes from a target, and means with control variates."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from pmdviz.densities.chains import FEWEST as FEWEST_DRAWS
from pmdviz.densities.chains import correlation_time, halves, normal_scores
from pmdviz.engine.frame import Frame
from pmdviz.engine.recipe import MAX_SEED, checked_whole
from pmdviz.engine.run import Run
from pmdviz.engine.session import Session
from pmdviz.errors import InputError, entry, shown
from pmdviz.experiments.fit_statistics import FIT_TESTS, FitTest, p_value
from pmdviz.kernels.checks import Array, Rng
from pmdviz.knobs import Raw, Real, real_number
from pmdviz.methods.base import checked_gradient
from pmdviz.targets import Target, get_target
from pmdviz.targets.space import Discrete

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

Given: TypeAlias = "ArrayLike | Run | Session | Frame"  # a sample

# The points to be tested: an array as it is, or the points of a frame, made as nearly independent as a test supposes.

MOST, FEWEST = 1000, 10  # points that are tested
TAUS = 2.0  # correlation times from one draw of a chain that is taken to the next: a correlation near exp(-4) is left
SHARE_OF_ESS = 0.1  # of resampled particles; with all of them sizes up to 0.3 were measured at level 0.05


class Sample(NamedTuple):
    """Points to be tested, and how they were obtained."""

    points: Array  # (n, d)
    words: str


def sample_of(given: Given, target: Target, rng: Rng) -> Sample:
    """Points (n, d) of `target` from an array, a Frame, a Session or a Run; at most 1,000 of them.

    Raises InputError for another type, for fewer than 10 points, values that are not finite, and frames whose
    points vary less than independent ones by design.
    """
    frame = frame_of(given)
    points, words = points_of(frame, rng) if frame is not None else Sample(given, "")
    points = target.space.check(points)
    if not np.isfinite(points).all():
        row, column = np.argwhere(~np.isfinite(points))[0]
        at = f"row {row}, column {column} is {points[row, column]}"
        raise InputError(f"the sample must hold finite numbers; {at} (counted from 0): leave such rows out")
    if len(points) > MOST:
        at_random = f"{MOST:,} of {len(points):,} points, at random"
        points = points[rng.choice(len(points), size=MOST, replace=False)]
        words = f"{words}; {at_random}" if words else at_random
    if len(points) < FEWEST:
        how = f" ({words}): run it longer or with more particles" if words else ": give more"
        words = f"a test needs at least {FEWEST} independent points; the sample has {len(points)}{how}"
        raise InputError(words, "sample")
    return Sample(points, words)


def frame_of(given: Given) -> Frame | None:
    """The frame that a Run or a Session is at; None for an array."""
    if isinstance(given, Run):
        return given.final
    if isinstance(given, Session):
        return given.frame
    return given if isinstance(given, Frame) else None


def points_of(frame: Frame, rng: Rng) -> Sample:
    """Points of a frame and how they were obtained. Raises InputError for points that vary less by design."""
    if frame.method.family == "chain":
        return thinned(frame)
    if frame.method.family != "particles":
        return from_density(frame, rng)
    if getattr(frame.knobs, "draws", "") == "balanced":  # sums vary less than of independent ones: no level is known
        knob, words = frame.knobs.specs()["draws"], "and vary less than independent points, which a test supposes"
        words = f"were drawn evenly spread, {words}"
        on_page = f"The particles {words}: set {knob.label} to “{knob.said('independent')}”."
        told = f"the particles of method {frame.method.name!r} {words}: run it with draws = 'independent'"
        raise InputError(told, "sample", on_page)
    reason = frame.method.varies_less
    if np.ptp(frame.weights) <= 1e-9 * frame.weights.max():
        note = f"; {reason} than independent points, and rejections are rarer or more frequent than alpha"
        sample = Sample(np.array(frame.particles), f"the particles as they are{note if reason else ''}")
        return few_of_a_generation(frame, sample, rng)
    if reason:
        words = f"a test supposes independent points; of method {frame.method.name!r} {reason}"
        raise InputError(f"{words}: test a run of importance or mala instead", "sample")
    return by_weight(frame, rng)


def thinned(frame: Frame) -> Sample:
    """Of chains every ceil(2 tau)-th draw, tau the longest correlation time of some functions of the draws."""
    chains = frame.chains
    if chains.shape[1] < FEWEST_DRAWS:
        raise InputError(f"a test needs more than {chains.shape[1]} draws of a chain: run it longer", "sample")
    tau = longest_correlation_time(chains, isinstance(frame.target.space, Discrete))
    step = int(np.ceil(TAUS * tau))
    points, total = chains[:, step - 1 :: step].reshape(-1, chains.shape[2]), chains.shape[0] * chains.shape[1]
    return Sample(points, f"one draw in {step:,} of {total:,}, because the chain's correlation time is {tau:.1f} draws")


def longest_correlation_time(chains: Array, states: bool) -> float:
    """tau >= 1 of chains (C, n, d): the longest of any coordinate and of their mean; of real ones of squares too.

    Of real coordinates by normal scores. Trajectories that swing to the other side have coordinates that are barely
    correlated, and an energy that is.
    """
    coordinates = [halves(one) for one in np.moveaxis(chains, 2, 0) if one.min() < one.max()]
    if not coordinates:
        return float(chains.shape[1])
    scores = coordinates if states else [normal_scores(one) for one in coordinates]
    more = [np.mean(scores, axis=0)] if states else [one**2 for one in scores]
    return max([1.0, *(correlation_time(one) for one in scores + more if one.min() < one.max())])


def by_weight(frame: Frame, rng: Rng) -> Sample:
    """Particle i with probability w_i / max w: of independent particles and importance weights these are iid from p."""
    particles, weights = frame.particles, frame.weights
    kept = rng.random(len(weights)) * weights.max() < weights
    words = f"{kept.sum():,} of {len(weights):,} particles, each taken with probability w / max w"
    return few_of_a_generation(frame, Sample(particles[kept], words), rng)


def few_of_a_generation(frame: Frame, sample: Sample, rng: Rng) -> Sample:
    """A tenth of the ESS at most where particles have been resampled: their parents' errors are common to all."""
    most = int(SHARE_OF_ESS / (frame.weights**2).sum())
    if not frame.rejuvenations or len(sample.points) <= most:
        return sample
    chosen = rng.choice(len(sample.points), size=most, replace=False)
    return Sample(sample.points[chosen], f"{sample.words}, and {most:,} of these, because they share ancestors")


def from_density(frame: Frame, rng: Rng) -> Sample:
    """Independent draws: one at a time, because a density's draws are stratified among themselves."""
    density = frame.density
    points = np.concatenate([density.sample(rng, 1) for _ in range(MOST)])
    return Sample(points, f"{MOST:,} independent draws of the fitted density")


# One test of one sample.

RULES = ("median", "aggregated")  # of the bandwidth
MAX_DRAWS = 100_000
ALPHA = Real(0.05, "(0, 1)", (0.01, 0.2), "Level α", name="alpha")


@dataclass(frozen=True, eq=False)
class FitResult:
    """The result of a test of one sample.

    Attributes
    ----------
    test : str
    statistic : float
        Of a kernel test an unbiased estimate of the squared discrepancy; with several bandwidths -log of the least
        p-value.
    p_value : float
        (1 + #{S* >= S}) / (m + 1) over m draws S* of the null distribution.
    rejected : bool
        p_value <= alpha.
    alpha : float
    num_points : int
        How many points were tested.
    seconds : float
    note : str
        How the sample was prepared, and what makes the p-value doubtful; "" where there is nothing to say.
    bandwidth : float or None
        h of `kernel`.
    bootstrap : array (m,)
        S*.
    kernel : array (n, n) or None
        The kernel matrix; of `mmd` (2 n, 2 n), the sample before the reference draws; of several bandwidths that with
        the least p-value.
    """

    test: str
    statistic: float
    p_value: float
    rejected: bool
    alpha: float
    num_points: int
    seconds: float
    note: str = ""
    bandwidth: float | None = None
    bootstrap: Array = field(default_factory=lambda: np.empty(0), repr=False)
    kernel: Array | None = field(default=None, repr=False)


def test_fit(
    target: str | Target,
    sample: Given,
    test: str = "ksd",
    *,
    seed: int = 0,
    alpha: float = 0.05,
    draws: int = 500,
    bandwidth: str | float = "median",
) -> FitResult:
    """Test whether a sample comes from a target.

    Parameters
    ----------
    target : Target or str
        p; a name means the built-in target at its defaults.
    sample : array (n, d), Run, Session or Frame
        An array is taken as independent points. Of a run it is the last frame: draws of chains are thinned by their
        correlation time, weighted particles are taken with probability w / max w, fitted densities are drawn from;
        see `note`. At most 1,000 points are tested, a random subset.
    test : str
        One of `list_fit_tests()`.
    seed : int
        Of the subset and of the null distribution's draws.
    alpha : float
        Level: how often a sample of the target itself may be rejected.
    draws : int
        m, draws of the null distribution: bootstrap, permutations or simulated counts.
    bandwidth : "median", "aggregated" or float
        h of the kernel `exp(-|x - y|^2 / h)`: the squared median distance, several combined at the same level, or a
        number. Coordinates are in prior sds; latent ones of `gf_ksd` in the sds of p0. `dksd` and `mmd` on states have
        exp(-H / (d h)), H the number of coordinates that differ, and instead of the median h = 1;
        `gf_ksd_rao_blackwell` has h = max(2, d / 4), because there is not a median of latent points.

    Returns
    -------
    FitResult
        `.p_value`, `.rejected`, `.statistic`, `.note`, `.bootstrap`, `.kernel`.

    Raises
    ------
    InputError
        A test that does not apply to the target, fewer than 10 independent points, or points that vary less than
        independent ones by design (evenly spread draws).

    Examples
    --------
    >>> run = pmdviz.run(target="ising", method="gibbs", budget=4000)
    >>> pmdviz.test_fit(run.target, run, "dksd").p_value
    """
    target = get_target(target)
    made = find_test(test, target)
    alpha, width = ALPHA.parse(alpha), checked_bandwidth(bandwidth)
    draws = checked_draws(draws, alpha)
    for_sample, for_test = np.random.SeedSequence(checked_whole("seed", seed, 0, MAX_SEED)).spawn(2)
    points, words = sample_of(sample, target, np.random.default_rng(for_sample))
    start = time.perf_counter()
    found = made.compare(np.random.default_rng(for_test), target, points, draws, width)
    seconds, p = time.perf_counter() - start, p_value(found.values)
    note = "; ".join(filter(None, (words, found.caveat)))
    arrays = {"bootstrap": found.values[1:], "kernel": found.kernel}
    statistic = float(found.values[0])
    return FitResult(test, statistic, p, p <= alpha, alpha, len(points), seconds, note, found.bandwidth, **arrays)


setattr(test_fit, "__test__", False)  # noqa: B010, pytest collects names like this one


def find_test(name: str, target: Target) -> FitTest:
    """The test of a name. Raises InputError where there is none, or it cannot be applied to the target."""
    found = entry("test", name, FIT_TESTS)
    if missing := found.missing_in(target):
        others = [name for name, each in FIT_TESTS.items() if each.applies(target)]
        cure = f"; tests that apply to it: {', '.join(others)}" if others else ", and no other test applies to it"
        raise InputError(f"test {name!r} needs {missing}, which target {target.name!r} does not offer{cure}", "test")
    return found


def checked_draws(draws: Raw, alpha: float) -> int:
    """Enough draws of the null distribution for the test to reject. Raises InputError."""
    count, least = checked_whole("draws", draws, 1, MAX_DRAWS), int(np.ceil(1 / alpha - 1e-9)) - 1
    if count < least:
        words = f"draws must be at least {least:,} for alpha = {alpha:g}: fewer give no p-value so small"
        raise InputError(f"{words}; got {count}", "draws")
    return count


def checked_bandwidth(bandwidth: Raw) -> str | float:
    """A rule or a bandwidth h > 0. Raises InputError."""
    if isinstance(bandwidth, str) and bandwidth in RULES:
        return bandwidth
    value = real_number(bandwidth)
    if value is None or value <= 0:
        words = f"must be 'median', 'aggregated' or a number above 0; got {shown(bandwidth)}"
        raise InputError(f"bandwidth {words}", "bandwidth")
    return value


# Means of functions with control variates that Stein's identity gives: E_p [s(x) g(x) + grad g(x)] = 0.


class MeanEstimate(NamedTuple):
    """A mean of f with control variates and without, (k,) each, in the units of f.

    Standard errors take the points as independent; the value's is the jackknife's.
    """

    value: Array
    standard_error: Array
    plain: Array
    plain_error: Array


def stein_mean(
    target: str | Target, sample: Given, function: Callable[[Array], Array], degree: int = 2
) -> MeanEstimate:
    """Estimate E_p f(x) from points of p with control variates.

    f(x) ≈ c + sum_a λ_a v_a(x) by (weighted) least squares, and c is the estimate. v are Stein's control variates
    (0.148): the score s_j(x), and with degree 2 also s_j(x) x_k + [j = k]. Their mean under p is 0, and λ is
    Var(v)^-1 Cov(v, f) as in (0.36). Han 2019 (thesis) has them for gradients of variational bounds, (0.149) and
    (0.154); polynomials: Mira, Solgi, Imparato 2013. For a Gaussian p and a polynomial f of that degree the error is 0.

    Parameters
    ----------
    target : Target or str
        p, with a gradient; a name means the built-in target at its defaults.
    sample : array (n, d), Run, Session or Frame
        Points of p, or of a run the particles of its last frame with their weights.
    function : (n, d) -> (n,) or (n, k)
        f.
    degree : 1 or 2
        1 has d control variates, 2 has d + d^2.

    Returns
    -------
    MeanEstimate

    Raises
    ------
    InputError
        A target without a gradient, values of f that are not finite, a degree other than 1 and 2, fewer than twice as
        many points as control variates.

    Examples
    --------
    >>> run = pmdviz.run(target="gaussian", method="mala")
    >>> pmdviz.stein_mean(run.target, run, lambda x: x[:, 0]).value
    """
    target, frame = get_target(target), frame_of(sample)
    if not {"reals", "gradient"} <= target.offers:
        words = f"control variates need real coordinates and a gradient, which target {target.name!r} lacks"
        raise InputError(f"{words}; give a custom target grad_log_prior and grad_log_likelihood")
    if degree not in (1, 2):
        raise InputError(f"degree must be 1 or 2; got {degree!r}", "degree")
    points = target.space.check(frame.particles if frame else sample)
    n, d = points.shape
    w = np.full(n, 1 / n) if frame is None else frame.weights
    count = d if degree == 1 else d + d * d
    if n < 2 * count:
        raise InputError(f"{count} control variates of degree {degree} need at least {2 * count} points; got {n}")
    f = np.asarray(function(points), float)
    if f.shape[:1] != (n,) or f.ndim > 2 or not np.isfinite(f).all():
        words = f"the function must give ({n},) or ({n}, k) finite numbers for {n} points"
        raise InputError(f"{words}; it gave shape {f.shape}{'' if np.isfinite(f).all() else ' with NaN or infinity'}")
    f = f.reshape(n, -1)
    scores, z = checked_gradient(target, points, target.data_rows) * target.scale, points / target.scale
    variates = scores
    if degree == 2:
        products = scores[:, :, None] * z[:, None, :] + np.eye(d)
        variates = np.column_stack([scores, products.reshape(n, d * d)])
    root = np.sqrt(w)[:, None]
    design = root * np.column_stack([np.ones(n), variates])
    inverse = np.linalg.pinv(design)  # (1 + count, n); its first row times root are the weights of the f(x_i) in c
    leverage = np.einsum("nk,kn->n", design, inverse)
    residuals = (root * f - design @ (inverse @ (root * f))) / np.maximum(1 - leverage, 1e-9)[:, None]
    plain = w @ f
    errors = inverse[0] ** 2 @ residuals**2, w**2 @ (f - plain) ** 2
    return MeanEstimate(inverse[0] @ (root * f), np.sqrt(errors[0]), plain, np.sqrt(errors[1]))
