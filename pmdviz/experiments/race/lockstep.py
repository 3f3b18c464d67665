"""Several sessions on one target and one budget, in lock step by what counts against it."""

from __future__ import annotations

import threading

from pmdviz.engine.session import Frame, Session
from pmdviz.errors import InputError, TargetError
from pmdviz.experiments.race.clock import DATA, each_costs
from pmdviz.experiments.race.recipe import RaceRecipe


class Race:
    """One session for each entrant; all have the same target, budget and seed, the recipe's first. Nobody may be in it.

    The method that has visited least always steps; others only while at most N data ahead of it.
    So those who have a next step are never further apart than `bound`: one step over all the data, be it longer than N
    (one of `hmc` goes through them several times). By evaluations N data are what they cost the entrant with the most
    particles (`RaceRecipe.each_costs`). Different entrants may be stepped by different threads at once.

    Parameters
    ----------
    recipe : RaceRecipe
    metrics_every : int or None
        As in `Session`.
    """

    def __init__(self, recipe: RaceRecipe, metrics_every: int | None = None) -> None:
        self.recipe, self.budget = recipe, recipe.budget  # the budget may be extended
        self.sessions = [Session(one, metrics_every) for one in recipe.recipes]
        self.level = 0  # everybody who can goes on until so much is spent
        self.bound = self.slack = recipe.target.num_data * recipe.each_costs
        self._failed: dict[int, str] = {}
        self._lock = threading.Lock()

    @property
    def visited(self) -> list[int]:
        """Observations used by each entrant."""
        return [session.frame.visited for session in self.sessions]

    @property
    def spent(self) -> list[int]:
        """What each entrant has used of its budget: observations used, or evaluations."""
        return [session.frame.spent for session in self.sessions]

    @property
    def done(self) -> bool:
        """Whether nobody has a next step."""
        return not any(self._active(k) for k in range(len(self.sessions)))

    def stop_reason(self, k: int) -> str:
        """Why entrant k has no next step, in words; "" while it has one."""
        if k in self._failed:
            return self._failed[k]
        session = self.sessions[k]
        if session.ended:
            return session.ended
        return "the budget is used up" if session.done else ""

    def failed(self, k: int) -> bool:
        """Whether entrant k stopped because its target or its step failed."""
        return k in self._failed

    def raise_level(self, rows: int) -> None:
        """Have everybody visit `rows` more data, or spend what they cost, as far as the slowest lets them.

        Raises InputError.
        """
        if rows < 1:
            raise InputError(f"rows must be at least 1; given: {rows}")
        lowest, more = self._lowest(), rows * self.recipe.each_costs
        if lowest is not None:
            self.level = min(max(self.level, lowest) + more, lowest + max(more, self.slack))

    def may_step(self, k: int) -> bool:
        """Whether entrant k may do a step now."""
        lowest, mine = self._lowest(), self.sessions[k].frame.spent
        if lowest is None or not self._active(k) or mine >= self.level:
            return False
        return mine == lowest or mine + self._next_cost(k) <= lowest + self.slack

    def step(self, k: int) -> Frame:
        """One iteration of entrant k. A failure ends this entrant alone, at its last good frame."""
        session = self.sessions[k]
        before = session.frame.spent
        try:
            frame = session.advance(1)
        except TargetError as error:
            self.fail(k, str(error))
            return session.frame
        with self._lock:
            self.bound = max(self.bound, frame.spent - before)
        return frame

    def fail(self, k: int, words: str) -> None:
        """Let entrant k end where it stands, with the reason in words."""
        self._failed[k] = f"it stopped: {words}"

    def extend(self, more: int) -> None:
        """Give every entrant `more` to spend. Raises InputError for a race without a budget."""
        for session in self.sessions:
            session.extend(more)
        self.budget = self.sessions[0].recipe.budget

    def advance(self, rows: int) -> list[Frame]:
        """Have everybody visit `rows` more data, or spend what they cost, in lock step; the entrants' frames."""
        self.raise_level(rows)
        while stepped := [k for k in range(len(self.sessions)) if self.may_step(k)]:
            self.step(min(stepped, key=lambda k: self.sessions[k].frame.spent))
        return [session.frame for session in self.sessions]

    def _active(self, k: int) -> bool:
        return k not in self._failed and not self.sessions[k].done

    def _lowest(self) -> int | None:
        """The least that an entrant with a next step has spent."""
        return min((v for k, v in enumerate(self.spent) if self._active(k)), default=None)

    def _next_cost(self, k: int) -> int:
        """Rows of the next batch, what the next step visits at least; of evaluations as many as the last one took."""
        session = self.sessions[k]
        if self.recipe.budget_unit != DATA and session.frame.info is not None:
            return session.frame.info.cost.evaluations
        return each_costs(session.recipe) * session.method.batch_size(
            session.frame.state, session.knobs, session.target.num_data
        )
