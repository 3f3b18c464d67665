"""The floor of a lab's run, computed in the background: what independent draws would get is never waited for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pmdviz.engine.frame import Frame
from pmdviz.lab.loop.background import Background, OneAtATime
from pmdviz.lab.loop.pool import Slices
from pmdviz.metrics.perfect_draws import NUM_SETS, floor, known_floor
from pmdviz.targets import Target

TELL_S = 0.5
_pool = Slices("pmdviz-floor")


class FloorWork(OneAtATime):
    """At most one floor at a time for a lab: another target or another m lets go of the one under way."""

    def __init__(self, tell: Callable[[], None]) -> None:
        super().__init__(tell, TELL_S)
        self._key: tuple = ()

    @property
    def cancelled(self) -> bool:
        """Whether the one last asked for was cancelled."""
        return self._work is not None and self._work.watch.cancelled

    @property
    def words(self) -> str:
        """How far it is."""
        if self._work is not None and not self.running:
            return "not computed" if self.cancelled else "unavailable"
        return f"being computed, {self.sets_done} of {NUM_SETS}" if self.sets_done else "being computed"

    @property
    def sets_done(self) -> int:
        """How many sets of independent draws have been measured."""
        return self._work.done if self._work is not None else 0

    @property
    def seconds(self) -> float:
        """For how long it has been computed."""
        return self._work.seconds if self.running else 0.0

    def ask(self, frame: Frame) -> None:
        """Have the floor of this frame computed unless it is known, under way, has been cancelled, or there is none."""
        m = frame.num_draws
        key = (frame.target.key, m, *frame.drawn_as.values())
        if key == self._key:
            return
        self.forget()
        if m is None or frame.metric("tv") is None:
            return
        if known_floor(frame.target, m, **frame.drawn_as) is None:
            self._key = key
            self.follow(_computed(frame.target, m, frame.drawn_as))

    def forget(self) -> None:
        """Let go of the one under way, and ask again for the next frame."""
        self.let_go()
        self._key = ()


def _computed(target: Target, m: int, drawn_as: dict[str, Any]) -> Background:
    return Background().begin(_pool, lambda tell: floor(target, m, lambda sets: tell(sets, NUM_SETS), **drawn_as))
