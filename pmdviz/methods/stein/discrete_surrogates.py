"""The surrogates of GF-SVGD on discrete states: the base alone, or with the target's smooth log density."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pmdviz.densities.density import normalise
from pmdviz.errors import TargetError
from pmdviz.kernels.stein.smooth_steps import smooth_step
from pmdviz.methods.base import checked_log_density, rows_in_words
from pmdviz.methods.shared.particles import equal_log_weights
from pmdviz.methods.stein.discrete_knobs import DiscreteGFSVGDKnobs
from pmdviz.methods.stein.quantile_bins import QuantileBins, bins_of
from pmdviz.targets import Target


def is_smooth(knobs: DiscreteGFSVGDKnobs, target: Target) -> bool:
    """Whether the surrogate is the smooth one: by choice, or because the target offers a relaxation."""
    return knobs.surrogate == "tanh" or (knobs.surrogate == "automatic" and "relaxation" in target.offers)


def evaluations(knobs: DiscreteGFSVGDKnobs, target: Target) -> int:
    """A particle and row: of the target, and of the smooth log density with its gradient."""
    return 3 if is_smooth(knobs, target) else 1


def bins(target: Target, knobs: DiscreteGFSVGDKnobs) -> QuantileBins:
    """Gamma of the target's values."""
    return bins_of(target.space.values, knobs.base_spread, knobs.clip or np.inf, knobs.bins_per_value)


def smooth_map(x: np.ndarray, target: Target, steepness: float) -> tuple[np.ndarray, np.ndarray]:
    """sigma(x) = tanh(tau x / 2), stretched from the lowest value to the highest, and its derivative."""
    return smooth_step(x, steepness, min(target.space.values), max(target.space.values))


def surrogate(
    target: Target, x: np.ndarray, states: np.ndarray, batch: np.ndarray, knobs: DiscreteGFSVGDKnobs
) -> tuple[np.ndarray, np.ndarray]:
    """log rho - log p_c (m,) in nats up to a constant, and grad log rho (m, d), at latent points x and their states."""
    log_p, scores = log_target(target, states, batch), bins(target, knobs).base.score(x)
    if not is_smooth(knobs, target):
        return -log_p, scores
    z, slope = smooth_map(x, target, knobs.steepness)
    log_relaxed, gradient = target.log_relaxed_and_gradient(z, batch)
    scores += np.multiply(slope, gradient, out=slope)
    return log_relaxed - log_p, scores


def log_target(target: Target, particles: np.ndarray, batch: np.ndarray) -> np.ndarray:
    """log p of states (m,), batch scaled by N/B. Raises TargetError where it is 0: the ratio rho/p is infinite."""
    log_p = checked_log_density(target, particles, batch, target.num_data / len(batch), may_vanish=True)
    if log_p.min() > -np.inf:
        return log_p
    at, rows = particles[log_p == -np.inf][0], rows_in_words(batch)
    words = (
        f"target {target.name!r} has probability 0 at state {target.space.words(at)}, for {rows}: the weight rho/p of "
        "a particle there is infinite; gradient-free SVGD needs every state to be possible"
    )
    raise TargetError(words, at, rows)


def ranked(log_ratio: np.ndarray) -> np.ndarray:
    """log of 1 / H(mu_j), normalised, H(t) the share of all mu >= t: the largest counts m times the smallest."""
    above = len(log_ratio) - np.searchsorted(np.sort(log_ratio), log_ratio, side="left")
    return normalise(-np.log(above))


# (m,) log rho - log p_c -> log-weights (m,) with logsumexp 0
WEIGHTINGS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "ratios": normalise,
    "ranks": ranked,
    "none": lambda log_ratio: equal_log_weights(len(log_ratio)),
}
