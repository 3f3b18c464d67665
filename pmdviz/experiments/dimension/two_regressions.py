"""A posterior with two modes in any dimension: a regression whose sign nobody has seen, judged by exact Gibbs draws."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from pmdviz.targets.custom import CustomTarget
from pmdviz.targets.reference.base import DrawsReference

CHAINS, KEPT, BURN_IN = 40, 250, 100
REFERENCE_SEED = 2017


class TwoRegressions(CustomTarget):
    """y = s w.x + e with s = -1 or 1 unseen, each with probability 1/2; x, w and e standard normal.

    Likelihood of a row 0.5 N(y | w.x, 1) + 0.5 N(y | -w.x, 1): it is the same at w and -w, and so is the prior N(0, I).
    As s^2 = 1, the precision given all signs is I + X'X whatever they are, and a Gibbs sweep over (s, w) costs no more
    than a likelihood.
    """

    def __init__(self, dim: int, num_data: int, seed: int) -> None:
        rng = np.random.default_rng([seed, dim, 2])
        x, self.true_weights = rng.standard_normal((num_data, dim)), rng.standard_normal(dim)
        signs, noise = rng.choice([-1.0, 1.0], num_data), rng.standard_normal(num_data)
        super().__init__(
            log_prior=lambda w: -0.5 * (w**2).sum(axis=1) - 0.5 * dim * np.log(2 * np.pi),
            log_likelihood=log_likelihood,
            sample_prior=lambda rng, m: rng.standard_normal((m, dim)),
            grad_log_prior=lambda w: -w,
            grad_log_likelihood=grad_log_likelihood,
            data=np.column_stack([x, signs * np.einsum("nd,d->n", x, self.true_weights) + noise]),
            dim=dim,
            name="two_regressions",
        )

    def make_reference(self) -> DrawsReference:
        """Draws of many Gibbs chains from the true w, each with its mirror image: the mean is 0 as it must be."""
        x, y = self.data_rows[:, :-1], self.data_rows[:, -1]
        rng, factor = np.random.default_rng(REFERENCE_SEED), np.linalg.cholesky(np.eye(self.dim) + x.T @ x)
        w, kept = np.tile(self.true_weights, (CHAINS, 1)), []
        for _ in range(BURN_IN + KEPT):
            w = sweep(rng, w, x, y, factor)
            kept.append(w)
        draws = np.stack(kept[BURN_IN:], axis=1)
        return DrawsReference(np.concatenate([draws, -draws], axis=1))


def log_likelihood(w: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """sum over rows of log(0.5 N(y | f, 1) + 0.5 N(y | -f, 1)), f = w.x: (m, d) and (n, d + 1) -> (m,), in nats."""
    y, f = rows[:, -1], _fitted(w, rows)
    cosh = np.abs(y * f) + np.log1p(np.exp(-2 * np.abs(y * f))) - np.log(2)  # log cosh(y f), which does not overflow
    return (cosh - 0.5 * (y**2 + f**2) - 0.5 * np.log(2 * np.pi)).sum(axis=1)


def grad_log_likelihood(w: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Its gradient, the sum of (y tanh(y f) - f) x: (m, d)."""
    y, f = rows[:, -1], _fitted(w, rows)
    return np.einsum("mn,nd->md", y * np.tanh(y * f) - f, rows[:, :-1])


def sweep(rng: np.random.Generator, w: np.ndarray, x: np.ndarray, y: np.ndarray, factor: np.ndarray) -> np.ndarray:
    """Signs given w, with P(s = 1) = 1 / (1 + exp(-2 y f)), then w given the signs, for chains (c, d).

    `factor` (d, d) is the Cholesky factor of the precision.
    """
    likely = 0.5 * (1 + np.tanh(y * np.einsum("cd,nd->cn", w, x)))
    signed = np.where(rng.random(likely.shape) < likely, y, -y)
    scores = np.linalg.solve(factor, np.einsum("cn,nd->dc", signed, x))
    return np.linalg.solve(factor.T, scores + rng.standard_normal(scores.shape)).T


def _fitted(w: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return np.einsum("md,nd->mn", w, rows[:, :-1])  # not BLAS, whose last bits depend on its number of threads


@lru_cache(maxsize=8)
def two_regressions(dim: int, num_data: int, seed: int) -> TwoRegressions:
    """One for all runs of a process: its reference is drawn once."""
    return TwoRegressions(dim, num_data, seed)
