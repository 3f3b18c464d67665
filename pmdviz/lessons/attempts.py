"""Whether a run is an attempt at a challenge: nothing differs from its step but what the learner may turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pmdviz.engine.recipe import Recipe
from pmdviz.lessons.lesson import Lesson, Step


def differences(lesson: Lesson, step: Step, recipe: Recipe) -> list[str]:
    """What a recipe has otherwise than the step allows: parts, options and knobs by name; [] for an attempt."""
    own = lesson.recipe_at(step)
    if own is None:
        return []
    plain = recipe.to_dict()
    fixed = own.to_dict() | {"knobs": _fixed(own, recipe, step)}
    found = {name for name in ("target", "method", "seed", "budget") if plain[name] != fixed[name]}
    for part in ("target_options", "knobs"):
        mine, theirs = plain[part], fixed[part]
        found |= {name for name in {*mine, *theirs} if mine.get(name) != theirs.get(name)}
    found |= {name for _, values in recipe.changes for name in values}
    return sorted(found - {*step.controls})


def _fixed(own: Recipe, recipe: Recipe, step: Step) -> Mapping[str, Any]:
    """The step's knobs where the learner's are turned as in `recipe`: a default may depend on another knob."""
    turned = {name: recipe.knobs[name] for name in step.controls if name in recipe.knobs and name in own.knobs}
    return own.start_knobs().replaced(**turned).as_dict()
