"""Where a posterior has its mass, by Newton's method, and points of a picture that can be dragged.

A check of an approximation draws from these Gaussians besides, because draws of q alone never see a mode that q lacks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from pmdviz.densities.density import GaussianMixture, normalise
from pmdviz.streams import stream

if TYPE_CHECKING:
    from pmdviz.targets.base import Target


STARTS, FEWEST_STARTS, STEPS = 64, 8, 40
MOST_DIM, MOST_COST = 20, 1e8  # coordinates; pairs of a point and an observation whose gradient is evaluated
MOST_KEPT = 32  # Gaussians
APART = 0.5  # sds of a Gaussian by which the next one's centre differs
NATS_KEPT = 15.0  # below the largest mass
FLAT = 0.01  # least curvature in units of the prior: a Gaussian of 10 prior sds
WIDER = 2.0  # sds of the second Gaussian at each place: p may have heavier tails than a Gaussian


class Climbers(NamedTuple):
    """Points on their way up, in coordinates divided by the prior's sds, and the best Gaussian that each has met."""

    x: np.ndarray  # (s, d)
    log_p: np.ndarray  # (s,)
    radius: np.ndarray  # (s,) the longest step that is allowed
    mass: np.ndarray  # (s,) largest log of Laplace's approximation to the integral of p so far; -inf: none
    centre: np.ndarray  # (s, d) where that was
    curvature: np.ndarray  # (s, d, d) there, of -log p


def find_modes(target: Target) -> GaussianMixture | None:
    """Gaussians where the posterior has its mass, each once as wide as log p is curved there and once twice as wide.

    Newton's method with a trust region runs from up to 64 draws of the prior. Each run contributes the place where it
    ends, and the place on its way where Laplace's approximation log p - 1/2 log det(H / 2 pi) is largest: the mass of a
    funnel is not at its mode. None without a gradient, beyond 20 coordinates, or where the search costs more than
    1e8 gradients. Source: ours.
    """
    num_starts = int(min(STARTS, MOST_COST / (2 * target.dim * STEPS * target.num_data)))
    if not {"reals", "gradient"} <= target.offers or target.dim > MOST_DIM or num_starts < FEWEST_STARTS:
        return None
    starts = target.sample_prior(stream("modes"), num_starts)
    with np.errstate(all="ignore"):
        gaussians = [*_climbed(target, starts / target.scale)]
        return _mixture(gaussians, target.scale)


def _climbed(target: Target, x: np.ndarray) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """(log masses, centres, curvatures) of the best places on the way, and of the ends."""
    log_p = _log_p(target, x)
    x, log_p = x[np.isfinite(log_p)], log_p[np.isfinite(log_p)]
    s, d = x.shape
    widths = np.full((s, d), 1e-4)
    at = Climbers(x, log_p, np.ones(s), np.full(s, -np.inf), x, np.tile(np.eye(d), (s, 1, 1)))
    ends = np.full(s, -np.inf), x, at.curvature
    for _ in range(STEPS if s else 0):
        gradient, curvature = _slopes(target, at.x, widths)
        usable = np.isfinite(gradient).all(axis=1) & np.isfinite(curvature).all(axis=(1, 2))
        curvature[~usable], gradient[~usable] = np.eye(d), 0.0
        values, vectors = np.linalg.eigh(curvature)
        mass = _laplace(at.log_p, values, usable)
        better = mass > at.mass
        at = at._replace(
            mass=np.where(better, mass, at.mass),
            centre=np.where(better[:, None], at.x, at.centre),
            curvature=np.where(better[:, None, None], curvature, at.curvature),
        )
        ends = mass, at.x, curvature
        widths = np.clip(0.01 / np.sqrt(np.maximum(np.einsum("sii->si", curvature), FLAT)), 1e-9, 1e-3)
        step = np.einsum("sij,sj->si", vectors, np.einsum("sji,sj->si", vectors, gradient) / _steep(values))
        if (np.abs(np.einsum("si,si->s", gradient, step)) < 1e-8).all():
            break
        at = _moved(target, at, step)
    return [(at.mass, at.centre, at.curvature), ends]


def _moved(target: Target, at: Climbers, step: np.ndarray) -> Climbers:
    """Take the steps, shortened to the trust radius, that raise log p; the others halve their radius twice."""
    length = np.linalg.norm(step, axis=1)
    there = at.x + step * np.minimum(1.0, at.radius / np.maximum(length, 1e-300))[:, None]
    log_p = _log_p(target, there)
    higher = log_p >= at.log_p
    return at._replace(
        x=np.where(higher[:, None], there, at.x),
        log_p=np.where(higher, log_p, at.log_p),
        radius=np.where(higher, 2 * at.radius, np.minimum(at.radius, length) / 4),
    )


def _slopes(target: Target, x: np.ndarray, widths: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Gradient (s, d) of log p, and the curvature (s, d, d) of -log p by central differences of the gradient."""
    s, d = x.shape
    moves = widths[:, :, None] * np.eye(d)
    points = np.stack([x[:, None] + moves, x[:, None] - moves])
    gradients = (target.grad_log_joint(points.reshape(-1, d) * target.scale) * target.scale).reshape(2, s, d, d)
    curvature = -(gradients[0] - gradients[1]) / (2 * widths[:, :, None])
    return gradients.mean(axis=(0, 2)), 0.5 * (curvature + curvature.transpose(0, 2, 1))


def _log_p(target: Target, x: np.ndarray) -> np.ndarray:
    """log p (s,), -inf where it is not a number or outside the prior's support."""
    theta = x * target.scale
    values = target.log_prior(theta)
    inside = np.isfinite(values)
    if inside.any():
        values[inside] += target.log_likelihood(theta[inside], target.data_rows)
    return np.where(np.isfinite(values), values, -np.inf)


def _steep(values: np.ndarray) -> np.ndarray:
    """Curvatures (s, d) as Newton divides by them: upward also where log p is convex, and never 0."""
    return np.maximum(np.abs(values), FLAT)


def _laplace(log_p: np.ndarray, values: np.ndarray, usable: np.ndarray) -> np.ndarray:
    """log p + d/2 log 2 pi - 1/2 log det H, (s,); -inf where H is not positive definite."""
    solid = usable & (values > FLAT).all(axis=1)
    volume = 0.5 * (np.log(2 * np.pi) - np.log(np.maximum(values, FLAT))).sum(axis=1)
    return np.where(solid, log_p + volume, -np.inf)


def _mixture(found: list[tuple[np.ndarray, np.ndarray, np.ndarray]], scale: np.ndarray) -> GaussianMixture | None:
    """Those that differ, heaviest first, half of the weight spread evenly and half by mass."""
    mass, centres, curvatures = (np.concatenate(parts) for parts in zip(*found, strict=True))
    kept: list[int] = []
    for k in np.argsort(-mass):
        if len(kept) == MOST_KEPT or not mass[k] > mass.max() - NATS_KEPT:
            break
        moves = centres[kept] - centres[k]
        if all(move @ curvatures[j] @ move > APART**2 for j, move in zip(kept, moves, strict=True)):
            kept.append(int(k))
    if not kept:
        return None
    shares = 0.5 * np.exp(normalise(mass[kept])) + 0.5 / len(kept)
    factors = np.linalg.cholesky(np.linalg.inv(curvatures[kept])) * scale[:, None]
    return GaussianMixture(
        np.concatenate([centres[kept]] * 2) * scale,
        np.log(np.concatenate([shares, shares]) / 2),
        np.concatenate([factors, WIDER * factors]),
    )


# Points of a picture that a person can drag: true parameters and modes, of which the data are simulated anew.


class Handle(NamedTuple):
    """A point that can be dragged, and the options of the target when it lies elsewhere.

    `moved(x, y)` gives options as they come from outside: values beyond their bounds are for the caller to clip
    (`KnobSpec.bounds`). In one dimension y is always 0.
    """

    name: str  # such as "first mode"
    at: tuple[float, float]
    moved: Callable[[float, float], dict[str, Any]]
