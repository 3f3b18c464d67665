"""`pmdviz bench`: every figure that we claim, by a command of the folder `benchmarks` in a checkout."""

from __future__ import annotations

import argparse
import importlib
import sys
from pathlib import Path
from types import ModuleType

from pmdviz.errors import InputError

ROOT = Path(__file__).parents[2]


def _benchmarks() -> ModuleType:
    """The folder as a module. Raises InputError where pmdviz is not run from a checkout."""
    if not (ROOT / "benchmarks" / "__init__.py").is_file():
        raise InputError(
            "pmdviz bench needs a checkout: the benches are in its folder benchmarks, which is not installed"
        )
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    return importlib.import_module("benchmarks")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `pmdviz bench`."""
    _benchmarks().add_arguments(parser)


def main(options: argparse.Namespace) -> None:
    """Run one bench and write its figures."""
    _benchmarks().main(options)
