"""A recipe as a few lines of Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pmdviz.engine.recipe.defaults import given_knobs, given_options
from pmdviz.engine.recipe.link import fits_link, pack

if TYPE_CHECKING:
    from pmdviz.data.tables import Table
    from pmdviz.engine.recipe.recipe import Recipe


MAX_LINES = 15
WIDTH, PIECE = 100, 190


def as_python(recipe: Recipe, iterations: int | None = None) -> str:
    """At most 15 lines that repeat the recipe's run and bind `run`; only what differs from the defaults is written.

    The run goes to the end of its budget, or for so many iterations.
    A log of changes that does not fit comes as the text of a link, a still longer one from the JSON form in a file.
    """
    parts = [f"target={recipe.target if recipe.custom else repr(recipe.target)}"]
    if recipe.custom is None and given_options(recipe):
        parts += [f"target_options={given_options(recipe)!r}"]
    parts += [f"method={recipe.method!r}", f"seed={recipe.seed}", f"budget={recipe.budget}"]
    parts += [f"budget_unit={recipe.budget_unit!r}"] if recipe.budget_unit != "data" else []
    parts += [f"{name}={value!r}" for name, value in given_knobs(recipe).items()]
    note = [f"# `{recipe.target}` is your own target, made with pmdviz.custom_target"] if recipe.custom else []
    note += data_note(recipe.tables)
    lines = ["import pmdviz", "", *note, *_changes(recipe), "recipe = pmdviz.Recipe("]
    lines += [f"    {line}," for line in joined(parts + (["changes=changes"] if recipe.changes else []))]
    lines += [")"]
    end = ["run = pmdviz.run(recipe)"]
    if iterations is not None:
        end = ["session = pmdviz.Session(recipe)", f"session.advance({iterations})", "run = session.run"]
    by_link = recipe.custom is None and fits_link(recipe.tables)
    alone = by_link and any(table.origin == "" for table in recipe.tables)  # no file lies anywhere
    ways = (
        *([_from_link(recipe)] if alone else []),
        lines,
        *([_from_link(recipe)] if by_link else []),
        _from_file(recipe),
    )
    return "\n".join([*next(way for way in ways if len(way) + len(end) <= MAX_LINES), *end]) + "\n"


def data_note(tables: Sequence[Table]) -> list[str]:
    """Lines before those that name a person's tables: how each is made of its file, or where it must lie.

    Its digits are checked where they run.
    """
    return [
        f"data = {table.origin}  # the file lies beside this one"
        if table.origin
        else f"# {table.name}, with the same numbers, lies beside this file; the recipe as JSON has it"
        for table in tables
    ]


def _changes(recipe: Recipe) -> list[str]:
    if not recipe.changes:
        return []
    return ["changes = [", *(f"    {line}," for line in joined([repr(tuple(one)) for one in recipe.changes])), "]"]


def _from_link(recipe: Recipe) -> list[str]:
    text = pack(recipe)
    pieces = [text[at : at + PIECE] for at in range(0, len(text), PIECE)]
    return [
        "import pmdviz",
        "",
        f"link = (  # {recipe.method} on {recipe.target} with {len(recipe.changes)} changes on the way",
        *(f'    "{piece}",' for piece in pieces),
        ")",
        'recipe = pmdviz.Recipe.from_link("".join(link))',
    ]


def _from_file(recipe: Recipe) -> list[str]:
    targets = f", targets={{{recipe.target!r}: {recipe.target}}}" if recipe.custom else ""
    return [
        "import pathlib",
        "import pmdviz",
        "",
        f"# {len(recipe.changes):,} changes on the way are too many for a few lines: save the recipe beside this file",
        'text = pathlib.Path("recipe.json").read_text(encoding="utf-8")',
        f"recipe = pmdviz.Recipe.from_json(text{targets})",
    ]


def joined(parts: list[str]) -> list[str]:
    """`parts` joined by commas into lines of at most 100 characters, where they fit."""
    lines = parts[:1]
    for part in parts[1:]:
        joined = f"{lines[-1]}, {part}"
        lines = [*lines[:-1], joined] if len(joined) <= WIDTH else [*lines, part]
    return lines
