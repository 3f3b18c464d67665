"""Rows of two classes, for training and held out: handwritten digits, or a person's file."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pmdviz.data_files import read_rows
from pmdviz.errors import InputError, shown

DIGITS = 8, 6  # class 1, class 0
PLACES = 9  # of a score: the bits of BLAS depend on its number of threads
LABELS = ({0.0, 1.0}, {-1.0, 1.0})


class Split(NamedTuple):
    """Features (n, k) and classes 0 or 1 (n,), of the rows to learn from and of those held out."""

    features: np.ndarray
    classes: np.ndarray
    test_features: np.ndarray
    test_classes: np.ndarray


def read_two_classes(source: str, num_data: int, num_features: int, seed: int) -> Split:
    """`num_data` rows of a source drawn without replacement, and the rest held out.

    More features than `num_features` are replaced by the leading principal components of the rows to learn from, in
    units of the sd of the first. Raises InputError for too few rows or features, and for labels that are not two.
    """
    table = _digits() if source == "digits" else read_rows(source)
    x, y = table[:, :-1], _classes(source, table[:, -1])
    if num_data >= len(x):
        raise InputError(
            f"num_data must be at most {len(x) - 1:,} with data {shown(source)}, so that a row is held out; "
            f"given: {num_data:,}",
            "num_data",
        )
    if num_features > x.shape[1]:
        most = x.shape[1] + 1
        raise InputError(f"dim must be at most {most} with data {shown(source)}; given: {num_features + 1}", "dim")
    order = np.random.default_rng(seed).permutation(len(x))
    train, test = order[:num_data], order[num_data:]
    if num_features < x.shape[1]:
        x = _principal(x, train, num_features)
    return Split(x[train], y[train], x[test], y[test])


def _classes(source: str, labels: np.ndarray) -> np.ndarray:
    """0 and 1, or -1 and +1, as 0 and 1."""
    found = set(np.unique(labels).tolist())
    if found not in LABELS:
        some = ", ".join(f"{label:g}" for label in sorted(found)[:5])
        raise InputError(
            f"the last column of data {shown(source)} must hold the labels 0 and 1, or -1 and 1; it holds {some}",
            "data",
        )
    return (labels > 0).astype(np.float64)


def _principal(x: np.ndarray, train: np.ndarray, k: int) -> np.ndarray:
    """Scores (n, k) on the leading components of the rows `train`; each component's largest loading is positive."""
    centre = x[train].mean(axis=0)
    _, sizes, axes = np.linalg.svd(x[train] - centre, full_matrices=False)
    if k > len(sizes):
        raise InputError(f"dim must be at most {len(sizes) + 1} with {len(train):,} data; given: {k + 1}", "dim")
    axes = axes[:k] * np.sign(axes[np.arange(k), np.abs(axes[:k]).argmax(axis=1)])[:, None]
    scores = (x - centre) @ axes.T * (np.sqrt(len(train)) / max(sizes[0], 1e-300))
    return np.round(scores, PLACES)


def _digits() -> np.ndarray:
    """The 8 x 8 images of 8 and 6 that scikit-learn carries, (355, 64 + 1), the class last."""
    try:
        from sklearn.datasets import load_digits
    except ImportError:
        raise InputError("data 'digits' need scikit-learn: pip install 'pmdviz[data]'", "data") from None
    images, labels = load_digits(return_X_y=True)
    one, zero = DIGITS
    kept = np.isin(labels, DIGITS)
    return np.column_stack([images[kept] / 16, labels[kept] == one]).astype(np.float64)
