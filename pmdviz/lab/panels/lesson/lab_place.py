"""The run of the Lab as the steps of a lesson drive it, and the run that was there before."""

from __future__ import annotations

from typing import Any

from pmdviz.engine.recipe import Recipe
from pmdviz.lab.links import Link
from pmdviz.lab.loop.pace import FAST
from pmdviz.lab.loop.runner import Runner, Snapshot
from pmdviz.lab.panels.lesson.places import Moment
from pmdviz.lessons.lesson import Lesson, Step
from pmdviz.lessons.playing import begun_with
from pmdviz.presets.measures import RunScope


class LabPlace:
    """The run of the Lab."""

    tab = "lab"

    def __init__(self, lab: Any) -> None:
        self.lab, self._kept, self._there, self._trace = lab, None, False, ""
        self.before: Link | None = None  # of what the lesson took the place of, if the page was reloaded since
        self._turned: dict[str, Any] = {}  # settings that the worker has not been given yet

    def keep(self) -> None:
        """The run as it stands, its traces and its speed."""
        self._look = self.lab.screen.group.value, self.lab.playback.speed.value
        self.lab.commands.keep(self._put)
        self.lab.playback.speed.value = FAST.name  # there is a word to wait for

    def _put(self, kept: Any) -> None:
        self._kept = kept

    def begin(self, showing: Step) -> None:
        """Its recipe, from the start."""
        self._trace = showing.trace
        self.lay(showing.recipe)

    def go_on(self, step: Step, begins: bool = True) -> None:
        """A run that is over begins again where the step has something to turn."""
        self._trace = step.trace
        self._there = not (begins and step.controls and self.lab.last is not None and self.lab.last.done)
        if not self._there:
            self.lab.live.do("restart", self._restart)

    def _restart(self, runner: Runner) -> Snapshot:
        """Runs in the worker."""
        snapshot = runner.restart()
        self._begun()
        return snapshot

    def lay(self, recipe: Recipe) -> None:
        """Another run, from its start."""
        self._there = False
        self.lab.commands.lay(recipe, self._begun)

    def solve(self, lesson: Lesson, step: Step) -> None:
        """The step's solution laid over its run, which begins."""
        start = lesson.recipe_at(step) or self.lab.recipe
        later = dict(step.solution)
        begun = begun_with(start, later.pop(0, {}))
        self.lay(begun.replaced(changes=[(at, dict(values)) for at, values in sorted(later.items())]))
        self.lab.live.play(True)

    def _begun(self) -> None:
        self._there = True

    def play(self) -> None:
        """To the end of the budget; a run that is over stays."""
        if self.lab.last is None or not (self._there and self.lab.last.done):
            self.lab.live.play(True)

    def play_again(self, only_if_over: bool) -> bool:
        """Instead of a replay, in which settings change where they were turned."""
        over = self.lab.last is not None and self.lab.last.done and not self.lab.live.playing
        if over or not only_if_over:
            self.lab.live.do("restart", self._restart)
            self.lab.live.play(True)
        return over or not only_if_over

    def moment(self) -> Moment | None:
        """The frame that is drawn."""
        last = self.lab.last
        if last is None or not self._there:
            return None
        self._show_trace()
        key = id(last.frame), tuple(last.frame.floors.values()), last.recipe.budget
        return Moment(key, last.done, self.lab.live.playing, lambda: RunScope(last.run))

    def _show_trace(self) -> None:
        group, wanted, self._trace = self.lab.screen.group, self._trace, ""
        if wanted in group.options.values():
            group.value = wanted

    def give_back(self) -> None:
        """That run, at that iteration."""
        if self._kept is None:
            return
        if self.before is not None:
            self.lab.open(self.before)
        else:
            self.lab.commands.give_back(self._kept)
        self.lab.screen.group.value, self.lab.playback.speed.value = self._look
        self._kept = self.before = None

    def turn_knob(self, name: str, value: Any) -> None:
        """As the Lab's own controls do; of a run that is over another one begins with it."""
        self._turned[name] = value
        self.lab.live.do("set", self._set, newest_only=True)

    def _set(self, runner: Runner) -> Snapshot:
        """Runs in the worker."""
        values, self._turned = self._turned, {}
        over = runner.session.done
        snapshot = runner.set(values)
        return runner.restart() if over else snapshot

    def turn_option(self, name: str, value: Any) -> None:
        """A run on the target with this option."""
        self.lab.commands.begin("new option", option=(name, value))

    def turn_part(self, name: str, value: Any) -> None:
        """A run with this seed or budget."""
        session = self.lab.session
        recipe = session.recipe.replaced(changes=(), knobs=session.knobs.as_dict())
        self.lay(recipe.limited(value) if name == "budget" else recipe.replaced(**{name: value}))
