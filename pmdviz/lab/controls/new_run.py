"""The recipe of a run that takes the place of another one: what was turned stays, as far as it fits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.recipe_parts import resolved_target
from pmdviz.engine.session import Session
from pmdviz.lab.loop import limits
from pmdviz.methods import METHODS, Method
from pmdviz.targets import Target

PROBLEM = ("target", "target_options", "method")
MIRROR_DESCENT = type(METHODS["pmd"]).__module__  # the package of its forms


def _that_fits(method: str, target: Target | str) -> str:
    """The method where it can run on the target, else a form of mirror descent, else what draws exact conditionals."""
    made = resolved_target(target, {}) if isinstance(target, str) else target
    fitting = [name for name, each in METHODS.items() if not each.missing_in(made)]
    if method in fitting:
        return method
    return min(fitting, key=lambda name: _rank(METHODS[name]))


def _rank(method: Method) -> tuple[bool, bool]:
    """Which comes first of those that a target has all it takes for."""
    return not type(method).__module__.startswith(MIRROR_DESCENT), "conditionals" not in method.requires


def alike(a: Recipe, b: Recipe, keys: tuple[str, ...] = PROBLEM) -> bool:
    """Whether two recipes have these parts in common."""
    return all(getattr(a, key) == getattr(b, key) for key in keys)


def next_recipe(session: Session, parts: Mapping[str, Any], own_budget: bool = False) -> Recipe:
    """The recipe of a new run: `parts` changed, everything else as it is now. Raises InputError.

    Another method or target has its own default budget, unless the budget is the person's own; a target on which the
    method cannot run comes with another method.
    """
    if "recipe" in parts:
        return parts["recipe"]
    if "make" in parts:
        return parts["make"]()
    if "content" in parts:
        return Recipe.from_json(parts["content"])
    base = session.recipe.replaced(knobs=session.knobs.as_dict(), changes=())
    parts = dict(parts)
    if "option" in parts:
        name, value = parts.pop("option")
        parts["target_options"] = {**base.target_options, name: value}
    if "options" in parts:  # several at once, a function of the target as it is now
        parts["target_options"] = {**base.target_options, **parts.pop("options")(session.target)}
    target = parts.get("target", base.custom or base.target)
    method = parts.get("method") or _that_fits(base.method, target)
    same = target is base.custom or target == base.target
    usual_options = base.target_options if same and not base.custom else {}
    made = Recipe(target, method, target_options=parts.get("target_options", usual_options))
    same_problem = alike(made, base)
    knobs = session.knobs.as_dict() if same_problem else _turned(session, method, made)
    made = Recipe(
        base.custom if target is base.custom else made.target,
        method,
        target_options=None if target is base.custom else made.target_options,
        seed=parts.get("seed", base.seed),
        **knobs,
    )
    return made.limited(base.budget if own_budget or same_problem else limits.usual_budget(made))


def _turned(session: Session, method: str, made: Recipe) -> dict[str, Any]:
    """What was turned stays, as far as it fits the new target; of another method nothing."""
    if method != session.recipe.method:
        return {}
    way, now = session.recipe.make_method(), session.knobs
    usual = way.fitted(type(now).defaults(), session.target).as_dict()
    turned = {name: value for name, value in now.as_dict().items() if value != usual[name]}
    return way.fitted(type(now).checked(turned), made.make_target()).as_dict()
