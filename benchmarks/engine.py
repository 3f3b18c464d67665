"""Every kernel and every method's step in CPU time, against loops of bare exponentials."""

from __future__ import annotations

from argparse import Namespace
from itertools import chain
from typing import Any

from benchmarks.helpers import engine_kernels, engine_methods
from benchmarks.helpers.contest import ROUNDS, row_of
from benchmarks.measuring import MIN_S
from pmdviz.kernels import pool


def run(options: Namespace) -> dict[str, Any]:
    """One row for each piece of work; CPU milliseconds on one thread."""
    pool.set_threads(1)
    rounds = 3 if options.quick else ROUNDS
    of_methods = (getattr(engine_methods, name)() for name in ("whole_run", "contests", "long_chains", "whole_chain"))
    try:
        rows = [row_of(contest, rounds) for contest in chain(engine_kernels.contests(options.quick), *of_methods)]
    finally:
        pool.set_threads(None)
    return {
        "how": f"medians of {rounds} rounds of at least {MIN_S} s, in turn with the ceiling; CPU time of the process, "
        "one thread, one BLAS thread, float64 unless said",
        "rows": rows,
    }
