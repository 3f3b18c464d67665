"""The pages of the docs and the README, and the pieces of code in them."""

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
INDENTED = "indented"


class Block(NamedTuple):
    """A block of code: what its fence says it is, `indented` where it has none, and its text."""

    language: str
    text: str


@cache
def parsed(page: Path) -> list:
    return MarkdownIt("commonmark").enable("table").parse(page.read_text(encoding="utf-8"))


def blocks(page: Path) -> list[Block]:
    kinds = {"fence": lambda token: token.info, "code_block": lambda token: INDENTED}
    return [Block(kinds[token.type](token), token.content) for token in parsed(page) if token.type in kinds]


def code_in_text(page: Path) -> list[str]:
    spans = [child for token in parsed(page) for child in token.children or [] if child.type == "code_inline"]
    return [" ".join(span.content.split()) for span in spans]


def command_lines(block: Block) -> Iterator[str]:
    """The lines of a block that are typed: after `$` in a session, all of a script, those of pmdviz elsewhere."""
    typed = {"console": r"\$ (.*)", "sh": r"(.+)", INDENTED: r"((?:python -m )?pmdviz .*)"}
    pattern = typed.get(block.language)
    for line in block.text.splitlines() if pattern else ():
        if found := re.fullmatch(pattern, line):
            yield found[1]
