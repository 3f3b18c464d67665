"""Step sizes and numbers of particles, and the directions of Adam, AdaGrad and plain gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pmdviz.knobs import Real

# Step sizes gamma_t in (0, 1] and numbers of particles m_t, as pure functions of the step number t = 1, 2, ...


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


FIRST, SECOND, SMALLEST = 0.9, 0.99, 1e-8  # Adam's memories of the gradient and its square; against division by 0

KAPPA = "How fast the step size min(1, η/(n₀ + t^κ)) decays. The Robbins-Monro conditions hold for 1/2 < κ ≤ 1."


def eta(default: float, doc: str = "Numerator of the step size min(1, η/(n₀ + t^κ)).", **by: object) -> Real:
    """The knob `eta`, for a method whose own default it is."""
    return Real(
        default,
        bounds=(0, 1_000_000),
        inclusive_bounds=(False, True),
        softbounds=(0.1, 100),
        log=True,
        basic=True,
        label="Step size η",
        doc=doc,
        **by,
    )


def n0(
    default: float, doc: str = "Makes the first steps smaller: the step size is min(1, η/(n₀ + t^κ)).", **by: object
) -> Real:
    """The knob `n0`, for a method whose own default it is."""
    return Real(
        default,
        bounds=(0, 1_000_000),
        softbounds=(0, 200),
        label="Delay n₀",
        unit="steps",
        doc=doc,
        **by,
    )


def kappa(default: float = 1.0, doc: str = KAPPA, **by: object) -> Real:
    """The knob `kappa`, for a method whose own default it is."""
    return Real(
        default,
        bounds=(0, 1),
        inclusive_bounds=(False, True),
        softbounds=(0.1, 1),
        label="Decay exponent κ",
        doc=doc,
        **by,
    )


def step_decay(default: float, **by: object) -> Real:
    """The knob `kappa` of `step_size`."""
    return Real(
        default,
        bounds=(0, 1),
        softbounds=(0, 1),
        label="Decay exponent κ",
        doc="How fast the step size η/t^κ falls; with 0 it stays.",
        **by,
    )


def decayed(t: int, knobs: object) -> float:
    """min(1, eta / (n0 + t^kappa)) for step t = 1, 2, ... (Robbins and Monro's condition for kappa in (1/2, 1])."""
    return decay(t, knobs.eta, knobs.n0, knobs.kappa)


def step_size(t: int, eta: float, kappa: float) -> float:
    """eta / t^kappa for step t = 1, 2, ...: alpha / (1 + l)^beta of Han's thesis."""
    return eta / float(t) ** kappa


def adam(
    gradient: np.ndarray, first: np.ndarray, second: np.ndarray, t: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Direction, mean and mean square of the gradients so far (Kingma and Ba 2015, Algorithm 1), t from 1.

    A direction is about 1 in every coordinate whatever the gradient's size.
    """
    first, second = FIRST * first, SECOND * second
    first += (1 - FIRST) * gradient
    second += (1 - SECOND) * gradient**2
    direction = first / (1 - FIRST**t)
    direction /= np.sqrt(second / (1 - SECOND**t)) + SMALLEST
    return direction, first, second


def adagrad(
    gradient: np.ndarray, first: np.ndarray, second: np.ndarray, t: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Direction by the sum of all squared gradients (Duchi, Hazan, Singer 2011); `first` is left as it is."""
    second = second + gradient**2
    return gradient / (np.sqrt(second) + SMALLEST), first, second


def plain(
    gradient: np.ndarray, first: np.ndarray, second: np.ndarray, t: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The gradient itself (Robbins, Monro 1951); the memories are left as they are."""
    return gradient, first, second


OPTIMISERS = {"adam": adam, "adagrad": adagrad, "plain": plain}


class Parts(NamedTuple):
    """A direction as `pace` times the gradient of its step, and what earlier ones add: each of the gradient's shape."""

    pace: np.ndarray
    past: np.ndarray


def adam_parts(first: np.ndarray, second: np.ndarray, t: int) -> Parts:
    """Of the direction of `adam` in step t, by `first` before the step and `second` after it."""
    divisor = (1 - FIRST**t) * (np.sqrt(second / (1 - SECOND**t)) + SMALLEST)
    return Parts((1 - FIRST) / divisor, FIRST * first / divisor)


def adagrad_parts(first: np.ndarray, second: np.ndarray, t: int) -> Parts:
    """Of that of `adagrad`, which adds nothing of earlier gradients."""
    return Parts(1 / (np.sqrt(second) + SMALLEST), np.zeros(first.shape))


def plain_parts(first: np.ndarray, second: np.ndarray, t: int) -> Parts:
    """Of the gradient itself."""
    return Parts(np.ones(first.shape), np.zeros(first.shape))


PARTS = {"adam": adam_parts, "adagrad": adagrad_parts, "plain": plain_parts}
