"""Rows of several classes with inputs between -1 and 1, for training and held out: images, or a person's table."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pmdviz.errors import InputError, shown
from pmdviz.targets.rows.two_classes import MOST_HELD_OUT, labelled_rows
from pmdviz.targets.table_form import TableForm

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
