"""Kept moments of a run: places to come back to, thinned to a memory cap."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from pmdviz.engine.batches import StreamMark
from pmdviz.engine.frame import Frame

MEMORY_CAP = 64 * 2**20  # bytes of kept frames
FEWEST = 4


class Checkpoint(NamedTuple):
    """A kept frame and the random streams behind it."""

    frame: Frame
    rng_state: Mapping[str, Any]
    mark: StreamMark


class Checkpoints:
    """Checkpoints by iteration, in rising order; past `memory_cap` bytes every second one but the last is dropped."""

    def __init__(self, memory_cap: int = MEMORY_CAP) -> None:
        self._memory_cap, self.num_bytes = memory_cap, 0
        self._kept: dict[int, Checkpoint] = {}

    def copy(self) -> Checkpoints:
        """Others that keep the same moments, in the same memory."""
        twin = Checkpoints(self._memory_cap)
        twin._kept, twin.num_bytes = {**self._kept}, self.num_bytes
        return twin

    @property
    def frames(self) -> list[Frame]:
        """The kept frames, the earliest first."""
        return [checkpoint.frame for checkpoint in self._kept.values()]

    def keep(self, checkpoint: Checkpoint) -> None:
        """Keep it as the last one, in place of one of the same iteration."""
        last = checkpoint.frame.iteration
        self.forget(last)
        self._kept[last] = checkpoint
        self.num_bytes += checkpoint.frame.num_bytes
        if self.num_bytes > self._memory_cap:
            self._halve()

    def shrink(self, memory_cap: int) -> None:
        """Let go what is more than `memory_cap` bytes, but for a few; what is kept later may be more again."""
        while self.num_bytes > memory_cap and len(self._kept) > FEWEST:
            self._halve()

    def _halve(self) -> None:
        last = next(reversed(self._kept))
        if len(self._kept) > FEWEST:
            for at in [at for k, at in enumerate(self._kept) if k % 2 and at != last]:
                self.forget(at)

    def forget(self, at: int) -> None:
        """Let the one of iteration `at` go, if there is one."""
        checkpoint = self._kept.pop(at, None)
        self.num_bytes -= checkpoint.frame.num_bytes if checkpoint else 0

    def at(self, iteration: int) -> int:
        """The iteration of the last one at or before `iteration`."""
        return max(at for at in self._kept if at <= iteration)

    def nearest(self, iteration: int) -> Checkpoint:
        """The last one at or before `iteration`; those after it are let go."""
        at = self.at(iteration)
        for later in [k for k in self._kept if k > at]:
            self.forget(later)
        return self._kept[at]
