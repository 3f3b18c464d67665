"""A recipe as a few lines of Python."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pmdviz.targets import find_target

if TYPE_CHECKING:
    from pmdviz.recipe import Recipe


def as_python(recipe: Recipe) -> str:
    """Lines that repeat the recipe's run and bind `run`; only what differs from the defaults is written."""
    way = recipe.make_method()
    usual = way.fitted(way.Knobs.checked({}), recipe.make_target()).as_dict()
    specs = way.Knobs.specs()
    parts = [f"target={recipe.target if recipe.custom else repr(recipe.target)}"]
    if recipe.custom is None:
        plain = find_target(recipe.target).Options.checked({}).as_dict()
        changed = {k: v for k, v in recipe.target_options.items() if v != plain[k]}
        parts += [f"target_options={changed!r}"] if changed else []
    parts += [f"method={recipe.method!r}", f"seed={recipe.seed}", f"budget={recipe.budget}"]
    given = {k: v for k, v in recipe.knobs.items() if v != _usual(specs[k], usual, recipe.knobs)}
    parts += [f"{k}={v!r}" for k, v in given.items()]
    parts += [f"changes={[(at, change) for at, change in recipe.changes]!r}"] if recipe.changes else []
    note = f"# `{recipe.target}` is your own target, made with pmdviz.custom_target\n" if recipe.custom else ""
    return (
        f"import pmdviz\n\n{note}recipe = pmdviz.Recipe(\n    "
        + ",\n    ".join(_lines(parts))
        + (",\n)\nrun = pmdviz.run(recipe)\n")
    )


def _lines(parts: list[str]) -> list[str]:
    """`parts` joined by commas into lines of at most 100 characters, where they fit."""
    lines = parts[:1]
    for part in parts[1:]:
        joined = f"{lines[-1]}, {part}"
        lines = [*lines[:-1], joined] if len(joined) <= 100 else [*lines, part]
    return lines


def _usual(spec: Any, usual: Mapping[str, Any], values: Mapping[str, Any]) -> Any:
    return spec.default_given(values) if spec.default_by else usual[spec.name]
