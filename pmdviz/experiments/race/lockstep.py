"""Several sessions on one target and one budget, in lock step by the data visited."""

from __future__ import annotations

import threading

from pmdviz.engine.session import Frame, Session
from pmdviz.errors import InputError, TargetError
from pmdviz.experiments.race.recipe import RaceRecipe


class Race:
    """One session for each entrant; all have the same target, budget and seed, the recipe's first. Nobody may be in it.

    Who is furthest behind may always step; who is ahead may only while that leaves it at most N data ahead of the last.
    So those who have a next step are never further apart than `bound`: one step over all the data, be it longer than N
    (one of `hmc` goes through them several times). Different entrants may be stepped by different threads at once.

    Parameters
    ----------
    recipe : RaceRecipe
    metrics_every : int or None
        As in `Session`.
    """

    def __init__(self, recipe: RaceRecipe, metrics_every: int | None = None) -> None:
        self.recipe, self.budget = recipe, recipe.budget  # the budget may be extended
        self.sessions = [Session(one, metrics_every) for one in recipe.recipes]
        self.level = 0  # everybody who can goes on until so many data are visited
        self.bound = recipe.target.num_data
        self._failed: dict[int, str] = {}
        self._lock = threading.Lock()

    @property
    def visited(self) -> list[int]:
        """Data visited by each entrant."""
        return [session.frame.visited for session in self.sessions]

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
        """Have everybody visit `rows` more data, as far as the slowest lets them. Raises InputError."""
        if rows < 1:
            raise InputError(f"rows must be at least 1; given: {rows}")
        lowest = self._lowest()
        if lowest is not None:
            self.level = min(max(self.level, lowest) + rows, lowest + max(rows, self.recipe.target.num_data))

    def may_step(self, k: int) -> bool:
        """Whether entrant k may do a step now."""
        lowest, mine = self._lowest(), self.sessions[k].frame.visited
        if lowest is None or not self._active(k) or mine >= self.level:
            return False
        return mine == lowest or mine + self._next_rows(k) <= lowest + self.recipe.target.num_data

    def step(self, k: int) -> Frame:
        """One iteration of entrant k. A failure ends this entrant alone, at its last good frame."""
        session = self.sessions[k]
        before = session.frame.visited
        try:
            frame = session.advance(1)
        except TargetError as error:
            self.fail(k, str(error))
            return session.frame
        with self._lock:
            self.bound = max(self.bound, frame.visited - before)
        return frame

    def fail(self, k: int, words: str) -> None:
        """Let entrant k end where it stands, with the reason in words."""
        self._failed[k] = f"it stopped: {words}"

    def extend(self, more: int) -> None:
        """Give every entrant `more` data. Raises InputError for a race without a budget."""
        for session in self.sessions:
            session.extend(more)
        self.budget = self.sessions[0].recipe.budget

    def advance(self, rows: int) -> list[Frame]:
        """Have everybody visit `rows` more data in lock step; the entrants' frames."""
        self.raise_level(rows)
        while stepped := [k for k in range(len(self.sessions)) if self.may_step(k)]:
            self.step(min(stepped, key=lambda k: self.sessions[k].frame.visited))
        return [session.frame for session in self.sessions]

    def _active(self, k: int) -> bool:
        return k not in self._failed and not self.sessions[k].done

    def _lowest(self) -> int | None:
        """The least data visited by an entrant that has a next step."""
        return min((v for k, v in enumerate(self.visited) if self._active(k)), default=None)

    def _next_rows(self, k: int) -> int:
        """Rows of the next batch: what the next step visits at least."""
        session = self.sessions[k]
        return session.method.batch_size(session.frame.state, session.knobs, session.target.num_data)
