"""The docs site beside the app: a folder that `pmdviz docs` has built, served as it lies there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tornado.web import RedirectHandler, StaticFileHandler

from pmdviz.docs_site.places import MARKER
from pmdviz.errors import InputError, shown

FOLDER = "PMDVIZ_DOCS"  # environment variable: the folder, for every process of a server
ADDRESS = "/docs/"


def offer_docs(folder: str | None) -> None:
    """Have a built site served, here and in the processes that are begun. Raises InputError for what is none."""
    if folder is not None:
        os.environ[FOLDER] = folder
    docs_folder()


def docs_folder() -> Path | None:
    """The folder that the environment names; None where it names none. Raises InputError where no site is in it."""
    name = os.environ.get(FOLDER)
    if not name:
        return None
    if not (Path(name) / MARKER).is_file() or not (Path(name) / "index.html").is_file():
        raise InputError(f"no docs site is in {shown(name, 200)}; build one there: pmdviz docs FOLDER")
    return Path(name).resolve()


def docs_routes() -> list[Any]:
    """The addresses of the site, for a server to be made; none where no folder is offered."""
    folder = docs_folder()
    if folder is None:
        return []
    files = {"path": str(folder), "default_filename": "index.html"}
    return [
        (ADDRESS.rstrip("/"), RedirectHandler, {"url": ADDRESS}),
        (f"{ADDRESS}(.*)", StaticFileHandler, files),
    ]
