"""One repetition: points shared out to machines, a model on each, every way to combine them."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np

from pmdviz.data.files import holds_images
from pmdviz.errors import InputError, shown
from pmdviz.experiments.aggregation.combine import COMBINERS, Bootstrap, Machines, combined, exact
from pmdviz.experiments.aggregation.mixture import Fit, Mixture, distance
from pmdviz.experiments.aggregation.models import MODELS, Model, fit_by_bic
from pmdviz.experiments.base import Case, Row
from pmdviz.targets.networks.regression_rows import whole_table
from pmdviz.targets.rows.classes import CARRIED as CARRIED_IMAGES
from pmdviz.targets.table_form import TableForm, rows_of

# The points that the machines share out, and those held out: drawn from a true model, or rows of a table.

SIMULATED = "simulated"
TRUTH = 20_200  # seed of the true parameters: one truth for every size of model
HELD_OUT = 20_000  # points drawn to judge by
TABLE = TableForm("Columns of numbers; the last of them is left out.", most=100_000, outcome="number")
LEARNT = 0.8  # of a table's rows; the others are held out


class Points(NamedTuple):
    """Rows to learn from in random order (N, d), rows held out, and the parameters that they were drawn from."""

    train: np.ndarray
    test: np.ndarray
    truth: Mixture | None


class Carried(NamedTuple):
    """A table that comes with a package: its words, its reader, and whether its columns share one unit."""

    words: str
    read: Callable[[], np.ndarray]
    one_unit: bool = False


CARRIED: dict[str, Carried] = {
    "digits": Carried("handwritten digits", lambda: CARRIED_IMAGES["digits"]()[0], one_unit=True),
    "breast_cancer": Carried("breast cancer", lambda: whole_table("breast_cancer", TABLE, False)[0]),
    "randhie": Carried("visits to doctors (RAND)", lambda: whole_table("randhie", TABLE, False)[0]),
}


def read_points(source: str, model: Model, num_data: int, seed: int) -> Points:
    """N points of `model.dim` coordinates. Raises InputError where a table cannot be read."""
    rng = np.random.default_rng([seed, 1])
    if source == SIMULATED:
        truth = model.truth(np.random.default_rng([TRUTH, model.dim, model.components]))
        return Points(model.sample(truth, rng, num_data), model.sample(truth, rng, HELD_OUT), truth)
    scores = principal_scores(source)
    rows = scores[rng.permutation(len(scores)), : model.dim]
    learnt = int(LEARNT * len(rows))
    return Points(rows[: min(num_data, learnt)], rows[learnt : learnt + HELD_OUT], None)


def most_data(source: str) -> int | None:
    """How many rows of a table can be learnt from; None where any number can be drawn. Raises InputError."""
    return None if source == SIMULATED else int(LEARNT * len(principal_scores(source)))


def check_dim(source: str, dim: int) -> None:
    """Raise InputError where a table has fewer principal components."""
    if source != SIMULATED and dim > (most := principal_scores(source).shape[1]):
        raise InputError(
            f"dim must be at most {most} with data {shown(source)}, which have no more columns that vary independently "
            f"besides the last; given: {dim}",
            "dim",
        )


@lru_cache(maxsize=2)
def principal_scores(source: str) -> np.ndarray:
    """All principal components of a table without its last column, (N, k), in units of the first one's sd.

    Columns are divided by their sd, but for images, whose pixels have one unit; those that do not vary are left out.
    Each component's largest loading is positive. Raises InputError.
    """
    table = CARRIED[source].read() if source in CARRIED else rows_of(source, TABLE).rows
    columns = table[:, :-1].astype(np.float64)
    columns = columns[:, np.ptp(columns, axis=0) > 0]
    if columns.shape[1] < 2:
        raise InputError(f"data {shown(source)} need 2 columns that vary, besides the last", "data")
    columns -= columns.mean(axis=0)
    if not (CARRIED[source].one_unit if source in CARRIED else holds_images(source)):
        columns /= columns.std(axis=0)
    values, axes = np.linalg.eigh(columns.T @ columns / len(columns))
    axes = axes[:, ::-1][:, values[::-1] > 1e-9 * values[-1]]
    axes *= np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(axes.shape[1])])
    return columns @ axes / np.sqrt(values[-1])


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
