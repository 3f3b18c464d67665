"""Rows of E3, adaptive importance sampling on the warped mixture: a recipe each, and KL by exact draws of it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.run import Run
from pmdviz.engine.session import Session

DRAWS = 20_000  # exact ones, and as many of the mixture
NEVER = 10**9


class Row(NamedTuple):
    """One line of the table: what is run for how long, and the forward KL that the specification's E3 has for it."""

    name: str
    knobs: dict[str, Any]
    steps: int
    reported: float  # nats; of a prototype with a fixed variance floor and steps in the units of x


ROWS = (
    Row("M-PMC, 5 components", {"num_components": 5}, 100, 0.405),
    Row("M-PMC, 20 components", {"num_components": 20}, 100, 0.055),
    Row("M-PMC, 200 components", {"num_components": 200}, 100, 0.025),
    Row("chi^2, 10 components", {"adaptation": "chi2", "num_components": 10}, 1000, 0.179),
    Row("chi^2, 200 components", {"adaptation": "chi2", "num_components": 200}, 1000, 0.129),
    Row("chi^2, 10 components, no clamp", {"adaptation": "chi2", "num_components": 10, "clamp": 0.0}, 1000, np.nan),
)


def recipe_of(row: Row, seed: int) -> Recipe:
    """The recipe of a row on a seed: without an end, the steps are counted."""
    return Recipe("warped_gmm", "adaptive_is", seed=seed, budget=None, **row.knobs)


def run_of(row: Row, seed: int) -> Run:
    """The run of a row to its last step."""
    session = Session(recipe_of(row, seed), metrics_every=NEVER)
    while session.frame.iteration < row.steps:
        session.advance()
    return session.run


def statistics(run: Run) -> dict[str, float]:
    """KL(p || q) and KL(q || p) of the fitted mixture q, the ESS as a share of the draws, log Z's error; in nats."""
    frame, rng = run.final, np.random.default_rng(0)
    p, q = frame.target.exact, frame.densities["mixture"]
    of_p, of_q = p.sample(rng, DRAWS), q.sample(rng, DRAWS)
    return {
        "kl_forward": float((p.log_density(of_p) - q.log_density(of_p)).mean()),
        "kl_reverse": float((q.log_density(of_q) - p.log_density(of_q)).mean()),
        "ess_fraction": float(1 / (frame.weights**2).sum() / len(frame.weights)),
        "log_z_error": float(frame.metrics["log_z_error"]),
    }
