"""`pmdviz race`, `sweep` and `experiment`: many runs, with a table of what they have in common."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from pmdviz.cli import recipe as of_run
from pmdviz.errors import InputError
from pmdviz.files import finite, write_json
from pmdviz.knobs import whole_number

# `pmdviz race`: several methods, one budget, many seeds; films and tables of them.

METHODS = "pmd,pmd:warm_start=true,smc,gibbs,sgld,svi"
COSTS = ("visited_mean", "density_evaluations_mean", "gradient_evaluations_mean")


def race_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `pmdviz race`."""
    add = parser.add_argument
    add(
        "recipe",
        nargs="?",
        metavar="RACE",
        help="a race in JSON; - for standard input; or a preset: its target and budget",
    )
    add("--target", metavar="NAME", help="one of `pmdviz list` (default mixture)")
    add("--target-option", action="append", default=[], metavar="NAME=VALUE", help=of_run.OPTION)
    add("--methods", metavar="LIST", help=f"methods, settings after a colon (default {METHODS})")
    add("--budget", metavar="N", help="observations for each method (default 20,000), or evaluations")
    add("--clock", metavar="UNIT", help="what the budget counts: data (default) or evaluations of the likelihood")
    add("--seeds", metavar="N", help="number of runs of each method, or their seeds: 3,5,8 (default 1)")
    add("--points", metavar="N", help="number of measured frames of each run (default 0: first and last)")
    add("--json", metavar="FILE", help="write rows and summary as JSON; - for standard output")
    add(
        "--export", action="append", default=[], metavar="FILE",
        help="export the race as a film, a picture, a table or a recipe (race.json); repeatable. "
        "With options of its own: pmdviz export race.json FILE ...",
    )  # fmt: skip


def _given_race(options: argparse.Namespace) -> Any:
    """The race of a file, or the one that the options describe. Raises InputError."""
    from pmdviz.engine.recipe import Recipe
    from pmdviz.experiments.race import RaceRecipe

    names = ("target", "methods", "budget", "clock", "seeds", "points")
    given = {name: value for name in names if (value := getattr(options, name)) is not None}
    if options.recipe is not None and of_run.preset(options.recipe) is None:
        if given or options.target_option:
            flags = ", ".join(f"--{name}" for name in ("target", "target-option", *names[1:]))
            raise InputError(f"a race's file holds all of the race; leave {flags} out")
        plain = of_run.read_plain(options.recipe)
        race = of_run.race_in(plain)
        if race is None and isinstance(plain, dict) and not {"pmdviz_recipe", "recipe"}.isdisjoint(plain):
            return RaceRecipe.of_runs([Recipe.from_dict(plain)])
        return RaceRecipe.from_dict(plain if race is None else race)
    usual = {"points": 0, "methods": METHODS}
    if base := of_run.preset(options.recipe):
        if options.target or options.target_option:
            raise InputError("the preset sets the target; leave --target and --target-option out")
        usual |= {"target": base.make_target(), "methods": [base], "budget": base.budget, "clock": base.budget_unit}
    else:
        usual |= {"target": "mixture", "target_options": of_run.pairs("--target-option", options.target_option)}
    return RaceRecipe.checked(**usual | given | {"seeds": _seeds(given.get("seeds", "1"))})


def race(options: argparse.Namespace) -> None:
    """Run the race and say how it ended."""
    from pmdviz import api
    from pmdviz.engine.recipe import versions

    recipe = _given_race(options)
    _check_files(options.export, recipe)
    start = time.perf_counter()
    result = api.race(recipe, progress=of_run.share_bar)
    seconds = time.perf_counter() - start
    of_run.end_bar()
    if options.json is not None:
        plain = {
            "race": recipe.to_dict(),
            "rows": finite(result.rows),
            "summary": finite(result.summary),
            "modes": result.modes,
            "target": {"name": result.target.name, "options": result.target.options.as_dict()},
            "budget": result.budget,
            "budget_unit": recipe.budget_unit,
            "seconds": seconds,
            "versions": versions(),
        }
        write_json(options.json, plain)
    else:
        print(_race_table(recipe, result.summary))
    for path in options.export:
        of_run.write(result, path, sys.stderr if options.json == "-" else sys.stdout, {})


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


def _race_table(recipe: Any, summary: list[dict[str, Any]]) -> str:
    """The summary as a table, who is closest first."""
    first, *second = (metric.name for metric in recipe.shown)
    measured = [f"{first}_mean", f"{first}_sd", *(f"{name}_mean" for name in second)]
    columns = ["runs", *COSTS, *measured, "runs_in_one_mode", "runs_with_caveat", "seconds_mean"]
    ordered = sorted(summary, key=lambda one: (one.get(measured[0]) is None, one.get(measured[0])))
    lines = [["method", *columns]] + [[one["method"], *(_word(one.get(name)) for name in columns)] for one in ordered]
    widths = [max(len(line[k]) for line in lines) for k in range(len(lines[0]))]
    return "\n".join("  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True)) for line in lines)


def _word(value: Any) -> str:
    if value is None:
        return "unavailable"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}"


# `pmdviz sweep`: many runs of one recipe in parallel, into a table that a later call continues.


def sweep_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `pmdviz sweep`: a recipe, the settings to vary, how often, and where the rows go."""
    add = parser.add_argument
    of_run.add_recipe_arguments(parser)
    add("--over", action="append", default=[], metavar="NAME=V1,V2,...", help="settings to vary")
    add("--together", action="store_true", help="pair the lists of several --over, not combine them")
    add("--seeds", default="20", metavar="N", help="so many, or the seeds themselves: 3,5,8 (default 20)")
    add("--error", default="tv", metavar="NAME", help="metric to fit: tv, kl_forward, bounded, ...")
    add("--out", metavar="FILE", help="a .csv or .parquet table; its rows are not computed again")
    add("--workers", metavar="N", help="processes (default: one per core)")
    add("--json", metavar="FILE", help="write rows, means and fit as JSON; - for standard output")


def sweep(options: argparse.Namespace) -> int:
    """Run the sweep; returns the exit status: 1 where a run could not be computed."""
    from pmdviz.engine.recipe import versions
    from pmdviz.experiments import sweep

    over, seeds = _over(options.over), _seeds(options.seeds)
    recipe, start = of_run.given_recipe(options), time.perf_counter()
    act = partial(sweep.sweep, recipe, over, seeds=seeds, error=options.error, together=options.together)
    found = _measured(options, act, "runs")
    result = {
        "recipe": recipe.to_dict(),
        "over": over,
        "error": options.error,
        **described(found),
        "seconds": time.perf_counter() - start,
        "versions": versions(),
    }
    if options.json is not None:
        write_json(options.json, result)
    else:
        _print_sweep(found, result)
    return 1 if found.failed else 0


def _measured(options: argparse.Namespace, act: Callable[..., Any], what: str) -> Any:
    """The result of a sweep or an experiment, with its failures on standard error."""
    try:
        found = act(path=options.out, workers=options.workers, progress=of_run.counted_bar(what))
    except KeyboardInterrupt:
        if options.out:
            words = f"stopped; finished rows are in {options.out}; run the same command to resume"
            print(f"\npmdviz: {words}", file=sys.stderr)
        raise
    of_run.end_bar()
    for words in found.failed:
        print(f"pmdviz: {words}", file=sys.stderr)
    return found


def described(found: Any) -> dict[str, Any]:
    """A sweep as plain values: rows, means over seeds, the slope over all points where one is available."""
    rows = zip(*(found.rows[name].tolist() for name in found.kinds), strict=True)
    try:
        fit = dict(zip(("x", "y"), (found.over[0], found.error), strict=True)) | found.fit()._asdict()
    except InputError:  # one point, words on the axis: then no slope is fitted
        fit = None
    return {
        "rows": finite([dict(zip(found.kinds, row, strict=True)) for row in rows]),
        "summary": found.summary(),
        "fit": fit,
        "failed": list(found.failed),
    }


def _print_sweep(found: Any, result: dict[str, Any]) -> None:
    for entry in result["summary"]:
        where = ", ".join(f"{name} = {entry[name]}" for name in found.over)
        error = entry["standard_error"]
        spread = "" if error is None else f" ± {error:.2g}"
        print(f"{where}: {found.error} {entry['mean']:.4g}{spread} ({entry['runs']} runs)")
    if result["fit"] is not None:
        print(f"{found.error} ~ {found.over[0]}^slope: {found.fit()}")


def _over(given: list[str]) -> dict[str, list[str]]:
    if not given:
        raise InputError("sweep needs --over NAME=VALUE,VALUE,..., such as --over num_particles=100,400,1600")
    return {name: values.split(",") for name, values in of_run.pairs("--over", given).items()}


def _seeds(text: str) -> int | list[int]:
    """A number of seeds, or the seeds between commas."""
    parts = text.split(",")
    numbers = [number for part in parts if (number := whole_number(part)) is not None]
    if len(numbers) < len(parts):
        raise InputError(f"--seeds must be a number of seeds, or seeds such as 3,5,8; got {text!r}")
    return numbers if len(numbers) > 1 else numbers[0]


# `pmdviz experiment`: one of the experiments, its rows into a table, and its summary.


def experiment_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `pmdviz experiment`: its name, its knobs, and where the rows go."""
    add = parser.add_argument
    add("name", metavar="NAME", help="one of `pmdviz list`")
    add("--knob", action="append", default=[], metavar="NAME=VALUE", help="one of its knobs; repeatable")
    add("--out", metavar="FILE", help="a .csv or .parquet table; its rows are not computed again")
    add("--workers", metavar="N", help="processes (default: one per core)")
    add("--insist", action="store_true", help="run even if hours or most of the memory are predicted")
    add("--json", metavar="FILE", help="write knobs, summary and rows as JSON; - for standard output")


def experiment(options: argparse.Namespace) -> int:
    """Run the experiment; returns the exit status: 1 where a case could not be computed."""
    from pmdviz import api

    knobs = of_run.pairs("--knob", options.knob)
    found = _measured(options, partial(api.experiment, options.name, insist=options.insist, **knobs), "cases")
    if options.json is not None:
        write_json(options.json, found.to_dict())
    if options.json != "-":
        print("\n".join(_line(entry) for entry in found.summary) or "too few rows for a summary")
    return 1 if found.failed else 0


def _line(entry: dict[str, Any]) -> str:
    parts = ((name, f"{value:.4g}" if isinstance(value, float) else value) for name, value in entry.items())
    return ", ".join(f"{name} {value}" for name, value in parts)
