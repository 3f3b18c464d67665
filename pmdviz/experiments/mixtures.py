"""The models that machines can fit: mixtures of one or several Gaussians and of PPCAs, fitted by weighted EM."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import ClassVar, NamedTuple, TypeVar

import numpy as np

from pmdviz.densities.density import normalise
from pmdviz.errors import InputError
from pmdviz.kernels.checks import Array, Rng
from pmdviz.methods.stein import log_mean
from pmdviz.metrics.divergences import spread_normals

LOG_2PI = np.log(2 * np.pi)


class Mixture(NamedTuple):
    """sum_c shares_c N(means_c, covs_c). Which component comes first says nothing."""

    shares: Array  # (c,), sum 1
    means: Array  # (c, d)
    covs: Array  # (c, d, d)

    def ordered(self, order: Array) -> Mixture:
        """The same with its components in another order."""
        return Mixture(*(part[order] for part in self))

    @property
    def moments(self) -> tuple[Array, Array]:
        """Mean (d,) and second moment E xx' (d, d)."""
        squares = self.covs + self.means[:, :, None] * self.means[:, None, :]
        return self.shares @ self.means, np.tensordot(self.shares, squares, 1)

    @property
    def fault(self) -> str:
        """Why this is not a density, in words; "" for a density."""
        if not all(np.isfinite(part).all() for part in self):
            return "a parameter is not finite"
        if self.shares.min() < 0:
            return "a component's share is negative"
        if np.linalg.eigvalsh(self.covs).min() <= 0:
            return "a covariance is not positive definite"
        return ""


def log_joint(points: Array, mixture: Mixture) -> Array:
    """log shares_c + log N(x | means_c, covs_c), (n, c), in nats; -inf where a share is 0.

    Raises LinAlgError for a covariance that is not positive definite.
    """
    found = np.empty((len(points), len(mixture.shares)))
    for c, (mean, root) in enumerate(zip(mixture.means, np.linalg.cholesky(mixture.covs), strict=True)):
        whitened = (points - mean) @ np.linalg.inv(root).T
        found[:, c] = -0.5 * np.einsum("nd,nd->n", whitened, whitened)
        found[:, c] -= np.log(np.diag(root)).sum() + 0.5 * len(mean) * LOG_2PI
    with np.errstate(divide="ignore"):
        return found + np.log(mixture.shares)


def symmetric_kl(one: Mixture, other: Mixture) -> Array:
    """KL(a || b) + KL(b || a) of every component a of one and b of the other, (c, c'), in nats.

    Half of tr(A^-1 B + B^-1 A) - 2 d + (m_a - m_b)' (A^-1 + B^-1) (m_a - m_b).
    """
    first, second = np.linalg.inv(one.covs), np.linalg.inv(other.covs)
    traces = np.einsum("aij,bji->ab", first, other.covs) + np.einsum("bij,aji->ab", second, one.covs)
    apart = one.means[:, None] - other.means[None]
    squares = np.einsum("abi,abij,abj->ab", apart, first[:, None] + second[None], apart)
    return 0.5 * (traces + squares) - one.means.shape[1]


def squared_distance(one: Mixture, other: Mixture) -> float:
    """Sum of squared differences of shares, means and covariances, each entry once, components as they are numbered."""
    rows, columns = np.tril_indices(one.means.shape[1])
    parts = (one.shares - other.shares, one.means - other.means, (one.covs - other.covs)[:, rows, columns])
    return float(sum((part**2).sum() for part in parts))


# The two families of covariances: any, and a few directions plus the same noise in all (probabilistic PCA).


@dataclass(frozen=True)
class Full:
    """Any covariance; its coordinates are the entries on and below the diagonal."""

    dim: int
    ambiguous: ClassVar[bool] = False  # whether different parameters are the same covariance

    @property
    def num_params(self) -> int:
        """Free numbers of one covariance: d (d + 1) / 2."""
        return self.dim * (self.dim + 1) // 2

    def fitted(self, S: Array, floor: float) -> tuple[Array, bool]:
        """The most likely covariance for points of covariance S (d, d), and whether the floor was needed.

        S itself; eigenvalues below the floor are raised to it.
        """
        values, vectors = np.linalg.eigh(S)
        if values[0] >= floor:
            return S, False
        return (vectors * np.maximum(values, floor)) @ vectors.T, True

    def unmatched_mean(self, covs: Sequence[Array], rng: Rng) -> Array:
        """The covariance of the mean of parameters that are chosen blindly among each covariance's."""
        return np.mean(covs, axis=0)

    def drawn(self, rng: Rng) -> Array:
        """A covariance to draw data with: variances from 0.5 to 1.5 in random directions."""
        return turned(rng, rng.uniform(0.5, 1.5, self.dim))

    def chart(self, near: Array) -> Full:
        """Coordinates for covariances near one: the same everywhere."""
        return self

    def vector(self, cov: Array) -> Array:
        """Coordinates (p,) of a covariance (d, d), row by row."""
        return cov[np.tril_indices(self.dim)]

    def matrix(self, vector: Array) -> Array:
        """The covariance of coordinates."""
        cov = np.zeros((self.dim, self.dim))
        cov[np.tril_indices(self.dim)] = vector
        return cov + np.tril(cov, -1).T

    def score(self, cov: Array, slopes: Array) -> Array:
        """Derivatives by the coordinates, (n, p), from those by the entries of the matrix, (n, d, d).

        An entry below the diagonal appears in two places: its derivative counts twice.
        """
        rows, columns = np.tril_indices(self.dim)
        return slopes[:, rows, columns] * np.where(rows == columns, 1.0, 2.0)


@dataclass(frozen=True)
class LowRank:
    """W W' + s2 I with W (d, q), which turns freely: W R is the same covariance for every rotation R."""

    dim: int
    latent: int
    ambiguous: ClassVar[bool] = True  # W turns, or changes its sign

    @property
    def num_params(self) -> int:
        """d q - q (q - 1) / 2 + 1."""
        return self.dim * self.latent - self.latent * (self.latent - 1) // 2 + 1

    def fitted(self, S: Array, floor: float) -> tuple[Array, bool]:
        """Tipping and Bishop 1999, Eqs. 7 and 8: all eigenvalues of S but the q largest become their mean."""
        values, vectors = np.linalg.eigh(S)
        noise = values[: self.dim - self.latent].mean()
        values = np.append(np.full(self.dim - self.latent, noise), values[self.dim - self.latent :])
        return (vectors * np.maximum(values, floor)) @ vectors.T, bool(noise < floor)

    def loadings(self, cov: Array) -> tuple[Array, float]:
        """W (d, q) with orthogonal columns, and s2."""
        values, vectors = np.linalg.eigh(cov)
        noise = float(values[: self.dim - self.latent].mean())
        return vectors[:, -self.latent :] * np.sqrt(np.maximum(values[-self.latent :] - noise, 0.0)), noise

    def chart(self, near: Array) -> Loadings:
        """W turned to be nearest to the one of `near`."""
        return Loadings(self, near)

    def unmatched_mean(self, covs: Sequence[Array], rng: Rng) -> Array:
        """That of the mean of W, each turned at random, and of s2."""
        weights, noises = zip(*(self.loadings(cov) for cov in covs), strict=True)
        turns = [rotation(rng, self.latent) for _ in covs]
        mean = np.mean([w @ turn for w, turn in zip(weights, turns, strict=True)], axis=0)
        return mean @ mean.T + np.mean(noises) * np.eye(self.dim)

    def drawn(self, rng: Rng) -> Array:
        """Noise of variance 0.3, and variances from 1 to 2 in q random directions."""
        signal = rng.uniform(1.0, 2.0, self.latent)
        return turned(rng, np.append(np.full(self.dim - self.latent, 0.3), signal))


Covariances = Full | LowRank


class Loadings:
    """Those W for which W0'W is symmetric, with W0 of a covariance near by, and s2.

    Of all rotations of W the one nearest to W0 is symmetric in this way (Procrustes). Such W are a linear space:
    means and corrections stay in it; `basis` is orthonormal.
    """

    def __init__(self, family: LowRank, near: Array) -> None:
        self.family, self.near = family, family.loadings(near)[0]
        d, q = self.near.shape
        first, second = np.tril_indices(q, -1)
        turning = np.zeros((d, q, len(first)))  # W0 A for a basis of the antisymmetric A: the directions left out
        turning[:, second, np.arange(len(first))] = self.near[:, first]
        turning[:, first, np.arange(len(first))] = -self.near[:, second]
        self.basis = np.linalg.qr(turning.reshape(d * q, -1), mode="complete")[0][:, len(first) :]

    def weights(self, cov: Array) -> tuple[Array, float]:
        """W (d, q) turned to W0, and s2."""
        weights, noise = self.family.loadings(cov)
        left, _, right = np.linalg.svd(weights.T @ self.near)
        return weights @ left @ right, noise

    def vector(self, cov: Array) -> Array:
        """W in the basis, then s2."""
        weights, noise = self.weights(cov)
        return np.append(weights.ravel() @ self.basis, noise)

    def matrix(self, vector: Array) -> Array:
        """W W' + s2 I."""
        weights = (self.basis @ vector[:-1]).reshape(self.near.shape)
        return weights @ weights.T + vector[-1] * np.eye(self.family.dim)

    def score(self, cov: Array, slopes: Array) -> Array:
        """By W twice the slopes times W, by s2 their trace."""
        by_weights = 2 * (slopes @ self.weights(cov)[0])
        trace = np.trace(slopes, axis1=1, axis2=2)
        return np.column_stack([by_weights.reshape(len(slopes), -1) @ self.basis, trace])


def turned(rng: Rng, variances: Array) -> Array:
    """A covariance with these eigenvalues (d,) and random axes."""
    axes = rotation(rng, len(variances))
    return (axes * variances) @ axes.T


def rotation(rng: Rng, d: int) -> Array:
    """An orthogonal matrix (d, d), uniform among all: of a QR decomposition the one with a positive diagonal of R."""
    axes, upper = np.linalg.qr(rng.standard_normal((d, d)))
    return axes * np.sign(np.diag(upper))


# Weighted expectation maximisation of a mixture of Gaussians, and where it begins.

MOST_STEPS, TOLERANCE = 500, 1e-6  # the tolerance is in units of the points' sd, and of shares
TRIAL_STEPS, TRIALS, MOST_TRIED = 30, 4, 5000  # short runs from several starts, on at most this number of points
LEAST_VARIANCE = 1e-6  # of a component: a share of the points' variance
LEAST_SHARE = 1e-9  # of a component; below it the component stays where it was
FLOOR_HIT = "a covariance has shrunk to its floor"
NOT_CONVERGED = "EM has not converged"


class Fit(NamedTuple):
    """Parameters that were looked for, and their fault in words, or ""."""

    params: Mixture
    note: str = ""


def maximise(points: Array, weights: Array, start: Mixture, family: Covariances, most_steps: int = MOST_STEPS) -> Fit:
    """A local maximum of sum_i w_i log p(x_i) from `start`: points (n, d), weights (n,) of sum 1.

    A single component has its maximum in closed form.
    """
    mean = weights @ points  # and the root of the mean variance of a coordinate
    unit = float(np.sqrt(max((weights @ (points - mean) ** 2).mean(), np.finfo(float).tiny)))
    params, floored, moved = start, False, np.inf
    for _ in range(1 if len(start.shares) == 1 else most_steps):
        before = params
        params, floored = _maximised(points, weights, before, family, LEAST_VARIANCE * unit**2)
        moved = _moved(before, params, unit)
        if moved < TOLERANCE:
            break
    late = len(start.shares) > 1 and moved >= TOLERANCE
    return Fit(params, FLOOR_HIT if floored else NOT_CONVERGED if late else "")


def _maximised(
    points: Array, weights: Array, before: Mixture, family: Covariances, floor: float
) -> tuple[Mixture, bool]:
    """One step: the expected assignments under `before`, and the most likely parameters for them."""
    expected = weights[:, None] * responsibilities(points, before)
    shares, floored = expected.sum(axis=0), False
    means, covs = before.means.copy(), before.covs.copy()
    for c in np.flatnonzero(shares > LEAST_SHARE):
        means[c] = expected[:, c] @ points / shares[c]
        centred = points - means[c]
        covs[c], low = family.fitted((centred * (expected[:, c] / shares[c])[:, None]).T @ centred, floor)
        floored |= low
    return Mixture(shares / shares.sum(), means, covs), floored or bool(shares.min() <= LEAST_SHARE)


def responsibilities(points: Array, mixture: Mixture) -> Array:
    """P(component | x), (n, c)."""
    if len(mixture.shares) == 1:
        return np.ones((len(points), 1))
    joint = log_joint(points, mixture)
    return np.exp(joint - np.logaddexp.reduce(joint, axis=1)[:, None])


def _moved(before: Mixture, after: Mixture, unit: float) -> float:
    """The largest change of a share, of a mean in sds, and of a covariance in variances."""
    changes = (np.abs(old - new).max() for old, new in zip(before, after, strict=True))
    return max(change / scale for change, scale in zip(changes, (1.0, unit, unit**2), strict=True))


def beginning(points: Array, weights: Array, components: int, family: Covariances, rng: Rng) -> Mixture:
    """Where EM starts: the likeliest of several short runs from centres that are far apart."""
    if components == 1:
        return _around(points[:1], points, family)
    kept = np.arange(len(points)) if len(points) <= MOST_TRIED else rng.choice(len(points), MOST_TRIED, replace=False)
    some, share = points[kept], weights[kept] / weights[kept].sum()
    starts = (_around(_centres(some, share, components, rng), some, family) for _ in range(TRIALS))
    tried = [maximise(some, share, start, family, TRIAL_STEPS).params for start in starts]
    return max(tried, key=lambda params: float(share @ np.logaddexp.reduce(log_joint(some, params), axis=1)))


def _around(centres: Array, points: Array, family: Covariances) -> Mixture:
    """Equal components with the points' covariance, smaller the more there are."""
    c, d = centres.shape
    spread = np.cov(points, rowvar=False) if len(points) > 1 else np.eye(d)
    cov, _ = family.fitted(spread / c ** (2 / d), LEAST_VARIANCE * max(np.trace(spread) / d, np.finfo(float).tiny))
    return Mixture(np.full(c, 1 / c), np.array(centres), np.repeat(cov[None], c, axis=0))


def _centres(points: Array, weights: Array, c: int, rng: Rng) -> Array:
    """Points drawn one after the other by the square of their distance to the nearest so far (k-means++)."""
    chosen = [int(rng.choice(len(points), p=weights))]
    nearest = ((points - points[chosen[0]]) ** 2).sum(axis=1)
    while len(chosen) < c:
        mass = weights * nearest
        chosen.append(int(rng.choice(len(points), p=mass / mass.sum() if mass.sum() > 0 else weights)))
        nearest = np.minimum(nearest, ((points - points[chosen[-1]]) ** 2).sum(axis=1))
    return points[chosen]


# Coordinates of mixtures near one of them: what can be averaged and corrected, and its scores.


class Coordinates:
    """All shares but the last, the means, and every covariance in its chart; components in the order of `near`."""

    def __init__(self, family: Covariances, near: Mixture) -> None:
        self.components, self.dim = near.means.shape
        self.charts = [family.chart(cov) for cov in near.covs]

    def vector(self, params: Mixture) -> Array:
        """Coordinates (p,)."""
        covs = [chart.vector(cov) for chart, cov in zip(self.charts, params.covs, strict=True)]
        return np.concatenate([params.shares[:-1], params.means.ravel(), *covs])

    def params(self, vector: Array) -> Mixture:
        """The parameters of coordinates (p,); they may be no density, which `Mixture.fault` says."""
        c, d = self.components, self.dim
        shares, means, covs = np.split(vector, [c - 1, c - 1 + c * d])
        matrices = [chart.matrix(part) for chart, part in zip(self.charts, covs.reshape(c, -1), strict=True)]
        return Mixture(np.append(shares, 1 - shares.sum()), means.reshape(c, d), np.array(matrices))

    def score(self, points: Array, params: Mixture) -> Array:
        """Derivatives of log p(x) by the coordinates, (n, p).

        With responsibilities r_c and z = C^-1 (x - m_c): by a share r_c / share_c - r_last / share_last, by a mean
        r_c z, by the entries of a covariance r_c (zz' - C^-1) / 2.
        """
        member = responsibilities(points, params)
        by_share = member / params.shares
        means, covs = [], []
        for c, precision in enumerate(np.linalg.inv(params.covs)):
            z = (points - params.means[c]) @ precision
            means.append(member[:, c, None] * z)
            slopes = 0.5 * member[:, c, None, None] * (z[:, :, None] * z[:, None, :] - precision)
            covs.append(self.charts[c].score(params.covs[c], slopes))
        return np.column_stack([by_share[:, :-1] - by_share[:, -1:], *means, *covs])


# Components of two mixtures paired so that they differ least: the numbers of components say nothing.


def matched(mixture: Mixture, to: Mixture) -> Mixture:
    """The mixture with its components in the order of `to`, by the least sum of symmetric KL divergences.

    Both need the same number of components (Han 2019 matches in the same way).
    """
    return mixture.ordered(assignment(symmetric_kl(to, mixture)))


def distance(one: Mixture, other: Mixture) -> float:
    """Squared distance of the parameters with components matched; NaN where their numbers differ."""
    if len(one.shares) != len(other.shares):
        return float("nan")
    return squared_distance(one if one.fault else matched(one, other), other)


def assignment(costs: Array) -> Array:
    """The column of each row, (c,), no column twice, with the least sum of costs (c, c).

    The Hungarian method with potentials, O(c^3): rows enter one by one along a shortest augmenting path.
    """
    c = len(costs)
    of_row, of_column = np.zeros(c + 1), np.zeros(c + 1)  # potentials
    row_at = np.zeros(c + 1, int)  # row of each column, counted from 1; 0 is none
    for row in range(1, c + 1):
        row_at[0], column = row, 0
        nearest, before, seen = np.full(c + 1, np.inf), np.zeros(c + 1, int), np.zeros(c + 1, bool)
        while row_at[column]:
            seen[column], here = True, row_at[column]
            reduced = costs[here - 1] - of_row[here] - of_column[1:]
            better = ~seen[1:] & (reduced < nearest[1:])
            nearest[1:][better], before[1:][better] = reduced[better], column
            following = 1 + int(np.where(seen[1:], np.inf, nearest[1:]).argmin())
            step = nearest[following]
            of_row[row_at[seen]] += step
            of_column[seen] -= step
            nearest[~seen] -= step
            column = following
        while column:
            row_at[column], column = row_at[before[column]], before[column]
    return row_at[1:].argsort()


# The models that machines can fit: mixtures of one or several Gaussians and of PPCAs.

NEAREST, FARTHEST = 4.0, 5.0  # distance of two centres of a true mixture, and the first radius to draw them in


class Model:
    """A mixture of `components` Gaussians in `dim` dimensions, whose covariances are of one family.

    It has no state: every function is given the parameters.
    """

    def __init__(self, dim: int, components: int, covariances: Covariances) -> None:
        self.dim, self.components, self.covariances = dim, components, covariances

    @property
    def ambiguous(self) -> bool:
        """Whether different parameters are the same density."""
        return self.components > 1 or self.covariances.ambiguous

    def num_params(self, components: int | None = None) -> int:
        """Free parameters of a model with this number of components."""
        c = components or self.components
        return c - 1 + c * (self.dim + self.covariances.num_params)

    def fit(
        self, points: Array, log_weights: Array | None = None, start: Mixture | None = None, rng: Rng | None = None
    ) -> Fit:
        """Most likely parameters for points (n, d), each counted exp(log_weights) (n,) times; their sum says nothing.

        EM goes on from `start`, with as many components as it has, or from the best of several beginnings of `rng`.
        Raises InputError where no weight is positive.
        """
        logs = np.zeros(len(points)) if log_weights is None else log_weights
        if not np.isfinite(logs.max()):
            raise InputError("log weights must be numbers, and one of them finite")
        weights = np.exp(normalise(logs))
        if start is None:
            start = beginning(points, weights, self.components, self.covariances, rng or np.random.default_rng(0))
        return maximise(points, weights, start, self.covariances)

    def log_density(self, points: Array, params: Mixture) -> Array:
        """log p(x), (n,), in nats."""
        return np.logaddexp.reduce(log_joint(points, params), axis=1)

    def sample(self, params: Mixture, rng: Rng, n: int) -> Array:
        """Independent draws (n, d), in random order of the components."""
        roots = np.linalg.cholesky(params.covs)
        which = rng.choice(len(params.shares), n, p=params.shares / params.shares.sum())
        points = rng.standard_normal((n, self.dim))
        for c, (mean, root) in enumerate(zip(params.means, roots, strict=True)):
            mine = which == c
            points[mine] = mean + points[mine] @ root.T
        return points

    def truth(self, rng: Rng) -> Mixture:
        """Parameters to draw data from, the centres of several components at least NEAREST apart."""
        c, d = self.components, self.dim
        means = _apart(rng, c, d) if c > 1 else rng.standard_normal((1, d))
        shares = rng.uniform(1.0, 2.0, c)
        return Mixture(shares / shares.sum(), means, np.array([self.covariances.drawn(rng) for _ in range(c)]))


def _apart(rng: Rng, c: int, d: int) -> Array:
    """Centres (c, d), none nearer to another than NEAREST, in a ball that grows until they fit."""
    radius, found = FARTHEST, np.empty((0, d))
    while len(found) < c:
        direction = rng.standard_normal(d)
        centre = direction / np.linalg.norm(direction) * radius * rng.uniform() ** (1 / d)
        if len(found) == 0 or np.linalg.norm(found - centre, axis=1).min() >= NEAREST:
            found = np.vstack([found, centre])
        radius *= 1.01
    return found


# How many components the points need, by the Bayesian information criterion.

PATIENCE = 2  # consecutive numbers of components without an improvement, after which the search ends
SHORT = 60  # steps of EM in the comparison


def fit_by_bic(models: list[Model], points: Array, rng: Rng) -> Fit:
    """The fit of the model with the least BIC = p log n - 2 log L; `models` have more and more components.

    EM is short for the comparison, as components too many settle slowly, and goes on to its end for the chosen one.
    """
    best, chosen, least, worse, weights = None, None, np.inf, 0, np.full(len(points), 1 / len(points))
    for model in models:
        start = beginning(points, weights, model.components, model.covariances, rng)
        found = maximise(points, weights, start, model.covariances, SHORT)
        size = model.num_params(len(found.params.shares))
        value = float(size * np.log(len(points)) - 2 * model.log_density(points, found.params).sum())
        worse = 0 if value < least else worse + 1
        if value < least:
            best, chosen, least = found, model, value
        if worse == PATIENCE:
            break
    return chosen.fit(points, start=best.params)


# The table: "ppca" is x = W z + m + noise with z ~ N(0, I) (Tipping, Bishop 1999, also "Mixtures of ...").


class Kind(NamedTuple):
    """One kind of model, called with dimension, components and latent dimension."""

    title: str
    mixed: bool = False  # whether there may be several components
    low_rank: bool = False  # whether there is a latent dimension

    def __call__(self, dim: int, components: int = 1, latent: int = 1) -> Model:
        """A model; what its kind does not have is taken no notice of."""
        return Model(dim, components if self.mixed else 1, LowRank(dim, latent) if self.low_rank else Full(dim))


MODELS: dict[str, Kind] = {
    "gaussian": Kind("Gaussian"),
    "ppca": Kind("probabilistic PCA", low_rank=True),
    "mixture_ppca": Kind("mixture of probabilistic PCAs", mixed=True, low_rank=True),
    "gmm": Kind("mixture of Gaussians", mixed=True),
}


# Ways to make one model of the machines' models. Their parameters are sent, and no data but for `mle`.
#
# KL averaging looks for the model nearest to all machines' models theta_k, argmax sum_k E_{theta_k} log p(x | theta);
# the expectations are taken over n points drawn from each of them (Han 2019, Algorithms 11 and 12; Theorem 19
# is of plain draws, 20 of control variates, 22 of weighted draws).


Part = TypeVar("Part")
CAP = 10.0  # of a weight, where their mean is 1
EXACT_POINTS = 20_000  # of each machine, where the exact KL average has no closed form


class NotApplicable(ValueError):
    """A sentence on why these models cannot be combined in this way."""


class Machines:
    """The machines' models theta_k, components matched to the first machine's with the usual number of components."""

    def __init__(self, model: Model, fits: list[Mixture], rng: Rng) -> None:
        self.model = model
        counts = [len(each.shares) for each in fits]
        self.components = min(set(counts), key=lambda c: (-counts.count(c), c))
        self.first = fits[counts.index(self.components)]
        self.params = [matched(each, self.first) if len(each.shares) == self.components else each for each in fits]
        self.rng = rng
        self.shuffled = [each.ordered(rng.permutation(len(each.shares))) for each in fits]

    def check_alike(self) -> None:
        """Raise NotApplicable where parameters of one machine have no counterpart on another."""
        counts = sorted({len(each.shares) for each in self.params})
        if len(counts) > 1:
            many = f"{', '.join(map(str, counts[:-1]))} and {counts[-1]} components"
            raise NotApplicable(f"the machines' models have {many}: their parameters cannot be averaged")


class Bootstrap:
    """n points drawn from each machine's model, and the models fitted to them; every part is made when it is needed."""

    def __init__(self, machines: Machines, n: int, rng: Rng) -> None:
        self.machines, self.n = machines, n
        self._rng, self._other_rng = rng.spawn(2)  # so that it does not matter which part comes first
        self.seconds: dict[str, float] = {}

    @cached_property
    def draws(self) -> list[Array]:
        """Points (n, d) of every machine."""
        return self._timed("draws", lambda: self._drawn(self._rng))

    @cached_property
    def others(self) -> list[Array]:
        """As many points again, independent of `draws`."""
        return self._timed("others", lambda: self._drawn(self._other_rng))

    def _drawn(self, rng: Rng) -> list[Array]:
        return [self.machines.model.sample(each, rng, self.n) for each in self.machines.params]

    @cached_property
    def naive(self) -> Fit:
        """The model fitted to all points: argmax sum_k sum_j log p(x_jk | theta). Squared error: O(1/(K n))."""
        draws = np.concatenate(self.draws)
        return self._timed("naive", lambda: self.machines.model.fit(draws, start=self.machines.first))

    @cached_property
    def refits(self) -> list[Fit]:
        """Every machine's model fitted to its own points again, from where it was."""
        pairs, fit = list(zip(self.draws, self.machines.params, strict=True)), self.machines.model.fit
        return self._timed("refits", lambda: [fit(points, start=params) for points, params in pairs])

    def _timed(self, part: str, work: Callable[[], Part]) -> Part:
        began = time.perf_counter()
        found = work()
        self.seconds[part] = time.perf_counter() - began
        return found


def control(machines: Machines, bootstrap: Bootstrap, fresh: bool = False) -> Fit:
    """theta_naive - (sum_j I_j)^-1 sum_k I_k (theta~_k - theta_k) (Algorithm 11).

    theta~_k is machine k's refit, I_k = mean_j s_jk s_jk' with s_jk the score of a drawn point at theta_k. Theorem 20
    has a squared error of O(1/(K n^2)). As measured it is O(1/n^2), however many machines there are: I_k depends on the
    draws that theta~_k was fitted to, which is a bias of O(1/n), the same on every machine. With `fresh` I_k is from
    other draws (ours): most of the bias is gone; the bias of theta~_k itself stays.

    Raises NotApplicable where parameters have no counterpart, or where there are more of them than points.
    """
    machines.check_alike()
    informing = bootstrap.others if fresh else bootstrap.draws
    (start, note), at = bootstrap.naive, Coordinates(machines.model.covariances, machines.first)
    drawn, wanted = len(machines.params) * bootstrap.n, machines.model.num_params(machines.components)
    if drawn <= wanted:
        raise NotApplicable(f"{drawn:,} draws in all do not tell the Fisher information of {wanted:,} parameters")
    information, shift = 0.0, 0.0
    for params, points, (refit, _) in zip(machines.params, informing, bootstrap.refits, strict=True):
        scores = at.score(points, params)
        fisher = scores.T @ scores / len(points)
        information = information + fisher
        shift = shift + fisher @ (at.vector(refit) - at.vector(params))
    params = at.params(at.vector(start) - np.linalg.solve(information, shift))
    return Fit(params, params.fault or note or _notes(bootstrap))


def weighted(machines: Machines, bootstrap: Bootstrap, printed: bool = False) -> Fit:
    """Fit to all drawn points with weights p(x | theta_k) / p(x | theta~_k) (Algorithm 12). Squared error O(1/(K n^2)).

    Weights are normalised on each machine to mean 1, and none is above CAP. As `printed` they stay as they are:
    argmax sum_k sum_j p(x | theta_k) / p(x | theta~_k) log p(x | theta) (0.139). A machine whose weights have a larger
    mean counts more, and one point may decide.
    """
    model, log_weights = machines.model, []
    for params, points, (refit, _) in zip(machines.params, bootstrap.draws, bootstrap.refits, strict=True):
        log_ratios = model.log_density(points, params) - model.log_density(points, refit)
        log_weights.append(log_ratios if printed else capped(log_ratios))
    params, note = model.fit(np.concatenate(bootstrap.draws), np.concatenate(log_weights), machines.first)
    return Fit(params, note or _notes(bootstrap))


def capped(log_ratios: Array) -> Array:
    """Log weights (n,) of mean weight 1, the largest cut to CAP times that before they are normalised again."""
    shifted = log_ratios - log_mean(log_ratios)
    cut = np.minimum(shifted, np.log(CAP))
    return cut - log_mean(cut)


def _notes(bootstrap: Bootstrap) -> str:
    """How many refits are in doubt, and why the first is."""
    found = [note for _, note in bootstrap.refits if note]
    return f"{len(found)} of {len(bootstrap.refits)} refits: {found[0]}" if found else ""


def linear(machines: Machines, bootstrap: Bootstrap) -> Fit:
    """Mean of the parameters, matched. Raises NotApplicable where they have no counterpart."""
    machines.check_alike()
    at = Coordinates(machines.model.covariances, machines.first)
    params = at.params(np.mean([at.vector(each) for each in machines.params], axis=0))
    return Fit(params, params.fault)


def linear_unmatched(machines: Machines, bootstrap: Bootstrap) -> Fit:
    """The same where components come in any order, and loadings W turned in any way: both say nothing of a model."""
    machines.check_alike()
    shares, means, covs = zip(*machines.shuffled, strict=True)
    family = machines.model.covariances
    mean_covs = [family.unmatched_mean(each, machines.rng) for each in zip(*covs, strict=True)]
    return Fit(Mixture(np.mean(shares, axis=0), np.mean(means, axis=0), np.array(mean_covs)))


def exact(machines: Machines) -> Fit:
    """The KL average itself: for one component in closed form, from the mean of the machines' moments.

    Else by a quadrature without random draws: `normal_points` in each component of each machine, EXACT_POINTS a machine
    in all, weighted by the components' shares.
    """
    model = machines.model
    if model.components == 1:
        mean, second = (np.mean(each, axis=0) for each in zip(*(one.moments for one in machines.params), strict=True))
        cov, _ = model.covariances.fitted(second - np.outer(mean, mean), 0.0)
        return Fit(Mixture(np.ones(1), mean[None], cov[None]))
    points, log_weights = [], []
    for each in machines.params:
        z = normal_points(EXACT_POINTS // len(each.shares), model.dim)
        for share, mean, cov in zip(*each, strict=True):
            points.append(mean + z @ np.linalg.cholesky(cov).T)
            log_weights.append(np.full(len(z), np.log(max(share, np.finfo(float).tiny) / len(z))))
    return model.fit(np.concatenate(points), np.concatenate(log_weights), machines.first)


@lru_cache(maxsize=16)
def normal_points(n: int, d: int) -> Array:
    """About n points (2 ⌈n/2⌉, d) spread evenly over N(0, I), of mean 0 and covariance I but for rounding.

    The sequence of `quasi_draws` with g^(d+1) = g + 1 in any dimension, and its mirror images.
    """
    g = 2.0
    for _ in range(60):
        g = (1 + g) ** (1 / (d + 1))
    z = spread_normals((n + 1) // 2, g ** -np.arange(1.0, d + 1))
    z = np.concatenate([z, -z])
    z = np.linalg.solve(np.linalg.cholesky(z.T @ z / len(z)), z.T).T
    z.flags.writeable = False
    return z


@dataclass(frozen=True)
class Combiner:
    """An entry of COMBINERS. `parts` of a bootstrap that it uses; none for one that draws nothing."""

    title: str
    combine: Callable[[Machines, Bootstrap], Fit]
    parts: tuple[str, ...] = ()
    rate: float = 0.0  # squared error as a power of n, by theory
    ambiguous_only: bool = False  # shows what happens where different parameters are the same density


FRESH, PRINTED = partial(control, fresh=True), partial(weighted, printed=True)
COMBINERS: dict[str, Combiner] = {
    "naive": Combiner("KL, plain draws", lambda machines, bootstrap: bootstrap.naive, ("draws", "naive"), -1.0),
    "control": Combiner("KL, control variates", control, ("draws", "naive", "refits"), -2.0),
    "control_fresh": Combiner(
        "KL, control variates, information of other draws", FRESH, ("draws", "naive", "refits", "others"), -2.0
    ),
    "weighted": Combiner("KL, weighted draws", weighted, ("draws", "refits"), -2.0),
    "weighted_printed": Combiner("KL, weighted draws, as printed", PRINTED, ("draws", "refits"), -2.0),
    "linear": Combiner("mean of the parameters", linear),
    "linear_unmatched": Combiner("mean of the parameters, unmatched", linear_unmatched, ambiguous_only=True),
}


def combined(name: str, machines: Machines, bootstrap: Bootstrap) -> tuple[Fit | None, float, str]:
    """The fit of a combiner (None where it fails), its seconds with the parts that it uses, and its note."""
    combiner, began = COMBINERS[name], time.perf_counter()
    before = dict(bootstrap.seconds)
    try:
        found, note = combiner.combine(machines, bootstrap), ""
    except NotApplicable as error:
        found, note = None, str(error)
    except np.linalg.LinAlgError as error:
        found, note = None, f"the parameters cannot be computed: {error}"
    spent = time.perf_counter() - began
    shared = sum(before[part] for part in combiner.parts if part in before)
    return found, spent + shared, found.note if found else note
