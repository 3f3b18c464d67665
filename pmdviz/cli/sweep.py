"""`pmdviz sweep`: many runs of one recipe in parallel, into a table that can be gone on with."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Any

from pmdviz.cli.recipe import add_recipe_arguments, draw_bar, given_recipe
from pmdviz.errors import InputError
from pmdviz.files import check_text_path, finite, write_json
from pmdviz.knobs import whole_number


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `pmdviz sweep`: a recipe, what is varied, how often, and where the rows go."""
    add_recipe_arguments(parser)
    parser.add_argument("--over", action="append", default=[], metavar="NAME=V1,V2,...", help="what is varied")
    parser.add_argument("--together", action="store_true", help="go through the lists of several --over side by side")
    parser.add_argument(
        "--seeds", default="20", metavar="N", help="so many, or the seeds themselves: 3,5,8 (default 20)"
    )
    parser.add_argument("--error", default="tv", metavar="NAME", help="what is fitted: tv, kl_forward, bounded, ...")
    parser.add_argument("--out", metavar="FILE", help="a .csv or .parquet table; what is in it is not computed again")
    parser.add_argument("--workers", metavar="N", help="processes (default: one a core)")
    parser.add_argument("--json", metavar="FILE", help="write rows, means and fit as JSON; - for standard output")


def sweep(options: argparse.Namespace) -> int:
    """Run the sweep; returns the exit status: 1 where a run could not be computed."""
    from pmdviz import api
    from pmdviz.engine.recipe import versions

    check_text_path(options.json)
    over, seeds = _over(options.over), _seeds(options.seeds)
    recipe, start = given_recipe(options), time.perf_counter()
    bar = _Bar() if sys.stderr.isatty() else None
    try:
        found = api.sweep(
            recipe,
            over,
            seeds=seeds,
            path=options.out,
            error=options.error,
            together=options.together,
            workers=options.workers,
            progress=bar,
        )
    except KeyboardInterrupt:
        if options.out:
            print(
                f"\npmdviz: stopped; what was finished is in {options.out}, the same command goes on", file=sys.stderr
            )
        raise
    if bar:
        print(file=sys.stderr)
    for words in found.failed:
        print(f"pmdviz: {words}", file=sys.stderr)
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
        _print(found, result)
    return 1 if found.failed else 0


class _Bar:
    """Progress on a terminal."""

    def __call__(self, done: int, total: int) -> None:
        draw_bar(done / total, f"{done:,} of {total:,} runs      ", last=done == total)


def described(found: Any) -> dict[str, Any]:
    """A sweep as plain values: rows, means over seeds, the slope over all points where one is available."""
    names = list(found.kinds)
    rows = zip(*(found.rows[name].tolist() for name in names), strict=True)
    try:
        fit = dict(zip(("x", "y"), (found.over[0], found.error), strict=True)) | found.fit()._asdict()
    except InputError:  # one point, words on the axis: then there is no slope
        fit = None
    return {
        "rows": [{name: finite(value) for name, value in zip(names, row, strict=True)} for row in rows],
        "summary": found.summary(),
        "fit": fit,
        "failed": list(found.failed),
    }


def _print(found: Any, result: dict[str, Any]) -> None:
    for entry in result["summary"]:
        where = ", ".join(f"{name} = {entry[name]}" for name in found.over)
        error = entry["standard_error"]
        spread = "" if error is None else f" ± {error:.2g}"
        print(f"{where}: {found.error} {entry['mean']:.4g}{spread} ({entry['runs']} runs)")
    if result["fit"] is not None:
        print(f"{found.error} ~ {found.over[0]}^slope: {found.fit()}")


def _over(given: list[str]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for text in given:
        name, equals, values = text.partition("=")
        if not equals or not name or not values:
            raise InputError(f"--over takes NAME=VALUE,VALUE,...; given: {text!r}")
        if name in found:
            raise InputError(f"--over names {name} twice; give all its values at once")
        found[name] = values.split(",")
    if not found:
        raise InputError("sweep needs --over NAME=VALUE,VALUE,..., such as --over num_particles=100,400,1600")
    return found


def _seeds(text: str) -> int | list[int]:
    numbers = [whole_number(part) for part in text.split(",")]
    if None in numbers:
        raise InputError(f"--seeds takes a number of seeds, or seeds such as 3,5,8; given: {text!r}")
    return numbers if len(numbers) > 1 else numbers[0]
