"""What a user can name: public signatures, commands with their options, and the tables of `pmdviz list`, as text.

`python -m tests.support.snapshot` writes the files of tests/snapshots/; their diff shows in review what has changed.
"""

from __future__ import annotations

import argparse
import inspect
import io
import json
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pmdviz
from pmdviz.cli.main import COMMANDS, main, parser_of

FOLDER = Path(__file__).parents[1] / "snapshots"
RENEW = "python -m tests.support.snapshot"
LINE = 160  # characters: what fits into a line of the tables is written in one
# What the docs promise of classes that are made of the page's or the targets' machinery; of the others all is public.
SHOWN = {
    "Lab": ("recipe", "run", "session", "set", "widget"),
    "Race": ("result", "runs", "widget"),
    "custom_target": (
        "data",
        "dim",
        "exact",
        "log_joint",
        "log_likelihood",
        "log_prior",
        "name",
        "num_data",
        "reference",
    ),
}


def snapshots() -> dict[str, str]:
    """The text of each file, by its name."""
    return {
        "python.txt": "\n".join(python_surface()) + "\n",
        "commands.txt": "\n".join(command_lines()) + "\n",
        "list.json": tables() + "\n",
    }


def python_surface() -> Iterator[str]:
    """Every public name with its signature; of classes the public members too."""
    for name in sorted(set(pmdviz.__all__) - {"__version__"}):
        value = getattr(pmdviz, name)
        yield f"{name}{signature(value)}"
        if isinstance(value, type):
            public = members(value)
            yield from (public[member] for member in sorted(SHOWN.get(name, public)))


def members(made: type) -> dict[str, str]:
    """A line for each public member that the classes of this package give to a class."""
    own = [each for each in made.__mro__ if each.__module__.startswith("pmdviz.")]
    found = {name: value for each in reversed(own) for name, value in vars(each).items() if not name.startswith("_")}
    fields = {name for each in own for name in each.__dict__.get("__annotations__", {}) if not name.startswith("_")}
    return {name: f"    .{name}{member(found.get(name))}" for name in {*found, *fields}}


def member(value: Any) -> str:
    """The signature of a method, the type of a property, nothing for the rest."""
    value = inspect.unwrap(getattr(value, "__func__", value))
    if isinstance(value, property):
        return f": {annotated(inspect.signature(value.fget).return_annotation)}"
    return signature(value) if inspect.isfunction(value) else ""


def signature(value: Any) -> str:
    """Parameters with annotations and defaults, written alike on every version of Python."""
    if isinstance(value, type) and issubclass(value, Exception):
        return f"({value.__mro__[1].__name__})"
    found = inspect.signature(value)
    parts, star = [], False
    for each in found.parameters.values():
        if each.kind is each.VAR_POSITIONAL:
            star = True
        if each.kind is each.KEYWORD_ONLY and not star:
            parts, star = [*parts, "*"], True
        prefix = {each.VAR_POSITIONAL: "*", each.VAR_KEYWORD: "**"}.get(each.kind, "")
        annotation = "" if each.annotation is each.empty else f": {annotated(each.annotation)}"
        default = "" if each.default is each.empty else f" = {'...' if each.default is ... else repr(each.default)}"
        parts.append(f"{prefix}{each.name}{annotation}{default}")
    result = "" if found.return_annotation is found.empty else f" -> {annotated(found.return_annotation)}"
    return f"({', '.join(parts)}){result}"


def annotated(annotation: Any) -> str:
    """An annotation as the source has it."""
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", repr(annotation))


def command_lines() -> Iterator[str]:
    """Every command with its arguments, from the parser's own table: argparse's help differs between versions."""
    for name in COMMANDS:
        yield f"pmdviz {name}: {COMMANDS[name].help}"
        yield from argument_lines(parser_of([name]).commands.choices[name], "    ")


def argument_lines(parser: argparse.ArgumentParser, indent: str) -> Iterator[str]:
    """The arguments of a parser, and of its commands."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, inner in action.choices.items():
                yield f"{indent}{name}"
                yield from argument_lines(inner, indent + "    ")
        elif not isinstance(action, argparse._HelpAction):
            yield indent + argument(action, parser.prog)


def argument(action: argparse.Action, prog: str) -> str:
    """One argument: its names, what it takes, how many, its default and its help."""
    names = ", ".join(action.option_strings)
    takes = "" if action.nargs == 0 else str(action.metavar or action.dest.upper())
    choices = f" of {', '.join(map(str, action.choices))}" if action.choices else ""
    many = f" ({action.nargs})" if action.nargs not in (None, 0) else ""
    default = "" if action.default in (None, False, [], argparse.SUPPRESS) else f" [{action.default}]"
    told = (action.help or "") % {**vars(action), "prog": prog}
    return f"{' '.join(filter(None, (names, takes)))}{choices}{many}{default}: {' '.join(told.split())}"


def tables() -> str:
    """What `pmdviz list --json -` prints, a knob a line."""
    with redirect_stdout(io.StringIO()) as said:
        main(["list", "--json", "-"])
    return written(json.loads(said.getvalue(), object_hook=without_versions), "")


def without_versions(table: dict[str, Any]) -> dict[str, Any]:
    """A table without the versions that a recipe was made with: they are the machine's."""
    return {name: value for name, value in table.items() if name != "made_with"}


def written(value: Any, indent: str) -> str:
    """JSON whose tables and long lists are broken into lines, down to the knobs."""
    flat = json.dumps(value, ensure_ascii=False)
    is_table = isinstance(value, dict)
    is_entry = is_table and {"help", "format"} & value.keys()
    if not isinstance(value, (dict, list)) or is_entry or len(flat) + len(indent) < LINE:
        return flat
    more = indent + " "
    parts = [
        json.dumps(name) + ": " + written(value[name], more) if is_table else written(name, more) for name in value
    ]
    begin, end = "{}" if is_table else "[]"
    return f"{begin}\n{more}" + f",\n{more}".join(parts) + f"\n{indent}{end}"


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for file, text in snapshots().items():
        (FOLDER / file).write_text(text, encoding="utf-8")
