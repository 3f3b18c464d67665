"""Columns of several sources in one run of bytes: a frame is then one small message, not two a column."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping

import numpy as np


def pack(parts: Iterable[tuple[int, Mapping[str, np.ndarray]]]) -> tuple[bytes, str]:
    """Bytes (float32) of all columns and their layout as JSON: [[source, [[column, start, length], ...]], ...].

    Starts and lengths count numbers, not bytes. An array that serves several columns is packed once.
    """
    arrays: list[np.ndarray] = []
    at: dict[int, int] = {}  # id of an array -> its start
    layout, end = [], 0
    for source, columns in parts:
        rows = []
        for name, column in columns.items():
            if id(column) not in at:
                arrays.append(np.asarray(column, "<f4"))
                at[id(column)] = end
                end += len(column)
            rows.append([name, at[id(column)], len(column)])
        layout.append([source, rows])
    return b"".join(array.tobytes() for array in arrays), json.dumps(layout, separators=(",", ":"))
