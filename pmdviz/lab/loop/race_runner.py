"""A race as the live loop sees it: every entrant steps in a thread of its own, and no slow one holds up the picture."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future, wait
from typing import Any, NamedTuple

import numpy as np

from pmdviz.engine.frame import Frame
from pmdviz.engine.recipe.parts import MAX_BUDGET
from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.errors import InputError
from pmdviz.experiments.race import Race, RaceRecipe, RaceResult, entrants
from pmdviz.experiments.race.result import row
from pmdviz.kernels.cancel import Cancelled, CancelToken, cancellable
from pmdviz.lab.loop import limits
from pmdviz.lab.loop.forecast import step_seconds
from pmdviz.lab.loop.pool import pool_for
from pmdviz.lab.panels.trouble import error_words
from pmdviz.metrics.modes import modes
from pmdviz.scenes.columns import StageColumns
from pmdviz.scenes.race_columns import METRICS, ROW, tile_columns, trace_row
from pmdviz.scenes.trace_columns import extremes
from pmdviz.targets import Target

ROWS = 100  # data a frame at the slowest speed
PATIENCE_S = 0.15  # a frame is drawn without those who need longer
SHARE_S = 0.1  # one entrant's turn: several iterations only while they take less than this
MASSES_S = 0.4  # mode masses are for the table, which nobody reads 20 times a second
MAX_ROWS = 4_000  # of an entrant's trace


class Tile(NamedTuple):
    """All that is drawn of one entrant; plain values, computed in a worker."""

    label: str
    frame: Frame
    columns: StageColumns
    metrics: Mapping[str, float | None]
    masses: list[float] | None
    trace: Mapping[str, np.ndarray]
    ended: str  # why there is no next step, in words; "" while there is one


class Slow(NamedTuple):
    """An entrant whose step lasts."""

    label: str
    seconds: float
    share: float


class RaceSnapshot(NamedTuple):
    """All that the event loop needs to draw."""

    tiles: tuple[Tile, ...]
    target: Target
    iteration: int  # of all entrants together
    budget: int | None
    seed: int
    slow: tuple[Slow, ...]
    done: bool

    @property
    def in_force(self) -> dict[str, Any]:
        """What the picture was drawn with."""
        return {"entrants": [tile.label for tile in self.tiles], "seed": self.seed, "budget": self.budget}


class Setting(NamedTuple):
    """What is raced: everything that a new race is made from."""

    entrants: tuple[tuple[str, Mapping[str, Any]], ...]
    target: str | Target
    options: Mapping[str, Any]
    seed: int
    budget: int | None

    def race(self) -> Race | None:
        """The race at its start; None without entrants. Raises InputError for what this server does not allow."""
        if not self.entrants:
            return None
        parts: dict[str, Any] = {"target_options": self.options, "seed": self.seed, "budget": self.budget}
        for one in entrants(self.entrants):
            limits.check(one.recipe(self.target, self.options, self.seed, self.budget))
        return Race(self.entrants, self.target, **parts, metrics_every=MAX_BUDGET)

    def made_target(self) -> Target:
        """The target."""
        return Recipe(self.target, target_options=self.options).make_target()

    @property
    def labels(self) -> list[str]:
        """What the entrants are called."""
        return [one.label for one in entrants(self.entrants)] if self.entrants else []


class RaceRunner:
    """Owns a race. Its methods are called by one thread at a time and never on the event loop."""

    def __init__(self, setting: Setting) -> None:
        self.setting, self.race = setting, setting.race()
        self.wanted = threading.Event()  # cleared by Pause: turns end after the present iteration
        self.wanted.set()
        self._turns: dict[int, tuple[Future, CancelToken, float]] = {}
        self._measured: dict[int, tuple[float, list[float] | None]] = {}
        number = 0 if self.race is None else len(self.race.sessions)
        self._traces: list[dict[str, list[float]]] = [_empty_trace() for _ in range(number)]
        self._tiles = [self._tile(k) for k in range(number)]

    @property
    def foretold(self) -> float:
        """CPU seconds that the live loop's own job may take: entrants have threads of their own."""
        return 0.0

    def snapshot(self) -> RaceSnapshot:
        """The present moment."""
        return RaceSnapshot(
            tiles=tuple(self._tiles),
            target=self.setting.made_target() if self.race is None else self.race.target,
            iteration=sum(tile.frame.iteration for tile in self._tiles),
            budget=self.setting.budget if self.race is None else self.race.budget,
            seed=self.setting.seed,
            slow=self.slow(),
            done=self.race is None or (self.race.done and not self._turns),
        )

    def slow(self) -> tuple[Slow, ...]:
        """Those whose step is under way after the others' are drawn."""
        now = time.monotonic()
        return tuple(Slow(self._tiles[k].label, now - at, watch.share) for k, (_, watch, at) in self._turns.items())

    def advance(self, rows: int) -> RaceSnapshot:
        """Let everybody visit so many more data as far as the lock step allows; those who are not back stay away."""
        if self.race is not None:
            if not self._turns:
                self.race.raise_level(rows)
            for k in range(len(self._tiles)):
                if k not in self._turns and self.race.may_step(k):
                    self._begin(k)
            if self._turns:
                wait([future for future, _, _ in self._turns.values()], timeout=PATIENCE_S)
                self._gather()
            if self._turns:  # a slow one: the others go on to the bound
                self.race.raise_level(rows)
        return self.snapshot()

    def settle(self) -> RaceSnapshot:
        """Take in whoever has come back meanwhile."""
        self._gather()
        return self.snapshot()

    def cancel(self) -> None:
        """Stop every step that is under way, from any thread; the entrants stay at their last frames."""
        for _, watch, _ in list(self._turns.values()):
            watch.cancel()

    def extend(self, more: int) -> RaceSnapshot:
        """Give everybody more data to visit."""
        if self.race is not None and self.race.budget is not None:
            limits.check_budget(self.race.budget + more)
            self.race.extend(more)
            self._tiles = [self._tile(k) for k in range(len(self._tiles))]
        return self.snapshot()

    def result(self) -> RaceResult:
        """The race as it was drawn last, to be taken home; an endless one ends there. Raises InputError."""
        if self.race is None:
            raise InputError("nobody races yet: there is nothing to take home")
        tiles, seed = self._tiles, self.setting.seed
        budget = self.race.budget or max(1, *(tile.frame.visited for tile in tiles))
        recipe = RaceRecipe(self.race.entrants, self.race.target, (seed,), budget)
        rows = [row(tile.label, seed, tile.frame) for tile in tiles]
        histories = {(tile.label, seed): dict(tile.trace) for tile in tiles}
        return RaceResult(recipe, rows, histories, _stands_at([tile.frame for tile in tiles], self.race))

    def _begin(self, k: int) -> None:
        session, watch = self.race.sessions[k], CancelToken()
        foretold = step_seconds(session.knobs, session.target.num_data)
        self._turns[k] = pool_for(foretold).submit(self._turn, k, watch), watch, time.monotonic()

    def _turn(self, k: int, watch: CancelToken) -> Tile:
        """Entrant k's iterations of this frame, and its tile."""
        with cancellable(watch):
            began = time.perf_counter()
            while self.race.may_step(k):
                try:
                    self.race.step(k)
                except Cancelled:
                    raise
                except Exception as error:  # a target's own function may raise anything
                    self.race.fail(k, error_words(error))
                if not self.wanted.is_set() or time.perf_counter() - began > SHARE_S:
                    break
        return self._tile(k)  # a step that is done is shown, whoever no longer wants the next

    def _gather(self) -> None:
        for k, (future, _, _) in list(self._turns.items()):
            if future.done():
                del self._turns[k]
                if isinstance(future.exception(), Cancelled):
                    continue
                self._tiles[k] = future.result()

    def _tile(self, k: int) -> Tile:
        race = self.race
        session = race.sessions[k]
        frame, ended = session.frame, race.stop_reason(k)
        columns = tile_columns(frame, len(race.sessions))
        metrics = frame.metrics
        return Tile(
            label=race.entrants[k].label,
            frame=frame,
            columns=columns,
            metrics=metrics,
            masses=self._masses(k, frame, bool(ended)),
            trace=_traced(self._traces[k], frame),
            ended=ended,
        )

    def _masses(self, k: int, frame: Frame, ended: bool) -> list[float] | None:
        now = time.monotonic()
        at, known = self._measured.get(k, (-np.inf, None))
        if ended or not self.wanted.is_set() or now - at > MASSES_S:
            found = modes(frame.target)
            known = None if found is None else found.masses_of(frame.density)
            self._measured[k] = now, known
        return known


def _stands_at(frames: list[Frame], race: Race) -> int | None:
    """`RaceResult.stands_at` of a race whose entrants are at these frames; at the very start it is all ahead."""
    racing = [frame.visited for k, frame in enumerate(frames) if not race.stop_reason(k)]
    started = any(frame.iteration for frame in frames)
    return max(1, min(racing)) if racing and started else None


def _empty_trace() -> dict[str, list[float]]:
    return {name: [] for name in ROW}


def _traced(trace: dict[str, list[float]], frame: Frame) -> dict[str, np.ndarray]:
    """The trace with the frame at its end, as columns; past MAX_ROWS only where it turns, in half as many rows."""
    if not trace["visited"] or trace["visited"][-1] < frame.visited:
        for name, value in trace_row(frame).items():
            trace[name].append(value)
    if len(trace["visited"]) > MAX_ROWS:
        rows = extremes([np.array(trace[name]) for name in METRICS], MAX_ROWS // 2)
        for column in trace.values():
            column[:] = [column[k] for k in rows]
    return {name: np.array(column) for name, column in trace.items()}
