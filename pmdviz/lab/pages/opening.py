"""What another page hands to the lab: a recipe, or a method with the part of it that is to be seen."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from pmdviz.engine.recipe import Recipe
from pmdviz.lab.loop import limits
from pmdviz.lessons.lesson import Lesson
from pmdviz.methods import Method, usual_target
from pmdviz.scenes.trace_columns import GROUPS

UPDATES = {"weights": "reweight", "move": "move", "ratio": "move"}  # kind of an update -> the column that it shows
WEIGHTS = ("reweight", "resample")  # columns that the ESS and the ancestors show
TOLD = {  # term of "adapt" -> the number of a step that shows it
    "step size": "step_size",
    "kernel width": "length_scale",
    "temperatures": "temperature",
    "proposal": "components",
    "surrogate": "surrogate_ess",
    "stopping": "moving_ess",
    "pace": "typical_move",
}


class Opening(NamedTuple):
    """A method that is to be run on the target that it is usually shown on."""

    method: str
    trace: str = ""  # key of the traces that show what is asked for; "" for the usual ones
    inside: bool = False  # whether the card "Inside this step" shows it

    def recipe(self) -> Recipe:
        """All at the defaults; for a worker thread, as some targets take a second."""
        return limits.fitted(Recipe(usual_target(self.method), self.method))


def opening(method: Method, column: str = "") -> Opening:
    """The run of a method with what shows a column of its grammar; "" for the method alone."""
    inside = method.update is not None and UPDATES[method.update.kind] == column
    return Opening(method.name, _trace(method, column), inside)


def _trace(method: Method, column: str) -> str:
    if column in WEIGHTS:
        return _showing("ess")
    if column != "adapt":
        return ""
    names = {scalar.name for scalar in method.scalars}
    return _showing(next((TOLD[term] for term in method.grammar.adapt.terms if TOLD[term] in names), ""))


def _showing(name: str) -> str:
    """The key of the traces with the column `name` of a history."""
    return next((key for key, group in GROUPS.items() if name in group.metrics), "")


def _begin(lab: Any, recipe: Recipe) -> None:
    lab.leave_lesson()
    lab.commands.begin("new run", recipe=recipe)


def _open(lab: Any, what: Opening) -> None:
    """Begin and play it, with its part in sight."""
    lab.leave_lesson()
    if lab.live.playing:
        lab.live.play(False)
    lab.screen.wish(what.method, what.trace)
    lab.commands.begin("new run", make=what.recipe)
    if what.inside:
        lab.inside.reveal()
    lab.live.play(True)


# Type of what is handed over -> what the lab does with it.
TAKES: Mapping[type, Callable[[Any, Any], None]] = {
    Recipe: _begin,
    Opening: _open,
    Lesson: lambda lab, lesson: lab.on_lesson(lesson),
}


def take(lab: Any, what: Any) -> None:
    """Have the lab show what another page hands over."""
    TAKES[type(what)](lab, what)
