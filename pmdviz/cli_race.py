"""`pmdviz race`: several methods, one budget, many seeds."""

from __future__ import annotations

import argparse
import math
import sys
import time
from typing import Any

from pmdviz.cli_recipe import draw_bar, pairs
from pmdviz.errors import InputError
from pmdviz.writing import write_json

METHODS = "pmd,pmd:warm_start=true,smc,gibbs,sgld,svi"
COLUMNS = ("runs", "visited_mean", "tv_mean", "tv_sd", "kl_forward_mean", "runs_in_one_mode", "seconds_mean")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `pmdviz race`."""
    parser.add_argument("--target", metavar="NAME", default="mixture")
    parser.add_argument("--target-option", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument(
        "--methods", metavar="LIST", default=METHODS, help=f"entrants, knobs after a colon (default {METHODS})"
    )
    parser.add_argument("--budget", metavar="N", default="20000", help="data that each may visit (default 20,000)")
    parser.add_argument("--seeds", metavar="N", default="1", help="how many runs each does, or their seeds: 3,5,8")
    parser.add_argument("--json", metavar="FILE", help="write rows and summary as JSON; - for standard output")


def race(options: argparse.Namespace) -> None:
    """Run the race and say how it ended."""
    from pmdviz import racing
    from pmdviz.recipe import versions

    target_options, seeds = pairs("--target-option", options.target_option), _seeds(options.seeds)
    bar = _bar if sys.stderr.isatty() else None
    start = time.perf_counter()
    result = racing.race(options.methods, options.target, target_options, options.budget, seeds, progress=bar)
    if bar:
        print(file=sys.stderr)
    if options.json:
        plain = {
            "rows": [_plain(row) for row in result.rows],
            "summary": [_plain(entry) for entry in result.summary],
            "modes": result.modes,
            "target": {"name": result.target.name, "options": result.target.options.as_dict()},
            "budget": result.budget,
            "seconds": time.perf_counter() - start,
            "versions": versions(),
        }
        return write_json(options.json, plain)
    return print(_table(result.summary))


def _seeds(text: str) -> Any:
    """A number of seeds, or the seeds between commas."""
    if "," not in text:
        if not text.isdecimal():
            raise InputError(f"--seeds must be a number of seeds or a list such as 3,5,8; given: {text!r}")
        return int(text[:12])
    return [part.strip() for part in text.split(",")]


def _bar(share: float, words: str) -> None:
    draw_bar(share, f"{words:<60}", last=share >= 1)


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    """The row with None for an infinite divergence, which JSON does not have."""
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value for name, value in row.items()
    }


def _table(summary: list[dict[str, Any]]) -> str:
    """The summary as a table, the lowest TV first."""
    ordered = sorted(summary, key=lambda one: (one["tv_mean"] is None, one["tv_mean"]))
    lines = [["method", *COLUMNS]] + [[one["method"], *(_word(one[name]) for name in COLUMNS)] for one in ordered]
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    return "\n".join("  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)) for line in lines)


def _word(value: Any) -> str:
    if value is None:
        return "not to be had"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
