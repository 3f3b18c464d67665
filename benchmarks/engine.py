"""Every kernel and every method's step in CPU time: against loops of bare exponentials and against other libraries."""

from __future__ import annotations

import warnings
from argparse import Namespace
from collections.abc import Iterator
from importlib import metadata
from itertools import chain
from typing import Any

from benchmarks.helpers import engine_kernels, engine_methods
from benchmarks.helpers.contest import MIN_S, ROUNDS, Contest, Missing, rows_of
from pmdviz.kernels import pool

PEERS = ("scipy", "scikit-learn", "KDEpy", "jax", "jaxlib", "blackjax", "numpyro", "particles", "llvmlite")


def run(options: Namespace) -> dict[str, Any]:
    """One row for each piece of work and peer; CPU milliseconds on one thread."""
    pool.set_threads(1)
    rounds, missing = (3 if options.quick else ROUNDS), Missing()
    rows = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the peers
            every = chain(engine_kernels.contests(options.quick), *_of_methods())
            for contest in every:
                rows += rows_of(contest, rounds, missing)
    finally:
        pool.set_threads(None)
    return {
        "how": f"medians of {rounds} rounds of at least {MIN_S} s, in turn with the peers; CPU time of the process, "
        "one thread, one BLAS thread, float64 unless said; ratio = peer_ms / ours_ms",
        "rows": rows,
        "left_out": sorted(missing.words.values()),
        "versions": {name: _version(name) for name in PEERS},
    }


def _of_methods() -> tuple[Iterator[Contest], ...]:
    return (
        engine_methods.whole_run(),
        engine_methods.contests(),
        engine_methods.long_chains(),
        engine_methods.whole_chain(),
    )


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "not installed"
