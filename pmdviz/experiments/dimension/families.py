"""Posteriors that exist in every dimension, with an answer by which any method can be judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pmdviz.engine.recipe_parts import resolved_target
from pmdviz.experiments.dimension.two_regressions import two_regressions
from pmdviz.targets import Target, find_target


class Family(NamedTuple):
    """A posterior for each d."""

    title: str
    offers: frozenset[str]  # what its targets offer, names of `targets.base.OFFERS`
    make: Callable[[int, int, int], Target]  # d, N and the seed of the data -> the target


def _built_in(title: str, name: str, options: Mapping[str, Any]) -> Family:
    def make(dim: int, num_data: int, seed: int) -> Target:
        return resolved_target(name, {**options, "dim": dim, "num_data": num_data, "data_seed": seed})

    return Family(title, find_target(name).declared | {"reals"}, make)


FAMILIES = {
    "linear": _built_in("linear regression", "linear", {"correlation": 0.0}),
    "two_regressions": Family(
        "regression of unseen sign: two modes", frozenset({"reals", "gradient"}), two_regressions
    ),
    "logistic": _built_in("logistic regression", "logistic", {"truth": "prior"}),
}
