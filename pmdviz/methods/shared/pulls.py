"""What the moves of flows and of fitted densities add up to: pulls, as an optimiser paces them, and what it remembers.

A move is a step times a direction. The direction of Adam is D times the force of the step, in each coordinate, and what
it remembers of earlier forces; so each part of the force has its share of the move, and the memory is a term of its
own. Optimisers without a memory have no such term.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from pmdviz.methods.shared.optimisers import PARTS
from pmdviz.methods.step import ComputedTerms, Term, Update
from pmdviz.targets import Target


def momentum(step: str = "ε") -> Term:
    """The term of an optimiser's memory, where `step` is the symbol of the step size."""
    return Term("momentum", "momentum", f"+ {step} M", "What the optimiser remembers of the steps before.")


def move_update(*terms: Term, formula: str = "θ′ − θ", unit: str = "units of θ") -> Update:
    """How far a point moved, as a sum of terms."""
    return Update("move", formula, "move", unit, terms)


def flow_update(
    drive: str, repulsion: str, uphill: str, *more: Term, formula: str = "θ′ − θ", unit: str = "units of θ"
) -> Update:
    """Of a Stein flow: the formulas of its two forces, and in words what is uphill. D is the optimiser's pace."""
    about = f"Uphill on {uphill}, averaged over the neighbours; D is the pace of each coordinate."
    return move_update(
        Term("drive", "uphill", f"ε D {drive}", about),
        Term("repulsion", "apart", f"+ ε D {repulsion}", "Away from the neighbours: the particles stay spread out."),
        *more,
        formula=formula,
        unit=unit,
    )


def paced(
    optimiser: str,
    memory: tuple[np.ndarray, np.ndarray, int],
    step: np.ndarray | float,
    unit: np.ndarray | float,
    forces: Callable[[], Mapping[str, np.ndarray]],
) -> ComputedTerms:
    """The share of each force in a move by step times direction, and that of the memory where there is one.

    `memory`: `first` before the step, `second` after it, and t. `forces` gives parts, of which `unit` times the sum
    was what the optimiser got.
    """

    def compute() -> dict[str, np.ndarray]:
        pace, past = PARTS[optimiser](*memory)
        terms = {name: step * pace * (unit * force) for name, force in forces().items()}
        return terms | ({"momentum": step * past} if past.any() else {})

    return ComputedTerms(compute)


def clipped(parts: Mapping[str, np.ndarray], free: np.ndarray, after: np.ndarray) -> ComputedTerms:
    """The parts of a move that was to end at `free` (m, d), and what clipping made of it where it ends elsewhere."""
    return ComputedTerms(lambda: {**parts} | ({"clip": after - free} if (after != free).any() else {}))


# What moves the mean of a fitted Gaussian: the pull of the prior and that of the batch, both averaged over q.


def mean_update(step: str, pace: str, *more: Term, bound: str = "p", formula: str = "μ′ − μ") -> Update:
    """Of a mean that moves by `step` times `pace` times its gradient, both of them symbols.

    `bound` is the letter of what takes the place of the likelihood, where something does.
    """
    return move_update(
        Term("prior", "prior", f"{step} {pace} E_q ∇ log p(θ)", "Towards a higher prior, on average over q."),
        Term(
            "likelihood",
            "likelihood of the batch",
            f"+ {step} {pace} N/B Σ E_q ∇ log {bound}(x | θ)",
            "Towards what explains this batch better, as if all data were like it.",
        ),
        *more,
        formula=formula,
    )


def natural_terms(
    move: np.ndarray, step: float, cholesky: np.ndarray, theta: np.ndarray, target: Target
) -> dict[str, np.ndarray]:
    """Of a natural step: S' times the gradient, S' = L L' of the new factor L (d, d), or of its diagonal (d,).

    `move` (d,) is that of the mean, theta (n, d) the draws of q that the gradient is a mean over.
    """
    prior = target.grad_log_prior(theta).mean(axis=0)
    spread = cholesky**2 * prior if cholesky.ndim == 1 else cholesky @ (cholesky.T @ prior)
    return mean_terms(move, step * spread)


def paced_terms(move: np.ndarray, slope: np.ndarray, theta: np.ndarray, target: Target) -> dict[str, np.ndarray]:
    """Of a step that takes each number of the gradient `slope` (d,) at a pace of its own: the move over the slope."""
    pace = np.divide(move, slope, out=np.zeros_like(move), where=slope != 0)
    return mean_terms(move, pace * target.grad_log_prior(theta).mean(axis=0))


def mean_terms(move: np.ndarray, prior: np.ndarray) -> dict[str, np.ndarray]:
    """A move (d,) as what the `prior` (d,) does of it and what the batch does, (1, d) each."""
    return {"prior": prior[None], "likelihood": (move - prior)[None]}
