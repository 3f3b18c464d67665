"""What is drawn of the machines' and the combined models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pmdviz.experiments.aggregation.block import REFERENCES, Block
from pmdviz.experiments.aggregation.combine import COMBINERS, combined
from pmdviz.experiments.aggregation.knobs import AGAINST, VARIED, AggregationKnobs
from pmdviz.experiments.aggregation.models.mixture import Mixture
from pmdviz.experiments.base import Row
from pmdviz.experiments.pictures import Chart, Ellipses, Group, Series, mean_series

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
