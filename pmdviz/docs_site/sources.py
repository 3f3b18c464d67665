"""The source folder that Sphinx reads: pages with the links of the site, and with the parts that the code writes."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from pmdviz.docs_site.places import INDEX, PROJECT, pages, place_of, source_of
from pmdviz.errors import unknown

LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]\[]*)\]\((?P<to>[^)\s#]+)(?P<anchor>#[^)\s]*)?\)")
FENCE = re.compile(r"^ {0,3}(`{3,})")
PART = re.compile(r"^<!-- part: (\w+) -->$", re.M)
LISTED = re.compile(r"^- \[[^\]]*\]\(([\w./-]+\.md)\)", re.M)
ORPHAN = "---\norphan: true\n---\n\n"  # a page that is reached by links alone
SECTION = re.compile(r"^## (.+)$", re.M)


def write_sources(docs: Path, folder: Path, parts: Mapping[str, str]) -> None:
    """Write every page into `folder`, with the files that pages link to. Raises InputError for an unknown part."""
    index = (docs / "README.md").read_text(encoding="utf-8")
    listed = {INDEX, *PROJECT.values(), *LISTED.findall(index)}
    for name, page in pages(docs).items():
        text = with_parts(page.read_text(encoding="utf-8"), parts)
        text = _with_links(text, page, name, docs, folder)
        text += "\n" + contents(index) if name == INDEX else ""
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text if name in listed else ORPHAN + text, encoding="utf-8")


def with_parts(text: str, parts: Mapping[str, str]) -> str:
    """A page whose lines `<!-- part: NAME -->` have become what the code says. Raises InputError."""

    def said(found: re.Match) -> str:
        if found[1] not in parts:
            raise unknown("part of the docs", found[1], parts)
        return parts[found[1]]

    return PART.sub(said, text)


def contents(index: str) -> str:
    """The tables of contents, one for each section of the first page that lists pages, in its order."""
    titles = [*SECTION.finditer(index)]
    ends = [*(title.start() for title in titles[1:]), len(index)]
    tables = [_table("Project", [*PROJECT.values()])]
    for title, end in zip(titles, ends, strict=True):
        if listed := LISTED.findall(index[title.end() : end]):
            tables.append(_table(title[1], listed))
    return "\n".join(tables)


def _table(caption: str, listed: list[str]) -> str:
    names = "\n".join(name.removesuffix(".md") for name in listed)
    return f"```{{toctree}}\n:hidden:\n:caption: {caption}\n\n{names}\n```\n"


def _with_links(text: str, page: Path, name: str, docs: Path, folder: Path) -> str:
    def led(found: re.Match) -> str:
        return _led(found, page, name, docs, folder)

    return "".join(line if code else LINK.sub(led, line) for code, line in _lines(text))


def _lines(text: str) -> Iterator[tuple[bool, str]]:
    """Every line, and whether it belongs to a block of code between fences."""
    fence = ""
    for line in text.splitlines(keepends=True):
        found = FENCE.match(line)
        yield bool(fence or found), line
        if found and not fence:
            fence = found[1]
        elif found and line.strip() == fence:
            fence = ""


def _led(found: re.Match, page: Path, name: str, docs: Path, folder: Path) -> str:
    """A link as the site has it: a page by its title, a file copied beside, a folder or what is not there as text.

    Of a picture that is not there nothing is left.
    """
    text, link, anchor = found["text"], found["to"], found["anchor"] or ""
    if "://" in link or link.startswith("mailto:"):
        return found[0]
    source = source_of(link, page, docs)
    if source is None or source.is_dir():
        return "" if found["picture"] else text if "`" in text else f"`{text}`"
    place = place_of(source, docs)
    if not place.endswith(".md"):
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, folder / place)
    shown = "" if text.endswith(".md") else text  # Sphinx writes the title of the page where a link has no text
    return f"{found['picture']}[{shown}]({os.path.relpath(place, Path(name).parent)}{anchor})"
