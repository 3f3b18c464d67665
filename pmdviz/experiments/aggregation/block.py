"""One repetition: data shared out to machines, a model on each, and every way to combine them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from pmdviz.experiments.aggregation.combine import (
    COMBINERS,
    Bootstrap,
    Machines,
    combined,
    exact,
)
from pmdviz.experiments.aggregation.matching import distance
from pmdviz.experiments.aggregation.models import MODELS, Model
from pmdviz.experiments.aggregation.models.em import Fit
from pmdviz.experiments.aggregation.models.mixture import Mixture
from pmdviz.experiments.aggregation.models.selection import fit_by_bic
from pmdviz.experiments.aggregation.points import Points, read_points
from pmdviz.experiments.base import Case, Row

FITS, SHUFFLE, DRAWS = 2, 3, 5  # random streams of a seed; the first is of the data
REFERENCES = {"exact": "the KL average itself", "mle": "all data on one machine"}
NO_MODEL = "no model"


def make_model(case: Case, components: int | None = None) -> Model:
    """The model of a case."""
    return MODELS[case["model"]](case["dim"], components or case["components"], case["latent"])


def most_components(case: Case) -> int:
    """As many components as BIC may choose."""
    return 2 * case["components"]


class Block:
    """What a case's seed says: points, machines, and what their combinations are compared with."""

    def __init__(self, case: Case) -> None:
        self.case, self.seed = case, case["seed"]

    def stream(self, *which: int) -> np.random.Generator:
        """Random numbers of one purpose."""
        return np.random.default_rng([self.seed, *which])

    @cached_property
    def points(self) -> Points:
        """Of all machines, and held out."""
        return read_points(self.case["data"], make_model(self.case), self.case["num_data"], self.seed)

    @cached_property
    def machines(self) -> Machines:
        """A model fitted on each; what is wrong with a fit is in `local_notes`."""
        shards = np.array_split(self.points.train, self.case["num_shards"])
        fits = [self._fitted(shard, self.stream(FITS, k)) for k, shard in enumerate(shards)]
        self.local_notes = [fit.note for fit in fits if fit.note]
        return Machines(make_model(self.case), [fit.params for fit in fits], self.stream(SHUFFLE))

    def _fitted(self, shard: np.ndarray, rng: np.random.Generator) -> Fit:
        if self.case["count"] == "known":
            return make_model(self.case).fit(shard, rng=rng)
        models = [make_model(self.case, c) for c in range(1, most_components(self.case) + 1)]
        return fit_by_bic(models, shard, rng)

    @cached_property
    def mle(self) -> Fit:
        """The model fitted to all data, with as many components as most machines'."""
        return self.machines.model.fit(self.points.train, start=self.machines.first)

    @cached_property
    def exact(self) -> Fit:
        """The exact KL average."""
        return Fit(*exact(self.machines))

    def bootstrap(self, n: int) -> Bootstrap:
        """n draws from each machine's model."""
        return Bootstrap(self.machines, n, self.stream(DRAWS, n))

    def held_out(self, params: Mixture) -> float:
        """Mean log likelihood of the points held out, in nats a point; NaN where the parameters are no density."""
        return float("nan") if params.fault else float(self.machines.model.log_density(self.points.test, params).mean())

    def rows(self, names: tuple[str, ...]) -> list[Row]:
        """A row of each combiner at each n; one with n = 0 where nothing is drawn."""
        names = tuple(name for name in names if self.machines.model.ambiguous or not COMBINERS[name].ambiguous_only)
        drawing = [name for name in names if COMBINERS[name].parts]
        found = []
        for n in self.case["draws"]:
            bootstrap = self.bootstrap(n)
            found += [self._row(name, n, *combined(name, self.machines, bootstrap)) for name in drawing]
        nothing = self.bootstrap(0)
        found += [self._row(name, 0, *combined(name, self.machines, nothing)) for name in names if name not in drawing]
        return found + [self._row(name, 0, getattr(self, name), 0.0, getattr(self, name).note) for name in REFERENCES]

    def _row(self, name: str, n: int, found: Any, seconds: float, note: str) -> Row:
        nan, truth = float("nan"), self.points.truth
        params = found.params if found else None
        local = f"{len(self.local_notes)} machines: {self.local_notes[0]}" if self.local_notes else ""
        return {
            "combiner": name, "num_draws": n, "num_shards": self.case["num_shards"], "dim": self.case["dim"],
            "num_data": len(self.points.train), "components": len(params.shares) if params else 0, "seed": self.seed,
            "error": distance(params, self.exact.params) if params else nan,
            "error_mle": distance(params, self.mle.params) if params else nan,
            "error_truth": distance(params, truth) if params and truth else nan,
            "gap": self.held_out(self.mle.params) - self.held_out(params) if params else nan,
            "seconds": seconds, "note": note or local,
        }  # fmt: skip


COLUMNS: dict[str, type] = {
    "combiner": str, "num_draws": int, "num_shards": int, "dim": int, "num_data": int, "components": int, "seed": int,
    "error": float, "error_mle": float, "error_truth": float, "gap": float, "seconds": float, "note": str,
}  # fmt: skip
