"""A race as the live loop sees it: every entrant has a runner like a single run's, and they go in lock step.

Each steps in a thread of its own, and no slow one holds up the picture.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from concurrent.futures import wait
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from pmdviz.engine.frame import Frame
from pmdviz.engine.recipe import MAX_BUDGET
from pmdviz.engine.session import MEMORY_CAP
from pmdviz.errors import InputError, failed_step_words
from pmdviz.experiments.race import Race, RaceRecipe, RaceResult, mode_masses, row
from pmdviz.kernels.pool import Cancelled, CancelToken, cancellable, current_token
from pmdviz.lab.loop import limits
from pmdviz.lab.loop.runner import Runner
from pmdviz.lab.loop.task import Again, Task, Tell, pool_for
from pmdviz.scenes.race import ANY_SCENE, RaceScene, Standing, Tile, race_scene, scene_of, weighted
from pmdviz.scenes.stage import SceneChoice
from pmdviz.scenes.style import MOST_ENTRANTS

KEPT_BYTES = MEMORY_CAP // MOST_ENTRANTS  # of an entrant's places to come back to
ROWS = 100  # data of one round, or what they cost in evaluations
PATIENCE_S = 0.15  # a frame is drawn without those who need longer
SHARE_S = 0.1  # one entrant's turn: several iterations only while they take less than this
TABLE_S = 0.4  # metrics for the table or for exports alone are not measured 20 times per second


class RaceRunner:
    """Owns a race. Its methods are called by one thread at a time and never on the event loop.

    Raises InputError for a race that this server does not allow.
    """

    is_recorded = False

    def __init__(
        self, recipe: RaceRecipe, choice: SceneChoice = ANY_SCENE, traces: frozenset[str] = frozenset()
    ) -> None:
        self.choice, self.traces = choice, traces  # metrics of every frame; the table has others
        self.race = Race(limits.check_race(recipe), MAX_BUDGET, KEPT_BYTES, partial(Runner, own_budget=True))
        self.names = [one.label for one in recipe.entrants]  # each keeps its own when others leave
        self._furthest = 0  # the highest level that the race has come to
        self.wanted = threading.Event()  # cleared by Pause: turns end after the present iteration
        self.wanted.set()
        self._turns: dict[int, Task] = {}  # of the entrants whose steps are under way
        self._watched: int | None = None  # the entrant whose steps somebody sees from the inside
        self._measured: dict[int, tuple[float, list[float] | None]] = {}
        self._standings = [Standing(self.race, k, choice) for k in range(len(self._runs))]
        self._shown = [self._tile(k) for k in range(len(self._standings))]

    @property
    def _runs(self) -> list[Runner]:
        return self.race.runs

    @property
    def foretold(self) -> float:
        """CPU seconds that the live loop's own job may take: entrants have threads of their own."""
        return 0.0

    @property
    def iteration(self) -> int:
        """Rounds so far."""
        return self.race.level // self._round

    @property
    def last(self) -> int:
        """The round that the race has come to; the one that is shown may be before it."""
        return max(self._furthest, self.race.level) // self._round

    @property
    def _round(self) -> int:
        return ROWS * self.race.recipe.each_costs

    def snapshot(self) -> RaceScene:
        """The present moment, with the steps that have ended meanwhile."""
        self._gather()
        tiles = self._tiles
        for k, task in self._turns.items():
            tiles[k] = tiles[k]._replace(waited=task.seconds, share=task.token.share)
        made = race_scene(self.race, tiles, self.weighted, self.choice)
        k, inside = self._watched, ""
        if k is not None and k not in self._turns:
            inside = self._told(k, playing=self.wanted.is_set() and not made.done)
        changed = tuple((spent // self._round, tile.title) for tile in tiles for spent in tile.changed)
        here = made._replace(at=self.iteration, last=self.last, changed=changed)
        return here._replace(inside=inside, watched=k is not None, names=tuple(self.names))

    def place(self, name: str) -> int:
        """Where an entrant of `RaceScene.names` is now. Raises InputError where it has left the race."""
        if name not in self.names:
            raise InputError("this method is no longer in the race; add it again")
        return self.names.index(name)

    @property
    def weighted(self) -> Frame | None:
        """The frame whose floors are shown."""
        return weighted(frame for _, frame in self._shown)

    @property
    def _tiles(self) -> list[Tile]:
        return [tile for tile, _ in self._shown]

    def advance(self, rounds: int = 1) -> RaceScene:
        """Take every entrant so many rounds on, as far as the lock step allows, without waiting for a slow step."""
        rows = rounds * ROWS
        if not self._turns:
            self.race.raise_level(rows)
        for k in range(len(self._shown)):
            if k not in self._turns and self.race.may_step(k):
                pool = pool_for(self._runs[k].foretold)
                self._turns[k] = Task[tuple[Tile, Frame]]().begin(pool, partial(self._turn, k))
        if self._turns:
            wait([task.future for task in self._turns.values()], timeout=PATIENCE_S)
            self._gather()
        if self._turns:  # a slow one: the others go on to the bound
            self.race.raise_level(rows)
        return self.snapshot()

    def visit(self, rounds: int, roughly: bool = False) -> RaceScene:
        """Everybody at another round of the race so far; roughly: near it where the way there takes long."""
        self._stop()
        self._furthest = max(self._furthest, self.race.level)
        self.race.level = level = min(max(0, rounds) * self._round, self._furthest)
        for run, standing in zip(self._runs, self._standings, strict=True):
            line = run.past.line
            line.visit(line.last if level == self._furthest else standing.iteration_at(level), roughly)
            while not roughly and line.behind and line.session.frame.spent < level:
                line.advance()
        return self._again()

    def branch(self, k: int, values: Mapping[str, Any]) -> RaceScene:
        """One more entrant: k from here on with other knobs. Raises InputError and changes nothing."""
        self._stop()
        if len(self._runs) >= MOST_ENTRANTS:
            raise InputError(f"a race on a page has at most {MOST_ENTRANTS} methods; remove one first")
        left, line = self.race.recipe.entrants[k], self._runs[k].past.line.branched()
        session, at = line.session, line.last
        wanted = session.knobs.replaced(**values)
        limits.check_knobs(wanted, session.target)
        session.set_all(wanted)
        started = {**left.knobs, **values} if at == 0 else left.knobs
        made = Runner(session, own_budget=True)
        made.past.line = line
        self.race.join(replace(left, knobs=started, changes=session.recipe.changes), made)
        name = self.race.recipe.entrants[-1].label
        while name in self.names:  # the label of one before it, whose own has become shorter
            name += "'"
        self.names.append(name)
        self._standings.append(Standing(self.race, len(self._standings), self.choice))
        self._standings[-1].branch_of(self._standings[k])
        self._shown.append(self._shown[k])
        return self._again()

    def remove(self, k: int) -> RaceScene:
        """The race without entrant k, at the same moment."""
        self._stop()
        self.race.leave(k)
        del self._standings[k], self._shown[k], self.names[k]
        for at, one in enumerate(self._standings):
            one.k = at
        self._watched = None
        return self._again()

    def go(self, rounds: int) -> RaceScene | Again:
        """One round further towards `rounds`; the moment there, at the end of the race, or where it takes long.

        Raises Cancelled.
        """
        seconds = sum(session.frame.seconds for session in self.race.sessions)
        if self.iteration >= rounds or self.race.done or seconds > limits.most_replay_s():
            return self.visit(rounds)
        (current_token() or CancelToken()).check(self.iteration / rounds)
        self.race.advance(ROWS)
        self._shown = [self._tile(k) for k in range(len(self._standings))]
        return Again()

    def look_inside(self, k: int) -> str:
        """JSON of what the last step of entrant k is made of, as `scenes.inside`."""
        self._stop()
        return self._told(k, playing=False)

    def _told(self, k: int, playing: bool) -> str:
        run = self._runs[k]
        run.inside.on = True
        return run.inside.told(run.session, *scene_of(self.race, self.choice), playing)

    def watch(self, name: str | None) -> RaceScene:
        """The present moment, and from now on each, with the inside of an entrant's last step; None: of no step."""
        for run in self._runs:
            run.inside.on = False
        self._watched = self.names.index(name) if name in self.names else None
        return self.snapshot()

    def _stop(self) -> None:
        """Have every step under way end; who did not come to its end stays at its last frame."""
        self.cancel()
        wait([task.future for task in self._turns.values()])
        self._gather()

    def _again(self) -> RaceScene:
        """The present moment, measured and drawn again."""
        self._measured.clear()
        return self._drawn()

    def look_at(self, choice: SceneChoice) -> RaceScene:
        """Another picture of the same moment; who is stepping shows it when the step is done."""
        self.choice = choice
        for standing in self._standings:
            standing.choice = choice
        return self._drawn()

    def look_at_traces(self, names: frozenset[str]) -> RaceScene:
        """The same moment, and from now on every drawn frame, with these metrics, as far as the race has them."""
        self.traces = names
        return self._drawn()

    def _drawn(self) -> RaceScene:
        """The present moment, with the tiles of who is not stepping drawn again."""
        self._gather()
        self._shown = [shown if k in self._turns else self._tile(k) for k, shown in enumerate(self._shown)]
        return self.snapshot()

    def cancel(self) -> None:
        """Stop every step that is under way, from any thread; the entrants stay at their last frames."""
        for task in list(self._turns.values()):
            task.token.cancel()

    def extend(self, more: int) -> RaceScene:
        """Give every entrant more to spend."""
        if self._shown and self.race.budget is not None:
            limits.check_budget(self.race.budget + more)
            self.race.extend(more)
            for run in self._runs:
                run.past.limit(run.session.recipe.budget)
        return self._drawn()

    def result(self) -> RaceResult:
        """The race as it was drawn last, for export; an endless one ends there. Raises InputError."""
        tiles, seed = self._tiles, self.race.recipe.seeds[0]
        if not tiles:
            raise InputError("add a method first: there is nothing to export")
        budget = self.race.budget or max(1, *(tile.spent for tile in tiles))
        rows = [row(tile.label, seed, frame, mode_masses(frame)) for tile, frame in self._shown]
        histories = {(tile.label, seed): dict(tile.trace) for tile in tiles}
        racing = [tile.spent for tile in tiles if not tile.ended]
        started = racing and any(tile.iteration for tile in tiles)  # at the very start it is all ahead
        stands_at = max(1, min(racing)) if started else None
        return RaceResult(replace(self.race.recipe, budget=budget), rows, histories, stands_at)

    def _turn(self, k: int, _: Tell) -> tuple[Tile, Frame]:
        """Entrant k's iterations of this frame, and what there is to show of it then."""
        began = time.perf_counter()
        while self.race.may_step(k):
            try:
                self.race.step(k)
            except Cancelled:
                raise
            except Exception as error:  # a target's own function may raise anything
                self.race.fail(k, failed_step_words(error))
            if not self.wanted.is_set() or time.perf_counter() - began > SHARE_S:
                break
        with cancellable(None):  # a step that is done is shown, also after Cancel
            if not self._runs[k].past.line.behind:
                self._runs[k].session.keep()
            return self._tile(k)

    def _gather(self) -> None:
        for k, task in list(self._turns.items()):
            if task.future.done():
                del self._turns[k]
                with suppress(Cancelled):
                    self._shown[k] = task.future.result()

    def _tile(self, k: int) -> tuple[Tile, Frame]:
        """What there is to show of entrant k now, and the frame that it is made of."""
        one, now = self._standings[k], time.monotonic()
        at, masses = self._measured.get(k, (-np.inf, None))
        if one.ended or not self.wanted.is_set() or now - at > TABLE_S:
            masses = mode_masses(self._runs[k].session.frame)
            self._measured[k] = now, masses
            one.take(masses)
        else:
            recipe = self.race.recipe
            one.take(masses, only=[*recipe.shown, *(each for each in recipe.metrics if each.name in self.traces)])
        return one.tile(), one.frame
