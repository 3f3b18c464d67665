"""Particle mean-field VB for stochastic volatility in plain NumPy, as one would write it after reading the paper.

Tran, Tseng, Kohn 2023, algorithm 1 and appendix A (without its factor T - 1 in B): arrays of all particles at once and
no compiled code. It is what `pmfvb` on `stochastic_volatility` is timed against.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

MEAN_VARIANCE = 10.0
ALPHA, BETA = 2.5, 0.025
A, B = 20.0, 1.5
PACE = 0.25  # of psi


class Fit(NamedTuple):
    """What the plain form ends with."""

    mean: float
    variance: float  # of q(mu)
    shape: float
    scale: float  # of q(s2)
    psi: np.ndarray  # (M,)
    path: np.ndarray  # (M, T)
    bounds: np.ndarray  # (steps,) the lower bound of every step, which the paper's stopping rule looks at


def plain_volatility(
    y: np.ndarray, num_particles: int, h: float, steps: int, rng: np.random.Generator, bounded: bool = True
) -> Fit:
    """So many steps of algorithm 1 with blocks mu, s2 and (psi, path); with `bounded` a lower bound in every step."""
    count = len(y)
    level = np.log((y**2).mean())
    x = level + 0.1 * rng.standard_normal((num_particles, count))
    psi = np.arctanh(0.5) + 0.1 * rng.standard_normal(num_particles)
    scale, mean = BETA + ALPHA, level
    shape, bounds = ALPHA + count / 2, []
    for _ in range(steps):
        phi = np.tanh(psi)
        precision = shape / scale
        total = 1 / MEAN_VARIANCE + precision * ((1 - phi**2).mean() + (count - 1) * ((1 - phi) ** 2).mean())
        jumps = x[:, 1:] - phi[:, None] * x[:, :-1]
        mean = precision * ((1 - phi**2) * x[:, 0] + (1 - phi) * jumps.sum(axis=1)).mean() / total
        variance = 1 / total
        first = (1 - phi**2) * ((x[:, 0] - mean) ** 2 + variance)
        later = ((jumps - mean * (1 - phi)[:, None]) ** 2 + (1 - phi[:, None]) ** 2 * variance).sum(axis=1)
        scale = BETA + 0.5 * (first + later).mean()
        precision = shape / scale
        of_psi, of_x = gradients(psi, x, y, mean, variance, precision)
        psi = psi + h / 2 * PACE * of_psi + np.sqrt(h * PACE) * rng.standard_normal(num_particles)
        x = x + h / 2 * of_x + np.sqrt(h) * rng.standard_normal(x.shape)
        if bounded:
            mu, s2 = rng.normal(mean, np.sqrt(variance), num_particles), scale / rng.gamma(shape, size=num_particles)
            bounds.append(log_joint(mu, s2, psi, x, y).mean() + np.log(num_particles))
    return Fit(mean, variance, shape, scale, psi, x, np.array(bounds))


def gradients(
    psi: np.ndarray, x: np.ndarray, y: np.ndarray, mean: float, variance: float, precision: float
) -> tuple[np.ndarray, np.ndarray]:
    """Of E log p in psi (M,) and in the path (M, T), over mu ~ N(mean, variance) and E 1/s2 = precision."""
    phi, away = np.tanh(psi), x - mean
    column = phi[:, None]
    residual = away[:, 1:] - column * away[:, :-1]
    of_phi = (A - 1) / (1 + phi) - (B - 1) / (1 - phi) - phi / (1 - phi**2)
    of_phi += precision * phi * (away[:, 0] ** 2 + variance)
    of_phi += precision * ((residual * away[:, :-1]).sum(axis=1) + (x.shape[1] - 1) * (1 - phi) * variance)
    of_x = 0.5 * (y**2 * np.exp(-x) - 1)
    of_x[:, 0] -= precision * (1 - phi**2) * away[:, 0]
    of_x[:, 1:] -= precision * residual
    of_x[:, :-1] += precision * column * residual
    return (1 - phi**2) * of_phi - 2 * phi, of_x


def log_joint(mu: np.ndarray, s2: np.ndarray, psi: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """log p(mu, log s2, psi, path, y) of M points without its constants: (M,)."""
    phi = np.tanh(psi)
    away = x - mu[:, None]
    residual = away[:, 1:] - phi[:, None] * away[:, :-1]
    squares = (1 - phi**2) * away[:, 0] ** 2 + (residual**2).sum(axis=1)
    path = 0.5 * np.log(1 - phi**2) - 0.5 * x.shape[1] * np.log(s2) - 0.5 * squares / s2
    prior = -0.5 * mu**2 / MEAN_VARIANCE + (A - 1) * np.log(1 + phi) + (B - 1) * np.log(1 - phi)
    prior += np.log(1 - phi**2) - ALPHA * np.log(s2) - BETA / s2
    return prior + path - 0.5 * (x + y**2 * np.exp(-x)).sum(axis=1)
