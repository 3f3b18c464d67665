"""Step sizes gamma_t in (0, 1] as pure functions of the step number t = 1, 2, ..."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def decay(t: int, eta: float, n0: float, kappa: float) -> float:
    """gamma_t = min(1, eta / (n0 + t^kappa)): covers 1/t, 1/(n0 + t) and eta/(n0 + sqrt t).

    Source: the step sizes of Dai et al. 2016, section 6 and Theorem 6, in one form (ours).
    """
    return min(1.0, eta / (n0 + float(t) ** kappa))


def constant(t: int, step_size: float) -> float:
    """gamma_t = step_size: remembers about the last 1/step_size batches."""
    return step_size


SCHEDULES: dict[str, Callable[[int, Any], float]] = {
    "decay": lambda t, knobs: decay(t, knobs.eta, knobs.n0, knobs.kappa),
    "constant": lambda t, knobs: constant(t, knobs.step_size),
}
