"""`pmdviz essay`: write the essay "Inference as descent" as one file for any browser."""

from __future__ import annotations

import argparse

from pmdviz.errors import InputError, shown
from pmdviz.files import atomic_write, check_writable

SUFFIXES = (".html", ".htm")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `pmdviz essay`: a file."""
    parser.add_argument("file", metavar="FILE", help="an HTML file, such as essay.html; it needs no internet")


def essay(options: argparse.Namespace) -> None:
    """Write it. Raises InputError for a name that is no HTML file's, or a file that cannot be written."""
    path = check_writable(options.file)
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"essay writes a file that ends in .html, such as essay.html; given: {shown(options.file)}")
    from pmdviz.essay.build import page

    with atomic_write(path) as part:
        part.write_text(page(), encoding="utf-8")
    print(f"the essay is in {path}; open it in a browser")
