"""The history or the particles as a Parquet table."""

from __future__ import annotations

from pmdviz.export.tables import UNITS, columns_of
from pmdviz.export.writer import Job, Writer


def _write(job: Job) -> None:
    import pyarrow
    from pyarrow import parquet

    columns = columns_of(job.run, job.look.table)
    fields = [
        pyarrow.field(name, pyarrow.from_numpy_dtype(column.dtype), metadata={"unit": UNITS.get(name, "")})
        for name, column in columns.items()
    ]
    table = pyarrow.table([*columns.values()], schema=pyarrow.schema(fields))
    parquet.write_table(table, job.path)


PARQUET = Writer(
    ".parquet", "the measured history, or the particles of the last frame, for data frames", ("table",), _write,
    needs=(("pyarrow", "parquet"),),
)  # fmt: skip
