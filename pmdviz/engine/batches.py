"""Which rows of the data a step visits: a stream of batches that can be taken back to an earlier moment."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


def copied(rng: np.random.Generator) -> np.random.Generator:
    """Another generator that gives from now on what this one will give."""
    twin = np.random.default_rng()
    twin.bit_generator.state = rng.bit_generator.state
    return twin


class StreamMark(NamedTuple):
    """A moment of a `BatchStream`."""

    rng_state: dict
    epoch_state: dict | None  # the generator before the current permutation was drawn
    position: int


class BatchStream:
    """Rows of successive batches, from one random generator.

    `epochs`: permutations of all rows, one after the other, cut into batches; a batch may reach over the end of a
    pass. `replacement`: independent uniform draws, as in Dai et al. 2016. `whole`: all rows in their order, no copy.
    """

    def __init__(self, rng: np.random.Generator, num_data: int) -> None:
        self._rng, self._num_data = rng, num_data
        self._epoch_state: dict | None = None
        self._permutation = np.empty(0, dtype=np.uint32)
        self._position = 0

    def draw(self, size: int, batches: str) -> np.ndarray | slice:
        """Row numbers (size,) of the next batch, which may be empty, or the slice of all rows."""
        if batches == "whole":
            return slice(None)
        if batches == "replacement":
            return self._rng.integers(self._num_data, size=size)
        parts = [self._permutation[:0]] if size == 0 else []
        while size > 0:
            if self._position == len(self._permutation):
                self._epoch_state = self._rng.bit_generator.state
                self._permutation, self._position = self._shuffled(), 0
            part = self._permutation[self._position : self._position + size]
            self._position += len(part)
            size -= len(part)
            parts.append(part)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _shuffled(self) -> np.ndarray:
        """All row numbers in random order: `rng.permutation(N)` in half the memory."""
        numbers = np.arange(self._num_data, dtype=np.uint32 if self._num_data < 2**32 else np.int64)
        self._rng.shuffle(numbers)
        return numbers

    def copy(self) -> BatchStream:
        """Another stream that goes on from here by itself."""
        twin = BatchStream(copied(self._rng), self._num_data)
        twin._epoch_state, twin._permutation, twin._position = self._epoch_state, self._permutation, self._position
        return twin

    def mark(self) -> StreamMark:
        """The present moment."""
        return StreamMark(self._rng.bit_generator.state, self._epoch_state, self._position)

    def restore(self, mark: StreamMark) -> None:
        """Go back to `mark`."""
        self._permutation, self._epoch_state = np.empty(0, dtype=np.uint32), mark.epoch_state
        if mark.epoch_state is not None:
            self._rng.bit_generator.state = mark.epoch_state
            self._permutation = self._shuffled()
        self._rng.bit_generator.state, self._position = mark.rng_state, mark.position
