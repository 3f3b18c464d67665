"""The way to the iteration of a link: computed once for all who open the same link, in turns, and not without end.

Whoever of them has a turn takes the replay a tenth of a second further, so that it goes on as long as one of them is
there; then each gets a copy of the session, whose frames never change and are shared.
"""

from __future__ import annotations

import math
import threading
import time
from concurrent.futures import Future

from pmdviz.engine.history import MEMORY_CAP
from pmdviz.kernels.pool import CancelToken, current_token
from pmdviz.lab.loop.background import Again
from pmdviz.lab.loop.runner import Runner

MAX_KEPT = 8  # replays that later visitors may find
DEFAULT_SECONDS = 60  # of computing that a server spends on one replay
SURE_S = 1.0  # of computing, after which the pace so far is that of the whole; its first steps are measured more often
DOUBT = 10  # how many times too long it must seem before that

_most_seconds = math.inf
_lock = threading.Lock()
_replays: dict[tuple[str, int], Replay] = {}  # the one that was asked for last comes last


def keep_seconds(most: float) -> None:
    """Let a replay take at most so many seconds of computing, in this process and from now on."""
    global _most_seconds
    _most_seconds = most


def replay_to(iteration: int, runner: Runner) -> Replay:
    """The replay of the recipe of `runner`, which stands at iteration 0: one that others wait for, or a new one."""
    recipe = runner.session.recipe
    if recipe.custom is not None:  # what its functions give is nobody else's
        return Replay(iteration, runner)
    key = recipe.to_json(), iteration
    with _lock:
        found = _replays[key] = _replays.pop(key, None) or Replay(iteration, runner)
        _let_go()
    return found


def _let_go() -> None:
    """Forget the oldest beyond the bounds in number and memory; who waits for one still has it."""
    kept = list(_replays)
    total = sum(replay.num_bytes for replay in _replays.values())
    while len(kept) > 1 and (len(kept) > MAX_KEPT or total > MEMORY_CAP):
        total -= _replays.pop(kept.pop(0)).num_bytes


class Replay:
    """A run on its way to `iteration`, from where `runner` stands."""

    def __init__(self, iteration: int, runner: Runner) -> None:
        self.iteration = iteration
        self._runner = Runner(runner.session.copy(), choice=runner.choice)
        self._guard = threading.Lock()
        self._turn: Future | None = None  # somebody's that is under way
        self._used = 0.0  # seconds of computing
        self._arrived = False
        self.foretold = 0.0  # seconds of computing that all of it takes, by the pace so far

    @property
    def num_bytes(self) -> int:
        """Memory of the kept frames."""
        return self._runner.session.num_bytes

    @property
    def share(self) -> float:
        """Which share of the way is done, in [0, 1]: to the iteration, or to the end of the budget before it."""
        frame, budget = self._runner.session.frame, self._runner.session.recipe.budget
        return min(1.0, max(frame.iteration / self.iteration, frame.visited / budget if budget else 0.0))

    @property
    def too_long(self) -> bool:
        """Whether it has been given up."""
        return not self._arrived and self.foretold > _most_seconds * (1 if self._used > SURE_S else DOUBT)

    def bring(self, runner: Runner) -> Again | None:
        """Take the way one turn further, or wait for another's turn; at its end bring `runner` there, and None.

        A replay that is given up leaves `runner` where it is. Raises Cancelled for the caller alone.
        """
        watch = current_token() or CancelToken()
        watch.check(self.share)
        turn: Future = Future()
        with self._guard:
            if self._turn is not None:
                return Again(after=self._turn)
            if not (self._arrived or self.too_long):
                self._turn = turn
        if self._turn is turn:
            self._take(turn)
            watch.check(self.share)  # of the whole way: kernels have told how far their own part is
            return Again()
        if self._arrived:
            runner.take(self._runner)
        return None

    def _take(self, turn: Future) -> None:
        began = time.thread_time()
        try:
            arrived = self._runner.go(self.iteration)
            if arrived:
                self._runner.snapshot()  # what is drawn of the frame is computed once for all
            self._arrived = arrived
        finally:
            self._used += time.thread_time() - began
            self.foretold = self._used / max(self.share, 1e-12)
            with self._guard:
                self._turn = None
            turn.set_result(None)
            with _lock:
                _let_go()
