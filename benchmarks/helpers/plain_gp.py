"""Structured PMD on a sparse Gaussian process in plain NumPy: what our kernels are timed against, and agree with."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np


def rbf(z: np.ndarray, x: np.ndarray, width: float) -> np.ndarray:
    """exp(-(z - x)^2 / (2 width^2)), (..., M) and (..., n) -> (..., M, n)."""
    return np.exp(-0.5 * ((z[..., :, None] - x[..., None, :]) / width) ** 2)


class PlainStructuredPMD:
    """m sets of inducing inputs (m, M) at once, by batched matrix products, solves and Cholesky factors (FITC)."""

    def __init__(self, inputs: np.ndarray, width: float, noise: float, jitter: float = 1e-8) -> None:
        m, num = inputs.shape
        self.inputs, self.width, self.noise, self.jitter = inputs, width, noise, jitter
        self.factor = np.linalg.cholesky(rbf(inputs, inputs, width) + jitter * np.eye(num))
        self.precision, self.linear = np.tile(np.eye(num), (m, 1, 1)), np.zeros((m, num))
        self.partition, self.log_weights = np.zeros(m), np.full(m, -np.log(m))

    def step(self, x: np.ndarray, y: np.ndarray, gamma: float, num_data: int) -> None:
        """One mirror step on a batch."""
        power = gamma * num_data / len(x)
        a = np.linalg.solve(self.factor, rbf(self.inputs, x, self.width))
        variance = np.maximum(self.noise + 1 - (a**2).sum(axis=1), self.noise)
        weighted = a / variance[:, None]
        eye = np.eye(self.inputs.shape[1])
        self.precision = (1 - gamma) * self.precision + gamma * eye + power * weighted @ a.transpose(0, 2, 1)
        self.linear = (1 - gamma) * self.linear + power * weighted @ y
        after = self._log_partition()
        base = -0.5 * power * (np.log(2 * np.pi * variance) + y**2 / variance).sum(axis=1)
        log_weights = (1 - gamma) * self.log_weights + after - (1 - gamma) * self.partition + base
        log_weights -= log_weights.max()
        self.log_weights, self.partition = log_weights - np.log(np.exp(log_weights).sum()), after

    def run(self, batches: Iterable[tuple[np.ndarray, np.ndarray, float]], num_data: int) -> None:
        """All steps."""
        for x, y, gamma in batches:
            self.step(x, y, gamma, num_data)

    def mean_at(self, points: np.ndarray) -> np.ndarray:
        """E f at points (n,)."""
        a = np.linalg.solve(self.factor, rbf(self.inputs, np.broadcast_to(points, (len(self.inputs), len(points))),
                                             self.width))  # fmt: skip
        means = np.einsum("jkn,jk->jn", a, np.linalg.solve(self.precision, self.linear[:, :, None])[:, :, 0])
        return np.exp(self.log_weights) @ means

    def _log_partition(self) -> np.ndarray:
        factor = np.linalg.cholesky(self.precision)
        solved = np.linalg.solve(factor, self.linear[:, :, None])[:, :, 0]
        return 0.5 * (solved**2).sum(axis=1) - np.log(np.diagonal(factor, axis1=1, axis2=2)).sum(axis=1)
