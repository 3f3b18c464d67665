"""Rows (inputs, outcome) of a regression for learning, validation and test: simulated, a package's, or a file's."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np

from pmdviz.errors import InputError, shown
from pmdviz.targets.rows.classes import MOST_HELD_OUT
from pmdviz.targets.space import numbered
from pmdviz.targets.table_form import TableForm, at_least_two, rows_of

NUM_HELD_OUT = {"curve": 200, "simulated": 1000}  # validation rows and as many test rows of what is simulated
NUM_INPUTS = 20  # of `simulated`, of which the outcome depends on half
CURVE_NOISE, GAP = 0.15, (0.2, 0.8)  # sd of the curve's noise; no inputs are drawn in between
TABLES = {"randhie": "mdvis", "fair": "affairs"}  # of statsmodels, and what each predicts


class Rows(NamedTuple):
    """Rows (n, F + 1), the outcome last, and the names of the inputs."""

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray
    input_names: tuple[str, ...]


def read_regression(source: str, form: TableForm, binary: bool, num_data: int, seed: int) -> Rows:
    """`num_data` rows to learn from, all drawn from `default_rng(seed)`; what is left of a table is held out.

    Half of that is for validation and half for the test, at most MOST_HELD_OUT each. As a class an outcome counts
    as 1 above 0 (fair, randhie), above the mean of the rows to learn from (simulated) or as the higher of two values.
    Raises InputError for too few rows, an outcome that does not vary, and for a file one that has more than two values
    where classes are asked for.
    """
    rng = np.random.default_rng(seed)
    if source in NUM_HELD_OUT:
        held_out = NUM_HELD_OUT[source]
        table, names = SIMULATED[source](rng, num_data + 2 * held_out), _names_of_simulated(source)
    else:
        table, names = whole_table(source, form, binary)
        if len(table) < 3:
            raise InputError(f"data {shown(source)} hold {len(table)} rows; at least 3 are needed", "data")
        if num_data > len(table) - 2:
            raise InputError(
                f"num_data must be at most {len(table) - 2:,} with data {shown(source)}, so that a row is left for "
                f"validation and one for the test; given: {num_data:,}",
                "num_data",
            )
        table = table[rng.permutation(len(table))]
        held_out = min((len(table) - num_data) // 2, MOST_HELD_OUT)
    if binary:
        table = _with_classes(table, source, num_data)
    elif np.ptp(table[:, -1]) == 0:
        raise InputError(f"the last column of data {shown(source)} does not vary: there is nothing to predict", "data")
    ends = np.cumsum([num_data, held_out, held_out])
    train, validation, test = (np.ascontiguousarray(part) for part in np.split(table, ends)[:3])
    return Rows(train, validation, test, names)


def curve(x: np.ndarray) -> np.ndarray:
    """The function of one input that `curve` is drawn around, (n, 1) -> (n,)."""
    return np.cos(2.0 * x[:, 0])


def mean_outcome(x: np.ndarray) -> np.ndarray:
    """E(y | x) of the simulation study of Tran, Tseng, Kohn (2023, section 7.2.1), (n, 20) -> (n,)."""
    hump = 10 / (x[:, 1] ** 2 + 1) + 10 / (x[:, 6] ** 2 + 1)
    products = 5 * x[:, 2] * x[:, 3] + 5 * x[:, 7] * x[:, 8]
    squares = 5 * x[:, 3] ** 2 + 5 * x[:, 8] ** 2
    linear = 10 * x[:, 0] + 2 * x[:, 3] + 5 * x[:, 4] + 2 * x[:, 5] + 5 * x[:, 9]
    return 5 + linear + hump + products + squares


def _curve(rng: np.random.Generator, n: int) -> np.ndarray:
    """Inputs from -2 to 2 but for a gap, in which the band widens."""
    low, high = GAP
    x = rng.uniform(-2.0, 2.0 - (high - low), (n, 1))
    x[x >= low] += high - low
    return np.column_stack([x, curve(x) + CURVE_NOISE * rng.standard_normal(n)])


def _simulated(rng: np.random.Generator, n: int) -> np.ndarray:
    """Inputs N(0, 0.5^|i - j|), an autoregression from column to column, and noise of variance 1."""
    x = rng.standard_normal((n, NUM_INPUTS))
    for k in range(1, NUM_INPUTS):
        x[:, k] = 0.5 * x[:, k - 1] + np.sqrt(0.75) * x[:, k]
    return np.column_stack([x, mean_outcome(x) + rng.standard_normal(n)])


SIMULATED: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {"curve": _curve, "simulated": _simulated}


def _names_of_simulated(source: str) -> tuple[str, ...]:
    return ("x",) if source == "curve" else tuple(numbered("x", NUM_INPUTS))


def whole_table(source: str, form: TableForm, binary: bool) -> tuple[np.ndarray, tuple[str, ...]]:
    """All rows of a source as they come, the outcome last, and the names of the inputs."""
    if source == "breast_cancer":
        return _breast_cancer()
    if source not in TABLES:
        found = rows_of(source, form)
        table = np.asarray(at_least_two(source, found.rows), dtype=np.float64)
        return table, found.columns[:-1] or tuple(numbered("x", table.shape[1] - 1))
    table, names = _of_statsmodels(source)
    if source == "randhie" and not binary:
        table = np.column_stack([table[:, :-1], np.log1p(table[:, -1])])
    return table, names


@cache
def _of_statsmodels(name: str) -> tuple[np.ndarray, tuple[str, ...]]:
    """A table that statsmodels carries, its outcome last. Its file is read, and the package itself not loaded."""
    package = find_spec("statsmodels")
    if package is None or not package.submodule_search_locations:
        raise InputError(f"data {name!r} need statsmodels: pip install 'pmdviz[tables]'", "data")
    path = Path(package.submodule_search_locations[0]) / "datasets" / name / f"{name}.csv"
    with path.open(encoding="utf-8") as file:
        names = [cell.strip().strip('"') for cell in file.readline().split(",")]
        table = np.loadtxt(file, delimiter=",", ndmin=2)
    last = names.index(TABLES[name])
    order = [k for k in range(len(names)) if k != last] + [last]
    return table[:, order], tuple(names[k] for k in order[:-1])


@cache
def _breast_cancer() -> tuple[np.ndarray, tuple[str, ...]]:
    """569 tumours of 30 features, benign (1) or malignant (0), that scikit-learn carries."""
    try:
        from sklearn.datasets import load_breast_cancer
    except ImportError:
        raise InputError("data 'breast_cancer' need scikit-learn: pip install 'pmdviz[data]'", "data") from None
    found = load_breast_cancer()
    return np.column_stack([found.data, found.target]).astype(np.float64), tuple(map(str, found.feature_names))


def _with_classes(table: np.ndarray, source: str, num_data: int) -> np.ndarray:
    """The outcomes as classes 0 and 1."""
    y = table[:, -1]
    if source in TABLES:
        return np.column_stack([table[:, :-1], y > 0])
    if source in SIMULATED:
        return np.column_stack([table[:, :-1], y > y[:num_data].mean()])
    values = np.unique(y)
    if len(values) != 2:
        raise InputError(
            f"the last column of data {shown(source)} must hold two values for response 'binary'; it holds "
            f"{len(values):,}",
            "response",
        )
    return np.column_stack([table[:, :-1], y == values[1]])
