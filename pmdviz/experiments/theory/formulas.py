"""The bounds of Dai, He, Dai, Song 2016 as formulas; logarithms are natural, divergences in nats.

Their constants hang on suprema over an unbounded space (M, C, rho) that no run knows. So what is compared with a run is
how a bound falls: `RATES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from pmdviz.errors import InputError


def theorem2(kl: float, gamma: float, gradient_bound: float, inexactness: float = 0.0) -> float:
    """E KL(p || q_{t+1}) <= eps_t + (1 - gamma_t) E KL(p || q_t) + gamma_t^2 / 2 E ||g_t||^2.

    `kl` is KL(p || q_t), `gradient_bound` the root of the mean of ||g_t||^2 (largest absolute value, nats),
    `inexactness` eps_t of Eq. 3. Source: Theorem 2.
    """
    return inexactness + (1 - gamma) * kl + 0.5 * gamma**2 * gradient_bound**2


def theorem2_unrolled(
    first: float, gammas: Sequence[float], gradient_bounds: Sequence[float], inexactness: Sequence[float]
) -> np.ndarray:
    """Theorem 2 put into itself from KL(p || q_1) = `first`: bounds on KL(p || q_t) for t = 1 .. T + 1, (T + 1,)."""
    bounds = [first]
    for gamma, bound, eps in zip(gammas, gradient_bounds, inexactness, strict=True):
        bounds.append(theorem2(bounds[-1], gamma, bound, eps))
    return np.array(bounds)


def theorem3(m: float, ratio_bound: float, largest: float = 1.0) -> float:
    """E |E_q~ f - E_q f| <= 2 sqrt(C) ||f|| / sqrt(m): m weighted draws of the prior, C the largest of posterior/prior.

    Source: Theorem 3 as Lemma 7 of the appendix proves it.
    """
    return 2 * np.sqrt(ratio_bound) * largest / np.sqrt(m)


def theorem5(
    m: float,
    steps: float,
    ratio_bound: float,
    likelihood_bound: float,
    gradient_bound: float,
    first_kl: float,
    eta: float = 1.0,
    largest: float = 1.0,
) -> float:
    """E |E_q~T f - E_p f| <= 2 sqrt(max(C, rho e^M)) ||f|| / sqrt(m) + max(sqrt KL(p||prior), eta M / sqrt(2 eta - 1)) ||f|| / sqrt(T).

    For gamma_t = eta / t, eta > 1/2. Raises InputError for another eta. Source: Theorem 5.
    """  # noqa: E501
    if not eta > 0.5:
        raise InputError(f"Theorem 5 needs eta above 0.5; given: {eta!r}")
    sampling = theorem3(m, max(ratio_bound, likelihood_bound * np.exp(gradient_bound)), largest)
    optimisation = max(np.sqrt(first_kl), eta * gradient_bound / np.sqrt(2 * eta - 1))
    return sampling + optimisation * largest / np.sqrt(steps)


def kde_exponent(smoothness: float, dim: int) -> float:
    """-beta / (d + 2 beta): how the L1 error of a weighted KDE falls with m at the best bandwidth (Theorem 4)."""
    return -smoothness / (dim + 2 * smoothness)


def theorem6(
    particles: Iterable[float],
    dim: int,
    smoothness: float,
    first_kl: float,
    gradient_bound: float,
    c1: float,
    c2: float,
) -> float:
    """E KL(p || q_T) <= 2 max(D1, M^2)/T + C1 sum_t t^2 m_t^(-2b/(d+2b)) / T^2 + C2 m_T^(-b/(d+2b)), b = beta.

    `particles` are m_1 .. m_T. Source: Theorem 6; its constants C1 and C2 are not given there.
    """
    m = np.array(list(particles), float)
    t, rate = np.arange(1, len(m) + 1), kde_exponent(smoothness, dim)
    stochastic = 2 * max(first_kl, gradient_bound**2) / len(m)
    return float(stochastic + c1 * (t**2 * m ** (2 * rate)).sum() / len(m) ** 2 + c2 * m[-1] ** rate)


class Rate(NamedTuple):
    """How one bound falls: error ~ x^exponent(beta, d), with a constant that is not known."""

    theorem: str
    x: str  # "m" particles, "T" steps
    errors: tuple[str, ...]  # which errors it is about, by their names in a sweep
    exponent: Callable[[float, int], float]
    words: str


RATES = (
    Rate("Theorem 3", "m", ("bounded",), lambda beta, d: -0.5, "weighted draws of the prior, one step"),
    Rate("Theorem 4", "m", ("tv",), kde_exponent, "a weighted KDE at the best bandwidth, one step"),
    Rate("Theorem 5", "m", ("bounded",), lambda beta, d: -0.5, "weighted particles, γ = η/t, T in step with m"),
    Rate("Theorem 5", "T", ("bounded",), lambda beta, d: -0.5, "weighted particles, γ = η/t, m in step with T"),
    Rate("Theorem 6", "m", ("kl_forward",), kde_exponent, "the part of the KDE, which T does not take away"),
    Rate("Theorem 6", "T", ("kl_forward",), lambda beta, d: -1.0, "with m growing like t^(2+d/β)"),
)


def rates_for(x: str, error: str) -> list[Rate]:
    """The bounds that say how `error` falls with `x` ("m" or "T")."""
    return [rate for rate in RATES if rate.x == x and error in rate.errors]
