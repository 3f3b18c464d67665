"""Exact posterior means and sds: one-dimensional quadrature over Gaussians, grids, and importance sampling."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.stats import chi2, norm, qmc

from pmdviz.densities.density import normalise

LEVELS = 2000  # values of the coordinate that is summed over
NATS_KEPT = 40.0  # values whose log density is further below the largest one hold no mass
SIDES = {1: 20_001, 2: 401}  # points along each edge of a grid
ZOOMS = 6
DEGREES = 5.0  # of freedom of the proposal
ROUNDS, PILOTS = 5, 4096  # that fit the proposal
REPLICATES, POINTS = 16, 4096  # scrambled Sobol sets, and the points of each
MOST_ERROR = 0.01  # in posterior sds


class Unanswered(ValueError):
    """A posterior whose mean is not found well enough."""


class Answer:
    """A posterior as sum_k w_k N(mean_k, root_k root_k'), exact or nearly so.

    `log_weights` (k,) up to a constant, `means` (k, d), `roots` (k, d, d) or None where all components are points.
    `error` is the standard error of the means in posterior sds, the largest over coordinates; 0 for quadrature.
    """

    def __init__(
        self, log_weights: np.ndarray, means: np.ndarray, roots: np.ndarray | None = None, error: float = 0.0
    ) -> None:
        kept = log_weights > log_weights.max() - NATS_KEPT
        self.weights = np.exp(normalise(log_weights[kept]))
        self.means, self.roots, self.error = means[kept], None if roots is None else roots[kept], error

    @cached_property
    def mean(self) -> np.ndarray:
        """E theta, (d,)."""
        return self.weights @ self.means

    @cached_property
    def sd(self) -> np.ndarray:
        """Sds of theta, (d,)."""
        within = 0.0 if self.roots is None else np.einsum("k,kij->i", self.weights, self.roots**2)
        return np.sqrt(self.weights @ (self.means - self.mean) ** 2 + within)

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n draws (n, d)."""
        rows = rng.choice(len(self.weights), n, p=self.weights)
        noise = 0.0
        if self.roots is not None:
            noise = np.einsum("nij,nj->ni", self.roots[rows], rng.standard_normal((n, self.means.shape[1])))
        return self.means[rows] + noise


def gaussians(
    log_weights: np.ndarray, precisions: np.ndarray, grams: np.ndarray, linears: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Priors N(0, Q_k^-1) times likelihoods exp(h_k' b - b' G_k b / 2), b of length p.

    Returns log weights (k,), means (k, p) and roots (k, p, p) of the covariances. The log weights are those given plus
    the log integrals over b, in nats.
    """
    lower = np.linalg.cholesky(precisions + grams)
    roots = np.swapaxes(np.linalg.inv(lower), 1, 2)
    means = np.einsum("kij,klj,kl->ki", roots, roots, linears, optimize=True)
    log_dets = np.log(np.einsum("kii->ki", lower)).sum(axis=1)
    evidence = 0.5 * np.linalg.slogdet(precisions)[1] - log_dets + 0.5 * (linears * means).sum(axis=1)
    return log_weights + evidence, means, roots


def over_a_line(given: Callable[[np.ndarray], tuple[np.ndarray, ...]], low: float, high: float) -> Answer:
    """The posterior of (b, u), where `given(u (k,))` has the arguments of `gaussians`, u in [low, high].

    By the trapezoid rule, whose error falls exponentially for a density that vanishes smoothly at both ends.
    """
    for _ in range(2):
        u = np.linspace(low, high, LEVELS)
        log_weights, means, roots = gaussians(*given(u))
        inside = u[log_weights > log_weights.max() - NATS_KEPT]
        low, high = inside[0] - (u[1] - u[0]), inside[-1] + (u[1] - u[0])
    k, p = means.shape
    wider = np.zeros((k, p + 1, p + 1))
    wider[:, :p, :p] = roots
    return Answer(log_weights, np.column_stack([means, u]), wider)


def on_grid(log_joint: Callable[[np.ndarray], np.ndarray], box: np.ndarray) -> Answer:
    """By the sum over a grid in one or two dimensions, which closes in on the mass in `box` (d, 2)."""
    for _ in range(ZOOMS):
        lines = [np.linspace(*edge, SIDES[len(box)]) for edge in box]
        points = np.stack(np.meshgrid(*lines, indexing="ij"), axis=-1).reshape(-1, len(box))
        values = np.concatenate([log_joint(part) for part in np.array_split(points, max(1, len(points) // 20_000))])
        inside = points[values > values.max() - NATS_KEPT]
        step = np.array([line[1] - line[0] for line in lines])
        smaller = np.clip(np.column_stack([inside.min(axis=0) - step, inside.max(axis=0) + step]), *box.T[:, :, None])
        if (np.ptp(smaller, axis=1) > 0.8 * np.ptp(box, axis=1)).all():
            break
        box = smaller
    return Answer(values, points)


def by_importance(target: Any, start: np.ndarray) -> Answer:
    """By importance sampling from a t distribution with 5 degrees of freedom, fitted in rounds from the mode.

    For posteriors with one mode. The error comes from independent scrambled Sobol sets (Owen 1997). Raises Unanswered
    where it is above MOST_ERROR.
    """
    found = minimize(
        lambda theta: -target.log_joint(theta[None])[0], start, jac=lambda theta: -target.grad_log_joint(theta[None])[0]
    )
    mean, scale = found.x, found.hess_inv
    for k in range(ROUNDS):
        points, log_weights = _weighted(target, mean, scale, PILOTS, k)
        weights = np.exp(normalise(log_weights))
        mean = weights @ points
        scale = (points - mean).T @ ((points - mean) * weights[:, None])
    sets = [_weighted(target, mean, scale, POINTS, ROUNDS + k) for k in range(REPLICATES)]
    means = np.array([Answer(log_weights, points).mean for points, log_weights in sets])
    whole = Answer(np.concatenate([w for _, w in sets]), np.concatenate([points for points, _ in sets]))
    whole.error = float((means.std(axis=0, ddof=1) / whole.sd).max() / np.sqrt(REPLICATES))
    if not whole.error < MOST_ERROR:
        raise Unanswered(f"importance sampling of {target.name} has an error of {whole.error:.2g} posterior sds")
    return whole


def _weighted(target: Any, mean: np.ndarray, scale: np.ndarray, n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """n points (n, d) of the t distribution around `mean` with scale matrix `scale`, and their log weights (n,)."""
    d = len(mean)
    uniform = np.clip(qmc.Sobol(d + 1, rng=seed).random(n), 1e-12, 1 - 1e-12)
    z = norm.ppf(uniform[:, :d]) / np.sqrt(chi2.ppf(uniform[:, d:], DEGREES) / DEGREES)
    points = mean + z @ np.linalg.cholesky(scale).T
    return points, target.log_joint(points) + 0.5 * (DEGREES + d) * np.log1p((z**2).sum(axis=1) / DEGREES)
