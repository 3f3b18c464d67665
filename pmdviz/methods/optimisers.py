"""Step sizes, directions of Adam, AdaGrad and plain gradients, and what moves add up to."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from pmdviz.kernels.checks import Array
from pmdviz.knobs import Real
from pmdviz.methods.step import ComputedTerms, MethodKnobs, Scalar, Term, Update
from pmdviz.targets import Target

# Step sizes gamma_t in (0, 1], as pure functions of the step number t = 1, 2, ...


FIRST, SECOND, SMALLEST = 0.9, 0.99, 1e-8  # Adam's memories of the gradient and its square; against division by 0

STEP_SIZE = Scalar("step_size", "step size", "", True)
TEMPERATURE = Scalar("temperature", "inverse temperature β")
STEP_DECAY = Real(0.0, (0, 1), (0, 1), "Decay exponent κ", doc="How fast the step size η/t^κ falls; with 0 it stays.")


class DecayingKnobs(MethodKnobs):
    """A step size that decays: its defaults suit natural gradients of batches.

    eta: Numerator of the step size min(1, η/(n₀ + t^κ)).
    n0: Makes the first steps smaller: the step size is min(1, η/(n₀ + t^κ)).
    kappa: How fast the step size min(1, η/(n₀ + t^κ)) decays. The Robbins-Monro conditions hold for 1/2 < κ ≤ 1.
    """

    eta = Real(1.0, "(0, 1_000_000]", (0.1, 100), "Step size η", log=True, basic=True)
    n0 = Real(1.0, (0, 1_000_000), (0, 200), "Delay n₀", "steps")
    kappa = Real(0.5, "(0, 1]", (0.1, 1), "Decay exponent κ")


ETA, N0, KAPPA = DecayingKnobs.specs().values()


def on_the_way(beta: float) -> str:
    """The caveat of a run whose inverse temperature is below 1: its q is not meant to be the posterior yet."""
    return f"β = {beta:.2g}: q is for prior × likelihood^β, not for the posterior yet; let the run go on to β = 1"


def decayed(t: int, knobs: DecayingKnobs) -> float:
    """gamma_t = min(1, eta / (n0 + t^kappa)): covers 1/t, 1/(n0 + t) and eta/(n0 + sqrt t).

    Robbins and Monro's condition holds for kappa in (1/2, 1]. Source: the step sizes of Dai et al. 2016, section 6 and
    Theorem 6, in one form (ours).
    """
    return min(1.0, knobs.eta / (knobs.n0 + float(t) ** knobs.kappa))


def step_size(t: int, eta: float, kappa: float) -> float:
    """eta / t^kappa for step t = 1, 2, ...: alpha / (1 + l)^beta of Han's thesis."""
    return eta / float(t) ** kappa


def adam(gradient: Array, first: Array, second: Array, t: int) -> tuple[Array, Array, Array]:
    """Direction, mean and mean square of the gradients so far (Kingma and Ba 2015, Algorithm 1), t from 1.

    A direction is about 1 in every coordinate whatever the gradient's size.
    """
    first, second = FIRST * first, SECOND * second
    first += (1 - FIRST) * gradient
    second += (1 - SECOND) * gradient**2
    direction = first / (1 - FIRST**t)
    direction /= np.sqrt(second / (1 - SECOND**t)) + SMALLEST
    return direction, first, second


def adagrad(gradient: Array, first: Array, second: Array, t: int) -> tuple[Array, Array, Array]:
    """Direction by the sum of all squared gradients (Duchi, Hazan, Singer 2011); `first` is left as it is."""
    second = second + gradient**2
    return gradient / (np.sqrt(second) + SMALLEST), first, second


def plain(gradient: Array, first: Array, second: Array, t: int) -> tuple[Array, Array, Array]:
    """The gradient itself (Robbins, Monro 1951); the memories are left as they are."""
    return gradient, first, second


OPTIMISERS = {"adam": adam, "adagrad": adagrad, "plain": plain}


Memory = tuple[Array, Array, int]  # an optimiser's `first` before a step, its `second` after it, and t
Size = Array | float


class Parts(NamedTuple):
    """A direction as `pace` times the gradient of its step, and what earlier ones add: each of the gradient's shape."""

    pace: Array
    past: Array


def adam_parts(first: Array, second: Array, t: int) -> Parts:
    """Of the direction of `adam` in step t, by `first` before the step and `second` after it."""
    divisor = (1 - FIRST**t) * (np.sqrt(second / (1 - SECOND**t)) + SMALLEST)
    return Parts((1 - FIRST) / divisor, FIRST * first / divisor)


PARTS: dict[str, Callable[[Array, Array, int], Parts]] = {
    "adam": adam_parts,
    "adagrad": lambda first, second, t: Parts(1 / (np.sqrt(second) + SMALLEST), np.zeros(first.shape)),
    "plain": lambda first, second, t: Parts(np.ones(first.shape), np.zeros(first.shape)),
}


# Terms of the moves of flows and of fitted densities: forces, scaled by an optimiser, and the optimiser's memory.
#
# A move is a step times a direction. The direction of Adam is D times the force of the step, in each coordinate, and
# what it remembers of earlier forces; so each part of the force has its share of the move, and the memory is a term of
# its own. Optimisers without a memory have no such term.


def momentum(step: str = "ε") -> Term:
    """The term of an optimiser's memory, where `step` is the symbol of the step size."""
    return Term("momentum", "momentum", f"+ {step} M", "What the optimiser remembers of the steps before.")


def move_update(*terms: Term, formula: str = "θ′ − θ", unit: str = "units of θ") -> Update:
    """How far a point moved: a sum of terms."""
    return Update("move", formula, "move", unit, terms)


def flow_update(drive: str, repulsion: str, uphill: str, *more: Term, **rest: str) -> Update:
    """Of a Stein flow: the formulas of its two forces, and the uphill direction in words; D preconditions."""
    about = f"Uphill on {uphill}, averaged over the neighbours; D is the preconditioner, a factor for each coordinate."
    apart = Term("repulsion", "apart", f"+ ε D {repulsion}", "Away from the neighbours: the particles stay spread out.")
    return move_update(Term("drive", "uphill", f"ε D {drive}", about), apart, *more, **rest)


def paced(
    optimiser: str, memory: Memory, step: Size, unit: Size, forces: Callable[[], Mapping[str, Array]]
) -> ComputedTerms:
    """The share of each force in a move by step times direction, and the share of the memory, if any.

    `memory`: `first` before the step, `second` after it, and t. `forces` gives parts; `unit` times their sum was
    what the optimiser got.
    """

    def compute() -> dict[str, Array]:
        pace, past = PARTS[optimiser](*memory)
        terms = {name: step * pace * (unit * force) for name, force in forces().items()}
        return terms | ({"momentum": step * past} if past.any() else {})

    return ComputedTerms(compute)


def clipped(parts: Mapping[str, Array], free: Array, after: Array) -> ComputedTerms:
    """The parts of a move that was to end at `free` (m, d), and what clipping made of it where it ends elsewhere."""
    return ComputedTerms(lambda: {**parts} | ({"clip": after - free} if (after != free).any() else {}))


# What moves the mean of a fitted Gaussian: the pull of the prior and the pull of the batch, both averaged over q.


def mean_update(step: str, pace: str, *more: Term, bound: str = "p", formula: str = "μ′ − μ") -> Update:
    """Of a mean that moves by `step` times `pace` times its gradient, both of them symbols.

    `bound` is the letter of what takes the place of the likelihood, where something does.
    """
    prior, likelihood = f"{step} {pace} E_q ∇ log p(θ)", f"+ {step} {pace} N/B Σ E_q ∇ log {bound}(x | θ)"
    about = "Towards what explains this batch better, as if all data were like it."
    of_prior = Term("prior", "prior", prior, "Towards a higher prior, on average over q.")
    of_batch = Term("likelihood", "likelihood of the batch", likelihood, about)
    return move_update(of_prior, of_batch, *more, formula=formula)


def natural_terms(move: Array, step: float, cholesky: Array, theta: Array, target: Target) -> dict[str, Array]:
    """Of a natural step: S' times the gradient, S' = L L' of the new factor L (d, d), or of its diagonal (d,).

    `move` (d,) is the step of the mean, theta (n, d) the draws of q that the gradient is a mean over.
    """
    prior = target.grad_log_prior(theta).mean(axis=0)
    spread = cholesky**2 * prior if cholesky.ndim == 1 else cholesky @ (cholesky.T @ prior)
    return mean_terms(move, step * spread)


def paced_terms(move: Array, slope: Array, theta: Array, target: Target) -> dict[str, Array]:
    """Of a step that takes each number of the gradient `slope` (d,) at a pace of its own: the move over the slope."""
    pace = np.divide(move, slope, out=np.zeros_like(move), where=slope != 0)
    return mean_terms(move, pace * target.grad_log_prior(theta).mean(axis=0))


def mean_terms(move: Array, prior: Array) -> dict[str, Array]:
    """A move (d,) as what the `prior` (d,) does of it and what the batch does, (1, d) each."""
    return {"prior": prior[None], "likelihood": (move - prior)[None]}
