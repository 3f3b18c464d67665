"""Plays what a step shows, without a page: a run, with changes laid over it, the runs of a race, or an experiment."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.recipe_parts import MAX_BUDGET
from pmdviz.engine.run import Run
from pmdviz.engine.session import Session
from pmdviz.errors import InputError, unknown
from pmdviz.experiments.catalogue import EXPERIMENTS
from pmdviz.lessons.lesson import RUN_PARTS, Race
from pmdviz.metrics import perfect_draws
from pmdviz.presets.experiments import ExperimentPreset

Changes = Mapping[int, Mapping[str, Any]]  # iteration -> control -> value


def controls_of(recipe: Recipe) -> dict[str, str]:
    """All that a control may be for a recipe -> the part of the recipe where it stands."""
    options = dict.fromkeys(recipe.make_target().options.specs(), "target_options")
    return options | dict.fromkeys(recipe.start_knobs().specs(), "knobs") | {name: name for name in RUN_PARTS}


def begun_with(recipe: Recipe, values: Mapping[str, Any]) -> Recipe:
    """The recipe with other values of controls from its start on. Raises InputError."""
    known = controls_of(recipe)
    parts: dict[str, Any] = {"knobs": {}, "target_options": dict(recipe.target_options)}
    for name, value in values.items():
        if name not in known:
            raise unknown("control", name, known)
        if known[name] == name:
            parts[name] = value
        else:
            parts[known[name]][name] = value
    return recipe.replaced(**parts)


def play(recipe: Recipe, changes: Changes | None = None) -> Run:
    """The run to the end of its budget, with changes: those of iteration 0 before the start, others on the way.

    It is measured as a page measures it. Raises InputError for a change that cannot be made, or a run without an end;
    TargetError from a target that fails.
    """
    later = dict(changes or {})
    session = Session(begun_with(recipe, later.pop(0, {})))
    if session.recipe.budget is None:
        raise InputError("a lesson's run needs a budget: without one it has no end")
    for iteration in sorted(later):
        session.advance(iteration - session.frame.iteration)
        if session.frame.iteration < iteration:
            raise InputError(
                f"the run ends after {session.frame.iteration:,} iterations, before iteration {iteration:,}"
            )
        _check_knobs(session, later[iteration])
        session.set(**later[iteration])
    session.advance(MAX_BUDGET)
    return session.run


def play_race(race: Race) -> dict[str, Run]:
    """The runs of a race with its first seed, by the entrants' names; in lock step they would be the same."""
    return {name: play(recipe) for name, recipe in zip(race.entrants, race.recipe.recipes, strict=True)}


def play_experiment(preset: ExperimentPreset) -> Sequence[Mapping[str, Any]]:
    """The summary of an experiment's preset, computed in this process."""
    experiment = EXPERIMENTS[preset.experiment]
    knobs = experiment.Knobs.checked(dict(preset.knobs))
    return experiment.summary([row for case in experiment.cases(knobs) for row in experiment.run(case)], knobs)


def compute_floor(run: Run) -> None:
    """Have what as many independent draws would get known, for expressions with `floor_tv` or `floor_kl`."""
    perfect_draws.floor(run.target, run.final.num_draws, **run.final.drawn_as)


class Player:
    """Plays each run, race and experiment once, however many steps show it."""

    def __init__(self) -> None:
        self._kept: dict[str, Any] = {}

    def run(self, recipe: Recipe, changes: Changes | None = None) -> Run:
        """As `play`."""
        words = json.dumps(changes or {}, sort_keys=True, default=repr)
        return self._once(f"run {recipe.to_json()} {words}", lambda: play(recipe, changes))

    def race(self, race: Race) -> dict[str, Run]:
        """As `play_race`."""
        return self._once(f"race {[*race.entrants]} {race.recipe.to_json()}", lambda: play_race(race))

    def experiment_failures(self, preset: ExperimentPreset) -> list[str]:
        """What the experiment does not show of that which its preset promises, one sentence each."""
        return self._once(f"experiment {preset.name}", lambda: preset.failures(play_experiment(preset)))

    def _once(self, key: str, act: Callable[[], Any]) -> Any:
        if key not in self._kept:
            self._kept[key] = act()
        return self._kept[key]


def _check_knobs(session: Session, values: Mapping[str, Any]) -> None:
    """Raise InputError for what can only be chosen before the start."""
    for name in values:
        if controls_of(session.recipe).get(name, "knobs") != "knobs":
            raise InputError(f"{name!r} acts from the start of a run; put it at iteration 0")
