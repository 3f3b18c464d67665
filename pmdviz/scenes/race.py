"""A moment of a race, everything drawn and said about it: the Race page, films, players and saved pictures show it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pmdviz.engine.frame import Frame
from pmdviz.experiments.race import Race, RaceRecipe
from pmdviz.experiments.race.clock import BRIEF, DATA, DONE, spent_in
from pmdviz.experiments.race.result import row
from pmdviz.metrics import Metric
from pmdviz.scenes.columns import StageColumns
from pmdviz.scenes.race_columns import CLOCK_OF, CLOCKS, tile_columns, tile_words
from pmdviz.scenes.stage import Pair, Scene, SceneChoice
from pmdviz.scenes.trace_columns import extremes
from pmdviz.scenes.words import count, duration, number

ANY_SCENE = SceneChoice()
MAX_ROWS = 4_000  # of a trace, which is more than a film has frames
IN_WORDS = {"exact": "exact posterior", "approximate": "approximation"}
SLOW_S = 0.5  # a step that takes longer is spoken of


class Tile(NamedTuple):
    """One entrant at one moment."""

    label: str  # its key in rows and histories
    title: str  # its name in words
    full_title: str  # the same with the method's name in full
    iteration: int
    row: Mapping[str, Any]  # as in `RaceResult.rows`
    columns: StageColumns
    trace: Mapping[str, np.ndarray]  # iteration, clocks and metrics of the moments up to this one
    ended: str  # why there is no next step, in words; "" while there is one
    caveat: str  # how its draws are evaluated, in words
    metric: Metric  # by which the race is ranked
    unit: str = DATA  # of the budget
    waited: float | None = None  # seconds that a step which is under way has taken
    share: float = 0.0  # of that step which is done

    @property
    def visited(self) -> int:
        """Observations used so far."""
        return self.row["visited"]

    @property
    def spent(self) -> int:
        """What counts against the budget so far."""
        return spent_in(self.row, self.unit)

    @property
    def slow(self) -> bool:
        """Whether its step lasts."""
        return self.waited is not None and self.waited > SLOW_S

    @property
    def state(self) -> str:
        """How far it is: "TV 0.123, 4,200 data"."""
        value = self.row.get(self.metric.name)
        known = f"{self.metric.short or self.metric.title} {number(value)}, " if value is not None else ""
        return f"{known}{count(self.spent)} {BRIEF[self.unit]}"

    @property
    def note(self) -> str:
        """Why it waits or ended, or how its draws are evaluated, in a line for a phone's tile; "" for nothing."""
        if self.slow:
            return f"computing a step: {duration(self.waited or 0.0)} so far"
        return f"finished: {self.ended}" if self.ended else self.caveat.partition(":")[0]


class RaceScene(NamedTuple):
    """A race at one moment: plain arrays and words."""

    recipe: RaceRecipe
    budget: int | None  # the recipe's, or what it was extended to
    tiles: tuple[Tile, ...]
    floors: Mapping[str, float | None]  # what independent draws get, by metric
    done: bool
    scene: Scene  # of every tile
    pair: Pair

    @property
    def iteration(self) -> int:
        """Of all entrants together."""
        return sum(tile.iteration for tile in self.tiles)

    @property
    def spent(self) -> list[int]:
        """What each running method has spent; of all methods once none runs."""
        racing = [tile.spent for tile in self.tiles if not tile.ended]
        return racing or [tile.spent for tile in self.tiles] or [0]

    @property
    def best(self) -> str:
        """Which method is closest, in words: "PMD (TV 0.12)"; "" where that is not known."""
        return best([(tile.title, tile.row) for tile in self.tiles], self.recipe.shown[0])

    @property
    def words(self) -> str:
        """Where all stand, in a line."""
        return state(self.iteration, self.spent, self.budget, self.best, self.recipe.budget_unit)

    @property
    def in_force(self) -> dict[str, Any]:
        """What the picture was drawn with."""
        return {
            "entrants": [tile.label for tile in self.tiles],
            "seed": self.recipe.seeds[0],
            "budget": self.budget,
        }


class Standing:
    """Where an entrant of a race stands and what it went through; one that has not moved is not redrawn."""

    def __init__(self, race: Race, k: int, choice: SceneChoice = ANY_SCENE) -> None:
        self._race, self._k, self.choice = race, k, choice
        self._metrics = dict.fromkeys(metric.name for metric in (*race.recipe.shown, *race.recipe.metrics))
        self._names = ("iteration", *CLOCKS, *self._metrics)
        self._rows, self._length = np.empty((len(self._names), MAX_ROWS + 1)), 0
        self._row: Mapping[str, Any] = {}
        self._drawn: tuple[Any, ...] = (None, None, None)
        self.frame = race.sessions[k].frame

    @property
    def ended(self) -> str:
        """Why there is no next step, in words; "" while there is one."""
        return self._race.stop_reason(self._k)

    def take(
        self, masses: list[float] | None = None, seconds: float | None = None, only: Iterable[Metric] | None = None
    ) -> None:
        """Take in where the entrant is now, its mode masses where they are wanted, its time where the clock is another.

        `only`: metrics, where not all are wanted; the row lacks the others, and the trace has a gap there.
        A moment at which nothing more is spent is no row of the trace.
        """
        frame, recipe = self._race.sessions[self._k].frame, self._race.recipe
        found = row(recipe.entrants[self._k].label, recipe.seeds[0], frame, masses, only)
        self.frame, self._row = frame, found if seconds is None else {**found, "seconds": seconds}
        if not self._length or self._trace()[CLOCK_OF[recipe.budget_unit]][-1] < frame.spent:
            values = {"iteration": frame.iteration, "evaluations": frame.evaluations, **self._row}
            self._rows[:, self._length] = np.array([values.get(name) for name in self._names], float)  # NaN for None
            self._length += 1
        if self._length > MAX_ROWS:
            self._thin()

    def _thin(self) -> None:
        """Of the trace so far half as many rows, those where it turns; what was given out stays as it is."""
        rows = extremes([self._trace()[metric] for metric in self._metrics], MAX_ROWS // 2)
        self._rows, whole, self._length = np.empty_like(self._rows), self._rows, len(rows)
        self._rows[:, : len(rows)] = whole[:, rows]

    def _trace(self) -> Mapping[str, np.ndarray]:
        return dict(zip(self._names, self._rows[:, : self._length], strict=True))

    def tile(self) -> Tile:
        """What there is to show of it."""
        drawn = scene_of(self._race, self.choice)
        if self._drawn[0] is not self.frame or self._drawn[1] != drawn:
            columns = tile_columns(self.frame, len(self._race.sessions), *drawn)
            self._drawn = self.frame, drawn, columns
        return Tile(
            label=self._row["method"],
            title=self._race.recipe.entrants[self._k].title,
            full_title=self._race.recipe.entrants[self._k].full_title,
            iteration=self.frame.iteration,
            row=self._row,
            columns=self._drawn[2],
            trace=self._trace(),
            ended=self.ended,
            caveat=self.frame.caveat,
            metric=self._race.recipe.shown[0],
            unit=self._race.recipe.budget_unit,
        )


def tiles_legend(scene: Scene) -> dict[str, str]:
    """What the layers of the tiles are called, layer -> words; samples have the colour of the first method."""
    return {name: IN_WORDS.get(said, said) for name, said in tile_words(scene).items()}


def weighted(frames: Iterable[Frame]) -> Frame | None:
    """The first frame with particles: what independent draws get is said of as many as it has."""
    return next((frame for frame in frames if frame.num_draws), None)


def scene_of(race: Race, choice: SceneChoice) -> tuple[Scene, Pair]:
    """What every tile shows: the wished scene, or the first that applies to all."""
    return choice.of(race.recipe.target, *(session.method for session in race.sessions))


def race_scene(race: Race, tiles: Sequence[Tile], judged: Frame | None, choice: SceneChoice = ANY_SCENE) -> RaceScene:
    """The scene of these tiles, with the floors of `judged`, as `weighted` gives it."""
    known: Mapping[str, float | None] = {} if judged is None else judged.floors
    drawn = (*race.recipe.shown, *race.recipe.metrics)
    floors = {metric.name: known.get(metric.baseline) for metric in drawn}
    done = race.done and all(tile.waited is None for tile in tiles)
    return RaceScene(race.recipe, race.budget, tuple(tiles), floors, done, *scene_of(race, choice))


def best(rows: Sequence[tuple[str, Mapping[str, Any]]], metric: Metric) -> str:
    """Which of the named rows has the lowest value of a metric: "PMD (TV 0.12)"; "" where none is known."""
    known = [(row[metric.name], k) for k, (_, row) in enumerate(rows) if row.get(metric.name) is not None]
    if not known:
        return ""
    value, k = min(known)
    return f"{rows[k][0]} ({metric.title} {number(value)})"


def state(iteration: int, spent: Sequence[int], budget: int | None, first: str, unit: str = DATA) -> str:
    """One line: "iteration 420, 2,000 of 20,000 observations each, leading: PMD (TV 0.12)".

    `spent` is what those who race have spent of the budget, `first` what `best` says.
    """
    low, high = min(spent), max(spent)
    each = f"{count(low)}" if low == high else f"{count(low)} to {count(high)}"
    within = budget is not None and high <= budget
    of = f" of {count(budget or 0)}" if within else ""
    beyond = "" if within or budget is None else f" (budget {count(budget)})"
    words = f"iteration {count(iteration)}, {each}{of} {DONE[unit]} each{beyond}"
    return words + (f", leading: {first}" if first else "")
