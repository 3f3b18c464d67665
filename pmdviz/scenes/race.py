"""A moment of a race, all that is drawn and said of it: the Race page, films, players and saved pictures show these."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pmdviz.engine.frame import Frame
from pmdviz.experiments.race import Race, RaceRecipe
from pmdviz.experiments.race.result import row
from pmdviz.scenes.columns import StageColumns
from pmdviz.scenes.race_columns import CLOCKS, METRICS, tile_columns
from pmdviz.scenes.trace_columns import extremes
from pmdviz.scenes.words import count, duration, number

ROW = ("iteration", *CLOCKS, *METRICS)  # of a trace
MAX_ROWS = 4_000  # of a trace, which is more than a film has frames
FLOORS = {"tv": "floor_tv", "kl_forward": "floor_kl"}
SLOW_S = 0.5  # a step that takes longer is spoken of


class Tile(NamedTuple):
    """One entrant at one moment."""

    label: str
    iteration: int
    row: Mapping[str, Any]  # as in `RaceResult.rows`
    columns: StageColumns
    trace: Mapping[str, np.ndarray]  # `ROW` of the moments up to this one
    ended: str  # why there is no next step, in words; "" while there is one
    caveat: str  # how its draws are judged, in words
    waited: float | None = None  # seconds that a step which is under way has taken
    share: float = 0.0  # of that step which is done

    @property
    def visited(self) -> int:
        """Data visited so far."""
        return self.row["visited"]

    @property
    def slow(self) -> bool:
        """Whether its step lasts."""
        return self.waited is not None and self.waited > SLOW_S

    @property
    def state(self) -> str:
        """How far it is: "TV 0.123, 4,200 data"."""
        tv = self.row["tv"]
        known = f"TV {number(tv)}, " if tv is not None else ""
        return f"{known}{count(self.visited)} data"

    @property
    def note(self) -> str:
        """Why it waits or ended, or how its draws are judged, in a line that fits on a phone's tile; "" for nothing."""
        if self.slow:
            return f"computing a step: {duration(self.waited or 0.0)} so far"
        return f"ended: {self.ended}" if self.ended else self.caveat.partition(":")[0]


class RaceScene(NamedTuple):
    """A race at one moment: plain arrays and words."""

    recipe: RaceRecipe
    budget: int | None  # the recipe's, or what it was extended to
    tiles: tuple[Tile, ...]
    floors: Mapping[str, float | None]  # what perfect draws get, by metric
    done: bool

    @property
    def iteration(self) -> int:
        """Of all entrants together."""
        return sum(tile.iteration for tile in self.tiles)

    @property
    def visited(self) -> list[int]:
        """The data visited by each of those who race; by everybody where nobody does any more."""
        racing = [tile.visited for tile in self.tiles if not tile.ended]
        return racing or [tile.visited for tile in self.tiles] or [0]

    @property
    def best(self) -> tuple[str, float] | None:
        """Who has the lowest TV, and that; None where none is known."""
        return best([tile.row for tile in self.tiles])

    @property
    def words(self) -> str:
        """Where all stand, in a line."""
        return state(self.iteration, self.visited, self.budget, self.best)

    @property
    def in_force(self) -> dict[str, Any]:
        """What the picture was drawn with."""
        return {
            "entrants": [tile.label for tile in self.tiles],
            "seed": self.recipe.seeds[0],
            "budget": self.budget,
        }


class Standing:
    """Where an entrant of a race stands and what it went through; one that has not moved is not drawn anew."""

    def __init__(self, race: Race, k: int) -> None:
        self._race, self._k = race, k
        self._rows, self._length = np.empty((len(ROW), MAX_ROWS + 1)), 0
        self._row: Mapping[str, Any] = {}
        self._drawn: tuple[Frame | None, Any] = (None, None)
        self.frame = race.sessions[k].frame

    @property
    def ended(self) -> str:
        """Why there is no next step, in words; "" while there is one."""
        return self._race.stop_reason(self._k)

    def take(self, masses: list[float] | None = None, seconds: float | None = None) -> None:
        """Take in where the entrant is now, its mode masses where they are wanted, its time where the clock is another.

        A moment without new data is no row of the trace.
        """
        frame, recipe = self._race.sessions[self._k].frame, self._race.recipe
        found = row(recipe.entrants[self._k].label, recipe.seeds[0], frame, masses)
        self.frame, self._row = frame, found if seconds is None else {**found, "seconds": seconds}
        if not self._length or self._trace()["visited"][-1] < frame.visited:
            values = {"iteration": frame.iteration, **self._row}
            self._rows[:, self._length] = np.array([values[name] for name in ROW], float)  # NaN for None
            self._length += 1
        if self._length > MAX_ROWS:
            self._thin()

    def _thin(self) -> None:
        """Of the trace so far half as many rows, those where it turns; what was given out stays as it is."""
        rows = extremes([self._trace()[metric] for metric in METRICS], MAX_ROWS // 2)
        self._rows, whole, self._length = np.empty_like(self._rows), self._rows, len(rows)
        self._rows[:, : len(rows)] = whole[:, rows]

    def _trace(self) -> Mapping[str, np.ndarray]:
        return dict(zip(ROW, self._rows[:, : self._length], strict=True))

    def tile(self) -> Tile:
        """What there is to show of it."""
        if self._drawn[0] is not self.frame:
            self._drawn = self.frame, tile_columns(self.frame, len(self._race.sessions))
        return Tile(
            label=self._row["method"],
            iteration=self.frame.iteration,
            row=self._row,
            columns=self._drawn[1],
            trace=self._trace(),
            ended=self.ended,
            caveat=self.frame.caveat,
        )


def weighted(frames: Iterable[Frame]) -> Frame | None:
    """The first frame with particles: what perfect draws get is said of as many as it has."""
    return next((frame for frame in frames if frame.num_draws), None)


def race_scene(race: Race, tiles: Sequence[Tile], judged: Frame | None) -> RaceScene:
    """The scene of these tiles, with the floors of `judged`, as `weighted` gives it."""
    metrics: Mapping[str, float | None] = {} if judged is None else judged.metrics
    floors = {metric: metrics.get(name) for metric, name in FLOORS.items()}
    done = race.done and all(tile.waited is None for tile in tiles)
    return RaceScene(race.recipe, race.budget, tuple(tiles), floors, done)


def best(rows: Sequence[Mapping[str, Any]]) -> tuple[str, float] | None:
    """Who of a race's rows has the lowest TV, and that; None where none is known."""
    known = [(one["tv"], k) for k, one in enumerate(rows) if one["tv"] is not None]
    return (rows[min(known)[1]]["method"], min(known)[0]) if known else None


def state(iteration: int, visited: Sequence[int], budget: int | None, first: tuple[str, float] | None) -> str:
    """One line: "iteration 420 of all together, 2,000 of 20,000 data visited by each, lowest TV 0.12 (pmd)".

    `visited` are the data of those who race.
    """
    low, high = min(visited), max(visited)
    each = f"{count(low)}" if low == high else f"{count(low)} to {count(high)}"
    within = budget is not None and high <= budget
    of = f" of {count(budget or 0)}" if within else ""
    beyond = "" if within or budget is None else f", {count(budget)} asked for"
    words = f"iteration {count(iteration)} of all together, {each}{of} data visited by each{beyond}"
    return words + (f", lowest TV {number(first[1])} ({first[0]})" if first else "")
