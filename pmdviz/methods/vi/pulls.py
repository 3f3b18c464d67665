"""What moves the mean of a fitted Gaussian: the pull of the prior and that of the batch, both averaged over q."""

from __future__ import annotations

import numpy as np

from pmdviz.methods.shared.pulls import move_update
from pmdviz.methods.step import Term, Update
from pmdviz.targets import Target


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
