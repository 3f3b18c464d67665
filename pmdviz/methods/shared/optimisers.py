"""Steps along a noisy gradient: a decaying step size, and the directions of Adam, of AdaGrad and of none."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pmdviz.knobs import Real
from pmdviz.methods.shared.schedules import decay

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
