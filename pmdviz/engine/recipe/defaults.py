"""What a recipe says that is not said by the defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pmdviz.targets import find_target

if TYPE_CHECKING:
    from pmdviz.engine.recipe.recipe import Recipe


def given_options(recipe: Recipe) -> dict[str, Any]:
    """The options of a built-in target that differ from their defaults."""
    plain = find_target(recipe.target).Options.defaults().as_dict()
    return {name: value for name, value in recipe.target_options.items() if value != plain[name]}


def given_knobs(recipe: Recipe) -> dict[str, Any]:
    """The starting knobs that differ from what they would be if nothing were said."""
    way = recipe.make_method()
    usual, specs = way.fitted(way.Knobs.defaults(), recipe.make_target()).as_dict(), way.Knobs.specs()
    return {name: v for name, v in recipe.knobs.items() if v != specs[name].default_beside(recipe.knobs, usual)}
