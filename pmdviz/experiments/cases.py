"""Cases computed in worker processes into a table on disk: with progress, cancel, and going on where one stopped."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

from pmdviz.experiments.table import Kinds, Row, Table
from pmdviz.experiments.workers import results


class Computed(NamedTuple):
    """What there is of the cases."""

    rows: dict[Hashable, list[Row]]  # by case
    lost: list[str]  # a sentence for each case whose worker died
    path: Path | None  # of the table


def run_cases(
    cases: Mapping[Hashable, Any],
    work: Callable[[Any], list[Row]],
    *,
    kinds: Kinds,
    identity: Callable[[Row], Hashable],
    named: Callable[[Any], str],
    path: str | os.PathLike[str] | None = None,
    workers: int | None = None,
    progress: Callable[[int, int], object] | None = None,
    on_row: Callable[[Row], object] = lambda row: None,
    before: Callable[[list[Any]], object] = lambda cases: None,
) -> Computed:
    """`work` on every case whose rows are not in the table at `path` already.

    `work` is sent to other processes and must catch its own errors. `identity` of a row is its case's key; `named` says
    in words which case was lost. `progress(done, all)` is called after each and a few times a second; what it raises
    stops the workers, and the table keeps what was finished. `before(cases that are missing)` may refuse them.
    """
    table = Table(path, kinds) if path is not None else None
    with table or nullcontext():
        found: dict[Hashable, list[Row]] = {}
        for row in table.rows if table else ():
            found.setdefault(identity(row), []).append(row)
        missing, lost = [key for key in cases if key not in found], []

        def tell() -> None:
            if progress is not None:
                progress(sum(key in found for key in cases), len(cases))

        before([cases[key] for key in missing])
        for number, rows, why in results(work, [cases[key] for key in missing], workers, tell):
            if rows is None:
                lost.append(f"{named(cases[missing[number]])} is missing: {why}")
                continue
            found[missing[number]] = rows
            for row in rows:
                on_row(row)
            if table:
                table.add(*rows)
        tell()
        if table:
            table.sort([*cases], identity)
    return Computed({key: found[key] for key in cases if key in found}, lost, table and table.path)
