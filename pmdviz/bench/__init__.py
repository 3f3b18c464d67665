"""Every figure that pmdviz claims, by a command: `pmdviz bench NAME [--json FILE]`. One bench a file of this folder.

A bench module has a one-line docstring and `run(options) -> dict` with its figures.
"""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import time
from typing import Any

from pmdviz.bench.machine import circumstances
from pmdviz.errors import unknown
from pmdviz.writing import write_text

HELPERS = ("browser", "empty_page", "machine")


def names() -> list[str]:
    """The benches, by their names on the command line."""
    found = (module.name for module in pkgutil.iter_modules(__path__))
    return sorted(name.replace("_", "-") for name in found if name not in HELPERS)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `pmdviz bench`."""
    parser.add_argument("name", metavar="NAME", help=", ".join(names()))
    parser.add_argument("--json", metavar="FILE", help="write the figures as JSON; - for standard output")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions: to see that it works, not to quote")


def main(options: argparse.Namespace) -> None:
    """Run one bench and write its figures with the circumstances they were measured in."""
    if options.name not in names():
        raise unknown("bench", options.name, names())
    module = importlib.import_module(f"{__name__}.{options.name.replace('-', '_')}")
    before, start = circumstances(), time.perf_counter()
    figures = module.run(options)
    result: dict[str, Any] = {
        "bench": options.name,
        "about": (module.__doc__ or "").strip().splitlines()[0],
        "command": f"python -m pmdviz bench {options.name}" + (" --quick" if options.quick else ""),
        **before,
        "seconds": round(time.perf_counter() - start, 1),
        "figures": figures,
    }
    text = json.dumps(result, indent=1, ensure_ascii=False, allow_nan=False)
    write_text(options.json or "-", text)
