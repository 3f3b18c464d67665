"""`pmdviz bench`: every figure that we claim, by a command of the folder `benchmarks` in a checkout."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from types import ModuleType

from pmdviz.errors import InputError

HERE = Path(__file__).parents[2]


def _benchmarks() -> ModuleType:
    """The folder beside the package, or in a checkout that is the current folder, as a module.

    An installed package then measures itself with the checkout's benches. Raises InputError where there is neither.
    """
    for root in (HERE, Path.cwd()):
        if (root / "benchmarks" / "__init__.py").is_file() and (root / "pmdviz" / "cli").is_dir():
            # Its own before those of another checkout that is installed; an installed package stays what is measured.
            place = 0 if root == HERE else len(sys.path)
            if str(root) not in sys.path[: place + 1]:
                sys.path.insert(place, str(root))
            return importlib.import_module("benchmarks")
    raise InputError("pmdviz bench needs a checkout: its benches are not installed; change to the checkout's folder")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `pmdviz bench`."""
    _benchmarks().add_arguments(parser)


def main(options: argparse.Namespace) -> None:
    """Run one bench and write its figures."""
    _benchmarks().main(options)
