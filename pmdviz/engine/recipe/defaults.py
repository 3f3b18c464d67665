"""What a recipe says that is not said by the defaults."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pmdviz.targets import find_target

if TYPE_CHECKING:
    from pmdviz.engine.recipe.recipe import Recipe


def given_options(recipe: Recipe) -> dict[str, Any]:
    """The options of a built-in target that differ from what they would be if nothing but the data were said."""
    options, made = recipe.target_options, find_target(recipe.target)
    data = {"data": options["data"]} if "data" in options else {}
    usual = {**made.checked_options(data).as_dict(), "data": made.Options.defaults().as_dict().get("data")}
    specs = made.Options.specs()
    return {name: value for name, value in options.items() if value != specs[name].default_beside(options, usual)}


def given_knobs(recipe: Recipe) -> dict[str, Any]:
    """The starting knobs that differ from what they would be if nothing were said."""
    way = recipe.make_method()
    usual, specs = way.fitted(way.Knobs.defaults(), recipe.make_target()).as_dict(), way.Knobs.specs()
    return {name: v for name, v in recipe.knobs.items() if v != specs[name].default_beside(recipe.knobs, usual)}
