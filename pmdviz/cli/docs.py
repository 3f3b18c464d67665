"""`pmdviz docs`: build the docs site into a folder."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from pmdviz.cli.recipe import draw_bar
from pmdviz.errors import InputError, unknown

BUILDERS = {"html": "the site", "linkcheck": "no site: ask every address of another server whether it answers"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `pmdviz docs`: a folder, and which presets are played for the gallery."""
    from pmdviz.docs_site.sources import ALL, FEW, NONE

    parser.add_argument("folder", metavar="FOLDER", help="where it goes; an earlier build in it is written over")
    parser.add_argument(
        "--gallery",
        metavar="NAMES",
        default=",".join(FEW),
        help=f"presets to run for the gallery: {ALL}, {NONE}, or names with commas between (default: %(default)s)",
    )
    words = "; ".join(f"{name}: {what}" for name, what in BUILDERS.items())
    parser.add_argument("--builder", metavar="NAME", default="html", help=f"what Sphinx does ({words})")


def docs(options: argparse.Namespace) -> int:
    """Build it; the exit status: 1 where a page has a warning. Raises InputError."""
    from pmdviz.docs_site.build import build
    from pmdviz.docs_site.sources import chosen

    if not options.folder:
        raise InputError("docs needs the name of a folder; given: ''")
    if options.builder not in BUILDERS:
        raise unknown("builder of docs:", options.builder, BUILDERS)
    folder, presets = Path(options.folder), chosen(options.gallery)

    def bar(played: int, preset: Any) -> None:
        draw_bar(played / len(presets), f"{preset.title:<60}", last=True)

    status = build(folder, presets, options.builder, bar if sys.stderr.isatty() else None)
    if presets and sys.stderr.isatty():
        print(file=sys.stderr)
    if status == 0 and options.builder == "html":
        print(f"the docs are in {folder}; open {folder / 'index.html'}")
    return status
