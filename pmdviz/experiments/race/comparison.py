"""Two settings of one run side by side: a race of two with the run's target, seed and budget."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pmdviz.engine.recipe import Recipe
from pmdviz.experiments.race.recipe import RaceRecipe
from pmdviz.knobs import Knobs, KnobSpec
from pmdviz.methods import find_method
from pmdviz.targets import Target

FACTOR = 2  # by which a number is varied where nobody says how


def compared(recipe: Recipe, now: Knobs, method: str, other: Knobs) -> RaceRecipe:
    """The race of a run's method with the knobs `now` and of `method` with the knobs `other`.

    Same target, seed, budget and its unit as in `recipe`; its log of knob changes is left out, as entrants have none.
    Of one method, the knobs that differ are given to both and come first, so that the titles say them. Raises
    InputError where the other method cannot run on the target, or its knobs do not go with it.
    """
    target = recipe.make_target()
    first = differing(now, other) if method == recipe.method else ()
    pair = ((recipe.method, now), (method, other))
    methods = [(name, given_knobs(name, knobs, target, first)) for name, knobs in pair]
    return RaceRecipe.checked(methods, target, None, recipe.budget, [recipe.seed], clock=recipe.budget_unit)


def given_knobs(method: str, knobs: Knobs, target: Target, first: tuple[str, ...] = ()) -> dict[str, Any]:
    """What must be given to have all of `knobs`: those that are not at their defaults, after the ones named first."""
    way = find_method(method)
    usual, plain = way.fitted(way.Knobs.defaults(), target).as_dict(), knobs.as_dict()
    defaults = {name: spec.default_beside(plain, usual) for name, spec in knobs.specs().items()}
    turned = [name for name in plain if plain[name] != defaults[name]]
    return {name: plain[name] for name in dict.fromkeys((*first, *turned))}


def differing(now: Knobs, other: Knobs) -> tuple[str, ...]:
    """Names of the knobs of one method that matter and differ."""
    mine, theirs = now.as_dict(), other.as_dict()
    return tuple(n for n in mine if mine[n] != theirs[n] and (now.matters(n, mine) or other.matters(n, theirs)))


def telling(spec: KnobSpec, value: Any) -> Iterator[Any]:
    """Other values of a knob, those most worth a comparison first.

    Of a number twice and half of it inside the slider, then the slider's ends; of a choice those behind it in turn.
    """
    if spec.kind == "flag":
        found = [not value]
    elif spec.choices:
        at = spec.choices.index(value) + 1 if value in spec.choices else 0
        found = [*spec.choices[at:], *spec.choices[:at]]
    else:
        found = _numbers(spec, value)
    return (one for one in dict.fromkeys(found) if one != value)


def _numbers(spec: KnobSpec, value: float) -> list[float]:
    low, high = spec.soft_bounds or spec.bounds or (None, None)
    half = value // FACTOR if spec.kind == "whole" else value / FACTOR
    found = [one for one in (FACTOR * value, half) if (low is None or one >= low) and (high is None or one <= high)]
    return [*found, *(end for end in (high, low) if end is not None)]
