"""`pmdviz notebooks`: copy the course out of the installed package."""

from __future__ import annotations

import argparse
from pathlib import Path

from pmdviz.errors import InputError, shown
from pmdviz.files import atomic_write

PACKAGE = Path(__file__).parents[1]
# In an installed package the notebooks lie within it; in a checkout (an editable install too) beside it.
PLACES = PACKAGE / "notebooks", PACKAGE.parent / "notebooks"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `pmdviz notebooks`: a folder."""
    parser.add_argument("folder", metavar="DIR", help="where they go; it is made if it is not there")
    parser.add_argument("--force", action="store_true", help="write over files of the same names")


def course() -> list[Path]:
    """The notebooks of the course, in their order. Raises InputError where the installation has none."""
    found = next((files for place in PLACES if (files := sorted(place.glob("[0-9][0-9]-*.ipynb")))), [])
    if not found:
        raise InputError("this installation of pmdviz holds no notebooks; install it from its wheel or its repository")
    return found


def notebooks(options: argparse.Namespace) -> None:
    """Copy them all, or none. Raises InputError for a folder that cannot be written, or files that are there."""
    if not options.folder:
        raise InputError("notebooks needs the name of a folder, or . for the present one; given: ''")
    sources, folder = course(), Path(options.folder)
    try:
        there = [source.name for source in sources if (folder / source.name).exists()]
        if there and not options.force:
            raise InputError(f"{folder / there[0]} is there already; --force writes over it, or name another folder")
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write to {shown(str(folder), 200)}: {error.strerror}") from error
    for source in sources:
        with atomic_write(folder / source.name) as part:
            part.write_bytes(source.read_bytes())
    print(f"{len(sources)} notebooks in {folder}; open them with: jupyter lab {folder}")
