"""`pmdviz run`: a recipe to the end of its budget."""

from __future__ import annotations

import argparse
import sys
import time

from pmdviz.cli.recipe import add_recipe_arguments, given_recipe, run_bar
from pmdviz.errors import InputError
from pmdviz.files import check_text_path, finite, write_json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `pmdviz run`."""
    add_recipe_arguments(parser)
    parser.add_argument("--metrics-every", metavar="N", help="measure every N iterations")
    parser.add_argument("--history", action="store_true", help="the measured history too, in the JSON")
    parser.add_argument("--json", metavar="FILE", help="write recipe and result as JSON; - for standard output")


def run(options: argparse.Namespace) -> None:
    """Run, and print or write what came out. Raises InputError, TargetError."""
    from pmdviz import api
    from pmdviz.engine.recipe import versions
    from pmdviz.metrics import perfect_draws
    from pmdviz.scenes.words import INDEPENDENT_DRAWS

    check_text_path(options.json)
    recipe = given_recipe(options)
    start = time.perf_counter()
    bar = run_bar if sys.stderr.isatty() else None
    every = None if options.metrics_every is None else _positive("--metrics-every", options.metrics_every)
    made = api.run(recipe, metrics_every=every, progress=bar, floor=False)
    seconds = time.perf_counter() - start
    if bar:
        print(f"\ncomputing what {INDEPENDENT_DRAWS} would get ...", file=sys.stderr)
    perfect_draws.floor(made.target, made.final.num_draws, **made.final.drawn_as)
    if made.target.no_reference:
        print(made.target.no_reference, file=sys.stderr)
    metrics = {name: finite(value) for name, value in made.final.metrics.items()}
    last = made.final
    said = {"caveat": last.caveat, "unchecked": last.unchecked}
    final = {"iteration": last.iteration, "visited": last.visited, **metrics, **said}
    result = {"recipe": recipe.to_dict(), "final": final, "seconds": seconds, "versions": versions()}
    if options.history:
        result["history"] = {
            name: [finite(value) for value in column.tolist()] for name, column in made.history.items()
        }
    if options.json is not None:
        return write_json(options.json, result)
    print("\n".join(f"{name}: {'unavailable' if value is None else value}" for name, value in final.items()))
    return None


def _positive(option: str, text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text[:12]) <= 10**9:
        raise InputError(f"{option} must be a whole number at least 1; given: {text!r}")
    return int(text)
