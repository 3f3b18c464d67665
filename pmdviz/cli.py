"""The command line: `pmdviz` = `python -m pmdviz`: list | run | race | sweep | export | serve | bench."""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from typing import Any, NoReturn

from pmdviz.cli_recipe import add_recipe_arguments, given_recipe, run_bar
from pmdviz.errors import InputError, TargetError, unknown
from pmdviz.version import __version__
from pmdviz.writing import write_json


class _Parser(argparse.ArgumentParser):
    """Errors in one line, exit status 2; no abbreviated options."""

    commands: Any  # the table of subcommands

    def __init__(self, **parts: Any) -> None:
        super().__init__(allow_abbrev=False, **parts)

    def error(self, message: str) -> NoReturn:
        raise InputError(message)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit status (0 done, 1 failed while running, 2 unusable input)."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        _limit_blas()
        _print_anything()
        _check_command(arguments)
        options = _parsed(_parser(arguments[:1]), arguments)
        return options.act(options) or 0
    except InputError as error:
        print(f"pmdviz: {error}", file=sys.stderr)
        return 2
    except TargetError as error:
        print(f"pmdviz: {error}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that closing stdout says nothing
        return 1
    except KeyboardInterrupt:
        return 130


def _limit_blas() -> None:
    """One BLAS thread: with its default threads a busy machine is many times slower."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")


def _print_anything() -> None:
    """Greek letters on a terminal that has none become escapes, not a traceback."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")


COMMANDS = ("list", "run", "race", "sweep", "export", "notebooks", "serve", "bench")


def _check_command(arguments: list[str]) -> None:
    if arguments and not arguments[0].startswith("-") and arguments[0] not in COMMANDS:
        raise unknown("command", arguments[0], COMMANDS)


def _parsed(parser: _Parser, arguments: list[str]) -> argparse.Namespace:
    options, rest = parser.parse_known_args(arguments)
    if rest:
        valid = [flag for flag in parser.commands.choices[options.command]._option_string_actions if flag != "-h"]
        raise unknown(f"option of {options.command}:", rest[0], valid)
    return options


def _parser(chosen: list[str]) -> _Parser:
    parser = _Parser(prog="pmdviz", description="See approximate Bayesian inference.")
    parser.add_argument("--version", action="version", version=f"pmdviz {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar=" | ".join(COMMANDS), dest="command")
    _add_list(commands)
    _add_run(commands)
    _add_race(commands)
    _add_sweep(commands)
    _add_export(commands, chosen == ["export"])
    _add_notebooks(commands)
    _add_serve(commands)
    _add_bench(commands)
    parser.commands = commands
    return parser


def _add_list(commands: Any) -> None:
    parser = commands.add_parser("list", help="targets and methods, with their options and knobs")
    parser.add_argument("--json", metavar="FILE", help="write them as JSON; - for standard output")
    parser.add_argument("--markdown", action="store_true", help="as the tables of the docs")
    parser.set_defaults(act=_list)


def _add_run(commands: Any) -> None:
    parser = commands.add_parser("run", help="run a recipe to the end of its budget")
    add_recipe_arguments(parser)
    parser.add_argument("--metrics-every", metavar="N", help="measure every N iterations")
    parser.add_argument("--history", action="store_true", help="the measured history too, in the JSON")
    parser.add_argument("--json", metavar="FILE", help="write recipe and result as JSON; - for standard output")
    parser.set_defaults(act=_run)


def _add_race(commands: Any) -> None:
    from pmdviz import cli_race

    parser = commands.add_parser("race", help="several methods, one budget of data, many seeds")
    cli_race.add_arguments(parser)
    parser.set_defaults(act=cli_race.race)


def _add_sweep(commands: Any) -> None:
    from pmdviz import cli_sweep

    parser = commands.add_parser("sweep", help="many runs in parallel: what is varied, every seed, into a table")
    cli_sweep.add_arguments(parser)
    parser.set_defaults(act=cli_sweep.sweep)


def _add_export(commands: Any, wanted: bool) -> None:
    from pmdviz import cli_export

    parser = commands.add_parser("export", help="run a recipe and write a film, a picture, a table, ...")
    if wanted:  # the declarations of its options load Bokeh, which would cost the other commands half a second
        cli_export.add_arguments(parser)
    parser.set_defaults(act=cli_export.export)


def _add_notebooks(commands: Any) -> None:
    from pmdviz import cli_notebooks

    parser = commands.add_parser("notebooks", help="copy the course, seven Jupyter notebooks, into a folder")
    cli_notebooks.add_arguments(parser)
    parser.set_defaults(act=cli_notebooks.notebooks)


def _add_serve(commands: Any) -> None:
    from pmdviz import serving

    parser = commands.add_parser("serve", help="open the lab in a browser")
    serving.add_arguments(parser)
    parser.set_defaults(act=serving.serve)


def _add_bench(commands: Any) -> None:
    from pmdviz import bench

    parser = commands.add_parser("bench", help="measure what the docs claim")
    bench.add_arguments(parser)
    parser.set_defaults(act=bench.main)


def _list(options: argparse.Namespace) -> None:
    from pmdviz import api

    tables = {"targets": api.list_targets(), "methods": api.list_methods()}
    if options.json:
        return write_json(options.json, tables)
    if options.markdown:
        return print(_markdown(tables))
    for kind, part in (("targets", "options"), ("methods", "knobs")):
        print(f"{kind}:")
        for name, entry in tables[kind].items():
            print(f"  {name}: {entry['title']} [{entry['reference']}]")
            for row in entry[part]:
                unit = f", {row['unit']}" if row["unit"] else ""
                print(f"    {row['name']} = {row['default']}  ({row['bounds']}{unit}; {row['acts']}) {row['help']}")
    return None


def _markdown(tables: dict[str, Any]) -> str:
    """The declarations as the docs show them."""
    lines = ["# Targets, methods and their knobs", "", "Written by `python -m pmdviz list --markdown`.", ""]
    for kind, part in (("targets", "options"), ("methods", "knobs")):
        for name, entry in tables[kind].items():
            lines += [f"## `{name}`: {entry['title']}", "", *filter(None, [entry.get("about")])]
            lines += [f"Source: {entry['reference']}.", ""]
            lines += [f"| {part[:-1]} | default | values | unit | when it acts | what it does |", "|---" * 6 + "|"]
            lines += [_markdown_row(row) for row in entry[part]] + [""]
    return "\n".join(lines).rstrip()


def _markdown_row(row: dict[str, Any]) -> str:
    cells = (f"`{row['name']}`", f"{row['default']}", row["values"], row["unit"], row["acts"], row["help"])
    return "| " + " | ".join(cells) + " |"


def _run(options: argparse.Namespace) -> None:
    from pmdviz import api, floors
    from pmdviz.recipe import versions

    recipe = given_recipe(options)
    start = time.perf_counter()
    bar = run_bar if sys.stderr.isatty() else None
    every = None if options.metrics_every is None else _positive("--metrics-every", options.metrics_every)
    run = api.run(recipe, metrics_every=every, progress=bar, floor=False)
    seconds = time.perf_counter() - start
    if bar:
        print("\ncomputing what perfect draws would get ...", file=sys.stderr)
    floors.floor(run.target, run.final.num_draws)
    metrics = {name: _finite(value) for name, value in run.final.metrics.items()}
    final = {"iteration": run.final.iteration, "visited": run.final.visited, **metrics}
    result = {"recipe": recipe.to_dict(), "final": final, "seconds": seconds, "versions": versions()}
    if options.history:
        result["history"] = {name: _plain(column) for name, column in run.history.items()}
    if options.json:
        return write_json(options.json, result)
    print("\n".join(f"{name}: {'not to be had' if value is None else value}" for name, value in final.items()))
    return None


def _positive(option: str, text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text[:12]) <= 10**9:
        raise InputError(f"{option} must be a whole number at least 1; given: {text!r}")
    return int(text)


def _plain(column: Any) -> list[Any]:
    return [_finite(value) for value in column.tolist()]


def _finite(value: Any) -> Any:
    """The value, or None for NaN and infinity, which JSON does not have."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
