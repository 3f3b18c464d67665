"""Ours against peers on the same work: CPU seconds, medians, everybody measured in turn in the same minutes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.helpers.exp_roofline import exponentials
from benchmarks.measuring import Call, figures, race

ROUNDS = 9  # medians of so many
CEILING_WIDTH = 1536  # exponents in a row of the ceiling's loop: they stay in the first-level cache


@dataclass(frozen=True)
class Peer:
    """Another implementation: `make()` gives the call to time, or raises ImportError where it is not installed."""

    name: str
    make: Callable[[], Call]


@dataclass(frozen=True)
class Contest:
    """One piece of work. `exponentials` is how many our kernel needs, `base` of what; 0: no ceiling of that kind.

    `error(result)` says how far a result is from the truth; `calls` is how many times each call does the work.
    """

    name: str
    size: str
    ours: Call
    exponentials: float = 0
    base: str = "2"
    single: bool = False
    peers: tuple[Peer, ...] = ()
    error: Callable[[Any], float | None] | None = None
    calls: int = 1
    note: str = ""


@dataclass
class Missing:
    """Sentences about what could not be compared."""

    words: dict[str, str] = field(default_factory=dict)

    def add(self, peer: str, error: Exception) -> None:
        """Remember why a peer is left out."""
        first = (str(error).splitlines() or [type(error).__name__])[0]
        self.words[peer] = f"{peer} is left out: {first}"


def rows_of(contest: Contest, rounds: int, missing: Missing) -> list[dict[str, Any]]:
    """A row for each peer that is there, or one row without a peer."""
    calls = {"ours": contest.ours}
    if contest.exponentials:
        calls["ceiling"] = _ceiling(contest)
    for peer in contest.peers:
        try:
            calls[peer.name] = peer.make()
        except Exception as error:  # a peer that is absent or broken is no fault of ours
            missing.add(peer.name, error)
    times = race(calls, rounds)
    errors = {name: contest.error(call()) for name, call in calls.items() if contest.error and name != "ceiling"}
    found = [peer.name for peer in contest.peers if peer.name in calls]
    return [_row(contest, peer, times, errors) for peer in found or [None]]


def _row(contest: Contest, peer: str | None, times: Mapping[str, float], errors: Mapping[str, float]) -> dict[str, Any]:
    ours, ceiling = times["ours"] / contest.calls, times.get("ceiling")
    theirs = None if peer is None else times[peer] / contest.calls
    return {
        "name": contest.name,
        "size": contest.size,
        "ours_ms": figures(ours),
        "ceiling_ms": None if ceiling is None else figures(ceiling / contest.calls),
        "share_of_ceiling": None if ceiling is None else round(ceiling / times["ours"], 3),
        "peer": peer,
        "peer_ms": None if theirs is None else figures(theirs),
        "ratio": None if theirs is None else figures(theirs / ours, 3),
        "accuracy": figures(errors["ours"], 2) if "ours" in errors else None,
        "peer_accuracy": figures(errors[peer], 2) if errors.get(peer) is not None else None,
        **({"note": contest.note} if contest.note else {}),
    }


def _ceiling(contest: Contest) -> Call:
    """The exponentials alone, as many and in the same precision."""
    exponents = np.linspace(-20.0, 0.0, CEILING_WIDTH).astype(np.float32 if contest.single else np.float64)
    times = max(1, round(contest.exponentials / CEILING_WIDTH))
    return lambda: exponentials(exponents, times, contest.base)
