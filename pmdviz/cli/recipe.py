"""A recipe from the command line; `pmdviz run` and `pmdviz export`, which take one."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

from pmdviz.errors import InputError, shown
from pmdviz.files import finite, write_json

MAX_RECIPE_BYTES = 4_000_000
BAR_WIDTH = 30
POINTS = 100  # measured frames of each run of a race whose histories are asked for
OPTION = "an option of the target; repeatable"
FORM = "NAME=VALUE, such as --knob num_particles=500"
FORMS = {"--target-option": "NAME=VALUE, such as --target-option num_data=500", "--over": "NAME=VALUE,VALUE,..."}
WRITE_ONE = "`pmdviz run --json FILE` writes a recipe, `pmdviz list` names the presets"


def add_recipe_arguments(parser: argparse.ArgumentParser, what: str = "a recipe") -> None:
    """What describes a run: a file, or the parts of a recipe."""
    add = parser.add_argument
    add("recipe", nargs="?", metavar="RECIPE", help=f"{what} in JSON, or a preset's name; - for standard input")
    add("--target", metavar="NAME", help="one of `pmdviz list` (default mixture)")
    add("--target-option", action="append", default=[], metavar="NAME=VALUE", help=OPTION)
    add("--method", metavar="NAME", help="one of `pmdviz list` (default pmd)")
    add("--knob", action="append", default=[], metavar="NAME=VALUE", help="a setting of the method; repeatable")
    add("--seed", metavar="N", help="seed of the run (default 0)")
    add("--budget", metavar="N", help="observations to use (default: what the method needs, see list)")
    add("--budget-unit", metavar="UNIT", help="what the budget counts: data (default) or evaluations")


def read_plain(path: str | None) -> Any:
    """The plain value of a JSON file ("-": standard input), or of a preset's recipe; None for no file.

    Raises InputError.
    """
    from pmdviz.engine.recipe import json_value

    if path is None:
        return None
    found = preset(path)
    return json_value(_read(path)) if found is None else found.to_dict()


def preset(name: str | None) -> Any:
    """The recipe of the preset of that name; None where it is meant as a file.

    Raises InputError for a word that is neither, where it is nearly a preset's.
    """
    if name is None or not name.isidentifier() or os.path.exists(name):
        return None
    from pmdviz.presets import PRESETS, find_preset

    near = difflib.get_close_matches(name, PRESETS, n=1)
    return find_preset(name).recipe if near else None


def race_in(plain: Any) -> Any:
    """The race of a plain value: itself, or the one in the output of `race --json`; None for any other value."""
    if not isinstance(plain, dict):
        return None
    return plain if "pmdviz_race" in plain else plain.get("race")


def given_recipe(options: argparse.Namespace, or_race: bool = False) -> Any:
    """The recipe of a file, which with `or_race` may be a race's, or the one that the options describe.

    Raises InputError.
    """
    from pmdviz.engine.recipe import Recipe

    if options.recipe is None:
        knobs, target_options = pairs("--knob", options.knob), pairs("--target-option", options.target_option)
        made = Recipe.from_dict({**_parts(options), "knobs": knobs, "target_options": target_options})
        return made if options.budget is not None else made.limited(made.default_budget)
    if _parts(options) or options.knob or options.target_option:
        words = "leave --target, --method, --knob, --seed, --budget, --budget-unit out"
        raise InputError(f"a recipe file holds all of the run; {words}")
    plain = read_plain(options.recipe)
    if or_race and (race := race_in(plain)) is not None:
        from pmdviz.experiments.race import RaceRecipe

        return RaceRecipe.from_dict(race)
    return Recipe.from_dict(plain)


def _parts(options: argparse.Namespace) -> dict[str, Any]:
    given = {name: getattr(options, name) for name in ("target", "method", "seed", "budget", "budget_unit")}
    return {name: value for name, value in given.items() if value is not None}


def _read(path: str) -> str | bytes:
    if path == "-" and sys.stdin is None:
        raise InputError("cannot read the recipe '-': standard input is closed; name a file, or pipe a recipe in")
    try:
        piped = getattr(sys.stdin, "buffer", sys.stdin)
        with nullcontext(piped) if path == "-" else open(path, "rb") as stream:
            content = stream.read(MAX_RECIPE_BYTES + 1)  # of a device without end no more
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            raise InputError(f"{shown(path, 200)} is neither a file nor a preset; {WRITE_ONE}") from error
        raise InputError(f"cannot read the recipe {shown(path, 200)}: {error.strerror or error}") from error
    if len(content) > MAX_RECIPE_BYTES:
        words = f"is not a recipe: it has more than {MAX_RECIPE_BYTES:,} bytes"
        raise InputError(f"{shown(path, 200)} {words}; {WRITE_ONE}")
    return content


def pairs(option: str, given: list[str]) -> dict[str, str]:
    """The names and values of an option that is given as NAME=VALUE, any number of times. Raises InputError."""
    found: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise InputError(f"{option} takes {FORMS.get(option, FORM)}; got {text!r}")
        if name in found:
            raise InputError(f"{option} gives {name} twice, {shown(found[name])} and {shown(value)}; give it once")
        found[name] = value
    return found


# Progress on a terminal.

_drawn = 0.0  # when a bar was


def run_bar() -> Callable[[Any], None] | None:
    """What shows the progress of a run; None without a terminal, because a run is faster when no step is shown."""
    from pmdviz.scenes.words import observations_used

    def show(session: Any) -> None:
        draw_bar(session.frame.spent / session.recipe.budget, observations_used(session.frame))

    return show if sys.stderr.isatty() else None


def share_bar(share: float, words: str) -> None:
    """Show the share that is done, and words."""
    draw_bar(share, f"{words:<60}")


def counted_bar(what: str) -> Callable[[int, int], None]:
    """What shows how many of something are done."""
    return lambda done, total: draw_bar(done / total, f"{done:,} of {total:,} {what}      ")


def end_bar() -> None:
    """Leave the line of a bar."""
    if sys.stderr.isatty():
        print(file=sys.stderr)


def draw_bar(share: float, words: str) -> None:
    """A bar on standard error where that is a terminal, at most ten times per second; the last one always."""
    global _drawn
    now = time.monotonic()
    if not sys.stderr.isatty() or (now - _drawn < 0.1 and share < 1):
        return
    _drawn = now
    done = "█" * round(min(1.0, share) * BAR_WIDTH)
    print(f"\r{done:░<{BAR_WIDTH}} {words}", end="", file=sys.stderr, flush=True)


# `pmdviz run`


def run_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `pmdviz run`."""
    add = parser.add_argument
    add_recipe_arguments(parser)
    add("--metrics-every", metavar="N", help="measure every N iterations")
    add("--history", action="store_true", help="include the measured history in the JSON")
    add("--json", metavar="FILE", help="write recipe and result as JSON; - for standard output")


def run(options: argparse.Namespace) -> None:
    """Run a recipe to the end of its budget, and print or write the result. Raises InputError, TargetError."""
    from pmdviz import api
    from pmdviz.engine.recipe import checked_whole, versions
    from pmdviz.metrics import perfect_draws
    from pmdviz.scenes.words import INDEPENDENT_DRAWS

    recipe, start = given_recipe(options), time.perf_counter()
    every = None if options.metrics_every is None else checked_whole("--metrics-every", options.metrics_every, 1, 10**9)
    made = api.run(recipe, metrics_every=every, progress=run_bar(), floor=False)
    seconds, last = time.perf_counter() - start, made.final
    if sys.stderr.isatty():
        print(f"\ncomputing what {INDEPENDENT_DRAWS} would get ...", file=sys.stderr)
    perfect_draws.floor(made.target, last.num_draws, **last.drawn_as)
    if made.target.no_reference:
        print(made.target.no_reference, file=sys.stderr)
    metrics = {name: finite(value) for name, value in last.metrics.items()}
    said = {"caveat": last.caveat, "unchecked": last.unchecked}
    final = {"iteration": last.iteration, "visited": last.visited, **metrics, **said}
    result = {"recipe": recipe.to_dict(), "final": final, "seconds": seconds, "versions": versions()}
    if options.history:
        result["history"] = {name: finite(column.tolist()) for name, column in made.history.items()}
    if options.json is not None:
        return write_json(options.json, result)
    print("\n".join(f"{name}: {'unavailable' if value is None else value}" for name, value in final.items()))


# `pmdviz export`: a run, or a race.


def export_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `pmdviz export`: a recipe, a file, and every option of `Look` by its name."""
    add = parser.add_argument
    from pmdviz.export import WRITERS
    from pmdviz.export.options import LAYER_LIST, SIZE, SIZES, Look, RaceLook

    kinds = "; ".join(f"{writer.suffix}: {writer.title}" for writer in WRITERS.values())
    add_recipe_arguments(parser, "a recipe or a race")
    add("out", metavar="FILE", help=f"output file; its suffix chooses the kind ({kinds})")
    add(f"--{SIZE}", metavar="WxH", help=f"width and height in px, or {', '.join(SIZES)}")
    add(f"--{LAYER_LIST}", metavar="NAMES", help="layers of the picture, such as exact,particles")
    of_race = RaceLook.specs()
    for spec in Look.specs().values():
        flag, words, other = f"--{spec.name.replace('_', '-')}", _help(spec), of_race[spec.name]
        if other.bounds_words != spec.bounds_words:
            words += f" For a race: {_help(other)}"
        if spec.kind == "flag":
            add(flag, action=argparse.BooleanOptionalAction, help=spec.help)
        else:
            add(flag, metavar="NAME" if spec.kind == "choice" else "N", help=words)


def _help(spec: Any) -> str:
    """What an option does, its allowed values, and its default, which the help says itself where it is 0 or ""."""
    return f"{spec.help} ({spec.bounds_words}{f'; default {spec.default}' if spec.default else ''})"


def export(options: argparse.Namespace) -> None:
    """Check what can be checked, run the recipe or the race, write the file."""
    from pmdviz import api
    from pmdviz.experiments.race import RaceRecipe
    from pmdviz.export import check
    from pmdviz.export.options import LAYER_LIST, SIZE, Look, RaceLook, traced

    found = {name: getattr(options, name) for name in (SIZE, LAYER_LIST, *Look.specs())}
    given = {name: value for name, value in found.items() if value is not None}
    recipe = given_recipe(options, or_race=True)
    of_race = isinstance(recipe, RaceRecipe)
    _, look, _ = check(options.out, given, RaceLook if of_race else Look)
    if not of_race:
        made: Any = api.run(recipe, progress=run_bar(), floor=False)
    else:
        traced(recipe, look.traces)
        if look.table == "histories" and not recipe.points:
            recipe = replace(recipe, points=POINTS)
        made = api.race(recipe, progress=share_bar)
    write(made, options.out, sys.stdout, given)


def write(made: Any, out: str, say: Any, given: Mapping[str, Any]) -> None:
    """Write a run or a race to a file, with a bar on a terminal, and say its size."""
    path = made.export(out, **given, progress=counted_bar("frames"))
    end_bar()
    print(f"{path}: {_size(path)}", file=say)


def _size(path: Path) -> str:
    size = path.stat().st_size
    return f"{size / 1e6:,.2f} MB" if size >= 100_000 else f"{size / 1e3:,.1f} kB"
