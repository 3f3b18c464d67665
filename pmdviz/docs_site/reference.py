"""The reference pages that the code writes: the Python API, and the glossary of the app."""

from __future__ import annotations

from collections.abc import Iterator

import pmdviz
from pmdviz.scenes.glossary import GLOSSARY


def python_markdown() -> str:
    """A table of the public functions, and one of the classes, each with a page made from its docstring."""
    names = [name for name in pmdviz.__all__ if not name.startswith("_")]
    classes = [name for name in names if name[0].isupper()]
    functions = [name for name in names if name not in classes]
    return "\n".join([*_summary("Functions", functions), *_summary("Classes", classes)])


def _summary(title: str, names: list[str]) -> Iterator[str]:
    yield from (f"## {title}", "", "```{eval-rst}", ".. autosummary::", "   :toctree: api", "   :nosignatures:", "")
    yield from (f"   pmdviz.{name}" for name in names)
    yield from ("```", "")


def glossary_markdown() -> str:
    """Every word that the app explains: what it means, its formula, and the page that has more."""
    return "\n".join(line for key in sorted(GLOSSARY, key=_title) for line in _term(key)).rstrip()


def _title(key: str) -> str:
    return GLOSSARY[key].title.casefold()


def _term(key: str) -> Iterator[str]:
    term = GLOSSARY[key]
    yield from (f"## {term.title}", "", term.meaning, "", f"    {term.formula}", "")
    yield from (f"More: [{(page := term.page.removeprefix('docs/'))}]({page}).", "")
