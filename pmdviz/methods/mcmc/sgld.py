"""Stochastic gradient Langevin dynamics (Welling & Teh 2011): noisy gradient steps that draw from a posterior."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pmdviz.kernels.chains import langevin
from pmdviz.knobs import Real
from pmdviz.methods.base import checked_gradient
from pmdviz.methods.cost import Work
from pmdviz.methods.grammar import Grammar, by
from pmdviz.methods.mcmc.chain import (
    REACH,
    Chain,
    ChainKnobs,
    Pool,
    appended,
    check_reach,
    position,
    started,
    states_of,
)
from pmdviz.methods.shared.batching import BatchKnobs, BatchMethod, batch_size_knob
from pmdviz.methods.step import STEP_SIZE, Cost, StepBlock, StepInfo, Term, Update
from pmdviz.targets import Target

LEAP_ROWS = 2**18  # of data that one compiled call visits at most: half a megabyte of numbers a dimension, a few ms


def numerator(default: float, unit: str = "θ²") -> Real:
    """The knob `a`, for a method whose own default it is."""
    return Real(
        default,
        bounds=(0, 1_000_000),
        inclusive_bounds=(False, True),
        softbounds=(1e-4, 1),
        log=True,
        basic=True,
        label="Step size a",
        unit=unit,
        doc="Numerator of the Langevin step ε = a (b + t)^-g.",
    )


def delay(default: float, usual: float) -> Real:
    """The knob `b`, rarely above `usual`."""
    return Real(
        default,
        bounds=(0, 1_000_000),
        softbounds=(0, usual),
        label="Delay b",
        unit="steps",
        doc="Makes the first steps smaller: ε = a (b + t)^-g.",
    )


def decay(default: float) -> Real:
    """The knob `g`."""
    return Real(
        default,
        bounds=(0, 1),
        softbounds=(0, 1),
        label="Decay exponent g",
        doc="How fast ε = a (b + t)^-g decays; 0 keeps it constant.",
    )


NOISE = Term("noise", "noise", "+ √ε ξ", "The noise that keeps the chain from coming to rest at the mode.")
LANGEVIN = Update(
    "move",
    "θ′ − θ",
    "move",
    "units of θ",
    (
        Term("drift", "drift", "ε/2 ∇ log p(θ | batch)", "Uphill on the log posterior, as this batch sees it."),
        NOISE,
    ),
)


class SGLDKnobs(BatchKnobs, ChainKnobs):
    """The knobs of `sgld`."""

    kind_words = "knob of method 'sgld':"

    a = numerator(0.06)
    b = delay(100.0, 1000)
    g = decay(0.55)
    batch_size = batch_size_knob(10)

    def work(self, num_data: int) -> Work:
        """One gradient of the batch of each chain."""
        return Work(gradients=self.num_chains * self.rows(num_data))


class SGLDState(NamedTuple):
    """The draws so far."""

    older: np.ndarray  # (n, d)
    newer: np.ndarray  # (k, d)
    iteration: int


class SGLD(BatchMethod, Chain):
    """θ <- θ + ε/2 (∇ log p(θ) + (N/B) Σ_batch ∇ log p(x|θ)) + N(0, ε I), and no accept step  (Eq. 4)."""

    name = "sgld"
    title = "Stochastic gradient Langevin dynamics"
    about = (
        "Stochastic gradient Langevin dynamics takes gradient steps on batches and adds just enough noise to "
        "sample instead of optimise."
    )
    formula = "θ ← θ + ε/2 [∇ log p(θ) + (N/B) Σ ∇ log p(x | θ)] + N(0, ε I)"
    what_moves = "One point drifts uphill on batches, with noise; the dots are the draws that it leaves behind."
    source = "Welling, Teh 2011, Eq. 4; step size a (b + t)^-g: their section 5"
    short_title = "SGLD"
    requires = frozenset({"reals", "gradient"})
    grammar = Grammar(
        propagate=by("prior", remark="where the chain starts"),
        move=by("Langevin", remark="on a batch"),
    )
    Knobs = SGLDKnobs
    chain_kernels = "Langevin steps"
    scalars = (STEP_SIZE,)
    update = LANGEVIN

    def batch_size(self, state: Any, knobs: SGLDKnobs, num_data: int) -> int:
        """B for each chain."""
        return len(states_of(state)) * super().batch_size(state, knobs, num_data)

    def rows_per_draw(self, target: Target, knobs: SGLDKnobs) -> float:
        """B."""
        return knobs.rows(target.num_data)

    def start(self, rng: np.random.Generator, target: Target, knobs: SGLDKnobs) -> SGLDState:
        """A draw from the prior."""
        return SGLDState(*started(rng, target), 0)

    def move(
        self, rng: np.random.Generator, state: SGLDState, target: Target, batch: np.ndarray, knobs: SGLDKnobs
    ) -> tuple[SGLDState, StepInfo]:
        """One Langevin step along the gradient of a batch."""
        step_size, noise = langevin_step(state.iteration + 1, knobs), rng.standard_normal(target.dim)
        if target.model is None:
            gradient = checked_gradient(target, position(state)[None], batch)[0]
            moved = position(state) + 0.5 * step_size * gradient + np.sqrt(step_size) * noise
        else:
            (moved,), gradient, _ = _compiled(state, target, batch[None], noise[None], knobs)
        check_reach(moved, target, step_size, batch)
        return appended(state, moved[None]), _info(step_size, len(batch), gradient, noise)

    def max_block(self, state: SGLDState, knobs: SGLDKnobs, target: Target, rows: int) -> int:
        """As many steps as the rows are enough for; one where the gradient is a Python function, and of a pool."""
        if isinstance(state, Pool):
            return 1
        size = self.batch_size(state, knobs, target.num_data)
        return 1 if target.model is None else max(1, min(-(-rows // size), LEAP_ROWS // size))

    def step_many(
        self,
        rng: np.random.Generator,
        state: SGLDState,
        target: Target,
        batches: np.ndarray,
        count: int,
        knobs: SGLDKnobs,
        rows: int,
    ) -> StepBlock | None:
        """Langevin steps along the gradients of the batches, in one compiled call."""
        before, size = rng.bit_generator.state, batches.shape[1]
        noise = rng.standard_normal((count, target.dim))
        draws, gradient, made = _compiled(state, target, batches, noise, knobs)
        if made < count:
            rng.bit_generator.state = before
            rng.standard_normal((made, target.dim))
        if made == 0:
            return None
        if made < count:  # the last gradient is of the step that failed
            _, gradient, _ = _compiled(state, target, batches[:made], noise[:made], knobs)
        info = _info(langevin_step(state.iteration + made, knobs), size, gradient, noise[made - 1])
        return StepBlock(appended(state, draws[:made]), info, made, Cost(made * size, 0, made * size))


def _compiled(
    state: SGLDState, target: Target, batches: np.ndarray, noise: np.ndarray, knobs: SGLDKnobs
) -> tuple[np.ndarray, np.ndarray, int]:
    """Draws, the last gradient and how many steps were made, from the target's compiled model."""
    schedule = state.iteration + 1, knobs.a, knobs.b, knobs.g
    return langevin(target.model or (), position(state), batches, schedule, noise, REACH * target.scale)


def langevin_step(t: int, knobs: SGLDKnobs) -> float:
    """ε_t = a (b + t)^-g, t from 1."""
    return float(knobs.a * (knobs.b + t) ** -knobs.g)


def _info(step_size: float, batch: int, gradient: np.ndarray, noise: np.ndarray) -> StepInfo:
    return info_of(step_size, batch, 0.5 * step_size * gradient, np.sqrt(step_size) * noise)


def info_of(step_size: float, batch: int, drift: np.ndarray, noise: np.ndarray) -> StepInfo:
    """What a Langevin step did that moved by `drift` and `noise` (d,)."""
    return StepInfo(
        Cost(batch, 0, batch),
        _words(step_size, batch, drift, noise),
        scalars={"step_size": step_size},
        terms={"drift": drift[None], "noise": noise[None]},
        numbers={"ε": step_size},
    )


def _words(step_size: float, batch: int, drift: np.ndarray, noise: np.ndarray) -> str:
    lengths = np.linalg.norm(drift), np.linalg.norm(noise)
    return f"ε = {step_size:.3g} · batch of {batch:,} · drift {lengths[0]:.3g}, noise {lengths[1]:.3g} · no accept step"
