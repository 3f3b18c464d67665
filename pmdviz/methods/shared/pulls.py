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
