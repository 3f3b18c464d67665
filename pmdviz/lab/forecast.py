"""How long a step is going to take, from the knobs alone: only to foretell, never to measure."""

from __future__ import annotations

from typing import Any

PAIRS_PER_SECOND = 0.8e9  # of particles in a kernel density estimate, and of particles and data in a likelihood


def step_seconds(knobs: Any, num_data: int = 1) -> float:
    """Seconds of the longest step: m kernels at m particles, or m likelihoods of the batch's rows."""
    m = getattr(knobs, "num_particles", 0)
    rows = min(getattr(knobs, "batch_size", num_data), num_data)
    return m * max(m, rows) / PAIRS_PER_SECOND


def most_particles(seconds: float, rows: int = 1) -> int:
    """The most particles with which a step that visits so many rows takes at most `seconds`, at least 1."""
    pairs = seconds * PAIRS_PER_SECOND
    return max(1, int(min(pairs**0.5, pairs / rows)))
