"""`pmdviz.Race`: the live race as one makes it in Python, for a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import EllipsisType
from typing import Any

from pmdviz.engine.run import Run
from pmdviz.errors import InputError
from pmdviz.experiments.race import RaceRecipe, RaceResult
from pmdviz.lab.controls.race_setup import DEFAULT_ENTRANTS
from pmdviz.lab.loop import limits
from pmdviz.lab.loop.race_runner import RaceRunner
from pmdviz.lab.notebook.still import can_draw, race_png
from pmdviz.lab.pages.race import RacePage
from pmdviz.lab.panels.race_screen import status_fields
from pmdviz.scenes.race import RaceScene
from pmdviz.targets import Target
from pmdviz.views.race_tiles import MOST


class Race(RacePage):
    """Several methods on one budget, live and in lock step; the last line of a notebook cell shows it.

    Parameters
    ----------
    methods : list of entrants
        As `pmdviz.race` takes them: "pmd", "pmd:warm_start=true" or ("pmd", {"warm_start": True}); at most 8.
    target : str or Target
    target_options : mapping, optional
        Options of a built-in target.
    seed : int
        One seed for all; the bands below the pictures race over several.
    budget : int or None
        What each may spend, by default as in `pmdviz.race`; None is endless.
    clock : "data" or "evaluations"
        What the budget counts.

    Raises InputError for anything that cannot be used.
    """

    def __init__(
        self,
        methods: str | Sequence[Any] = DEFAULT_ENTRANTS,
        target: str | Target = "mixture",
        *,
        target_options: Mapping[str, Any] | None = None,
        seed: int = 0,
        budget: int | None | EllipsisType = ...,
        clock: str | EllipsisType = ...,
    ) -> None:
        recipe = RaceRecipe.checked(methods, target, target_options, budget, [seed], clock=clock)
        if (given := len(recipe.entrants)) > MOST:
            raise InputError(f"a live race has at most {MOST} methods; given: {given} (pmdviz.race takes more)")
        super().__init__(limits.check_race(recipe))

    @property
    def result(self) -> RaceResult:
        """The race so far, to be read or exported: `race.result.export("race.gif")`. Raises InputError for nobody."""
        self._present()
        return self.live.runner.result()

    @property
    def runs(self) -> dict[str, Run]:
        """The entrants' runs so far, by their labels, such as "pmd:warm_start=true"."""
        self._present()
        race = self.live.runner.race
        return {one.label: session.run for one, session in zip(race.recipe.entrants, race.sessions, strict=True)}

    def _told(self) -> Mapping[str, Any]:
        return {"iteration": self._last.iteration}

    def _present(self) -> RaceScene:
        if self.live.runner is None:
            self.live.runner = RaceRunner(self.recipe)
        return self.live.runner.snapshot()

    def _words(self, scene: RaceScene) -> str:
        return status_fields(scene)["pmdviz-status"]

    def _draw(self, scene: RaceScene) -> bytes | None:
        return race_png(scene, self._dark) if scene.tiles and can_draw() else None

    def __repr__(self) -> str:
        labels = ", ".join(one.label for one in self.recipe.entrants)
        return f"<Race: {labels or 'nobody'} on {self.recipe.target.name}>"
