"""SGLD with an adaptive drift (Kim, Song, Liang 2022): a push along the gradients so far, in units of their size."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pmdviz.knobs import Real
from pmdviz.methods.base import checked_gradient, read_only
from pmdviz.methods.grammar import Grammar, by
from pmdviz.methods.mcmc.chain import appended, check_reach, position, started
from pmdviz.methods.mcmc.sgld import LANGEVIN, NOISE, SGLD, SGLDKnobs, info_of, langevin_step
from pmdviz.methods.step import STEP_SIZE, StepInfo, Term
from pmdviz.targets import Target


class AdamSGLDKnobs(SGLDKnobs):
    """The knobs of `adam_sgld`: those of `sgld`, and the drift's four."""

    kind_words = "knob of method 'adam_sgld':"

    drift = Real(
        1.0,
        bounds=(0, 1_000_000),
        softbounds=(0, 100),
        basic=True,
        label="Adaptive drift",
        unit="1/θ",
        doc="Strength of the push m/√(v + λ), which has a length of about 1 in every coordinate. With 0 the method is "
        "SGLD; the more of it, the sooner a far start is left, and the narrower the draws.",
    )
    gradient_memory = Real(
        0.9,
        bounds=(0, 1),
        inclusive_bounds=(True, False),
        softbounds=(0, 0.99),
        label="Gradient memory β₁",
        doc="Fraction of the running mean of gradients, m, that a step keeps.",
    )
    square_memory = Real(
        0.99,
        bounds=(0, 1),
        inclusive_bounds=(True, False),
        softbounds=(0.5, 0.999),
        label="Square memory β₂",
        doc="Fraction of the running mean of squared gradients, v, that a step keeps.",
    )
    damping = Real(
        1e-8,
        bounds=(0, 1_000_000),
        inclusive_bounds=(False, True),
        softbounds=(1e-8, 1),
        log=True,
        label="Drift damping λ",
        unit="1/θ²",
        doc="Added to the mean square of the gradient, so that nothing is divided by 0.",
    )


class AdamSGLDState(NamedTuple):
    """The draws so far, and the running means of the gradient and of its square."""

    older: np.ndarray  # (n, d)
    newer: np.ndarray  # (k, d)
    iteration: int
    mean: np.ndarray  # (d,) m
    mean_square: np.ndarray  # (d,) v


class AdamSGLD(SGLD):
    """θ <- θ + ε/2 (∇ + a m/√(v + λ)) + N(0, ε I),  then m <- β₁ m + (1 - β₁) ∇  and  v <- β₂ v + (1 - β₂) ∇².

    ∇ is the batch's estimate of ∇ log p(θ, X), a the knob `drift`, m and v of the steps before (Algorithm 2; they start
    at 0 and are not corrected for it, as in the paper).

    It is biased: as ε goes to 0 with β₁ and β₂ as they are, what it settles to is the posterior only for a = 0. m
    is then close to the gradient itself, and the drift adds to the force. On a Gaussian posterior of sd s, with all
    data in a batch, √v = (sd of the draws)/s², so that (ours) their sd is r s with r² + a s r = 1: r = 0.95 at a s
    = 0.1, 0.78 at 0.5 and 0.62 at 1. Batches make v larger and the push smaller. A push so strong that the chain
    moves on within the ten steps that m remembers makes it swing past the mode instead, and the draws wider; tests
    hold the variance against that of the linear chain of (θ, m).
    """

    name = "adam_sgld"
    title = "SGLD with Adam's drift"
    about = (
        "Adaptive-drift SGLD takes Langevin steps on batches and adds a push along the recent gradients, scaled in "
        "each coordinate by their size."
    )
    formula = "θ ← θ + ε/2 [∇ log p(θ | batch) + a m/√(v + λ)] + N(0, ε I)"
    what_moves = "One point drifts uphill on batches, pushed on by the slopes so far; the dots are its draws."
    source = "Kim, Song, Liang 2022, Algorithm 2 (Adam SGLD)"
    short_title = "Adam-SGLD"
    grammar = Grammar(
        propagate=by("prior", remark="where the chain starts"),
        move=by("Langevin", remark="on a batch, pushed on by earlier gradients"),
        adapt=by("pace", remark="of the push"),
    )
    Knobs = AdamSGLDKnobs
    chain_kernels = ""
    scalars = (STEP_SIZE,)
    update = LANGEVIN._replace(
        terms=(
            LANGEVIN.terms[0],
            Term(
                "push",
                "adaptive drift",
                "+ ε/2 a m/√(v + λ)",
                "Onwards along the slopes of the steps before, about as far in every coordinate.",
            ),
            NOISE,
        )
    )

    def start(self, rng: np.random.Generator, target: Target, knobs: AdamSGLDKnobs) -> AdamSGLDState:
        """A draw from the prior, m = 0 and v = 0."""
        return AdamSGLDState(*started(rng, target), 0, *read_only(np.zeros(target.dim), np.zeros(target.dim)))

    def move(
        self, rng: np.random.Generator, state: AdamSGLDState, target: Target, batch: np.ndarray, knobs: AdamSGLDKnobs
    ) -> tuple[AdamSGLDState, StepInfo]:
        """One Langevin step with the push of the gradients before it."""
        theta, step_size = position(state), langevin_step(state.iteration + 1, knobs)
        gradient, noise = checked_gradient(target, theta[None], batch)[0], rng.standard_normal(target.dim)
        push = knobs.drift * state.mean / np.sqrt(state.mean_square + knobs.damping)
        change, noise = 0.5 * step_size * (gradient + push), np.sqrt(step_size) * noise
        moved = theta + change + noise
        check_reach(moved, target, step_size, batch)
        mean = knobs.gradient_memory * state.mean + (1 - knobs.gradient_memory) * gradient
        square = knobs.square_memory * state.mean_square + (1 - knobs.square_memory) * gradient**2
        mean, square = read_only(mean, square)
        state = appended(state._replace(mean=mean, mean_square=square), moved[None])
        info = info_of(step_size, len(batch), change, noise)
        terms = {"drift": 0.5 * step_size * gradient[None], "push": 0.5 * step_size * push[None], "noise": noise[None]}
        return state, info._replace(terms=terms, numbers={"ε": step_size, "a": knobs.drift})

    def max_block(self, state: AdamSGLDState, knobs: AdamSGLDKnobs, target: Target, rows: int) -> int:
        """One: the drift has no compiled path."""
        return 1
