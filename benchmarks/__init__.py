"""Every figure that pmdviz claims, by a command: `pmdviz bench NAME [--json FILE]`.

A module of this folder serves one bench of its name, or those of BENCHES. It has a one-line docstring and
`run(options) -> dict` with its figures; its `OPTIONS` are those of WORDS and NUMBERS that it takes, with defaults.
"""

from __future__ import annotations

import argparse
import importlib
import json
import time
from typing import Any

from benchmarks.measuring import circumstances
from pmdviz.errors import InputError, unknown
from pmdviz.files import check_text_path, write_text

BENCHES = {  # name -> module, where they differ
    **dict.fromkeys(("claims", "claims-logistic", "claims-gp", "claims-topics"), "contests"),
    **dict.fromkeys(("stein", "annealing", "claims-pmfvb"), "rows"),
    **dict.fromkeys(("ancestors", "beyond-the-plane", "draws", "policies"), "rows"),
    **{name: name.replace("-", "_") for name in (
        *("dimension", "engine", "fit-and-aggregation", "fuzz", "growth", "live", "live-page", "load"),
        *("local-scale", "pictures", "siege", "silence", "soak", "start", "weight"),
    )},
}  # fmt: skip
WORDS = {
    "methods": "these methods only, such as A,B",
    "beside": "FOLDER, a clone of chi-feng/mcmc-demo, too",
    "only": "FROM:TO, these problems only, from 0",
}
NUMBERS = {
    "sessions": "how many browser sessions",
    "seconds": "duration of each measurement",
    "inputs": "how many inputs",
    "seed": "random seed",
    "seeds": "how many runs",
    "count": "how many problems",
    "jobs": "how many processes",
}


def names() -> list[str]:
    """The benches, by their names on the command line."""
    return sorted(BENCHES)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `pmdviz bench`."""
    parser.add_argument("name", metavar="NAME", help=", ".join(names()))
    parser.add_argument("--json", metavar="FILE", help="write the figures as JSON; - for standard output")
    parser.add_argument("--quick", action="store_true", help="fewer repetitions: to see that it works, not to quote")
    for name, words in (WORDS | NUMBERS).items():
        parser.add_argument(
            f"--{name}", metavar="N" if name in NUMBERS else "WORDS", help=f"{words}; for benches that take it"
        )


def main(options: argparse.Namespace) -> None:
    """Run one bench and write its figures with the circumstances they were measured in."""
    if options.name not in names():
        raise unknown("bench", options.name, names())
    check_text_path(options.json)
    module = importlib.import_module(f"{__name__}.{BENCHES[options.name]}")
    given = _given(options, getattr(module, "OPTIONS", {}))
    before, start = circumstances(), time.perf_counter()
    figures = module.run(options)
    result: dict[str, Any] = {
        "bench": options.name,
        "about": (module.__doc__ or "").strip().splitlines()[0],
        "command": " ".join(["python -m pmdviz bench", options.name, *["--quick"] * options.quick, *given]),
        **before,
        "seconds": round(time.perf_counter() - start, 1),
        "figures": figures,
    }
    text = json.dumps(result, indent=1, ensure_ascii=False, allow_nan=False)
    write_text("-" if options.json is None else options.json, text)


def _given(options: argparse.Namespace, defaults: dict[str, Any]) -> list[str]:
    """Put numbers and defaults into `options`; returns the switches that were given. Raises InputError."""
    said = []
    for name in (*WORDS, *NUMBERS):
        text = getattr(options, name)
        if text is not None and name not in defaults:
            raise InputError(f"bench {options.name} takes no --{name}")
        if text is not None and name in NUMBERS:
            if not (text.isdecimal() and 1 <= int(text[:7]) <= 100_000):
                raise InputError(f"--{name} must be a whole number at least 1 and at most 100,000; got {text!r}")
            text = int(text)
        said += [] if text is None else [f"--{name} {text}"]
        setattr(options, name, defaults.get(name) if text is None else text)
    return said
