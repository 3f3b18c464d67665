"""`pmdviz race`: several methods, one budget, many seeds; films and tables of them."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from pmdviz.cli import export
from pmdviz.cli.recipe import OPTION, pairs, preset, race_bar, race_in, read_plain
from pmdviz.errors import InputError
from pmdviz.files import check_text_path, finite, write_json

METHODS = "pmd,pmd:warm_start=true,smc,gibbs,sgld,svi"
COSTS = ("visited_mean", "density_evaluations_mean", "gradient_evaluations_mean")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `pmdviz race`."""
    parser.add_argument(
        "recipe",
        nargs="?",
        metavar="RACE",
        help="a race in JSON; - for standard input; or a preset: its target and budget",
    )
    parser.add_argument("--target", metavar="NAME", help="one of `pmdviz list` (default mixture)")
    parser.add_argument("--target-option", action="append", default=[], metavar="NAME=VALUE", help=OPTION)
    parser.add_argument("--methods", metavar="LIST", help=f"methods, settings after a colon (default {METHODS})")
    parser.add_argument("--budget", metavar="N", help="observations for each method (default 20,000), or evaluations")
    parser.add_argument(
        "--clock", metavar="UNIT", help="what the budget counts: data (default) or evaluations of the likelihood"
    )
    parser.add_argument("--seeds", metavar="N", help="number of runs of each method, or their seeds: 3,5,8 (default 1)")
    parser.add_argument("--points", metavar="N", help="number of measured frames of each run, about (default 0)")
    parser.add_argument("--json", metavar="FILE", help="write rows and summary as JSON; - for standard output")
    parser.add_argument(
        "--export", action="append", default=[], metavar="FILE",
        help="export the race as a film, a picture, a table or a recipe (race.json); repeatable. "
        "With options of its own: pmdviz export race.json FILE ...",
    )  # fmt: skip


def _given_recipe(options: argparse.Namespace) -> Any:
    """The race of a file, or the one that the options describe. Raises InputError."""
    from pmdviz.engine.recipe import given_knobs
    from pmdviz.experiments.race import RaceRecipe
    from pmdviz.experiments.race.entrants import Entrant

    names = ("target", "methods", "budget", "clock", "seeds", "points")
    given = {name: value for name in names if (value := getattr(options, name)) is not None}
    if base := preset(options.recipe):
        if options.target or options.target_option:
            raise InputError("a preset says the target; leave --target and --target-option out")
        parts = {"methods": [Entrant("", base.method, given_knobs(base)).text], "points": 0, **given}
        parts = {"budget": base.budget, "clock": base.budget_unit, **parts, "seeds": _seeds(given.get("seeds", "1"))}
        return RaceRecipe.checked(**parts, target=base.make_target())
    if options.recipe is not None:
        if given or options.target_option:
            flags = ", ".join(f"--{name}" for name in ("target", "target-option", *names[1:]))
            raise InputError(f"a race's file says all of it; leave {flags} out")
        plain = read_plain(options.recipe)
        race = race_in(plain)
        return RaceRecipe.from_dict(plain if race is None else race)
    parts = {"target": "mixture", "methods": METHODS, "points": 0, **given}
    parts["seeds"] = _seeds(given.get("seeds", "1"))
    return RaceRecipe.checked(**parts, target_options=pairs("--target-option", options.target_option))


def race(options: argparse.Namespace) -> None:
    """Run the race and say how it ended."""
    from pmdviz.engine.recipe import versions
    from pmdviz.experiments import race

    recipe = _given_recipe(options)
    check_text_path(options.json)
    _check_files(options.export, recipe)
    bar = race_bar if sys.stderr.isatty() else None
    start = time.perf_counter()
    result = race.race(recipe, progress=bar)
    seconds = time.perf_counter() - start
    if bar:
        print(file=sys.stderr)
    if options.json is not None:
        plain = {
            "race": recipe.to_dict(),
            "rows": [_plain(row) for row in result.rows],
            "summary": [_plain(entry) for entry in result.summary],
            "modes": result.modes,
            "target": {"name": result.target.name, "options": result.target.options.as_dict()},
            "budget": result.budget,
            "budget_unit": recipe.budget_unit,
            "seconds": seconds,
            "versions": versions(),
        }
        write_json(options.json, plain)
    else:
        print(_table(recipe, result.summary))
    for path in options.export:
        export.write(result, path, sys.stderr if options.json == "-" else sys.stdout, {})


def _check_files(paths: list[str], recipe: Any) -> None:
    """Say what can be said of the files before anything runs."""
    if paths:
        from pmdviz.export import check
        from pmdviz.export.films import check_entrants
        from pmdviz.export.options import RaceLook

        for path in paths:
            writer, _, _ = check(path, {}, RaceLook)
            if "particles" in writer.options:
                check_entrants(len(recipe.entrants))


def _seeds(text: str) -> Any:
    """A number of seeds, or the seeds between commas."""
    if "," not in text:
        if not text.isdecimal():
            raise InputError(f"--seeds must be a number of seeds or a list such as 3,5,8; given: {text!r}")
        return int(text[:12])
    return [part.strip() for part in text.split(",")]


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: finite(value) for name, value in row.items()}


def _columns(recipe: Any) -> list[str]:
    """What the table has of the summary."""
    first, *second = (metric.name for metric in recipe.shown)
    measured = [f"{first}_mean", f"{first}_sd", *(f"{name}_mean" for name in second)]
    return ["runs", *COSTS, *measured, "runs_in_one_mode", "runs_with_caveat", "seconds_mean"]


def _table(recipe: Any, summary: list[dict[str, Any]]) -> str:
    """The summary as a table, who is closest first."""
    columns, first = _columns(recipe), f"{recipe.shown[0].name}_mean"
    ordered = sorted(summary, key=lambda one: (one.get(first) is None, one.get(first)))
    lines = [["method", *columns]] + [[one["method"], *(_word(one.get(name)) for name in columns)] for one in ordered]
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    return "\n".join("  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)) for line in lines)


def _word(value: Any) -> str:
    if value is None:
        return "unavailable"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"
