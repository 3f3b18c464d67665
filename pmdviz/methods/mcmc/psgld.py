"""SGLD with an RMSprop preconditioner (Li, Chen, Carlson, Carin 2016): each coordinate has a step size of its own."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pmdviz.knobs import Real
from pmdviz.methods.base import checked_gradient, read_only
from pmdviz.methods.grammar import Grammar, by
from pmdviz.methods.mcmc.chain import appended, check_reach, position, started
from pmdviz.methods.mcmc.sgld import LANGEVIN, NOISE, SGLD, SGLDKnobs, info_of, langevin_step, numerator
from pmdviz.methods.step import STEP_SIZE, StepInfo, Term
from pmdviz.targets import Target


class PSGLDKnobs(SGLDKnobs):
    """The knobs of `psgld`: those of `sgld`, and the preconditioner's two."""

    kind_words = "knob of method 'psgld':"

    memory = Real(
        0.99,
        bounds=(0, 1),
        softbounds=(0.5, 1),
        label="Preconditioner memory α",
        doc="Fraction of the running mean of squared gradients that a step keeps. With 1 it stays 0, and the steps are "
        "those of SGLD with ε/λ.",
    )
    damping = Real(
        1e-5,
        bounds=(0, 1_000_000),
        inclusive_bounds=(False, True),
        softbounds=(1e-8, 10),
        log=True,
        label="Preconditioner damping λ",
        unit="1/θ",
        doc="Added to the root mean square gradient of a data point; limits the steps along flat coordinates.",
    )
    a = numerator(0.01, "θ")


class PSGLDState(NamedTuple):
    """The draws so far, and the running mean square of the gradient."""

    older: np.ndarray  # (n, d)
    newer: np.ndarray  # (k, d)
    iteration: int
    mean_square: np.ndarray  # (d,) V, of the gradient divided by N


class PSGLD(SGLD):
    """θ <- θ + ε/2 G ∇ + N(0, ε G),  G = 1 / (λ + √V),  V <- α V + (1 - α) (∇/N)²  (Algorithm 1).

    ∇ is the batch's estimate of ∇ log p(θ, X). ∇/N stands where the paper has the batch's mean gradient: the prior's
    share, a datum's worth, is in it. V starts at 0, so the first steps are up to 1/√(1 - α) times as long. The term
    Γ_k = ∂G_k/∂θ_k is left out, as in the paper's experiments (its section 3.4 bounds the bias): it needs second
    derivatives, and is small for α near 1.
    """

    name = "psgld"
    title = "Preconditioned SGLD"
    about = (
        "Preconditioned SGLD takes noisy gradient steps on batches, scaled in each coordinate by the size of "
        "recent gradients."
    )
    formula = "θ ← θ + ε/2 G ∇ log p(θ | batch) + N(0, ε G)"
    what_moves = "One point drifts uphill on batches, in steps fitted to the slopes so far; the dots are its draws."
    source = "Li, Chen, Carlson, Carin 2016, Algorithm 1, without the term Γ"
    short_title = "pSGLD"
    grammar = Grammar(
        propagate=by("prior", remark="where the chain starts"),
        move=by("Langevin", remark="on a batch"),
        adapt=by("pace", remark="of drift and noise"),
    )
    Knobs = PSGLDKnobs
    chain_kernels = ""
    scalars = (STEP_SIZE,)
    update = LANGEVIN._replace(
        terms=(
            Term(
                "drift",
                "drift",
                "ε/2 G ∇ log p(θ | batch)",
                "Uphill on the log posterior, as this batch sees it; G is small where slopes have been steep.",
            ),
            NOISE._replace(formula="+ √(ε G) ξ"),
        )
    )

    def start(self, rng: np.random.Generator, target: Target, knobs: PSGLDKnobs) -> PSGLDState:
        """A draw from the prior, and V = 0."""
        (square,) = read_only(np.zeros(target.dim))
        return PSGLDState(*started(rng, target), 0, square)

    def move(
        self, rng: np.random.Generator, state: PSGLDState, target: Target, batch: np.ndarray, knobs: PSGLDKnobs
    ) -> tuple[PSGLDState, StepInfo]:
        """One Langevin step in the units that the gradients so far suggest."""
        theta, step_size = position(state), langevin_step(state.iteration + 1, knobs)
        gradient, noise = checked_gradient(target, theta[None], batch)[0], rng.standard_normal(target.dim)
        (square,) = read_only(knobs.memory * state.mean_square + (1 - knobs.memory) * (gradient / target.num_data) ** 2)
        steps = step_size / (knobs.damping + np.sqrt(square))  # ε G, (d,)
        moved = theta + 0.5 * steps * gradient + np.sqrt(steps) * noise
        check_reach(moved, target, step_size, batch)
        state = appended(state._replace(mean_square=square), moved[None])
        return state, info_of(step_size, len(batch), 0.5 * steps * gradient, np.sqrt(steps) * noise)

    def max_block(self, state: PSGLDState, knobs: PSGLDKnobs, target: Target, rows: int) -> int:
        """One: the preconditioner has no compiled path."""
        return 1
