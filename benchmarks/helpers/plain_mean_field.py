"""Particle mean-field VB of logistic regression in plain NumPy: what ours is timed against, and agrees with.

`products` has e^-(a + b) as a product, which saves most exponentials and overflows far out.
"""

from __future__ import annotations

import numpy as np

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session

E12 = {"dim": 4, "num_data": 200, "prior_sd": 2.0, "truth": "prior"}  # its target, as the specification has it


class PlainMeanField:
    """Particles (M, d) of blocks of weights w ~ N(0, prior_sd^2 I) of P(y = 1 | x) = 1 / (1 + exp(-x.w))."""

    def __init__(
        self, particles: np.ndarray, rows: np.ndarray, blocks: list[list[int]], prior_sd: float, products: bool = False
    ) -> None:
        self.particles, self.blocks, self.prior_sd = particles.copy(), blocks, prior_sd
        self.products = products
        self.x, self.y = rows[:, :-1], rows[:, -1]
        self.bounds: list[float] = []

    def gradient(self, block: list[int], others: np.ndarray) -> np.ndarray:
        """Mean over the others (m, d) of the gradient in the block at every particle, (M, k)."""
        rest = [k for k in range(self.x.shape[1]) if k not in block]
        own = self.particles[:, block] @ self.x[:, block].T  # (M, n)
        theirs = others[:, rest] @ self.x[:, rest].T  # (m, n)
        if self.products:
            mean = (1 / (1 + np.exp(-own)[:, None] * np.exp(-theirs))).mean(axis=1)
        else:
            mean = (1 / (1 + np.exp(-(own[:, None] + theirs)))).mean(axis=1)  # over (M, m, n)
        return (self.y - mean) @ self.x[:, block] - self.particles[:, block] / self.prior_sd**2

    def lower_bound(self) -> float:
        """Mean log p(theta, X) + log M."""
        logits = self.particles @ self.x.T
        likelihood = (self.y * logits - np.logaddexp(0, logits)).sum(axis=1)
        prior = -0.5 * (self.particles**2).sum(axis=1) / self.prior_sd**2
        constant = self.x.shape[1] * np.log(self.prior_sd * np.sqrt(2 * np.pi))
        return float((likelihood + prior).mean() - constant + np.log(len(self.particles)))

    def step(self, rng: np.random.Generator, h: float = 0.01, num_others: int = 10) -> None:
        """All blocks once, one after the other, and the lower bound, as Algorithm 1 has it."""
        m = len(self.particles)
        for block in self.blocks:
            others = self.particles[rng.choice(m, num_others, replace=False)]
            drift = 0.5 * h * self.gradient(block, others)
            self.particles[:, block] += drift + np.sqrt(h) * rng.standard_normal(drift.shape)
        self.bounds.append(self.lower_bound())


def session(seed: int = 0, **options: object) -> Session:
    """Ours at its defaults."""
    recipe = Recipe("logistic", "pmfvb", target_options={**E12, **options}, seed=seed, budget=None)
    return Session(recipe, metrics_every=10**9)


def plain(ours: Session, products: bool = False) -> PlainMeanField:
    """The plain form from where a session stands."""
    target, blocks = ours.target, [list(block.coordinates) for block in ours.target.blocks]
    return PlainMeanField(ours.frame.particles, target.data, blocks, target.prior_sd, products)
