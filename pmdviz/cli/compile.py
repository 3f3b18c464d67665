"""`pmdviz compile`: fill the cache of compiled kernels, for a class or when an image is built."""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `pmdviz compile`."""
    parser.add_argument("--all", action="store_true", help="those of every target, method and metric too")
    parser.add_argument("--json", metavar="FILE", help="write how many seconds each took; - for standard output")


def compile_kernels(options: argparse.Namespace) -> None:
    """Compile the kernels of the default run, or all."""
    from pmdviz.files import write_json
    from pmdviz.kernels import compiling

    compiling.compile_ahead(tuple(compiling.all_groups()) if options.all else (compiling.DEFAULT,))
    if options.json is not None:
        write_json(options.json, compiling.compiler.seconds)
