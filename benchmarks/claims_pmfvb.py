"""What Tran, Tseng and Kohn's paper and its prototype say of mean-field particles: every row over seeds, and bars."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from benchmarks.helpers import gaussian_vb_rows, mean_field_bars, network_rows, pmfvb_rows, volatility_rows
from benchmarks.helpers.claims_runs import arrays_by_row
from benchmarks.helpers.seeded_rows import Row, measured, summary, table
from benchmarks.helpers.stein_rules import Runs

SEEDS = {
    "blocks": range(700, 704),
    "volatility": range(700, 704),
    "networks": range(700, 703),
    "gaussian vb": range(700, 708),
}


def rows() -> list[Row]:
    """All of them, table by table."""
    return [
        *table("blocks", pmfvb_rows.ROWS, pmfvb_rows.SPECIFIED),
        *table("volatility", volatility_rows.ROWS, volatility_rows.SPECIFIED),
        *table("networks", network_rows.ROWS, network_rows.SPECIFIED),
        *table("gaussian vb", gaussian_vb_rows.ROWS, gaussian_vb_rows.SPECIFIED),
    ]


def run(options: Namespace) -> dict[str, Any]:
    """Every row over its seeds and the bars on their means."""
    return figures_and_runs(options)[0]


def figures_and_runs(options: Namespace) -> tuple[dict[str, Any], Runs]:
    """The same, and the numbers of every run."""
    lines = measured(rows(), SEEDS, options)
    runs = arrays_by_row(lines)
    found = summary(rows(), SEEDS, lines)
    return {**found, "bars": mean_field_bars.judged(runs)}, runs
