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
from pmdviz.engine.session import MEMORY_CAP, Session
from pmdviz.errors import InputError, failed_step_words
from pmdviz.experiments.race import RaceRecipe, RaceResult, mode_masses, row, stop_reason
from pmdviz.experiments.race.recipe import DATA, each_costs
from pmdviz.kernels.pool import Cancelled, CancelToken, cancellable, current_token
from pmdviz.lab.loop import limits
from pmdviz.lab.loop.past import Timeline
from pmdviz.lab.loop.runner import Runner
from pmdviz.lab.loop.task import Again, Task, Tell, pool_for
from pmdviz.scenes.race import ANY_SCENE, RaceScene, Tile, race_scene, scene_of, tile_of, weighted
from pmdviz.scenes.stage import Pair, Scene, SceneChoice
from pmdviz.scenes.style import MOST_ENTRANTS

KEPT_BYTES = MEMORY_CAP // MOST_ENTRANTS  # of an entrant's places to come back to
ROWS = 100  # data of one round, or what they cost in evaluations
PATIENCE_S = 0.15  # a frame is drawn without those who need longer
SHARE_S = 0.1  # one entrant's turn: several iterations only while they take less than this
TABLE_S = 0.4  # metrics for the table or for exports alone are not measured 20 times per second
SLACK = 20  # evaluations: chains without data would wait for each other at each one


class Racer(Runner):
    """The runner of an entrant, and its present tile. It keeps its name when others leave."""

    shown: tuple[Tile, Frame]
    turn: Task[tuple[Tile, Frame]] | None = None  # its steps that are under way
    masses: list[float] | None = None  # of the modes
    measured = -np.inf  # when these were

    def __init__(self, name: str, line: Timeline) -> None:
        super().__init__(line.session, own_budget=True)
        self.name, self.past.line = name, line
        self._failed = -1, ""  # the iteration at which a step failed, and how

    @property
    def ended(self) -> str:
        """Why it has no next step, in words; "" while it has one."""
        at, words = self._failed
        return words if at == self.iteration else stop_reason(self.session)

    def step(self) -> Frame:
        """One iteration. A failure ends this entrant alone, at its last good frame. Raises Cancelled."""
        try:
            return super().step()
        except Cancelled:
            raise
        except Exception as error:  # a target's own function may raise anything
            self._failed = self.iteration, f"it stopped: {failed_step_words(error)}"
            return self.session.frame


class RaceRunner:
    """Owns a race. Its methods are called by one thread at a time and never on the event loop.

    The method that has spent least always steps; others only while at most `slack` ahead of it: N data, or 20
    evaluations. So those who have a next step are never further apart than that, or than one longer step (one of `hmc`
    goes through the data several times). By evaluations N data are what they cost the entrant with the most particles
    (`RaceRecipe.each_costs`). A race may be empty. Raises InputError for a race that this server does not allow.
    """

    is_recorded = False
    foretold = 0.0  # CPU seconds that the live loop's own job may take: entrants have threads of their own

    def __init__(
        self, recipe: RaceRecipe, choice: SceneChoice = ANY_SCENE, traces: frozenset[str] = frozenset()
    ) -> None:
        self.choice, self.traces = choice, traces  # metrics of every frame; the table has others
        self.recipe = limits.check_race(recipe)
        sessions = [Session(one, MAX_BUDGET, KEPT_BYTES) for one in recipe.recipes]
        pairs = zip(recipe.entrants, sessions, strict=True)
        self.racers = [Racer(one.label, Timeline(session)) for one, session in pairs]
        self.level = self._furthest = 0  # everybody goes on until so much is spent; the highest so far
        self.slack = max(SLACK, recipe.target.num_data * recipe.each_costs)
        self.wanted = threading.Event()  # cleared by Pause: turns end after the present iteration
        self.wanted.set()
        self.watched: str | None = None  # name of the entrant whose steps somebody sees from the inside
        self._again()

    # In lock step by what counts against the budget

    @property
    def sessions(self) -> list[Session]:
        """The session of each entrant."""
        return [one.session for one in self.racers]

    @property
    def budget(self) -> int | None:
        """What each may spend."""
        return self.sessions[0].recipe.budget if self.racers else self.recipe.budget

    @property
    def lowest(self) -> int | None:
        """The least that an entrant with a next step has spent."""
        return min((one.session.frame.spent for one in self.racers if not one.ended), default=None)

    @property
    def _round(self) -> int:
        return ROWS * self.recipe.each_costs

    @property
    def iteration(self) -> int:
        """Rounds so far."""
        return self.level // self._round

    def raise_level(self, rows: int) -> None:
        """Let every entrant visit `rows` more data, or spend their cost, as far as the slowest one lets them."""
        lowest, more = self.lowest, rows * self.recipe.each_costs
        if lowest is not None:
            self.level = min(max(self.level, lowest) + more, lowest + max(more, self.slack))

    def may_step(self, one: Racer) -> bool:
        """Whether an entrant may do a step now."""
        lowest, mine = self.lowest, one.session.frame.spent
        if lowest is None or one.ended or mine >= self.level:
            return False
        return mine == lowest or mine + self._next_cost(one.session) <= lowest + self.slack

    def _next_cost(self, session: Session) -> int:
        """Rows of the next batch, what the next step visits at least; of evaluations as many as the last one took."""
        if self.recipe.budget_unit != DATA and session.frame.info is not None:
            return session.frame.info.cost.evaluations
        given = session.frame.state, session.knobs, session.target.num_data
        return each_costs(session.recipe) * session.method.batch_size(*given)

    # Moments

    def snapshot(self) -> RaceScene:
        """The present moment, with the steps that have ended meanwhile."""
        self._gather()
        tiles = [one.shown[0] for one in self.racers]
        for k, one in enumerate(self.racers):
            if one.turn is not None:
                tiles[k] = tiles[k]._replace(waited=one.turn.seconds, share=one.turn.token.share)
        made = race_scene(self.recipe, self.budget, tiles, self.weighted, self._drawn_as)
        watched = next((one for one in self.racers if one.name == self.watched), None)
        seen = watched is not None and watched.turn is None
        return made._replace(
            at=self.iteration,
            last=max(self._furthest, self.level) // self._round,
            changed=tuple((getattr(m, tile.clock) // self._round, tile.title) for tile in tiles for m in tile.changed),
            inside=self._told(watched, self.wanted.is_set() and not made.done) if seen else "",
            watched=watched is not None,
            names=tuple(one.name for one in self.racers),
        )

    def place(self, name: str) -> int:
        """Where an entrant of `RaceScene.names` is now. Raises InputError where it has left the race."""
        names = [one.name for one in self.racers]
        if name not in names:
            raise InputError("this method is no longer in the race; add it again")
        return names.index(name)

    @property
    def weighted(self) -> Frame | None:
        """The frame whose floors are shown."""
        return weighted(one.shown[1] for one in self.racers)

    @property
    def _drawn_as(self) -> tuple[Scene, Pair]:
        return scene_of(self.recipe, self.choice)

    @property
    def _turns(self) -> list[Task[tuple[Tile, Frame]]]:
        return [turn for one in self.racers if (turn := one.turn) is not None]

    def advance(self, rounds: int = 1) -> RaceScene:
        """Take every entrant so many rounds on, as far as the lock step allows, without waiting for a slow step."""
        if not self._turns:
            self.raise_level(rounds * ROWS)
        for one in self.racers:
            if one.turn is None and self.may_step(one):
                one.turn = Task[tuple[Tile, Frame]]().begin(pool_for(one.foretold), partial(self._turn, one))
        if self._turns:
            wait([task.future for task in self._turns], timeout=PATIENCE_S)
            self._gather()
        if self._turns:  # a slow one: the others go on to the bound
            self.raise_level(rounds * ROWS)
        return self.snapshot()

    def visit(self, rounds: int, roughly: bool = False) -> RaceScene:
        """Everybody at another round of the race so far; roughly: near it where the way there takes long."""
        self._stop()
        self._furthest = max(self._furthest, self.level)
        self.level = level = min(max(0, rounds) * self._round, self._furthest)
        for one in self.racers:
            line = one.past.line
            line.visit(line.last if level == self._furthest else one.shown[0].iteration_at(level), roughly)
            while not roughly and line.behind and line.session.frame.spent < level:
                line.advance()
        return self._again()

    def branch(self, k: int, values: Mapping[str, Any]) -> RaceScene:
        """One more entrant: k from here on with other knobs. Raises InputError and changes nothing."""
        self._stop()
        if len(self.racers) >= MOST_ENTRANTS:
            raise InputError(f"a race on a page has at most {MOST_ENTRANTS} methods; remove one first")
        left, line = self.recipe.entrants[k], self.racers[k].past.line.branched()
        session, at = line.session, line.last
        wanted = session.knobs.replaced(**values)
        limits.check_knobs(wanted, session.target)
        session.set_all(wanted)
        started = {**left.knobs, **values} if at == 0 else left.knobs
        made = replace(left, knobs=started, changes=session.recipe.changes)
        self.recipe = self.recipe.with_entrants([*self.recipe.entrants, made])
        name = self.recipe.entrants[-1].label
        while name in [one.name for one in self.racers]:  # the label of one before it, whose own has become shorter
            name += "'"
        self.racers.append(Racer(name, line))
        return self._again()

    def remove(self, k: int) -> RaceScene:
        """The race without entrant k, at the same moment; without any entrant at its start."""
        self._stop()
        self.recipe = self.recipe.without(k)
        del self.racers[k]
        if not self.racers:
            self.level = self._furthest = 0
        return self._again()

    def go(self, rounds: int) -> RaceScene | Again:
        """One round further towards `rounds`; the moment there, at the end of the race, or where it takes long.

        Raises Cancelled.
        """
        seconds = sum(session.frame.seconds for session in self.sessions)
        if self.iteration >= rounds or self.lowest is None or seconds > limits.most_replay_s:
            return self.visit(rounds)
        (current_token() or CancelToken()).check(self.iteration / rounds)
        self.raise_level(ROWS)
        while ready := [one for one in self.racers if self.may_step(one)]:
            min(ready, key=lambda one: one.session.frame.spent).step()
        for one in self.racers:
            one.shown = self._tile(one)
        return Again()

    def look_inside(self, k: int) -> str:
        """JSON of what the last step of entrant k is made of, as `scenes.inside`."""
        self._stop()
        return self._told(self.racers[k], playing=False)

    def _told(self, one: Racer, playing: bool) -> str:
        one.watched = True
        return one.inside.told(one.session, *self._drawn_as, playing)

    def _stop(self) -> None:
        """Have every step under way end; who did not come to its end stays at its last frame."""
        self.cancel()
        wait([task.future for task in self._turns])
        self._gather()

    def _again(self) -> RaceScene:
        """The present moment, measured and drawn again."""
        for one in self.racers:
            one.measured = -np.inf
        return self._drawn()

    def look(self, **wanted: SceneChoice | frozenset[str] | str | None) -> RaceScene:
        """The same moment, looked at in another way; who is stepping shows it when the step is done.

        `choice`: of a scene. `traces`: the names of metrics that from now on every drawn frame has. `watched`: the name
        of the entrant whose last step is shown from the inside.
        """
        vars(self).update(wanted)
        return self._drawn()

    def _drawn(self) -> RaceScene:
        """The present moment, with the tiles of who is not stepping drawn again."""
        self._gather()
        for one in self.racers:
            if one.turn is None:
                one.shown = self._tile(one)
        return self.snapshot()

    def cancel(self) -> None:
        """Stop every step that is under way, from any thread; the entrants stay at their last frames."""
        for task in self._turns:
            task.token.cancel()

    def proceed(self) -> RaceScene:
        """Give every entrant as much more to spend as the race was given at first."""
        more = self.recipe.budget
        if self.budget is not None and more is not None:
            limits.check_budget(self.budget + more)
            for one in self.racers:
                one.session.extend(more)
                one.past.limit(one.session.recipe.budget)
        return self._drawn()

    def result(self) -> RaceResult:
        """The race as it was drawn last, for export; an endless one ends there. Raises InputError."""
        if not self.racers:
            raise InputError("add a method first: there is nothing to export")
        seed, shown = self.recipe.seeds[0], [one.shown for one in self.racers]
        budget = self.budget or max(1, *(tile.spent for tile, _ in shown))
        rows = [row(tile.label, seed, frame, mode_masses(frame)) for tile, frame in shown]
        histories = {(tile.label, seed): tile.trace for tile, _ in shown}
        racing = [tile.spent for tile, _ in shown if not tile.ended]
        started = racing and any(tile.iteration for tile, _ in shown)  # at the very start it is all ahead
        stands_at = max(1, min(racing)) if started else None
        return RaceResult(replace(self.recipe, budget=budget), rows, histories, stands_at)

    def _turn(self, one: Racer, _: Tell) -> tuple[Tile, Frame]:
        """The iterations of an entrant in this frame, and what there is to show of it then."""
        began = time.perf_counter()
        while self.may_step(one):
            one.step()
            if not self.wanted.is_set() or time.perf_counter() - began > SHARE_S:
                break
        with cancellable(None):  # a step that is done is shown, also after Cancel
            if not one.past.line.behind:
                one.session.keep()
            return self._tile(one)

    def _gather(self) -> None:
        for one in self.racers:
            if one.turn is not None and one.turn.future.done():
                with suppress(Cancelled):
                    one.shown = one.turn.future.result()
                one.turn = None

    def _tile(self, one: Racer) -> tuple[Tile, Frame]:
        """What there is to show of an entrant now, and the frame that it is made of."""
        frame, ended, now = one.session.frame, one.ended, time.monotonic()
        due = self.traces.union(metric.name for metric in self.recipe.shown)
        if ended or not self.wanted.is_set() or now - one.measured > TABLE_S:
            one.measured, one.masses, due = now, mode_masses(frame), frozenset(self.recipe.drawn)
        points = one.past.line.points(due)
        return tile_of(self.recipe, self.racers.index(one), frame, points, self._drawn_as, ended, one.masses), frame
