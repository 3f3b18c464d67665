"""The floor of a lab's run, computed in the background: what perfect draws would get is never waited for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from pmdviz.floors import NUM_SETS, floor, known_floor
from pmdviz.frame import Frame
from pmdviz.kernels.watch import Cancelled, Watch, watched
from pmdviz.lab.pool import GIVES_WAY, DaemonPool
from pmdviz.targets import Target

TELL_S = 0.5
_pool = DaemonPool(1, "pmdviz-floor", GIVES_WAY)


class FloorWork:
    """At most one floor at a time for a lab: another target or another m lets go of the one under way.

    `tell` is called every half second while one is computed, and once when it is over.
    """

    def __init__(self, tell: Callable[[], None]) -> None:
        self._tell, self._key, self._watch = tell, (), Watch()
        self._began, self.sets_done, self.running, self.cancelled = 0.0, 0, False, False

    @property
    def words(self) -> str:
        """How far it is."""
        if self._key and not self.running:
            return "not computed" if self.cancelled else "not to be had"
        return f"being computed, {self.sets_done} of {NUM_SETS}" if self.sets_done else "being computed"

    @property
    def seconds(self) -> float:
        """For how long it has been computed."""
        return time.monotonic() - self._began if self.running else 0.0

    @property
    def share(self) -> float:
        """Which share of it is done."""
        return self.sets_done / NUM_SETS

    def ask(self, frame: Frame) -> None:
        """Have the floor of this frame computed unless it is known, under way, has been cancelled, or there is none."""
        m = frame.num_draws
        key = (frame.target.key, m)
        if m is None or frame.metrics["tv"] is None or key == self._key:
            return
        self.forget()
        if known_floor(frame.target, m) is None:
            self._key, self._watch, self.running, self._began = key, Watch(), True, time.monotonic()
            asyncio.get_running_loop().create_task(self._follow(frame.target, m, self._watch))

    def cancel(self) -> None:
        """Let go of the one under way."""
        self._watch.cancel()

    def forget(self) -> None:
        """Let go of the one under way, and ask again for the next frame."""
        self.cancel()
        self._key, self.sets_done, self.running, self.cancelled = (), 0, False, False

    async def _follow(self, target: Target, m: int, watch: Watch) -> None:
        work = asyncio.get_running_loop().run_in_executor(_pool, self._compute, target, m, watch)
        while not work.done():
            await asyncio.wait({work}, timeout=TELL_S)
            if watch is self._watch and not work.done():
                self._tell()
        error = work.exception()  # asked in any case: one that nobody looks at goes into the log with its traceback
        if watch is self._watch:
            self.running, self.cancelled = False, isinstance(error, Cancelled)
            self._tell()

    def _compute(self, target: Target, m: int, watch: Watch) -> None:
        def progress(sets: int) -> None:
            if watch is self._watch:
                self.sets_done = sets

        watch.check(0.0)
        with watched(watch):
            floor(target, m, progress)
