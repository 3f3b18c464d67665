"""`pmdviz export`: run a recipe and take it home as a file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from pmdviz.cli_recipe import add_recipe_arguments, draw_bar, given_recipe, run_bar


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `pmdviz export`: a recipe, a file, and every option of `Look` by its name."""
    from pmdviz.export import WRITERS
    from pmdviz.export.options import LAYER_LIST, SIZE, SIZES, Look

    kinds = "; ".join(f"{writer.suffix}: {writer.title}" for writer in WRITERS.values())
    add_recipe_arguments(parser)
    parser.add_argument("out", metavar="FILE", help=f"its suffix says its kind ({kinds})")
    parser.add_argument(f"--{SIZE}", metavar="WxH", help=f"width and height in px, or {', '.join(SIZES)}")
    parser.add_argument(f"--{LAYER_LIST}", metavar="NAMES", help="of the stage, such as exact,particles")
    for spec in Look.specs().values():
        flag, words = f"--{spec.name.replace('_', '-')}", f"{spec.help} ({spec.bounds_words})"
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
    """Check what can be checked, run the recipe, write the file."""
    from pmdviz import api
    from pmdviz.export import check

    given, recipe = _given(options), given_recipe(options)
    check(options.out, given)
    to_terminal = sys.stderr.isatty()
    run = api.run(recipe, progress=run_bar if to_terminal else None, floor=False)
    path = run.export(options.out, **given, **({"progress": _film_bar} if to_terminal else {}))
    if to_terminal:
        print(file=sys.stderr)
    print(f"{path}: {_size(path)}")


def _size(path: Path) -> str:
    size = path.stat().st_size
    return f"{size / 1e6:,.2f} MB" if size >= 100_000 else f"{size / 1e3:,.1f} kB"


def _film_bar(done: int, total: int) -> None:
    draw_bar(done / total, f"{done:,} of {total:,} frames      ", last=done == total)
