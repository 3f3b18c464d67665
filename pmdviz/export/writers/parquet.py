"""Numbers as a Parquet table."""

from __future__ import annotations

from typing import Any

import numpy as np

from pmdviz.export.tables import UNITS
from pmdviz.export.writer import Job, Writer


def _type(column: np.ndarray) -> Any:
    import pyarrow

    return pyarrow.string() if column.dtype.kind in "OU" else pyarrow.from_numpy_dtype(column.dtype)


def _write(job: Job) -> None:
    import pyarrow
    from pyarrow import parquet

    columns = job.film.columns()
    fields = [
        pyarrow.field(name, _type(column), metadata={"unit": UNITS.get(name, "")}) for name, column in columns.items()
    ]
    table = pyarrow.table([*columns.values()], schema=pyarrow.schema(fields))
    parquet.write_table(table, job.path)


PARQUET = Writer(
    ".parquet", "a table of numbers for data frames: the history, the particles, ...", ("table",), _write,
    needs=(("pyarrow", "parquet"),),
)  # fmt: skip
