"""The film of a race: every frame shows all entrants where they have spent the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from pmdviz.errors import InputError
from pmdviz.experiments.race import Race, RaceResult
from pmdviz.experiments.race.recipe import spent_in
from pmdviz.export.film.film import MAX_FRAMES, know_floor, spread
from pmdviz.export.options import USUAL_FRAMES, RaceLook, check_traces
from pmdviz.export.tables import race_columns_of
from pmdviz.methods import METHODS
from pmdviz.scenes import style
from pmdviz.scenes.race import CLOCK_OF, DOTS, Columns, RaceScene, Standing, best, race_scene, state, weighted

if TYPE_CHECKING:
    from pmdviz.export.film.race_picture import RacePicture
    from pmdviz.export.player import RacePage

MOST = len(style.ENTRANTS_LIGHT)
ROOM = 8  # letters more that a frame on the way may have than the last one
LATE = 0.9  # who comes at least so far of the way is there in nine of ten frames


@dataclass(frozen=True)
class RaceFilm:
    """The first seed's runs of a race as scenes; making them replays the recipes."""

    result: RaceResult
    look: RaceLook

    def __post_init__(self) -> None:
        """Raise InputError where the metric of the traces is unavailable."""
        check_traces(self.result.recipe, self.look)
        methods = (METHODS[one.method] for one in self.result.entrants)
        self.look.choice.check(self.result.target, *methods)

    @property
    def seed(self) -> int:
        """Of the runs that are shown."""
        return self.result.seeds[0]

    @cached_property
    def labels(self) -> list[str]:
        """The entrants' keys in rows and histories."""
        return [one.label for one in self.result.entrants]

    @cached_property
    def histories(self) -> list[Columns]:
        """What was measured of the runs that are shown."""
        return [self.result.histories[label, self.seed] for label in self.labels]

    def _last(self, name: str) -> list[int]:
        return [int(history[name][-1]) for history in self.histories]

    @property
    def _unit(self) -> str:
        return self.result.recipe.budget_unit

    @cached_property
    def levels(self) -> list[int]:
        """What everybody has spent at each frame, the first 0 and the last the race's end. Raises InputError.

        There are at most as many frames as the entrant with the most steps has iterations, of those that come far.
        """
        spent = self._last(CLOCK_OF[self._unit])
        end = min(max(spent), self.result.budget)  # a long last step may go far beyond the budget
        titles = [one.title for one in self.result.entrants]
        pairs = zip(self._last("iteration"), spent, titles, strict=True)
        steps, finest = max((iterations, title) for iterations, each, title in pairs if each >= LATE * end)
        if self.look.every:
            return self._every(end)
        if self.look.frames > steps + 1:
            raise InputError(
                f"frames must be at most {steps + 1:,} (iterations 0 to {steps:,} of {finest}, the method with the "
                f"most); given: {self.look.frames:,}"
            )
        return spread(end, self.look.frames or min(USUAL_FRAMES, steps + 1))

    def _every(self, end: int) -> list[int]:
        shown = -(-end // self.look.every) + 1
        if shown > MAX_FRAMES:
            least = -(-end // (MAX_FRAMES - 1))
            raise InputError(
                f"a film has at most {MAX_FRAMES:,} frames; every={self.look.every} gives {shown:,}: "
                f"take every={least} or more"
            )
        return [*range(0, end, self.look.every), end]

    @property
    def frames(self) -> int:
        """How many there are. Raises InputError."""
        return len(self.levels)

    @property
    def dots(self) -> int:
        """Particles drawn in a frame, at most."""
        return max(DOTS, 100 * len(self.labels))

    @property
    def lines(self) -> tuple[str, ...]:
        """Colours of the entrants."""
        return style.entrant_colours(self.look.dark)[: len(self.labels)]

    @property
    def title(self) -> str:
        """The race in a few words."""
        return f"a race on {self.result.target.name}"

    @cached_property
    def longest(self) -> int:
        """About how many letters the words of a frame have."""
        rows = {row["method"]: row for row in self.result.rows if row["seed"] == self.seed}
        spent = [0, *(spent_in(row, self._unit) for row in rows.values())]
        title = max((one.title for one in self.result.entrants), key=len)  # any of them may lead on the way
        first = best([(title, row) for row in rows.values()], self.result.recipe.shown[0])
        return len(state(sum(self._last("iteration")), spent, self.result.budget, first, self._unit)) + ROOM

    def scenes(self, tick: Callable[[], None] = lambda: None) -> Iterator[RaceScene]:
        """The scenes in order; `tick` is called after every iteration of the replay and may raise to end it."""
        for race, standings in self._moments(tick):
            yield self._scene(race, standings)

    def last_scene(self, tick: Callable[[], None] = lambda: None) -> RaceScene:
        """The last moment, with traces as fine as a film's."""
        *_, (race, standings) = self._moments(tick)
        return self._scene(race, standings)

    def _moments(self, tick: Callable[[], None]) -> Iterator[tuple[Race, list[Standing]]]:
        """The race at each level; the same objects every time."""
        check_entrants(len(self.labels))
        race = Race(self.result.recipe, metrics_every=10**9)
        standings = [Standing(race, k, self.look.choice) for k in range(len(self.labels))]
        last = self._last("iteration")
        for level in self.levels:
            for k, session in enumerate(race.sessions):
                while session.frame.spent < level and session.frame.iteration < last[k] and not race.stop_reason(k):
                    race.step(k)
                    tick()
                standings[k].take(seconds=self._seconds(k, session.frame.iteration))
                tick()
            yield race, standings

    def _seconds(self, k: int, iteration: int) -> float:
        """Computing time of the race itself, not of its replay: the same film at every export."""
        return float(np.interp(iteration, self.histories[k]["iteration"], self.histories[k]["seconds"]))

    def _scene(self, race: Race, standings: list[Standing]) -> RaceScene:
        judged = weighted(one.frame for one in standings)
        if judged is not None:
            know_floor(judged)
        return race_scene(race, [one.tile() for one in standings], judged, self.look.choice)

    def picture(self, first: RaceScene) -> RacePicture:
        """The figure that draws this film."""
        from pmdviz.export.film.race_picture import RacePicture

        return RacePicture(self.look, first, self.histories, self.longest)

    def player(self, scenes: list[RaceScene]) -> RacePage:
        """The page that plays this film."""
        from pmdviz.export.player import RacePage

        return RacePage(self, scenes)

    def columns(self) -> Mapping[str, np.ndarray]:
        """How each run ended, or the measured histories."""
        return race_columns_of(self.result, self.look.table)

    def python(self) -> str:
        """Lines that repeat the race as it is seen, or the whole of it."""
        return (self.result.recipe if self.look.whole else self.result).to_python()

    def recipe(self) -> str:
        """The recipe of the race as it is seen, or of the whole of it, as JSON."""
        return (self.result.recipe if self.look.whole else self.result.to_recipe()).to_json(indent=1)


def check_entrants(number: int) -> None:
    """Raise InputError for more entrants than can be told apart in a picture."""
    if number > MOST:
        words = f"a picture shows at most {MOST} entrants: more could not be told apart; this race has {number}"
        raise InputError(f"{words} (a table or a recipe holds them all)")
