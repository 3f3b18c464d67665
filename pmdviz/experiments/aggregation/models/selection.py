"""How many components the points ask for, by the Bayesian information criterion."""

from __future__ import annotations

import numpy as np

from pmdviz.experiments.aggregation.models.base import Model
from pmdviz.experiments.aggregation.models.em import Fit

PATIENCE = 2  # more components are no longer tried after so many in succession that were no better
SHORT = 60  # steps of EM in the comparison


def fit_by_bic(models: list[Model], points: np.ndarray, rng: np.random.Generator) -> Fit:
    """The fit of the model with the least BIC = p log n - 2 log L; `models` have more and more components.

    EM is short for the comparison, as components too many settle slowly, and goes on to its end for the chosen one.
    """
    best, chosen, least, worse = None, None, np.inf, 0
    for model in models:
        found = model.fit(points, rng=rng, most_steps=SHORT)
        value = bic(model, points, found)
        worse = 0 if value < least else worse + 1
        if value < least:
            best, chosen, least = found, model, value
        if worse == PATIENCE:
            break
    return chosen.fit(points, start=best.params)


def bic(model: Model, points: np.ndarray, fit: Fit) -> float:
    """p log n - 2 log L, in nats."""
    likelihood = model.log_density(points, fit.params).sum()
    return float(model.num_params(len(fit.params.shares)) * np.log(len(points)) - 2 * likelihood)
