"""`pmdviz export`: run a recipe, or a race, and export it to a file."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pmdviz.cli.recipe import (
    add_recipe_arguments,
    draw_bar,
    given_recipe,
    given_recipe_alone,
    race_bar,
    race_in,
    read_plain,
    run_bar,
)

POINTS = 100  # measured frames of each run of a race whose histories are asked for


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `pmdviz export`: a recipe, a file, and every option of `Look` by its name."""
    from pmdviz.export import WRITERS
    from pmdviz.export.options import LAYER_LIST, SIZE, SIZES, Look, RaceLook

    kinds = "; ".join(f"{writer.suffix}: {writer.title}" for writer in WRITERS.values())
    add_recipe_arguments(parser, "a recipe or a race")
    parser.add_argument("out", metavar="FILE", help=f"its suffix says its kind ({kinds})")
    parser.add_argument(f"--{SIZE}", metavar="WxH", help=f"width and height in px, or {', '.join(SIZES)}")
    parser.add_argument(f"--{LAYER_LIST}", metavar="NAMES", help="of the stage, such as exact,particles")
    of_race = RaceLook.specs()
    for spec in Look.specs().values():
        flag, words = f"--{spec.name.replace('_', '-')}", f"{spec.help} ({spec.bounds_words})"
        other = of_race[spec.name]
        if other.bounds_words != spec.bounds_words:
            usual = other.default or "the usual one"
            words += f"; of a race: {other.help} ({other.bounds_words}); default {usual}, of a run"
        if spec.kind == "flag":
            parser.add_argument(flag, action=argparse.BooleanOptionalAction, help=spec.help)
        else:
            metavar = "NAME" if spec.kind == "choice" else "N"
            parser.add_argument(flag, metavar=metavar, help=f"{words}; default {spec.default}")


def _given(options: argparse.Namespace) -> dict[str, Any]:
    """The options that were given, as `run.export` takes them."""
    from pmdviz.export.options import LAYER_LIST, SIZE, Look

    found = {name: getattr(options, name) for name in (SIZE, LAYER_LIST, *Look.specs())}
    return {name: value for name, value in found.items() if value is not None}


def export(options: argparse.Namespace) -> None:
    """Check what can be checked, run the recipe or the race, write the file."""
    from pmdviz.experiments.race import RaceRecipe
    from pmdviz.export import check
    from pmdviz.export.options import Look, RaceLook, check_traces

    given, plain = _given(options), read_plain(options.recipe)
    race = race_in(plain)
    run = _run_of(options, plain) if race is None else _race_of(options, race)
    _, look, _ = check(options.out, given, Look if race is None else RaceLook)
    if race is not None:
        check_traces(RaceRecipe.from_dict(race), look)
    made = run()
    write(made, options.out, sys.stdout, given)


def _run_of(options: argparse.Namespace, plain: Any) -> Callable[[], Any]:
    from pmdviz import api

    recipe = given_recipe(options, plain)
    return lambda: api.run(recipe, progress=run_bar if sys.stderr.isatty() else None, floor=False)


def _race_of(options: argparse.Namespace, plain: Any) -> Callable[[], Any]:
    from pmdviz.experiments import race

    given_recipe_alone(options)
    recipe = race.RaceRecipe.from_dict(plain)
    if options.table == "histories" and not recipe.points:
        recipe = replace(recipe, points=POINTS)
    return lambda: race.race(recipe, progress=race_bar if sys.stderr.isatty() else None)


def write(made: Any, out: str, say: Any, given: Mapping[str, Any]) -> None:
    """Write a run or a race to a file, with a bar on a terminal, and say its size."""
    to_terminal = sys.stderr.isatty()
    path = made.export(out, **given, **({"progress": _film_bar} if to_terminal else {}))
    if to_terminal:
        print(file=sys.stderr)
    print(f"{path}: {_size(path)}", file=say)


def _size(path: Path) -> str:
    size = path.stat().st_size
    return f"{size / 1e6:,.2f} MB" if size >= 100_000 else f"{size / 1e3:,.1f} kB"


def _film_bar(done: int, total: int) -> None:
    draw_bar(done / total, f"{done:,} of {total:,} frames      ", last=done == total)
