"""A race and an experiment as the steps of a lesson drive them, on pages that may have to be built first."""

from __future__ import annotations

from typing import Any

from pmdviz.lab.controls.experiment_sharing import of_preset
from pmdviz.lab.links import Asked
from pmdviz.lab.loop.pace import FAST
from pmdviz.lab.panels.lesson.places import Moment, Pages
from pmdviz.lessons.lesson import Step
from pmdviz.lessons.scopes import NoScope, RaceScope


class RacePlace:
    """The race of the Race page, which may have to be built first."""

    tab = "race"

    def __init__(self, pages: Pages) -> None:
        self._pages, self._kept, self._step, self._wished, self._begun = pages, None, None, False, False

    @property
    def page(self) -> Any:
        """The page; None before it is built."""
        return self._pages.built.get(self.tab)

    def keep(self) -> None:
        """The race, not where it stood: others step it."""
        self._kept = self.page.recipe if self.page is not None else None

    def begin(self, showing: Step) -> None:
        """Its race, from the start."""
        self._step, self._wished, self._begun = showing, False, False
        self._pages.open(self.tab, showing.race.recipe)

    def go_on(self, step: Step, begins: bool = True) -> None:
        """The race stays as it is."""

    def play(self) -> None:
        """To its end, as soon as it is there."""
        self._wished = not self._ready
        if self._ready and not self.page.last.done:
            self.page.playback.speed.value = FAST.name
            self.page.live.play(True)

    @property
    def _ready(self) -> bool:
        last = self.page.last if self.page is not None else None
        if last is not None and last.recipe == self._step.race.recipe and not last.done:
            self._begun = True  # a race like it that was over before is another one
        return last is not None and self._begun and last.recipe == self._step.race.recipe

    def play_again(self, only_if_over: bool) -> bool:
        """A race has no settings in a lesson."""
        return False

    def moment(self) -> Moment | None:
        """The race at rest; while it plays others step it."""
        if not self._ready:
            return None
        if self._wished:
            self.play()
        last, race, names = self.page.last, self.page.live.runner.race, [*self._step.race.entrants]

        def scope() -> RaceScope:
            return RaceScope({name: one.run for name, one in zip(names, race.sessions, strict=True)})

        return Moment((id(race), last.iteration, last.done), last.done, self.page.live.playing, scope, at_rest=False)

    def give_back(self) -> None:
        """The race that was there, from its start."""
        if self._kept is not None and self._step is not None:
            self.page.take(self._kept)
        self._step = None


class ExperimentPlace:
    """An experiment of the Theory page."""

    tab = "theory"

    def __init__(self, pages: Pages) -> None:
        self._pages, self._kept, self._step = pages, None, None
        self._result: Any = None

    @property
    def page(self) -> Any:
        """The page; None before it is built."""
        return self._pages.built.get(self.tab)

    def keep(self) -> None:
        """What is chosen."""
        self._kept = self.page.experiments.choice if self.page is not None else None

    def begin(self, showing: Step) -> None:
        """Its preset, not run yet."""
        self._step, self._result = showing, None
        self._pages.open(self.tab, Asked(settings=showing.experiment))

    def go_on(self, step: Step, begins: bool = True) -> None:
        """What was found stays."""

    def play(self) -> None:
        """Run it, unless it was."""
        if self.page is not None and self._result is None:
            self.page.experiments.run()

    def found(self, result: Any) -> None:
        """An experiment is over."""
        step = self._step
        if step is not None and result.experiment == of_preset(step.experiment).experiment:
            self._result = result

    def play_again(self, only_if_over: bool) -> bool:
        """Its own button does."""
        return False

    def moment(self) -> Moment | None:
        """What it found; before the end nothing."""
        result = self._result
        return None if result is None else Moment(id(result), True, False, NoScope)

    def give_back(self) -> None:
        """What was chosen."""
        if self._kept is not None and self._step is not None:
            self.page.experiments.choose(self._kept)
        self._step = None
