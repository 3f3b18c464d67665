"""What can be chosen in `aggregation`, and what can be varied."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from pmdviz.errors import InputError
from pmdviz.experiments.aggregation.block import CARRIED, SIMULATED
from pmdviz.experiments.aggregation.combine import COMBINERS
from pmdviz.experiments.aggregation.models import MODELS
from pmdviz.knobs import Choice, Knobs, Whole
from pmdviz.targets.options import data_source

MIXED = tuple(name for name, model in MODELS.items() if model.mixed)
SETS: dict[str, tuple[str, tuple[str, ...]]] = {
    "all": ("all that apply", tuple(COMBINERS)),
    "kl": ("KL averaging", ("naive", "control", "control_fresh", "weighted", "weighted_printed")),
    "linear": ("means of the parameters", ("linear", "linear_unmatched")),
}


class Varied(NamedTuple):
    """One thing to vary: words, column and axis of it, what a value of it changes, and slopes known by theory."""

    title: str
    column: str
    axis: str
    change: Callable[[dict[str, Any], int], dict[str, Any]]
    levels: tuple[int, int]
    slopes: Sequence[tuple[str, float]] = ()


VARIED: dict[str, Varied] = {
    "n": Varied(
        "draws from each model n", "num_draws", "draws from each model n",
        lambda case, n: {"draws": [n]}, (30, 1000),
        (("plain draws by theory: slope -1", -1.0), ("control and weighted by theory: slope -2", -2.0)),
    ),
    "K": Varied(
        "machines K", "num_shards", "machines K",
        lambda case, k: {"num_shards": k}, (5, 40),
        (("by theory: slope -1", -1.0),),
    ),
    "K_total": Varied(
        "machines K, with the same draws n K in all", "num_shards", "machines K, n K the same",
        lambda case, k: {"num_shards": k, "draws": [max(2, case["num_shards"] * case["draws"][0] // k)]}, (5, 40),
        (("control and weighted by theory: slope 1", 1.0),),
    ),
    "N": Varied(
        "data points N", "num_data", "data points N", lambda case, n: {"num_data": n}, (10_000, 1_000_000),
    ),
    "dim": Varied("dimension d", "dim", "dimension d", lambda case, d: {"dim": d}, (2, 10)),
    "alpha": Varied(
        "the exponent of n = (N/K)^α, in hundredths", "num_draws", "draws from each model n = (N/K)^α",
        lambda case, a: {"draws": [max(2, round((case["num_data"] / case["num_shards"]) ** (a / 100)))]}, (40, 80),
    ),
}  # fmt: skip


class Against(NamedTuple):
    """What the parameters are compared with: words, and the column."""

    title: str
    column: str


AGAINST: dict[str, Against] = {
    "exact": Against("the exact KL average", "error"),
    "mle": Against("the fit to all data", "error_mle"),
    "truth": Against("the true parameters", "error_truth"),
}


class AggregationKnobs(Knobs):
    """The knobs of `aggregation`."""

    kind_words = "knob of experiment 'aggregation':"

    model = Choice(
        "gaussian",
        choices={name: model.title for name, model in MODELS.items()},
        label="Model",
        doc="What each machine fits to its own data.",
    )
    data = data_source(
        {SIMULATED: "drawn from a true model"} | {name: table.words for name, table in CARRIED.items()},
        "Drawn from known parameters; tables that scikit-learn and statsmodels carry, of which the leading principal "
        "components are taken; or those of a table, such as UCI's Covertype, whose last column is left out. A fifth "
        "of a table's rows is held out.",
    )
    num_data = Whole(
        1_000_000,
        bounds=(20, 10**12),
        softbounds=(1000, 1_000_000),
        log=True,
        default_by=("model", dict.fromkeys(MIXED, 60_000)),
        label="Data points N",
        doc="On all machines together; of a table at most as many as it has.",
    )
    dim = Whole(
        3,
        bounds=(2, 100),
        softbounds=(2, 20),
        default_by=("data", {"digits": 10, "breast_cancer": 10, "randhie": 5}),
        label="Dimension d",
        doc="Of a point; of a table, so many principal components.",
    )
    components = Whole(
        3,
        bounds=(2, 30),
        softbounds=(2, 10),
        only_if=("model", MIXED),
        label="Components",
        doc="Of a mixture; where they are counted on each machine, those of the true one.",
    )
    latent = Whole(
        2,
        bounds=(1, 50),
        softbounds=(1, 10),
        only_if=("model", tuple(name for name, model in MODELS.items() if model.low_rank)),
        label="Latent dimension q",
        doc="Directions of probabilistic PCA, fewer than the dimension.",
    )
    count = Choice(
        "known",
        choices={"known": "as set here", "bic": "by BIC on each machine"},
        only_if=("model", MIXED),
        label="Number of components",
        doc="By BIC the machines' models may have different numbers of components, and no mean of their parameters.",
    )
    num_shards = Whole(10, bounds=(2, 1000), softbounds=(2, 50), label="Machines K", doc="Each has as many data.")
    varied = Choice(
        "n",
        choices={name: each.title for name, each in VARIED.items()},
        label="What is varied",
        doc="Everything else stays.",
    )
    lowest = Whole(
        30,
        bounds=(2, 10**12),
        default_by=("varied", {name: each.levels[0] for name, each in VARIED.items()}),
        log=True,
        label="From",
        doc="The least value of what is varied.",
    )
    highest = Whole(
        1000,
        bounds=(2, 10**12),
        default_by=("varied", {name: each.levels[1] for name, each in VARIED.items()}),
        log=True,
        label="To",
        doc="The largest value of what is varied.",
    )
    num_levels = Whole(4, bounds=(1, 20), label="Values", doc="How many of what is varied, evenly on a log axis.")
    num_draws = Whole(
        300,
        bounds=(2, 1_000_000),
        softbounds=(30, 3000),
        log=True,
        only_if=("varied", tuple(name for name, each in VARIED.items() if each.column != "num_draws")),
        label="Draws from each model n",
        doc="A few times as many as the model has parameters.",
    )
    repetitions = Whole(10, bounds=(1, 1000), label="Repetitions", doc="Data seeds from 0 on.")
    combiners = Choice(
        "all",
        choices={name: words for name, (words, _) in SETS.items()},
        label="Ways to combine",
        doc="Which of them are compared.",
    )
    against = Choice(
        "exact",
        choices={name: each.title for name, each in AGAINST.items()},
        label="Error against",
        doc="What the combined parameters are compared with in pictures and slopes; the rows have all three.",
    )

    def check(self) -> None:
        """Raise InputError where values do not fit one another."""
        if self.lowest > self.highest:
            raise InputError(
                f"lowest must be at most highest, {self.highest:,}; given: {self.lowest:,}",
                "lowest",
                f"From must be at most To, {self.highest:,}; given: {self.lowest:,}",
            )
        if self.against == "truth" and self.data != SIMULATED:
            raise InputError(
                "a table has no true parameters; set against to exact or mle",
                "against",
                f"A table has no true parameters: set Error against to “{AGAINST['exact'].title}”",
            )

    @property
    def levels(self) -> list[int]:
        """The values of what is varied, no two alike."""
        found = np.rint(np.geomspace(self.lowest, self.highest, self.num_levels)).astype(np.int64)
        return sorted({int(level) for level in found})
