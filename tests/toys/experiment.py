"""An experiment in one file: the mean of normal draws, against how many there are."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pmdviz.experiments import Case, Chart, Experiment, Row, mean_series
from pmdviz.experiments.sweep import fitted
from pmdviz.knobs import Knobs, Whole


class ToyKnobs(Knobs):
    kind_words = "knob of experiment 'toy_mean_error':"

    seeds = Whole(20, bounds=(1, 1000), label="Seeds", doc="At each number of draws.")


class ToyMeanError(Experiment):
    name = "toy_mean_error"
    title = "Toy: the error of a mean"
    about = "How fast the mean of draws comes to its value."
    Knobs = ToyKnobs

    def columns(self, knobs: Any) -> Mapping[str, type]:
        return {"draws": int, "seed": int, "error": float}

    def cases(self, knobs: Any) -> list[Case]:
        return [{"draws": n, "seed": seed} for n in (16, 64, 256, 1024) for seed in range(knobs.seeds)]

    def run(self, case: Case) -> list[Row]:
        rng = np.random.default_rng([case["draws"], case["seed"]])
        return [{**case, "error": abs(float(rng.standard_normal(case["draws"]).mean()))}]

    def summary(self, rows: Sequence[Row], knobs: Any) -> list[dict[str, Any]]:
        fit = fitted([row["draws"] for row in rows], [row["error"] for row in rows])
        return [{"slope": fit.slope, "standard_error": fit.standard_error}]

    def pictures(self, rows: Sequence[Row], knobs: Any) -> list[Chart]:
        series = mean_series("mean error", rows, "draws", "error")
        return [Chart([series], "draws", "error of the mean", slopes=[("theory", -0.5)])]
