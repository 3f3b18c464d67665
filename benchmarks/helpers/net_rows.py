"""The rows of `bench stein` on ensembles of binary nets (E10): 300 steps on digits, judged by those held out.

The split of the digits and the run have the same seed. Settings are the page's own but for what a row names, and for
Algorithm 9's: ranks as weights, and the thesis' kernel width, at which the nets hardly interact.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session

STEPS = 300
SIZES = (1, 5, 10)
MEASURED = ("accuracy", "single_accuracy", "log_loss")


class Row(NamedTuple):
    """A method at one setting with so many nets."""

    name: str
    method: str
    knobs: Mapping[str, Any]

    def recipe(self, seed: int) -> Recipe:
        """What is run."""
        options = {"data_seed": seed}
        return Recipe("binary_net", self.method, target_options=options, seed=seed, budget=None, **self.knobs)

    def measure(self, seed: int) -> dict[str, float]:
        """What held-out digits say of the run of this seed after 300 steps."""
        session = Session(self.recipe(seed), metrics_every=10**9)
        frame = session.advance(STEPS)
        return {name: float(frame.metrics[name] or 0.0) for name in MEASURED}


def net_rows() -> list[Row]:
    """E10: GF-SVGD at three steepnesses of the surrogate, and bagged straight-through nets, with 1, 5 and 10 nets."""
    ranks = {"weighting": "ranks", "length_scale_factor": 1.0}
    return [
        *(
            Row(f"GF-SVGD, τ = {tau:g}, n = {n}", "discrete_gf_svgd", {**ranks, "steepness": tau, "num_particles": n})
            for tau in (10.0, 4.0, 1.0)
            for n in SIZES
        ),
        *(Row(f"Straight-through, bagged, n = {n}", "straight_through", {"num_particles": n}) for n in SIZES),
    ]


def _of_two(*means: float) -> tuple[dict[str, tuple[float, float]], ...]:
    """Accuracies over two runs: the standard error of a mean on 497 digits, and as much again between runs."""
    return tuple({"accuracy": (mean, (mean * (1 - mean) / 497) ** 0.5)} for mean in means)


SPECIFIED = {  # what the specification's section 5 has for a row, with its standard error
    name: wanted
    for prefix, means in (
        ("GF-SVGD, τ = 10", (0.928, 0.983, 0.982)),
        ("GF-SVGD, τ = 4", (0.607, 0.900, 0.928)),
        ("GF-SVGD, τ = 1", (0.222, 0.246, 0.321)),
        ("Straight-through, bagged", (0.922, 0.967, 0.979)),
    )
    for name, wanted in zip((f"{prefix}, n = {n}" for n in SIZES), _of_two(*means), strict=True)
}
