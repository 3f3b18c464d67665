"""Stochastic gradient Langevin dynamics (Welling & Teh 2011): noisy gradient steps that draw from a posterior."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pmdviz.knobs import Real
from pmdviz.methods.base import StepInfo, checked_gradient
from pmdviz.methods.batching import BatchKnobs, BatchMethod, rows_per_step
from pmdviz.methods.chains import Chain, ChainKnobs, appended, burn_in, check_reach, position, started
from pmdviz.targets import Target


class SGLDKnobs(BatchKnobs, ChainKnobs):
    """The knobs of `sgld`."""

    kind_words = "knob of method 'sgld':"

    a = Real(
        0.06,
        bounds=(0, 1_000_000),
        inclusive_bounds=(False, True),
        softbounds=(1e-4, 1),
        log=True,
        label="Step size: a",
        unit="θ²",
        doc="Numerator of the Langevin step ε = a (b + t)^-g.",
    )
    b = Real(
        100.0,
        bounds=(0, 1_000_000),
        softbounds=(0, 1000),
        label="Step size: b",
        unit="steps",
        doc="Holds the first steps back: ε = a (b + t)^-g.",
    )
    g = Real(
        0.55,
        bounds=(0, 1),
        softbounds=(0, 1),
        label="Step size: g",
        doc="How fast ε = a (b + t)^-g falls; 0 keeps it constant.",
    )
    batch_size = rows_per_step(10)
    burn_in = burn_in(1000)


class SGLDState(NamedTuple):
    """The draws so far."""

    older: np.ndarray  # (n, d)
    newer: np.ndarray  # (k, d)
    iteration: int


class SGLD(BatchMethod, Chain):
    """θ <- θ + ε/2 (∇ log p(θ) + (N/B) Σ_batch ∇ log p(x|θ)) + N(0, ε I), and no accept step  (Eq. 4)."""

    name = "sgld"
    title = "Stochastic gradient Langevin dynamics"
    reference = "Welling, Teh 2011, Eq. 4; step size a (b + t)^-g: their section 5"
    needs_gradient = True
    Knobs = SGLDKnobs

    def init(self, rng: np.random.Generator, target: Target, knobs: SGLDKnobs) -> SGLDState:
        """A draw from the prior."""
        return SGLDState(*started(rng, target), 0)

    def step(
        self, rng: np.random.Generator, state: SGLDState, target: Target, batch: np.ndarray, knobs: SGLDKnobs
    ) -> tuple[SGLDState, StepInfo]:
        """One Langevin step along the gradient of a batch."""
        theta, step_size = position(state), langevin_step(state.iteration + 1, knobs)
        gradient = checked_gradient(target, theta[None], batch)[0]
        noise = np.sqrt(step_size) * rng.standard_normal(target.dim)
        moved = theta + 0.5 * step_size * gradient + noise
        check_reach(moved, target, step_size, batch)
        state = appended(state, moved)
        return state, StepInfo(
            visited=len(batch),
            step_size=step_size,
            rejuvenated="",
            ess=None,
            density_evaluations=0,
            gradient_evaluations=len(batch),
            zero_weight=0,
            words=_words(step_size, len(batch), 0.5 * step_size * gradient, noise),
        )


def langevin_step(t: int, knobs: SGLDKnobs) -> float:
    """ε_t = a (b + t)^-g, t from 1."""
    return float(knobs.a * (knobs.b + t) ** -knobs.g)


def _words(step_size: float, batch: int, drift: np.ndarray, noise: np.ndarray) -> str:
    lengths = np.linalg.norm(drift), np.linalg.norm(noise)
    return f"ε = {step_size:.3g} · batch of {batch:,} · drift {lengths[0]:.3g}, noise {lengths[1]:.3g} · no accept step"
