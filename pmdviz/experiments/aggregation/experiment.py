"""Models of many machines made into one: how far each way to combine them is from what all data would give."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from pmdviz.errors import InputError
from pmdviz.experiments.aggregation.block import (
    COLUMNS,
    REFERENCES,
    Block,
    check_dim,
    make_model,
    most_components,
    most_data,
)
from pmdviz.experiments.aggregation.combine import COMBINERS, EXACT_POINTS, combined
from pmdviz.experiments.aggregation.knobs import AGAINST, SETS, VARIED, AggregationKnobs
from pmdviz.experiments.aggregation.mixture import Mixture
from pmdviz.experiments.aggregation.models import MODELS
from pmdviz.experiments.base import (
    Case,
    Chart,
    Ellipses,
    Experiment,
    Group,
    Row,
    Series,
    Size,
    mean_series,
    mean_with_error,
)
from pmdviz.experiments.sweep.plan import fitted

# What is drawn of the machines' and the combined models.

SHOWN = 500  # points
SAME = 1e-14  # differences of rounding alone
TITLES = {name: each.title for name, each in COMBINERS.items()} | REFERENCES
GAP_WORDS = "held-out log likelihood below that of all data on one machine, nats a point"


def charts(rows: Sequence[Row], knobs: AggregationKnobs) -> list[Chart]:
    """Error of the parameters, and held-out log likelihood, against what is varied."""
    varied, against = VARIED[knobs.varied], AGAINST[knobs.against]
    words = f"squared distance of the parameters from {against.title}"
    found = [
        Chart(_series(rows, knobs, against.column), varied.axis, words, slopes=varied.slopes, title="Parameters"),
        _held_out(_series(rows, knobs, "gap"), varied.axis),
    ]
    return [chart for chart in found if chart.series]


def _held_out(series: list[Series], axis: str) -> Chart:
    """On a log axis while all KL averages lose likelihood; then those with no loss, to noise, are left out."""
    if any((each.y <= 0).any() for each in series if each.look == "line"):
        return Chart(series, axis, GAP_WORDS, y_log=False, title="Held-out data")
    kept = [each if each.low is None or (each.low > 0).all() else each._replace(low=None, high=None) for each in series]
    return Chart([each for each in kept if (each.y > 0).all()], axis, GAP_WORDS, title="Held-out data")


def _series(rows: Sequence[Row], knobs: AggregationKnobs, column: str) -> list[Series]:
    """One a combiner; one that does not depend on what is varied is a dashed line from end to end."""
    found = []
    for name in TITLES:
        mine = [row for row in rows if row["combiner"] == name and np.isfinite(row[column])]
        if all(abs(row[column]) < SAME for row in mine):  # the references, compared with themselves
            continue
        if VARIED[knobs.varied].column == "num_draws" and not mine[0]["num_draws"]:
            drawn = sorted({row["num_draws"] for row in rows} - {0})
            found.append(_level(TITLES[name], drawn, np.mean([row[column] for row in mine])))
        else:
            look = "line" if mine[0]["num_draws"] else "dashes"
            found.append(mean_series(TITLES[name], mine, VARIED[knobs.varied].column, column, look))
    return found


def _level(name: str, levels: Sequence[int], height: float) -> Series:
    ends = np.array(sorted({levels[0], levels[-1]}), float)
    return Series(name, ends, np.full(len(ends), height), look="dashes")


def ellipses(block: Block, n: int) -> list[Ellipses]:
    """The machines' models and what KL averaging and a mean of the parameters make of them, first two coordinates."""
    points, models = block.points.train[:SHOWN, :2], block.machines.params
    machines = Group("machines", *_stacked(models))
    found = []
    for title, names in {"KL averaging": ("naive", "weighted"), "Means": ("linear", "linear_unmatched")}.items():
        made = {name: params for name in names if (params := _made(block, name, n)) is not None}
        groups = [Group(TITLES[name], *_stacked([params]), bold=True) for name, params in made.items()]
        if groups:
            found.append(Ellipses([machines, *groups], points, "coordinate 1", "coordinate 2", title))
    return found


def _made(block: Block, name: str, n: int) -> Mixture | None:
    """A combined model that can be drawn."""
    if COMBINERS[name].ambiguous_only and not block.machines.model.ambiguous:
        return None
    found, _, _ = combined(name, block.machines, block.bootstrap(n))
    return found.params if found and not found.params.fault else None


def _stacked(models: Sequence[Mixture]) -> tuple[Any, Any]:
    """Means (k, 2) and covariances (k, 2, 2) of all components."""
    means, covs = (np.concatenate([part(each) for each in models]) for part in (_means, _covs))
    return means[:, :2], covs[:, :2, :2]


def _means(model: Mixture) -> np.ndarray:
    return model.means


def _covs(model: Mixture) -> np.ndarray:
    return model.covs


LETTERS = {"num_draws": "n", "num_shards": "K", "num_data": "N", "dim": "d"}
NEAR_DATA, NEAR_DRAWS, NEAR_MACHINES = 5000, 1000, 5  # at most so many in the pictures of one case


class Aggregation(Experiment):
    """Each machine sends its model and no data; the models are combined, at growing n, K, N or d."""

    name = "aggregation"
    title = "Many machines, one model"
    about = (
        "Every machine fits a model to its own data and sends the model alone. Which one model of all comes nearest to "
        "the fit to all data?"
    )
    source = "Han 2019, Algorithms 11 and 12, Theorems 19, 20 and 22, Figures 30 to 34"
    Knobs = AggregationKnobs

    def columns(self, knobs: AggregationKnobs) -> Mapping[str, type]:
        """Squared distances of the parameters, and what is lost in held-out log likelihood, nats a point."""
        return COLUMNS

    def cases(self, knobs: AggregationKnobs) -> list[Case]:
        """A repetition each, with all n. Raises InputError where a machine has too few data for its model."""
        values = knobs.as_dict()
        names = ("model", "data", "num_data", "dim", "components", "latent", "count", "num_shards", "combiners")
        usual = {name: values[name] for name in names} | {"draws": [knobs.num_draws]}
        different = [usual | VARIED[knobs.varied].change(usual, level) for level in knobs.levels]
        if VARIED[knobs.varied].column == "num_draws":  # the machines' models are the same: one case for all n
            different = [usual | {"draws": [n for each in different for n in each["draws"]]}]
        kept = [_plain(case) for case in different]
        for case in kept:
            _check(case)
        return [{**case, "seed": seed} for case in _unique(kept) for seed in range(knobs.repetitions)]

    def run(self, case: Case) -> list[Row]:
        """A row of each way to combine the models at each n."""
        with threadpool_limits(1):  # sums of several threads differ in their last bits
            return Block(case).rows(SETS[case["combiners"]][1])

    def summary(self, rows: Sequence[Row], knobs: AggregationKnobs) -> list[dict[str, Any]]:
        """The slope of the error in n where n is varied; else means, with standard errors; and what did not work."""
        found = []
        for name, title in TITLES.items():
            mine = [row for row in rows if row["combiner"] == name]
            if knobs.varied == "n" and name in COMBINERS and COMBINERS[name].parts:
                found += _slope(title, mine, AGAINST[knobs.against].column, COMBINERS[name].rate)
            else:
                found += _means_experiment(title, mine, VARIED[knobs.varied].column, AGAINST[knobs.against].column)
            found += _notes(title, mine)
        return found

    def pictures(self, rows: Sequence[Row], knobs: AggregationKnobs) -> list[Chart]:
        """Error of the parameters, and held-out log likelihood."""
        return charts(rows, knobs)

    def examples(self, knobs: AggregationKnobs) -> list[Ellipses]:
        """The models of one repetition, with fewer data and machines where there are many."""
        case = self.cases(knobs)[0]
        machines = min(case["num_shards"], NEAR_MACHINES)
        few = {"num_data": min(case["num_data"], max(NEAR_DATA, machines * _least(case))), "num_shards": machines}
        with threadpool_limits(1):
            return ellipses(Block(case | few), min(max(case["draws"]), NEAR_DRAWS))

    def size(self, case: Case) -> Size:
        """Seconds on one core and megabytes, from what fits of several sizes took."""
        most = most_data(case["data"])
        n, d, c = min(case["num_data"], most or case["num_data"]), case["dim"], _components(case)
        drawn = case["num_shards"] * sum(case["draws"])
        exact = case["num_shards"] * EXACT_POINTS if c > 1 else 0
        step = c * (1.2e-7 + 4e-9 * d * d)  # seconds a point
        slow = 1 if most is None else 5  # EM of a table
        steps = 30 * slow + (40 * c if case["count"] == "bic" else 0)
        fits = steps * n + 60 * slow * exact + 200 * drawn if c > 1 else 4 * n + 6 * drawn
        return Size(0.05 + 4e-8 * n * d + step * fits, 8e-6 * (n * (4 * d + 3 * c) + (exact + drawn) * (3 * d + 4 * c)))


def _plain(case: Case) -> Case:
    """The case without what its model does not have, so that no two cases are the same computation."""
    model = MODELS[case["model"]]
    alone = {} if model.mixed else {"components": 1, "count": "known"}
    return case | alone | ({} if model.low_rank else {"latent": 1})


def _unique(cases: list[Case]) -> list[Case]:
    return [case for k, case in enumerate(cases) if case not in cases[:k]]


def _components(case: Case) -> int:
    return most_components(case) if case["count"] == "bic" else case["components"]


def _least(case: Case) -> int:
    """Data that a machine needs: more than its model has parameters."""
    return make_model(case).num_params() + 1


def _check(case: Case) -> None:
    """Raise InputError where a case is impossible."""
    check_dim(case["data"], case["dim"])
    if MODELS[case["model"]].low_rank and case["latent"] >= case["dim"]:
        raise InputError(
            f"latent must be below the dimension, {case['dim']}; given: {case['latent']}",
            "latent",
            f"Latent dimension q must be below the dimension, {case['dim']}; given: {case['latent']}",
        )
    rows = min(case["num_data"], most_data(case["data"]) or case["num_data"])
    if rows < case["num_shards"] * _least(case):
        raise InputError(
            f"num_data must be at least {case['num_shards'] * _least(case):,}, so that each of {case['num_shards']} "
            f"machines has more data than its model has parameters; given: {rows:,}",
            "num_data",
        )


def _slope(title: str, rows: Sequence[Row], column: str, rate: float) -> list[dict[str, Any]]:
    """The power of n that the squared error falls with, beside that of theory."""
    try:
        fit = fitted([row["num_draws"] for row in rows], [row[column] for row in rows])
    except InputError:
        return []
    numbers = {"slope": fit.slope, "standard_error": fit.standard_error, "theory": rate, "rows": fit.num_points}
    return [{"what": f"{title}: error against n", **numbers}]


def _means_experiment(title: str, rows: Sequence[Row], by: str, column: str) -> list[dict[str, Any]]:
    """Mean error, its standard error, and mean loss, at each value of what is varied."""
    found = []
    for level in sorted({row[by] for row in rows}):
        errors, gaps = (
            np.array([row[name] for row in rows if row[by] == level and np.isfinite(row[name])])
            for name in (column, "gap")
        )
        if len(errors):
            (error, spread), (gap, _) = mean_with_error(errors), mean_with_error(gaps)
            words = title if by == "num_draws" and not level else f"{title}, {LETTERS[by]} = {level:,}"
            found.append({"what": words, "error": error, "standard_error": spread, "gap": gap})
    return found


def _notes(title: str, rows: Sequence[Row]) -> list[dict[str, Any]]:
    """How many rows have a note, and the first of them."""
    found = [row["note"] for row in rows if row["note"]]
    return [{"what": f"{title}: {len(found)} of {len(rows)} rows", "note": found[0]}] if found else []
