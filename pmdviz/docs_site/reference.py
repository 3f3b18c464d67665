"""The reference pages that the code writes: the command line, the Python API, and the glossary of the app."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

import pmdviz
from pmdviz.cli import main
from pmdviz.errors import InputError
from pmdviz.scenes.words import GLOSSARY


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
