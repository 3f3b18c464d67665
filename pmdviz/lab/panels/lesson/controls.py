"""The settings of a lesson's step: knobs, options of the target, seed and budget that the learner may turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.recipe_parts import MAX_BUDGET
from pmdviz.errors import InputError
from pmdviz.knobs import KnobSpec
from pmdviz.lab.controls.knobs import KnobForm
from pmdviz.lab.controls.problem import SEED, refused
from pmdviz.lab.controls.setup import BUDGET_OF
from pmdviz.lab.loop.limits import capped
from pmdviz.lab.loop.runner import Snapshot

BUDGET = replace(
    SEED, name="budget", default=20_000, bounds=(1, MAX_BUDGET), soft_bounds=None, help="How much the run may use."
)


class StepControls:
    """One form. What is turned goes by `knob(name, value)`, `option(name, value)` or `part(name, value)`."""

    def __init__(
        self,
        knob: Callable[[str, Any], None],
        option: Callable[[str, Any], None],
        part: Callable[[str, Any], None],
    ) -> None:
        self._ways = {"knobs": knob, "target_options": option, "parts": part}
        self._kinds: dict[str, str] = {}
        self._made: tuple[Any, ...] = ()
        self.form = KnobForm(self._turn)

    def _turn(self, name: str, value: Any) -> None:
        self._ways[self._kinds[name]](name, value)

    def show(self, names: tuple[str, ...], start: Recipe, snapshot: Snapshot) -> None:
        """The step's settings as they are in the run; where it started is what a reset goes back to."""
        frame = snapshot.frame
        made = names, type(frame.knobs), type(frame.target.options), start
        if self._made != made:
            self._made = made
            self._build(names, frame, start, snapshot.recipe.budget_unit)
        now, usual = _values(snapshot.recipe, frame), _values(start)
        plain = frame.knobs.as_dict()
        for name, control in self.form.controls.items():
            seen = self._kinds[name] != "knobs" or frame.knobs.matters(name, plain)
            control.show(now[name], usual.get(name, now[name]), snapshot.pending.get(name, ""), visible=seen)

    def _build(self, names: tuple[str, ...], frame: Any, start: Recipe, unit: str) -> None:
        knobs, options = type(frame.knobs), type(frame.target.options)
        tables: dict[str, Mapping[str, KnobSpec]] = {
            "knobs": {name: capped(spec, knobs) for name, spec in knobs.specs().items()},
            "target_options": options.specs(),
            "parts": {SEED.name: SEED, BUDGET.name: replace(BUDGET, label=BUDGET_OF[unit])},
        }
        found = {name: kind for kind, table in tables.items() for name in names if name in table}
        self._kinds = {name: found[name] for name in names if name in found}
        specs = {name: replace(tables[kind][name], basic=True) for name, kind in self._kinds.items()}
        usual = _values(start)
        self.form.build(specs, {name: usual.get(name, spec.default) for name, spec in specs.items()})

    def refuse(self, error: InputError) -> bool:
        """Put a refusal beside its control; False where there is none."""
        return refused(self.form.controls.get(error.field), error)


def _values(recipe: Recipe, frame: Any = None) -> dict[str, Any]:
    """All that a step may offer, by name, as a recipe starts or as it is in a frame."""
    knobs = recipe.knobs if frame is None else frame.knobs.as_dict()
    return {**recipe.target_options, **knobs, "seed": recipe.seed, "budget": recipe.budget or 0}
