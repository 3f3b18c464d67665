"""The approximate ELBO of a mixture of round Gaussians (Gershman et al. 2012), its gradient, and L-BFGS on it."""

from __future__ import annotations

from typing import Any

import numpy as np

from pmdviz.methods.base import checked_gradient, checked_log_likelihood
from pmdviz.targets import Target

DIFFERENCE = 1e-4  # prior sds: half the distance of the two gradients that give a second derivative


class Tempered:
    """beta log p(theta, X) - (1 - beta) |z - z0|^2 / 2 on a batch, z = theta / scale; counts what it asks."""

    def __init__(self, target: Target, batch: np.ndarray, beta: float, origin: np.ndarray) -> None:
        self.target, self.batch, self.beta, self.origin = target, batch, beta, origin / target.scale
        self.visited = self.density_evaluations = self.gradient_evaluations = 0

    def values(self, z: np.ndarray) -> np.ndarray:
        """At z (n, d), as (n,)."""
        theta = z * self.target.scale
        likelihood = checked_log_likelihood(self.target, theta, self.batch, may_vanish=True)
        joint = self.target.log_prior(theta) + self.target.num_data / len(self.batch) * likelihood
        self.visited += len(self.batch)
        self.density_evaluations += len(self.batch) * len(z)
        return self.beta * joint - 0.5 * (1 - self.beta) * ((z - self.origin) ** 2).sum(axis=1)

    def slopes(self, z: np.ndarray) -> np.ndarray:
        """Gradients (n, d) in z."""
        gradient = checked_gradient(self.target, z * self.target.scale, self.batch) * self.target.scale
        self.visited += len(self.batch)
        self.gradient_evaluations += len(self.batch) * len(z)
        return self.beta * gradient - (1 - self.beta) * (z - self.origin)

    def slopes_and_traces(self, z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradients (n, d) and the Hessians' traces (n,), by central differences, from one visit to the batch."""
        n, d = z.shape
        shifts = DIFFERENCE * np.eye(d)
        every = self.slopes(np.concatenate([z, *(z + e for e in shifts), *(z - e for e in shifts)]))
        ahead, behind = every[n:].reshape(2, d, n, d)
        traces = np.einsum("ini->n", ahead - behind) / (2 * DIFFERENCE)
        return every[:n], traces


def entropy_bound(z: np.ndarray, widths: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """-(1/K) sum_n log q_n with q_n = (1/K) sum_j N(z_n | z_j, s_n^2 + s_j^2), below the entropy of q (Eq. 6).

    z (K, d), widths s (K,); the value, its gradient (K, d) in z and (K,) in s.
    """
    K, d = z.shape
    differences = z[:, None] - z
    squared, variance = (differences**2).sum(axis=2), widths[:, None] ** 2 + widths**2
    log_normal = -squared / (2 * variance) - 0.5 * d * np.log(2 * np.pi * variance)
    top = log_normal.max(axis=1, keepdims=True)
    log_q = top[:, 0] + np.log(np.exp(log_normal - top).sum(axis=1)) - np.log(K)
    shares = np.exp(log_normal - log_q[:, None]) / K**2  # -d value / d log_normal
    both = shares + shares.T
    in_z = (both[:, :, None] * differences / variance[:, :, None]).sum(axis=1)
    in_s = -widths * (both * (squared / variance**2 - d / variance)).sum(axis=1)
    return float(-log_q.mean()), in_z, in_s


def gradient(z: np.ndarray, widths: np.ndarray, slopes: np.ndarray, traces: np.ndarray) -> np.ndarray:
    """K times the ELBO's gradient in the means and the log widths, (K, d + 1); the means' without the trace (Eq. 9)."""
    K = len(z)
    _, in_z, in_s = entropy_bound(z, widths)
    return np.column_stack([slopes + K * in_z, widths**2 * traces + K * widths * in_s])


def maximised(
    z: np.ndarray, log_widths: np.ndarray, near: Tempered, iterations: int, bounds: tuple[float, float]
) -> tuple[np.ndarray, np.ndarray]:
    """Means (K, d) by L-BFGS without the trace, then log widths (K,) with it, as in the paper's two phases."""
    K = len(z)

    def means(flat: np.ndarray) -> tuple[float, np.ndarray]:
        moved = flat.reshape(z.shape)
        value, in_z, _ = entropy_bound(moved, np.exp(log_widths))
        return -(near.values(moved).mean() + value), -(near.slopes(moved) / K + in_z).ravel()

    z = _lbfgs(means, z.ravel(), iterations).reshape(z.shape)
    _, traces = near.slopes_and_traces(z)

    def widths(logs: np.ndarray) -> tuple[float, np.ndarray]:
        s = np.exp(logs)
        value, _, in_s = entropy_bound(z, s)
        return -(0.5 * (s**2 * traces).mean() + value), -(s**2 * traces / K + s * in_s)

    return z, _lbfgs(widths, np.clip(log_widths, *bounds), iterations, [bounds] * K)


def _lbfgs(objective: Any, start: np.ndarray, iterations: int, bounds: Any = None) -> np.ndarray:
    from scipy.optimize import minimize  # at run time: SciPy is no dependency, and slow to import

    found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": iterations})
    return found.x
