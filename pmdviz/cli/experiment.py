"""`pmdviz experiment`: one of the experiments, its rows into a table and what comes out of them."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from pmdviz.cli.recipe import draw_bar, pairs
from pmdviz.errors import InputError
from pmdviz.files import check_text_path, write_json
from pmdviz.knobs import whole_number


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `pmdviz experiment`: its name, its knobs, and where the rows go."""
    parser.add_argument("name", metavar="NAME", help="one of `pmdviz list`")
    parser.add_argument(
        "--knob", action="append", default=[], metavar="NAME=VALUE", help="one of its knobs; repeatable"
    )
    parser.add_argument("--out", metavar="FILE", help="a .csv or .parquet table; what is in it is not computed again")
    parser.add_argument("--workers", metavar="N", help="processes (default: one a core)")
    parser.add_argument("--insist", action="store_true", help="begin also what will take hours, or most of the memory")
    parser.add_argument("--json", metavar="FILE", help="write knobs, summary and rows as JSON; - for standard output")


def experiment(options: argparse.Namespace) -> int:
    """Run the experiment; returns the exit status: 1 where a case could not be computed."""
    from pmdviz import api

    check_text_path(options.json)
    workers = None if options.workers is None else whole_number(options.workers)
    if options.workers is not None and workers is None:
        raise InputError(f"--workers must be a whole number; given: {options.workers!r}")
    bar = _bar if sys.stderr.isatty() else None
    try:
        found = api.experiment(
            options.name,
            path=options.out,
            workers=workers,
            progress=bar,
            insist=options.insist,
            **pairs("--knob", options.knob),
        )
    except KeyboardInterrupt:
        if options.out:
            words = f"stopped; what was finished is in {options.out}, the same command goes on"
            print(f"\npmdviz: {words}", file=sys.stderr)
        raise
    if bar:
        print(file=sys.stderr)
    for words in found.failed:
        print(f"pmdviz: {words}", file=sys.stderr)
    if options.json is not None:
        write_json(options.json, found.to_dict())
    if options.json != "-":
        print("\n".join(_line(entry) for entry in found.summary) or "too few rows for a summary")
    return 1 if found.failed else 0


def _bar(done: int, total: int) -> None:
    draw_bar(done / total, f"{done:,} of {total:,} cases      ", last=done == total)


def _line(entry: dict[str, Any]) -> str:
    parts = ((name, f"{value:.4g}" if isinstance(value, float) else value) for name, value in entry.items())
    return ", ".join(f"{name} {value}" for name, value in parts)
