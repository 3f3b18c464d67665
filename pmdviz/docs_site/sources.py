"""The source folder that Sphinx reads: pages with the links of the site, and with the parts that the code writes."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from pmdviz.api import run
from pmdviz.errors import InputError, unknown
from pmdviz.presets import PRESETS, Preset

# Where the pages of the docs lie, and where on the site each file that they link to stands.

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


# The gallery: presets played to the end of their budget, each a picture, a player in one file, and its question.

Progress = Callable[[int, Preset], None]  # how many have been played, and the next one
FOLDER = "players"  # of the site
FEW = ("two_modes", "particles_die", "one_gaussian")  # what a build takes where nobody names any: seconds
ALL, NONE = "all", "none"
APP = "http://127.0.0.1:5006/"  # where `pmdviz serve` listens
THEMES = ("light", "dark")
FRAMES = 40  # of a player: enough to see a run, and each one weighs


def chosen(names: str) -> list[Preset]:
    """The presets that a comma-separated list names; `all`, `none`. Raises InputError for an unknown one."""
    if names in (ALL, NONE):
        return list(PRESETS.values()) if names == ALL else []
    asked = [name.strip() for name in names.split(",")]
    for name in asked:
        if name not in PRESETS:
            raise unknown(f"preset of the gallery ({ALL}, {NONE} or names):", name, PRESETS)
    return [PRESETS[name] for name in dict.fromkeys(asked)]


def write_players(presets: Sequence[Preset], folder: Path, progress: Progress | None = None) -> None:
    """Run each preset and write its player and its pictures into `folder`; `progress` is called before each.

    Raises InputError, TargetError.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for k, preset in enumerate(presets):
        if progress is not None:
            progress(k, preset)
        played = run(preset.recipe)
        played.export(folder / f"{preset.name}.html", frames=FRAMES)
        for theme in THEMES:
            played.export(folder / f"{preset.name}-{theme}.png", theme=theme, width=768, height=432)


def gallery_markdown(presets: Iterable[Preset]) -> str:
    """A section for each preset: its question, a picture that opens the player, what to watch, a link to the app."""
    lines = [line for preset in presets for line in _section(preset)]
    return "\n".join(lines).rstrip() or "This build of the site holds no players."


def _section(preset: Preset) -> Iterator[str]:
    player = f"{FOLDER}/{preset.name}.html"
    yield from (f"## {preset.title}", "", preset.question, "")
    yield from (
        f'<p class="gallery"><a href="{player}">',
        *map(_picture, [preset] * len(THEMES), THEMES),
        "</a></p>",
        "",
    )
    yield from (f"Watch {preset.watch}", "")
    yield f'<p><a href="{player}">Play it</a> here, or <a href="{APP}?preset={preset.name}">open it in the app</a>'
    yield from ("(after <code>pmdviz serve</code>), and change a setting.</p>", "")


def _picture(preset: Preset, theme: str) -> str:
    words = f"The end of the run: {preset.title}"
    source = f"{FOLDER}/{preset.name}-{theme}.png"
    return f'<img class="only-{theme}" src="{source}" alt="{words}" width="768" height="432" loading="lazy">'
