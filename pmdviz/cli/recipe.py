"""A recipe from the command line, and the progress of its run."""

from __future__ import annotations

import argparse
import difflib
import os
import sys
import time
from contextlib import nullcontext
from typing import Any

from pmdviz.errors import InputError, shown

MAX_RECIPE_BYTES = 4_000_000
BAR_WIDTH = 30


OPTION = "of the target; repeatable"


def add_recipe_arguments(parser: argparse.ArgumentParser, what: str = "a recipe") -> None:
    """What describes a run: a file, or the parts of a recipe."""
    parser.add_argument(
        "recipe", nargs="?", metavar="RECIPE", help=f"{what} in JSON, or a preset's name; - for standard input"
    )
    parser.add_argument("--target", metavar="NAME", help="one of `pmdviz list` (default mixture)")
    parser.add_argument("--target-option", action="append", default=[], metavar="NAME=VALUE", help=OPTION)
    parser.add_argument("--method", metavar="NAME", help="one of `pmdviz list` (default pmd)")
    parser.add_argument("--knob", action="append", default=[], metavar="NAME=VALUE", help="of the method; repeatable")
    parser.add_argument("--seed", metavar="N", help="of the run (default 0)")
    parser.add_argument("--budget", metavar="N", help="observations to use (default: what the method needs, see list)")
    parser.add_argument("--budget-unit", metavar="UNIT", help="what the budget counts: data (default) or evaluations")


def read_plain(path: str | None) -> Any:
    """The plain value of a JSON file ("-": standard input), or of a preset's recipe; None for no file.

    Raises InputError.
    """
    from pmdviz.engine.recipe_parts import json_value

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
    """The race of a plain value: itself, or what `race --json` wrote beside the rows; None where it is none."""
    if not isinstance(plain, dict):
        return None
    return plain if "pmdviz_race" in plain else plain.get("race")


def given_recipe(options: argparse.Namespace, plain: Any = None) -> Any:
    """The recipe of a file (`plain` is its content), or the one that the options describe. Raises InputError."""
    from pmdviz.engine.recipe import Recipe

    if options.recipe is None:
        knobs, target_options = pairs("--knob", options.knob), pairs("--target-option", options.target_option)
        made = Recipe.from_dict({**_parts(options), "knobs": knobs, "target_options": target_options})
        return made if options.budget is not None else made.limited(made.default_budget)
    given_recipe_alone(options)
    plain = read_plain(options.recipe) if plain is None else plain
    return Recipe.from_dict(plain)


def _parts(options: argparse.Namespace) -> dict[str, Any]:
    given = {name: getattr(options, name) for name in ("target", "method", "seed", "budget", "budget_unit")}
    return {name: value for name, value in given.items() if value is not None}


def given_recipe_alone(options: argparse.Namespace) -> None:
    """Raise InputError where something is given besides a file that says all."""
    if _parts(options) or options.knob or options.target_option:
        raise InputError(
            "a recipe file says all of the run; leave --target, --method, --knob, --seed, --budget, --budget-unit out"
        )


def _read(path: str) -> str | bytes:
    if path == "-" and sys.stdin is None:
        raise InputError("cannot read the recipe '-': standard input is closed; name a file, or pipe a recipe in")
    try:
        piped = getattr(sys.stdin, "buffer", sys.stdin)
        with nullcontext(piped) if path == "-" else open(path, "rb") as stream:
            content = stream.read(MAX_RECIPE_BYTES + 1)  # of a device without end no more
    except OSError as error:
        raise InputError(f"cannot read the recipe {shown(path, 200)}: {error}") from error
    if len(content) > MAX_RECIPE_BYTES:
        raise InputError(f"{shown(path, 200)} is not a recipe: it has more than {MAX_RECIPE_BYTES:,} bytes")
    return content


def pairs(option: str, given: list[str]) -> dict[str, str]:
    """The names and values of an option that is given as NAME=VALUE, any number of times. Raises InputError."""
    found = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise InputError(f"{option} takes NAME=VALUE; given: {text!r}")
        if name in found:
            raise InputError(f"{option} gives {name} twice, {shown(found[name])} and {shown(value)}; give it once")
        found[name] = value
    return found


def run_bar(session: Any) -> None:
    """Progress of a run on a terminal."""
    from pmdviz.scenes.words import observations_used

    spent, budget = session.frame.spent, session.recipe.budget
    draw_bar(spent / budget, observations_used(session.frame), last=session.done)


def race_bar(share: float, words: str) -> None:
    """Progress of a race on a terminal."""
    draw_bar(share, f"{words:<60}", last=share >= 1)


def draw_bar(share: float, words: str, last: bool = False) -> None:
    """A bar on the terminal's standard error, at most ten times a second; the last one always."""
    now = time.monotonic()
    if now - getattr(draw_bar, "drawn", 0.0) < 0.1 and not last:
        return
    draw_bar.drawn = now
    done = "█" * round(min(1.0, share) * BAR_WIDTH)
    print(f"\r{done:░<{BAR_WIDTH}} {words}", end="", file=sys.stderr, flush=True)
