"""What the Theory page can vary: recipes whose error a theorem speaks of, with the values to go through."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from pmdviz.engine.recipe import Recipe

SIZES = (64, 128, 256, 512, 1024, 2048)
STEPS = (16, 32, 64, 128, 256, 512)
DATA = (40, 80, 160, 320, 640, 1280)
GROWN_FROM, GROWN_STEPS = 10, {1: (2, 3, 4, 6, 8, 12), 2: (2, 3, 4, 5, 6, 7)}  # m_1, and T by dimension d
SMOOTHNESS = (
    1.0  # beta: what the paper counts a Gaussian kernel as; the bounds' slopes and the KDE's bandwidth go by it
)
FIXED_SIZE, FIXED_STEPS, PARTS = 512, 200, 20  # m and T where they are not varied; batches in a pass


class Strategy(NamedTuple):
    """A way to carry q, and the theorems of the paper that cover it as it is run here."""

    title: str
    knobs: dict[str, Any]
    theorems: tuple[str, ...] = ()


STRATEGIES: dict[str, Strategy] = {
    "particles": Strategy(
        "weighted particles, γ = 1/t (Theorem 5)",
        {"policy": "never", "eta": 1.0, "n0": 0.0, "kappa": 1.0, "step_limit": 0.0, "bandwidth_rule": "local",
         "draws": "independent", "batches": "replacement"},
        ("Theorem 2", "Theorem 3", "Theorem 5"),
    ),
    "kde": Strategy(
        "weighted KDE, γ = 2/(t+1) (Theorem 6)",
        {"policy": "always", "eta": 2.0, "n0": 1.0, "kappa": 1.0, "step_limit": 0.0, "bandwidth_rule": "covariance",
         "smoothness": SMOOTHNESS, "draws": "independent", "resampler": "multinomial", "batches": "replacement"},
        ("Theorem 2", "Theorem 4", "Theorem 6"),
    ),
    # Balanced draws are not independent, an epoch's batches neither, and a limited step size depends on its batch
    "ours": Strategy("our default: new particles when the ESS falls", {}),
}  # fmt: skip


class Varied(NamedTuple):
    """One thing to vary. `over` gives the lists that go side by side, for a batch of B, N data and d dimensions."""

    title: str
    letters: tuple[str, ...]  # which of m, T, N change, and what else a bound asks for
    column: str  # of the sweep's rows, for the x axis
    axis: str
    over: Callable[[int, int, int], dict[str, list[Any]]]


def _all(**values: Any) -> dict[str, list[Any]]:
    """The same values in every run."""
    return {name: [value] * len(SIZES) for name, value in values.items()}


VARIED: dict[str, Varied] = {
    "m": Varied(
        "particles m", ("m",), "num_particles", "particles m",
        lambda batch, n, d: {"num_particles": [*SIZES], "budget": [FIXED_STEPS * batch] * len(SIZES)},
    ),
    "one_step": Varied(
        "particles m, one step on all data", ("m", "one step"), "num_particles", "particles m",
        lambda batch, n, d: {"num_particles": [*SIZES],
                             **_all(budget=n, batch_size=n, batches="epochs", schedule="constant", step_size=1.0)},
    ),
    "T": Varied(
        "steps T", ("T",), "iterations", "steps T",
        lambda batch, n, d: {"budget": [t * batch for t in STEPS], **_all(num_particles=FIXED_SIZE)},
    ),
    "grown": Varied(
        "steps T, particles growing like t^(2+d)", ("T", "m_t"), "iterations", "steps T",
        lambda batch, n, d: {"budget": [t * batch for t in GROWN_STEPS[d]],
                             **_all(num_particles=GROWN_FROM, growth="power", growth_exponent=2.0 + d,
                                    most_particles=GROWN_FROM * GROWN_STEPS[d][-1] ** (2 + d))},
    ),
    "mT": Varied(
        "m and T = m together", ("m", "T"), "num_particles", "particles m = steps T",
        lambda batch, n, d: {"num_particles": [*SIZES], "budget": [m * batch for m in SIZES]},
    ),
    "N": Varied(
        "data N", ("N",), "num_data", "data N",
        lambda batch, n, d: {"num_data": [*DATA], "batch_size": [size // PARTS for size in DATA],
                          "budget": [FIXED_STEPS * size // PARTS for size in DATA]},
    ),
}  # fmt: skip


def planned_runs(target: str, strategy: str, varied: str) -> tuple[Recipe, dict[str, list[int]]]:
    """The recipe and what is varied side by side. Batches are a twentieth of the data."""
    options = {"dim": 1} if target == "gaussian" else {}
    made = Recipe(target, target_options=options).make_target()
    batch = max(1, made.num_data // PARTS)
    knobs = {**STRATEGIES[strategy].knobs, "batch_size": batch, "num_particles": FIXED_SIZE}
    recipe = Recipe(target, "pmd", target_options=options, **knobs)
    return recipe, VARIED[varied].over(batch, made.num_data, made.dim)
