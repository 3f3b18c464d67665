"""Data that a person gives in Python as arrays or data frames."""

from __future__ import annotations

from typing import Any

import numpy as np

from pmdviz.errors import InputError, shown


def is_frame(data: object) -> bool:
    """Whether something is a data frame of pandas."""
    return hasattr(data, "iloc") and hasattr(data, "columns")


def as_array(data: Any) -> np.ndarray:
    """A copy of data as an array with at least one row; a `np.memmap` is read where it is.

    Columns of a frame may have different types of numbers, booleans among them. Raises InputError for masked rows,
    columns of words and rows of different lengths.
    """
    if np.ma.is_masked(data):
        row = 1 + int(np.ma.getmaskarray(data).reshape(len(data), -1).any(axis=1).argmax())
        raise InputError(f"data are masked in row {row:,}: leave masked rows out, or fill them in")
    try:
        # A copy, as the person's own array may change later; a memory map may be larger than memory.
        array = data.view(np.ndarray) if isinstance(data, np.memmap) else np.array(data)
        if array.dtype == object:
            array = _numbers(data) if is_frame(data) else array.astype(float)
    except (TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        array = np.empty(0)  # rows of different lengths, or words
    if array.ndim == 0 or len(array) == 0 or array.dtype.kind not in "biufcSUVmM":
        raise InputError(f"data must be an array with at least one row, rows of equal length; given: {shown(data)}")
    return array


def _numbers(frame: Any) -> np.ndarray:
    columns = []
    for k, name in enumerate(frame.columns):
        try:
            columns.append(frame.iloc[:, k].to_numpy(dtype=float, na_value=np.nan))
        except (TypeError, ValueError):
            raise InputError(f"column {shown(name)} of data holds words: give numbers, or leave it out") from None
    return np.column_stack(columns)


def first_nan(data: np.ndarray) -> str:
    """The first row of data that holds NaN, such as "row 4"; "" where none does."""
    if data.dtype.kind not in "fc":
        return ""
    bad = np.isnan(data).reshape(len(data), -1).any(axis=1)
    return f"row {1 + int(bad.argmax()):,}" if bad.any() else ""
