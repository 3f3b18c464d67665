"""Exact steps on KL(q‖p) over K states: the mirror step, which multiplies, and the gradient step, which adds.

A density on a grid of K equal cells is such a q too: its entries are the masses of the cells.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

FLOOR = 3e-3  # q/uniform below which the slope log(q/p), infinite at 0, is taken at this value
MOST_TRIES, CLOSE = 60, 1e-10  # of a gradient step that is to have a given length: tries, share of it
NOTHING = 1e-12  # length of a step that rounding alone could make
LARGEST = 2.0**20  # size of a gradient step that is looked for


def forward_kl(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """KL(p‖q) = Σ p log(p/q) in nats, over the last axis; infinite where q is 0 at a state that p allows."""
    seen = p > 0
    with np.errstate(divide="ignore"):
        terms = p[seen] * (np.log(p[seen]) - np.log(q[..., seen]))
    return np.maximum(terms.sum(axis=-1), 0.0)


def mirror_step(q: np.ndarray, p: np.ndarray, gamma: float) -> np.ndarray:
    """q' ∝ q^(1-γ) p^γ, the full-batch step of mirror descent on KL(q‖p) in the geometry of the entropy (Eq. 2).

    Parameters
    ----------
    q, p : arrays (K,), non-negative, sum 1
        Some state must have both q > 0 and p > 0.
    gamma : float in (0, 1]

    Returns
    -------
    array (K,), sum 1; 0 where p is 0, or where q is 0 and γ < 1.
    """
    if gamma == 1:
        return p / p.sum()
    with np.errstate(divide="ignore"):
        logs = (1 - gamma) * np.log(q) + gamma * np.log(p)
    grown = np.exp(logs - logs.max())
    return grown / grown.sum()


def mirror_normaliser(q: np.ndarray, p: np.ndarray, gamma: float) -> float:
    """Log Z' = log Σ q^(1-γ) p^γ, at most 0 by Hölder: KL(p‖q') = (1-γ) KL(p‖q) + log Z' for 0 < γ < 1."""
    return float(np.log(np.sum(q ** (1 - gamma) * p**gamma)))


def project(v: np.ndarray) -> np.ndarray:
    """The point of the simplex nearest to `v` (K,): max(v - τ, 0), with τ found by one sort (Duchi et al. 2008)."""
    falling = np.sort(v)[::-1]
    excess = (np.cumsum(falling) - 1) / np.arange(1, len(v) + 1)
    return np.maximum(v - excess[np.flatnonzero(falling > excess)[-1]], 0.0)


def slope(q: np.ndarray, p: np.ndarray) -> np.ndarray:
    """The gradient of KL(q‖p) by q up to a constant, log(q/p); q and p count as FLOOR/K where they are smaller.

    The constant, 1, has no effect: the projection takes it away.
    """
    least = FLOOR / len(q)
    return np.log(np.maximum(q, least)) - np.log(np.maximum(p, np.finfo(float).tiny))


def gradient_step(q: np.ndarray, p: np.ndarray, size: float) -> np.ndarray:
    """q' = the projection of q - η log(q/p) onto the simplex: a step of gradient descent on KL(q‖p)."""
    return project(q - size * slope(q, p))


def equal_size(q: np.ndarray, p: np.ndarray, gamma: float) -> float:
    """The η with which the gradient step from q is as long (Euclidean) as the mirror step; 0 at q = p.

    Its length never falls with η, and is nearly a line: found by false position (the Illinois rule). Where no step is
    as long: the longest that is looked for.
    """
    wanted, gradient = float(np.linalg.norm(mirror_step(q, p, gamma) - q)), slope(q, p)
    if wanted < NOTHING:
        return 0.0

    def over(size: float) -> float:
        return float(np.linalg.norm(project(q - size * gradient) - q)) - wanted

    low, high, below, above = 0.0, 1e-3, -wanted, over(1e-3)
    while above < 0 and high < LARGEST:
        low, high, below, above = high, 2 * high, above, over(2 * high)
    return high if above < 0 else _zero(over, (low, high), (below, above), CLOSE * wanted)


def _zero(of: Callable[[float], float], ends: tuple[float, float], values: tuple[float, float], close: float) -> float:
    """Where a rising function is at most `close` to 0, between `ends` with their values: by the Illinois rule."""
    (low, high), (below, above) = ends, values
    moved = 0
    for _ in range(MOST_TRIES):
        middle = high - above * (high - low) / (above - below)
        value = of(middle)
        if abs(value) <= close:
            return middle
        if value > 0:
            high, above, below = middle, value, below / 2 if moved > 0 else below
        else:
            low, below, above = middle, value, above / 2 if moved < 0 else above
        moved = 1 if value > 0 else -1
    return high


def path(start: np.ndarray, step: Callable[[np.ndarray], np.ndarray], steps: int) -> np.ndarray:
    """q_0 ... q_t of a step, (steps + 1, K)."""
    points = [np.asarray(start, float)]
    for _ in range(steps):
        points.append(step(points[-1]))
    return np.array(points)


def mirror_path(start: np.ndarray, p: np.ndarray, gamma: float, steps: int) -> np.ndarray:
    """q_t ∝ q_0^s p^(1-s) with s = (1-γ)^t: a straight line in log coordinates."""
    return path(start, lambda q: mirror_step(q, p, gamma), steps)


def gradient_path(start: np.ndarray, p: np.ndarray, gamma: float, steps: int) -> np.ndarray:
    """Gradient steps whose first one is as long as the first mirror step with γ; its η is kept."""
    size = equal_size(start, p, gamma)
    return path(start, lambda q: gradient_step(q, p, size), steps)
