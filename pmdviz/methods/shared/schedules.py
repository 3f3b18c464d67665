"""Step sizes gamma_t in (0, 1] and numbers of particles m_t, as pure functions of the step number t = 1, 2, ..."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def decay(t: int, eta: float, n0: float, kappa: float) -> float:
    """gamma_t = min(1, eta / (n0 + t^kappa)): covers 1/t, 1/(n0 + t) and eta/(n0 + sqrt t).

    Source: the step sizes of Dai et al. 2016, section 6 and Theorem 6, in one form (ours).
    """
    return min(1.0, eta / (n0 + float(t) ** kappa))


def constant(t: int, step_size: float) -> float:
    """gamma_t = step_size: remembers about the last 1/step_size batches."""
    return step_size


def theorem6(t: int, delta: float, gradient_bound: float, smoothness: float, m: int, d: int) -> float:
    """gamma_t = min(2 / (t + 1), Delta / (M m_t^(beta / (d + 2 beta)))), m particles in d dimensions.

    1/Delta bounds the density from below on its support, M the gradient's largest value, beta is the Hoelder
    smoothness. Source: Dai et al. 2016, Theorem 6.
    """
    return min(2.0 / (t + 1), delta / (gradient_bound * float(m) ** (smoothness / (d + 2 * smoothness))))


SCHEDULES: dict[str, Callable[[int, Any, int, int], float]] = {
    "decay": lambda t, knobs, m, d: decay(t, knobs.eta, knobs.n0, knobs.kappa),
    "constant": lambda t, knobs, m, d: constant(t, knobs.step_size),
    "theorem6": lambda t, knobs, m, d: theorem6(t, knobs.delta, knobs.gradient_bound, knobs.smoothness, m, d),
}


def power(t: int, first: int, exponent: float, most: int) -> int:
    """m_t = first t^exponent, rounded, at most `most`.

    Theorem 6 of Dai et al. 2016 reaches KL = O(1/T) with m_t = O(t^(2 + d/beta)).
    """
    return int(min(float(most), round(first * float(t) ** exponent)))


def jump(t: int, first: int, until: int, most: int) -> int:
    """m_t = first up to t = `until`, then `most` (Dai et al. 2016, the closing remark of section 3)."""
    return first if t <= until else most


GROWTHS: dict[str, Callable[[int, Any], int]] = {
    "fixed": lambda t, knobs: knobs.num_particles,
    "power": lambda t, knobs: power(t, knobs.num_particles, knobs.growth_exponent, knobs.most_particles),
    "jump": lambda t, knobs: jump(t, knobs.num_particles, knobs.until, knobs.most_particles),
}
