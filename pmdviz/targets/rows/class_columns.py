"""Columns of features and two classes for a Gaussian process: tissue samples, or a person's file."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from pmdviz.errors import InputError, shown
from pmdviz.targets.space import numbered
from pmdviz.targets.table_form import TableForm, at_least_two, rows_of

CANCER = "breast_cancer"
LEFT_OUT = 2  # the mean perimeter, which is next to proportional to the mean radius
KEPT = 10  # of its thirty columns, the means come first


class Columns(NamedTuple):
    """Features (n, k), each of mean 0 and sd 1, classes -1 and 1 (n,), and what the features are called."""

    features: np.ndarray
    classes: np.ndarray
    names: tuple[str, ...]


class Table(NamedTuple):
    """All rows of a source, as they are."""

    features: np.ndarray  # (N, K)
    labels: np.ndarray  # (N,)
    names: tuple[str, ...]


def read_columns(source: str, form: TableForm, columns: int, num_rows: int, above: float, seed: int) -> Columns:
    """The first `columns` features of `num_rows` rows drawn without replacement; class 1: labels above `above`.

    As large a part of them is of class 1 as of all rows, to rounding, and at least one row of each class. Raises
    InputError for too few rows or features, a single class, and a feature that is constant in the rows drawn.
    """
    table = _cancer() if source == CANCER else _of_file(source, form)
    _check_sizes(source, table, columns, num_rows)
    one = table.labels > above
    _check_classes(source, table.labels, one, above)
    rows = _drawn(one, num_rows, seed)
    features, names = table.features[rows, :columns], table.names[:columns]
    _check_constant(source, features, names)
    features = (features - features.mean(axis=0)) / features.std(axis=0)
    return Columns(features, np.where(one[rows], 1.0, -1.0), names)


def _drawn(one: np.ndarray, num_rows: int, seed: int) -> np.ndarray:
    """Numbers of rows in a random order, of the rows in class 1 (N,) their share."""
    order = np.random.default_rng(seed).permutation(len(one))
    ones = min(max(round(num_rows * float(one.mean())), 1, num_rows - int((~one).sum())), num_rows - 1, int(one.sum()))
    places = np.concatenate([np.flatnonzero(one[order])[:ones], np.flatnonzero(~one[order])[: num_rows - ones]])
    return order[np.sort(places)]


@cache
def _cancer() -> Table:
    """569 tissue samples, class 1 malignant: nine means over the nuclei of each, of scikit-learn's breast_cancer."""
    try:
        from sklearn.datasets import load_breast_cancer
    except ImportError:
        raise InputError(f"data {CANCER!r} need scikit-learn: pip install 'pmdviz[data]'", "data") from None
    data = load_breast_cancer()
    kept = [k for k in range(KEPT) if k != LEFT_OUT]
    names = tuple(str(data.feature_names[k]).removeprefix("mean ") for k in kept)
    return Table(data.data[:, kept], 1.0 - data.target, names)  # there 1 is benign


def _of_file(source: str, form: TableForm) -> Table:
    """A table with roles; of an array without them a first column that numbers the rows is left out.

    Its class is then the last column, or the first where that alone holds nothing but whole numbers.
    """
    found = rows_of(source, form)
    table, names = np.asarray(at_least_two(source, found.rows), float), found.columns
    if names:
        return Table(table[:, :-1], table[:, -1], names[:-1])
    names = tuple(numbered("x", table.shape[1]))
    if np.array_equal(table[:, 0], np.arange(1, len(table) + 1)):
        table, names = table[:, 1:], names[1:]
    at = 0 if _whole(table[:, 0]) and not _whole(table[:, -1]) else table.shape[1] - 1
    features = [k for k in range(table.shape[1]) if k != at]
    return Table(table[:, features], table[:, at], tuple(names[k] for k in features))


def _whole(column: np.ndarray) -> bool:
    return bool((column == np.rint(column)).all())


def _check_sizes(source: str, table: Table, columns: int, num_rows: int) -> None:
    most_rows, most = table.features.shape
    if num_rows > most_rows:
        raise InputError(
            f"num_rows must be at most {most_rows:,} with data {shown(source)}; given: {num_rows:,}", "num_rows"
        )
    if columns > most:
        raise InputError(f"columns must be at most {most} with data {shown(source)}; given: {columns}", "columns")


def _check_classes(source: str, labels: np.ndarray, one: np.ndarray, above: float) -> None:
    if one.all() or not one.any():
        raise InputError(
            f"all rows of data {shown(source)} are of one class: class 1 is above class_above = {above:g}, and their "
            f"labels lie between {labels.min():g} and {labels.max():g}",
            "data",
        )


def _check_constant(source: str, features: np.ndarray, names: tuple[str, ...]) -> None:
    constant = np.flatnonzero(np.ptp(features, axis=0) == 0)
    if len(constant):
        raise InputError(
            f"column {names[constant[0]]!r} of data {shown(source)} has the same value in all {len(features):,} rows "
            "drawn and tells nothing; draw more rows, or leave it out of the file",
            "data",
        )
