"""The points that the machines share out, and those held out: drawn from a true model, or rows of a table."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from pmdviz.data.files import holds_images
from pmdviz.errors import InputError, shown
from pmdviz.experiments.aggregation.models.base import Model
from pmdviz.experiments.aggregation.models.mixture import Mixture
from pmdviz.targets.networks.regression_rows import whole_table
from pmdviz.targets.rows.two_classes import CARRIED as CARRIED_IMAGES
from pmdviz.targets.table_form import TableForm, rows_of

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
