"""Means, sds and draws of the approximation against the reference's, and kernel Stein discrepancies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pmdviz.densities.density import variances
from pmdviz.kernels.chains import uniforms_of
from pmdviz.kernels.checks import Array
from pmdviz.methods import Method
from pmdviz.methods.stein.svgd import GFSVGD, log_ratios
from pmdviz.metrics import DASHED, DOTTED, Look, beyond_the_plane, has_reference, metric, of_q, on_axis, once
from pmdviz.streams import stream
from pmdviz.targets import Target
from pmdviz.targets.enumeration import Enumeration, numbers_of
from pmdviz.targets.space import Discrete

if TYPE_CHECKING:
    from pmdviz.densities.density import Density
    from pmdviz.engine.frame import Frame
    from pmdviz.targets.exact import Reference

NUM_DRAWS = 1000
DIRECTIONS = 64  # of the sliced distance
BINS, BIN_DRAWS = 20, 20_000  # of equal posterior mass, and how many draws tell where they end
RATIOS: dict[str, Look] = {"log": False, "limits": (0.0, 2.0)}  # of an axis
UNIT: dict[str, Look] = {"log": False, "limits": (0.0, 1.0), "fixed": True}


def reference_draws(target: Target, n: int = NUM_DRAWS) -> Array:
    """The n draws (n, d) of the target's reference that every frame is compared with."""
    return once(target, n, lambda: target.reference().sample(stream("draws of the reference"), n))


def squared_distances(x: Array, y: Array) -> Array:
    """|x_i - y_j|^2, (n, d) and (m, d) -> (n, m)."""
    cross = np.einsum("id,jd->ij", x, y)  # not BLAS, whose last bits depend on its number of threads
    return np.maximum((x**2).sum(axis=1)[:, None] + (y**2).sum(axis=1) - 2 * cross, 0.0)


def sliced_wasserstein(x: Array, y: Array) -> float:
    """Mean over 64 fixed directions of the W1 distance of the projections of as many draws x and y, (n, d) each."""
    directions = stream("directions").standard_normal((x.shape[1], DIRECTIONS))
    directions /= np.linalg.norm(directions, axis=0)
    projected = (np.sort(np.einsum("nd,dk->nk", draws, directions), axis=0) for draws in (x, y))
    return float(np.abs(np.subtract(*projected)).mean())


def marginal_tv(density: Density, target: Target) -> float:
    """Largest total variation of a marginal: over the values of a discrete coordinate, else over 20 bins.

    The bins hold a twentieth of the posterior each; what a real coordinate's marginal does inside of one is not seen.
    """
    if isinstance(target.space, Discrete):
        draws, distance = reference_draws(target, BIN_DRAWS), np.zeros(target.dim)
        for value in target.states.values:
            mine = ((density.particles == value) * density.weights[:, None]).sum(axis=0)
            distance = distance + np.abs(mine - (draws == value).mean(axis=0))
        return float((0.5 * distance).max())
    edges = once(target, "edges", lambda: _edges(target))
    sds = density.kernel_sds  # (m, d) of each kernel along each coordinate
    below = np.empty(edges.shape)
    for k, edge in enumerate(edges):
        share = uniforms_of(((edge - density.centres) / sds).ravel()).reshape(sds.shape)
        below[k] = (share * density.weights[:, None]).sum(axis=0)
    mass = np.diff(below, axis=0, prepend=0.0, append=1.0)
    return float((0.5 * np.abs(mass - 1 / BINS).sum(axis=0)).max())


def _edges(target: Target) -> Array:
    """Of the bins, (BINS - 1, d)."""
    return np.quantile(target.reference().sample(stream("bins"), BIN_DRAWS), np.arange(1, BINS) / BINS, axis=0)


def units_of(frame: Frame) -> Array:
    """The reference's sds, (d,)."""
    return np.sqrt(np.diag(frame.reference.cov))


@metric("sliced_w", "sliced Wasserstein", "posterior sds", 16, has_reference, beyond_the_plane, work=of_q)
@on_axis("draws", "Distances of draws", limits=(0.01, 10.0), colour="exact", dash=DASHED)
def _sliced(frame: Frame) -> float:
    """mean over 64 directions of the W1 distance of 1,000 draws to 1,000 reference draws."""
    return sliced_wasserstein(frame.draws / units_of(frame), reference_draws(frame.target) / units_of(frame))


@metric("marginal_tv", "marginal TV", "0 to 1", 14, has_reference, beyond_the_plane, work=of_q)
@on_axis("marginal_tv", "Marginals", limits=(0.01, 1.0), colour="approximate")
def _marginal_tv(frame: Frame) -> float | None:
    """largest total variation of a coordinate's marginal."""
    return None if frame.density.few else marginal_tv(frame.density, frame.target)


# Maximum mean discrepancy between draws of the approximation and draws of the reference, 1,000 of each.

POINT = 1e-200  # a width that tells different draws apart and overflows for none
WORD = 64  # bits


Distances = Callable[[Array, Array], Array]  # of draws (n, d) and (m, d), (n, m)


def scaled_by(y: Array) -> Distances:
    """|a - b|^2 / (2 s^2), s the median distance between draws y (m, d).

    Where more than half of the draws are the same state s is the mean distance; all the same: the kernel is 1 or 0.
    """
    pairs = squared_distances(y, y)[np.triu_indices(len(y), 1)]
    scale = float(2 * (np.median(pairs) or pairs.mean() or POINT))
    return lambda x, other: squared_distances(x, other) / scale


def within(y: Array, distances: Distances) -> float:
    """The sum of the kernel exp(-distance) over all pairs of draws."""
    return float(np.exp(-distances(y, y)).sum())


def mmd(x: Array, y: Array, distances: Distances, within_y: float | None = None) -> float:
    """Maximum mean discrepancy of draws x (n, d) and y (m, d), by the kernel exp(-distance).

    The distance is `scaled_by(y)`, or of discrete states `differing` (Yang et al. 2018).

    The square root of Gretton et al. 2012, Lemma 6 (unbiased), 0 where that is negative.
    """
    n, m = len(x), len(y)
    yy = within(y, distances) if within_y is None else within_y
    between = np.exp(-distances(x, y)).mean()
    squared = (within(x, distances) - n) / (n * (n - 1)) + (yy - m) / (m * (m - 1)) - 2 * between
    return float(np.sqrt(max(squared, 0.0)))


def differing(x: Array, y: Array, values: Sequence[float]) -> Array:
    """The share of the d coordinates in which x_i and y_j differ, (n, d) and (m, d) -> (n, m)."""
    ours, theirs = (_packed(draws, values) for draws in (x, y))
    bits = np.zeros((len(x), len(y)), np.int64)
    for one, other in zip(ours.T, theirs.T, strict=True):
        bits += np.bitwise_count(one[:, None] ^ other)
    return bits / (2 * x.shape[1])  # two bits for each: of the value that one has, and of the other's


def _packed(draws: Array, values: Sequence[float]) -> Array:
    """One bit for each coordinate and value, in words (n, ceil(d K / 64))."""
    bits = (draws[:, :, None] == np.array(values)).reshape(len(draws), -1)
    padded = np.pad(bits, ((0, 0), (0, -bits.shape[1] % WORD)))
    return np.packbits(padded, axis=1).view(np.uint64)


@metric(
    "mmd", "MMD", "0 to 1.4", 15, has_reference, beyond_the_plane, work=lambda frame: 1.5e7 + 8e5 * frame.target.dim
)
@on_axis("draws", "Distances of draws", limits=(0.01, 1.5), colour="ink")
def _mmd(frame: Frame) -> float:
    """maximum mean discrepancy of 1,000 draws to 1,000 reference draws."""
    target, x, y = frame.target, frame.draws, reference_draws(frame.target)
    if isinstance(target.space, Discrete):
        distances: Distances = partial(differing, values=target.states.values)
    else:
        x, y = x / units_of(frame), y / units_of(frame)
        distances = once(target, "distances", lambda: scaled_by(y))
    return mmd(x, y, distances, once(target, "within", lambda: within(y, distances)))


# Means, sds and covariances against the reference's; total variation of weighted states.


def mean_error(mean: Array, reference: Reference) -> float:
    """max_k |E_q theta_k - E_p theta_k| / sd_p(theta_k)."""
    return float((np.abs(mean - reference.mean) / np.sqrt(np.diag(reference.cov))).max())


def sd_ratios(cov: Array, reference: Reference) -> Array:
    """sd_q(theta_k) / sd_p(theta_k), (d,)."""
    return np.sqrt(np.diag(cov) / np.diag(reference.cov))


def kl_of_moments(mean: Array, cov: Array, reference: Reference) -> float | None:
    """KL(N(E_p, Cov_p) || N(E_q, Cov_q)) in nats; None where Cov_q has no inverse."""
    try:
        factor, exact = np.linalg.cholesky(cov), np.linalg.cholesky(reference.cov)
    except np.linalg.LinAlgError:
        return None
    spread, shift = np.linalg.solve(factor, exact), np.linalg.solve(factor, reference.mean - mean)
    volume = 2 * (np.log(np.diag(factor)).sum() - np.log(np.diag(exact)).sum())
    return float(0.5 * ((spread**2).sum() + (shift**2).sum() - len(mean) + volume))


def kl_of_density(density: Density, reference: Reference) -> float | None:
    """The same for an approximation; None of particles too few for a shape."""
    return None if density.few else kl_of_moments(density.mean, density.cov, reference)


@metric("mean_error", "error of the mean", "posterior sds", 10, has_reference, short="error", work=of_q)
@on_axis("mean_error", "Error of the mean", limits=(0.01, 10.0), colour="ink")
def _mean_error(frame: Frame) -> float:
    """largest over the coordinates of |mean - reference mean| / reference sd."""
    return mean_error(frame.density.mean, frame.reference)


def _solid(target: Target, method: Method) -> bool:
    return has_reference(target, method) and "reals" in target.offers


@metric("sd_ratio_min", "smallest sd ratio", "sd / reference sd", 11, _solid, ranks=False, work=of_q)
@on_axis("sd_ratio", "Standard deviations", "sd ratio (sd / reference sd)", **RATIOS, colour="approximate", dash=DOTTED)
def _sd_ratio_min(frame: Frame) -> float:
    """smallest over the coordinates."""
    return float(sd_ratios(frame.density.cov, frame.reference).min())


@metric("sd_ratio_max", "largest sd ratio", "sd / reference sd", 12, _solid, ranks=False, work=of_q)
@on_axis("sd_ratio", "Standard deviations", log=False, limits=(0.0, 2.0), colour="exact", dash=DASHED)
def _sd_ratio_max(frame: Frame) -> float:
    """largest over the coordinates."""
    return float(sd_ratios(frame.density.cov, frame.reference).max())


@metric("kl_moments", "forward KL of moments", "nats", 13, _solid, beyond_the_plane, work=of_q)
@on_axis("kl_moments", "forward KL of moments", colour="exact", dash=DASHED)
def _kl_moments(frame: Frame) -> float | None:
    """KL(reference || approximation) of the Gaussians with their means and covariances."""
    return kl_of_density(frame.density, frame.reference)


# Total variation between weighted states and exact probabilities, where there are few states.

FEW = 512  # states: of more, most are never drawn, and TV is near 1 for exact draws too


def total_variation_of_states(space_numbers: Array, weights: Array, probabilities: Array) -> float:
    """0.5 sum over all states of |q - p|, for points (m,) by the numbers of their states with weights (m,) of sum 1.

    Only the states that were visited are looked at: the others add their probability.
    """
    visited, at = np.unique(space_numbers, return_inverse=True)
    q, p = np.bincount(at, weights=weights), probabilities[visited]
    return float(0.5 * (np.abs(q - p).sum() + max(0.0, 1.0 - p.sum())))


def _few_states(target: Target, method: Method) -> bool:
    if "discrete" not in target.offers:
        return False
    reference = target.reference()
    return isinstance(reference, Enumeration) and len(reference.probabilities) <= FEW


@metric("tv_states", "TV of states", "0 to 1", 8, _few_states)
@on_axis("tv_states", "TV of states", "TV of states (0 identical, 1 no overlap)", **UNIT, colour="ink")
def _tv_states(frame: Frame) -> float:
    """total variation: half the sum over all states of |share of the particles - exact probability|."""
    numbers = numbers_of(frame.target.states, frame.density.particles)
    return total_variation_of_states(numbers, frame.density.weights, frame.reference.probabilities)


# Kernel Stein discrepancies: by the gradient of log p, and by values of log p alone.

POINTS = 500  # of q
MOST_ROWS = 2000  # whose gradient is taken at each


def stein_matrix(x: Array, score: Array, other: Array | None = None) -> Array:
    """k_p (n, n) of points x (n, d) with `score` (n, d) = grad log p there, kernel k = (1 + |x - y|^2)^(-1/2).

    k s.s' + s.grad' k + s'.grad k + tr grad grad' k, of mean 0 under p in either argument (Gorham & Mackey 2017).
    `other` (n, d) takes the place of s', where both are independent estimates of the gradient.
    """
    other = score if other is None else other
    d = x.shape[1]
    base = 1 + squared_distances(x, x)
    k, slope = base**-0.5, base**-1.5
    first = np.einsum("id,jd->ij", score, other) * k
    second = slope * (_pulled(x, score) + _pulled(x, other).T)
    third = d * slope - 3 * (base - 1) * base**-2.5
    return first + second + third


def _pulled(x: Array, score: Array) -> Array:
    """s_i . (x_i - x_j), (n, n)."""
    along = np.einsum("id,jd->ij", score, x)
    return np.diag(along)[:, None] - along


def squared_ksd(x: Array, score: Array, other: Array | None = None) -> tuple[float, float]:
    """KSD^2, the mean of k_p(x_i, x_j) over i != j (a U-statistic, unbiased), and its noise; x in posterior sds.

    The noise is the standard deviation of KSD^2 for independent draws from p itself, where its mean is 0:
    sqrt(2 / (n (n - 1)) E k_p^2) (Liu, Lee, Jordan 2016, Theorem 4.1: degenerate there).
    """
    n, matrix = len(x), stein_matrix(x, score, other)
    np.fill_diagonal(matrix, 0.0)
    pairs = n * (n - 1)
    return float(matrix.sum() / pairs), float(np.sqrt(2 * (matrix**2).sum()) / pairs)


def _measured(frame: Frame) -> tuple[float, float]:
    """KSD^2 and its noise by 500 draws, in units of the posterior's sds: the reference's, or else q's.

    With more than 2,000 observations the gradients at x_i and x_j come from two independent batches of 1,000, as their
    difference from the gradient at the mean, where all data are used once: the products are unbiased, and near the
    mean exact (control variates, Baker et al. 2019).
    """
    target, points = frame.target, frame.draws[:: max(1, len(frame.draws) // POINTS)]
    solid: Any = target.reference() if target.reference() is not None else frame.density
    unit = np.sqrt(variances(solid))
    if not (unit > 0).all():
        return np.nan, np.nan
    if target.num_data <= MOST_ROWS:
        return squared_ksd(points / unit, target.grad_log_joint(points) * unit)
    rng, centre = stream("rows"), solid.mean[None]
    whole, scores = target.grad_log_joint(centre), []
    for _ in range(2):
        batch = target.data_rows[rng.choice(target.num_data, MOST_ROWS // 2, replace=False)]
        scores.append((target.grad_log_joint(points, batch) - target.grad_log_joint(centre, batch) + whole) * unit)
    return squared_ksd(points / unit, *scores)


def _work(frame: Frame) -> float:
    return POINTS * min(frame.target.num_data, MOST_ROWS) * (20.0 + 2 * frame.target.dim)


def _applies(target: Target, method: Method) -> bool:
    return {"reals", "gradient"} <= target.offers


def _traced(target: Target, method: Method) -> bool:
    """Only without a reference, because it takes the gradient at 500 points."""
    return target.reference() is None and not target.by_points


@metric("ksd", "KSD", "posterior units", 20, _applies, _traced, work=_work)
@on_axis("ksd", "KSD", colour="particles")
def _ksd(frame: Frame) -> float | None:
    """kernel Stein discrepancy of 500 draws (Gorham & Mackey 2017), by the gradient of log p; 0 where KSD² < 0."""
    value, _ = _measured(frame)
    return float(np.sqrt(max(value, 0.0))) if np.isfinite(value) else None


@metric("ksd_noise", "noise of the KSD", "posterior units", 21, _applies, lambda target, method: False, ranks=False)
def _noise(frame: Frame) -> float | None:
    """the KSD whose square is one standard deviation of KSD² above 0, for 500 independent draws from the posterior."""
    _, noise = _measured(frame)
    return float(np.sqrt(noise)) if np.isfinite(noise) else None


# The gradient-free kernel Stein discrepancy, which needs values of log p and a surrogate's gradient.

GF_POINTS = 300


def _has_surrogate(target: Target, method: Method) -> bool:
    return "reals" in target.offers and isinstance(method, GFSVGD)


@metric("gf_ksd", "GF-KSD", "prior units", 21, _has_surrogate, _has_surrogate)
@on_axis("ksd", "KSD", colour="approximate", dash=DASHED)
def _gf_ksd(frame: Frame) -> float:
    """gradient-free kernel Stein discrepancy of 300 particles (Han 2019, section 3.5), from values of log p alone.

    sqrt of sum_ij w_i w_j kappa_rho(x_i, x_j) of the particles, in prior sds, w = rho/p with sum 1.
    """
    target, method = frame.target, frame.method
    points, unit = frame.particles[:: max(1, len(frame.particles) // GF_POINTS)], target.scale
    rho = method.surrogate(frame.state, frame.knobs, target)
    w = np.exp(log_ratios(rho.log_density(points), target.log_joint(points), points))
    matrix = stein_matrix(points / unit, rho.score(points) * unit)
    return float(np.sqrt(max(np.einsum("i,ij,j->", w, matrix, w), 0.0)))
