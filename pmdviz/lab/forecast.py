"""How long a step is going to take, from the knobs alone: only to foretell, never to measure."""

from __future__ import annotations

from typing import Any

PAIRS_PER_SECOND = 0.8e9  # of particles in a kernel density estimate, and of particles and data in a likelihood


COUNTS = ("num_particles", "most_particles")  # knobs that are numbers of particles


def most_asked(knobs: Any) -> tuple[int, str]:
    """The largest number of particles that a run may come to have, and the knob that says so."""
    values = knobs.as_dict()
    asked = [(values[name], name) for name in COUNTS if name in values and knobs.matters(name, values)]
    return max(asked, default=(0, COUNTS[0]))


def step_seconds(knobs: Any, num_data: int = 1) -> float:
    """Seconds of the longest step: m kernels at m particles, or m likelihoods of the batch's rows."""
    m, _ = most_asked(knobs)
    rows = min(getattr(knobs, "batch_size", num_data), num_data)
    return m * max(m, rows) / PAIRS_PER_SECOND


def most_particles(seconds: float, rows: int = 1) -> int:
    """The most particles with which a step that visits so many rows takes at most `seconds`, at least 1."""
    pairs = seconds * PAIRS_PER_SECOND
    return max(1, int(min(pairs**0.5, pairs / rows)))
