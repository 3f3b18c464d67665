"""Where the pages of the docs lie, and where on the site each file that they link to stands."""

from __future__ import annotations

from pathlib import Path

from pmdviz.errors import InputError

PACKAGE = Path(__file__).parents[1]
# In an installed package the pages lie within it; in a checkout (an editable install too) beside it.
PLACES = PACKAGE / "docs", PACKAGE.parent / "docs"
INDEX = "index.md"  # what README.md of the docs is called on the site
PROJECT = {"README.md": "readme.md", "CHANGELOG.md": "changelog.md"}  # pages beside the docs -> what they are called
MARKER = ".pmdviz-docs"  # stands in a folder that a build has made, and may write over
FILES = "files"  # the folder of the site for what is no page and lies outside of docs/


def pages_folder() -> Path:
    """The folder docs/. Raises InputError where the installation has none."""
    found = next((place for place in PLACES if (place / "README.md").is_file()), None)
    if found is None:
        raise InputError("this installation of pmdviz holds no docs; install it from its wheel or its repository")
    return found


def pages(docs: Path) -> dict[str, Path]:
    """Every page: its name on the site -> its file."""
    listed = {path.relative_to(docs).as_posix(): path for path in sorted(docs.rglob("*.md"))}
    listed[INDEX] = listed.pop("README.md")
    beside = {name: docs.parent / file for file, name in PROJECT.items()}
    return listed | {name: path for name, path in beside.items() if path.is_file()}


def source_of(link: str, page: Path, docs: Path) -> Path | None:
    """The file or folder that a relative link of a page means; None where it is not there."""
    meant = (page.parent / link).resolve()
    if meant.exists():
        return meant
    root = docs.parent.resolve()
    inside = PACKAGE.parent / meant.relative_to(root) if meant.is_relative_to(root) else meant
    return inside if inside.exists() else None


def place_of(source: Path, docs: Path) -> str:
    """Where a file stands on the site, from its top folder."""
    root, docs = docs.parent.resolve(), docs.resolve()
    if source == docs / "README.md":
        return INDEX
    if source.parent == root and source.name in PROJECT:
        return PROJECT[source.name]
    if source.is_relative_to(docs):
        return source.relative_to(docs).as_posix()
    base = root if source.is_relative_to(root) else PACKAGE.parent
    plain = ".txt" if source.suffix == ".md" else ""  # else it would be a page
    return f"{FILES}/{source.relative_to(base).as_posix()}{plain}"
