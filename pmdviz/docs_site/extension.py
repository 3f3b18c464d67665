"""A Sphinx extension: formulas as MathML, and docstrings as they are meant.

Browsers draw MathML themselves, with no script and no font from the net. Docstrings of properties stay as they are
written, and a public name that is another name of a class is documented as that class.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from functools import partial
from html import escape
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx import addnodes
from sphinx.util import logging

import pmdviz
from pmdviz.cli import main
from pmdviz.errors import InputError
from pmdviz.scenes.glossary import GLOSSARY

MATHML = "mathml"
# TeX that MathJax reads, in the notebooks, and docutils does not: a fraction of two bare digits, and \big.
SPELLED_OUT = ((re.compile(r"frac(\d)(\d)"), r"frac{\1}{\2}"), (re.compile(r"\\(big|Big)(?=[()\[\]|])"), r"\\\1l"))


def setup(app: Any) -> dict[str, bool]:
    """Enter the renderer that conf.py names, and what is done to docstrings."""
    app.add_html_math_renderer(MATHML, (_inline, None), (_block, None))
    app.connect("config-inited", _know_aliases)
    app.connect("doctree-read", _leave_words)
    # Of "The budget: what it needs" napoleon, whose place is 500, would make a type and a meaning.
    written: dict[str, list[str]] = {}
    app.connect("autodoc-process-docstring", partial(_keep, written), priority=400)
    app.connect("autodoc-process-docstring", partial(_put_back, written), priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _know_aliases(app: Any, config: Any) -> None:
    """Tell the templates which public name is another name of a class, of which autodoc would say just that."""
    named = {f"pmdviz.{name}": getattr(pmdviz, name) for name in pmdviz.__all__}
    config.autosummary_context["aliases"] = {
        name: f"{each.__module__}.{each.__qualname__}"
        for name, each in named.items()
        if isinstance(each, type) and each.__name__ != name.rpartition(".")[2]
    }


def _leave_words(app: Any, doctree: Any) -> None:
    """Let words in the types of arguments, such as theta, be words and not links to any attribute of that name."""
    for node in [*doctree.findall(addnodes.pending_xref)]:
        if node.get("refspecific") and node["reftarget"].removeprefix("pmdviz.") not in pmdviz.__all__:
            node.replace_self(node.children)


def _keep(written: dict, app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    if what == "property":
        written[name] = [*lines]


def _put_back(written: dict, app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    if name in written:
        lines[:] = written.pop(name)


def mathml(tex: str, block: bool = False) -> str:
    """A formula as MathML. Raises docutils' MathError."""
    for pattern, spelled in SPELLED_OUT:
        tex = pattern.sub(spelled, tex)
    return tex2mathml(tex, as_block=block)


def _inline(writer: Any, node: nodes.Element) -> None:
    writer.body.append(_drawn(node, block=False))
    raise nodes.SkipNode


def _block(writer: Any, node: nodes.Element) -> None:
    writer.body.append(f'<div class="math">{_drawn(node, block=True)}</div>')
    raise nodes.SkipNode


def _drawn(node: nodes.Element, block: bool) -> str:
    try:
        return mathml(node.astext(), block)
    except MathError as error:
        logging.getLogger(__name__).warning("this formula cannot be drawn: %s", error, location=node)
        return f"<code>{escape(node.astext())}</code>"


# The reference of the command line, from what each command tells argparse.

NEEDS_CHECKOUT = "This command needs a checkout of the repository; its options are not known here."


def command_parser(command: str) -> argparse.ArgumentParser:
    """The parser of one command. Raises InputError where it is not installed."""
    return main.parser_of([command]).commands.choices[command]


def commands_markdown() -> str:
    """A section for each command: what it does, how it is called, and every option."""
    return "\n".join(line for name in main.COMMANDS for line in _section(name)).rstrip()


def _section(name: str) -> Iterator[str]:
    yield from (f"## `pmdviz {name}`", "", f"{_sentence(main.COMMANDS[name].help)}", "")
    try:
        parser = command_parser(name)
    except InputError:
        yield from (NEEDS_CHECKOUT, "")
        return
    parser.formatter_class = _Wide
    yield from ("```text", *_usage(parser), "```", "")
    yield from ("| option | what it does |", "|---|---|")
    actions = parser._actions  # noqa: SLF001, argparse lists them nowhere else
    yield from (_row(action) for action in actions if "--help" not in action.option_strings)
    yield ""


def _usage(parser: argparse.ArgumentParser) -> list[str]:
    """How a command is called, without the word before it and the room that this takes in the lines below."""
    start = "usage: "
    return [line.removeprefix(start).removeprefix(" " * len(start)) for line in parser.format_usage().splitlines()]


class _Wide(argparse.HelpFormatter):
    """Usage in lines of one width, whatever the terminal's is."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, width=100)


def _row(action: argparse.Action) -> str:
    value = "" if action.nargs == 0 else f" {_metavar(action)}"
    called = ", ".join(f"`{flag}{value}`" for flag in action.option_strings) or f"`{_metavar(action)}`"
    return f"| {_cell(called)} | {_cell(_help(action))} |"


def _metavar(action: argparse.Action) -> str:
    if action.choices is not None and action.metavar is None:
        return " | ".join(map(str, action.choices))
    return str(action.metavar or action.dest.upper())


def _help(action: argparse.Action) -> str:
    return (action.help or "") % {"default": action.default, "prog": "pmdviz"}


def _cell(text: str) -> str:
    return text.replace("|", r"\|").replace("<", "&lt;")


def _sentence(words: str) -> str:
    return words[0].upper() + words[1:].rstrip(".") + "."


# The reference pages that the code writes: the Python API, and the glossary of the app.


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
