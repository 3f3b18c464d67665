"""What Han's thesis claims of Stein methods and of their rivals: every row of its figures, over seeds."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

import numpy as np

from benchmarks.helpers import (
    adaptive_rows,
    black_box_rows,
    discrete_rows,
    gp_classification_rows,
    gradient_free_rows,
    lattice_rows,
    net_rows,
    stein_rows,
    svgd_rows,
)
from benchmarks.helpers.seeded_rows import Measured, Row, measured, summary, table
from pmdviz.engine.session import Session

SEEDS = {
    "svgd": range(400, 404),
    "moments": range(400, 430),
    "warped": range(400, 404),
    "machine": range(400, 408),
    "surrogates": range(900, 906),
    "many dimensions": range(900, 903),
    "black box": range(900, 912),
    "random walks": range(900, 908),
    "categorical": range(900, 908),
    "lattices": range(900, 906),
    "nets": range(900, 904),
    "classifier": range(900, 904),
}


def _svgd(row: svgd_rows.Row) -> Row:
    def measure(seed: int) -> Measured:
        session = Session(row.recipe.replaced(seed=seed), metrics_every=10**9)
        while not session.done:
            session.advance(10**9)
        return {"value": row.statistic(session.run)}

    known = {} if row.wanted is None else {"value": (row.wanted, 0.006)}  # sd 0.011 of three runs
    return Row("svgd", row.name, measure, known)


def _adaptive(row: adaptive_rows.Row) -> Row:
    known = {} if np.isnan(row.reported) else {"kl_forward": (row.reported, 0.0)}
    return Row("warped", row.name, lambda seed: adaptive_rows.statistics(adaptive_rows.run_of(row, seed)), known)


def rows() -> list[Row]:
    """All of them, table by table."""
    return [
        *map(_svgd, svgd_rows.svgd_rows()),
        *table("moments", [*stein_rows.MOMENTS, *stein_rows.PATH], stein_rows.SPECIFIED),
        *table("warped", stein_rows.WARPED, stein_rows.SPECIFIED),
        *table("machine", stein_rows.MACHINE, stein_rows.SPECIFIED),
        *map(_adaptive, adaptive_rows.ROWS),
        *table("surrogates", gradient_free_rows.PLANE_ROWS, gradient_free_rows.SPECIFIED),
        *table("many dimensions", gradient_free_rows.MANY_ROWS, gradient_free_rows.SPECIFIED),
        *table("black box", black_box_rows.BLACK_BOX, black_box_rows.SPECIFIED),
        *table("random walks", black_box_rows.WALKS, black_box_rows.SPECIFIED),
        *table("categorical", discrete_rows.CATEGORICAL, discrete_rows.SPECIFIED),
        *table("lattices", lattice_rows.ROWS, lattice_rows.SPECIFIED),
        *table("nets", net_rows.net_rows(), net_rows.SPECIFIED),
        *table("classifier", gp_classification_rows.CLASSIFIERS, gp_classification_rows.SPECIFIED),
    ]


def run(options: Namespace) -> dict[str, Any]:
    """Every row over its seeds."""
    return summary(rows(), SEEDS, measured(rows(), SEEDS, options))
