"""The command line, `pmdviz` or `python -m pmdviz`; COMMANDS has its commands."""

from __future__ import annotations

import argparse
import atexit
import errno
import gc
import importlib
import os
import sys
import warnings
from typing import Any, NamedTuple, NoReturn

from pmdviz.errors import InputError, InputWarning, TargetError, shown, unknown, words_of
from pmdviz.files import check_text_path
from pmdviz.version import __version__


class Command(NamedTuple):
    """A command: what it does in a few words, and the module with `act` and `act_arguments`."""

    help: str
    module: str
    act: str


COMMANDS = {
    "list": Command("targets, methods and experiments, with their options and knobs", "cli.lists", "show_tables"),
    "run": Command("run a recipe to the end of its budget", "cli.recipe", "run"),
    "race": Command("several methods on one budget, with many seeds", "cli.experiments", "race"),
    "sweep": Command("many runs in parallel, written to a table", "cli.experiments", "sweep"),
    "experiment": Command("run an experiment: its cases in parallel, and a summary", "cli.experiments", "experiment"),
    "export": Command("run a recipe and write a film, a picture, a table, ...", "cli.recipe", "export"),
    "lessons": Command("list lessons and challenges, or check your own", "cli.lists", "lessons"),
    "notebooks": Command("copy the course, Jupyter notebooks, into a folder", "cli.course", "notebooks"),
    "demos": Command("ten demos of five minutes for a lecture, with links and answers", "cli.course", "demos"),
    "answers": Command("the answers that students saved, as one table of points", "cli.course", "answers"),
    "essay": Command("write “Inference as descent”, an essay with live pictures", "cli.tools", "essay"),
    "site": Command("write lab, lessons and essay as pages that run without a server", "cli.tools", "site"),
    "docs": Command("build the docs site, for any browser, without internet", "cli.tools", "docs"),
    "compile": Command("compile kernels ahead: for the default run, or all", "cli.tools", "compile_kernels"),
    "serve": Command("open the lab in a browser", "serve.server", "serve"),
    "bench": Command("measure the figures that the docs quote", "cli.tools", "bench"),
}
PYTHONS_OWN = warnings.formatwarning
OUTPUT = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)  # of a write to a stream that has no name


class _Parser(argparse.ArgumentParser):
    """Errors in one line, exit status 2; no abbreviated options."""

    commands: Any  # the table of subcommands

    def __init__(self, **parts: Any) -> None:
        super().__init__(allow_abbrev=False, **parts)

    def error(self, message: str) -> NoReturn:
        raise InputError(f"{message}; see: {self.prog} --help")

    def _print_message(self, message: str, file: Any = None) -> None:
        print(message, end="", file=file or sys.stderr)  # argparse's own is silent where that fails

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        _flush()
        super().exit(status, message)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit status (0 done, 1 failed while running, 2 unusable input)."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        atexit.register(gc.freeze)  # else Python looks through all of numba once more before it ends: 0.2 s
        _limit_blas()
        if hasattr(sys.stdout, "reconfigure"):  # Greek letters on a terminal that has none become escapes
            sys.stdout.reconfigure(errors="backslashreplace")
        warnings.formatwarning = _said
        _check_command(arguments)
        options = _parsed(parser_of(arguments[:1]), arguments)
        check_text_path(getattr(options, "json", None))  # before the work is done
        status = options.act(options) or 0
        _flush()
        return status
    except (InputError, TargetError) as error:
        print(f"pmdviz: {error}", file=sys.stderr)
        return 2 if isinstance(error, InputError) else 1
    except OSError as error:
        if not isinstance(error, BrokenPipeError):
            print(f"pmdviz: {_words(error)}", file=sys.stderr)
        _give_up_output()
        return 1
    except KeyboardInterrupt:
        return 130


def _said(message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None) -> str:
    """A warning in one line; Python's own are as they are elsewhere."""
    plain = isinstance(message, InputWarning)
    return f"pmdviz: {message}\n" if plain else PYTHONS_OWN(message, category, filename, lineno, line)


def _words(error: OSError) -> str:
    if error.filename is None and error.errno in OUTPUT:
        return f"cannot write to standard output: {error.strerror}; write to a file instead"
    if error.filename is not None and error.strerror:
        return f"cannot use {shown(str(error.filename), 200)}: {error.strerror}; check the path and your rights"
    return f"the operating system reported an error: {words_of(error) or type(error).__name__}"


def _flush() -> None:
    """Flush standard output: a failure then has its sentence, and not one of Python's as it ends."""
    if sys.stdout is not None:  # closed by the caller
        sys.stdout.flush()


def _give_up_output() -> None:
    """Discard what standard output does not take: closing it then prints nothing."""
    try:
        _flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _limit_blas() -> None:
    """One BLAS thread: with its default threads a busy machine is many times slower."""
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")


def _check_command(arguments: list[str]) -> None:
    if arguments and not arguments[0].startswith("-") and arguments[0] not in COMMANDS:
        raise unknown("command", arguments[0], COMMANDS)


def _parsed(parser: _Parser, arguments: list[str]) -> argparse.Namespace:
    options, rest = parser.parse_known_args(arguments)
    if rest:
        flags = parser.commands.choices[options.command]._option_string_actions  # noqa: SLF001, argparse lists them nowhere else
        valid = [flag for flag in flags if flag != "-h"]
        raise unknown(f"option of {options.command}:", rest[0], valid)
    return options


def parser_of(chosen: list[str]) -> _Parser:
    """The parser; of the commands only the chosen one gets its options, for which its module is loaded."""
    parser = _Parser(prog="pmdviz", description="Watch, compare and export runs of approximate Bayesian inference.")
    parser.add_argument("--version", action="version", version=f"pmdviz {__version__}")
    commands = parser.add_subparsers(title="commands", required=True, metavar=" | ".join(COMMANDS), dest="command")
    for name, command in COMMANDS.items():
        added = commands.add_parser(name, help=command.help)
        if [name] == chosen:
            module = importlib.import_module(f"pmdviz.{command.module}")
            getattr(module, f"{command.act}_arguments")(added)
            added.set_defaults(act=getattr(module, command.act))
    parser.commands = commands
    return parser
