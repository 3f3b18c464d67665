"""Build the site: write the source folder, let Sphinx make pages of it, and put the players beside them."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from pathlib import Path

from pmdviz.docs_site.reference import commands_markdown, glossary_markdown, python_markdown
from pmdviz.docs_site.sources import (
    FOLDER,
    MARKER,
    Progress,
    gallery_markdown,
    pages_folder,
    write_players,
    write_sources,
)
from pmdviz.errors import InputError, shown
from pmdviz.presets import Preset

SETTINGS = Path(__file__).parent  # conf.py, with its styles and templates
NEEDED = ("sphinx", "myst_parser", "furo")
# Lines `<!-- part: NAME -->` of a page -> what the code says there.
PARTS: dict[str, Callable[[], str]] = {
    "commands": commands_markdown,
    "python": python_markdown,
    "glossary": glossary_markdown,
}


def build(folder: Path, presets: Iterable[Preset] = (), builder: str = "html", progress: Progress | None = None) -> int:
    """Build the site into `folder`; Sphinx's exit status, 0 where no page has a warning.

    `progress` is called before each preset is played.

    Raises InputError: the extra `docs` is not installed, the installation holds no docs, or the folder has files that
    no build has written; TargetError where a preset's run fails.
    """
    docs, presets = pages_folder(), list(presets)
    check_installed()
    make_room(folder)
    with tempfile.TemporaryDirectory(prefix="pmdviz-docs-") as place:
        sources = Path(place) / "sources"
        parts = {name: write() for name, write in PARTS.items()} | {"gallery": gallery_markdown(presets)}
        write_sources(docs, sources, parts)
        status = _sphinx(sources, folder, builder, Path(place) / "doctrees")
    write_players(presets, folder / FOLDER, progress)
    return status


def check_installed() -> None:
    """Raise InputError where Sphinx, its reader of Markdown or its theme is missing."""
    if missing := [name for name in NEEDED if find_spec(name) is None]:
        raise InputError(f"the docs site needs {' and '.join(missing)}: pip install 'pmdviz[docs]'")


def make_room(folder: Path) -> None:
    """An empty folder with the marker of a build in it; an earlier build is removed.

    Raises InputError where `folder` is a file, or has files that no build has written.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"the docs need a folder; {shown(str(folder), 200)} is a file")
    folder.mkdir(parents=True, exist_ok=True)
    there = [*folder.iterdir()]
    if there and folder / MARKER not in there:
        raise InputError(f"{shown(str(folder), 200)} holds files that are no build of the docs; name another folder")
    for each in there:
        shutil.rmtree(each) if each.is_dir() and not each.is_symlink() else each.unlink()
    (folder / MARKER).touch()


def _sphinx(sources: Path, folder: Path, builder: str, doctrees: Path) -> int:
    from sphinx.cmd.build import build_main

    options = ("-q", "--fail-on-warning", "-b", builder, "-c", str(SETTINGS), "-d", str(doctrees))
    return build_main([*options, str(sources), str(folder)])
