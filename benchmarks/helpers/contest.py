"""A piece of work beside as many bare exponentials and beside NumPy: CPU seconds, medians, in turn."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.measuring import Call, figures, race
from pmdviz.kernels.jit import exp2, exp64, fast_jit, jit

ROUNDS = 9  # medians of so many
CEILING_WIDTH = 1536  # exponents in a row of the ceiling's loop: they stay in the first-level cache


@dataclass(frozen=True)
class Contest:
    """One piece of work. `exponentials` is how many our kernel needs, `base` of what; 0: no ceiling of that kind.

    `calls` is how many times each call does the work; `numpy` does the same without compiled code.
    """

    name: str
    size: str
    ours: Call
    exponentials: float = 0
    base: str = "2"
    single: bool = False
    numpy: Call | None = None
    calls: int = 1
    note: str = ""


def row_of(contest: Contest, rounds: int) -> dict[str, Any]:
    """Its milliseconds, those of the ceiling and of NumPy."""
    exponents = np.linspace(-20.0, 0.0, CEILING_WIDTH).astype(np.float32 if contest.single else np.float64)
    ceiling = partial(exponentials, exponents, max(1, round(contest.exponentials / CEILING_WIDTH)), contest.base)
    calls = {"ours": contest.ours, "numpy": contest.numpy, "ceiling": ceiling if contest.exponentials else None}
    times = race({name: call for name, call in calls.items() if call is not None}, rounds)
    ms = {name: figures(times[name] / contest.calls) if name in times else None for name in calls}
    return {
        "name": contest.name,
        "size": contest.size,
        "ours_ms": ms["ours"],
        "ceiling_ms": ms["ceiling"],
        "share_of_ceiling": round(times["ceiling"] / times["ours"], 3) if "ceiling" in times else None,
        "numpy_ms": ms["numpy"],
        **({"note": contest.note} if contest.note else {}),
    }


def exponentials(exponents: np.ndarray, times: int, base: str = "2") -> float:
    """`times` times the sum of base^x over the exponents x (m,) <= 0; float32 exponents are taken in float32.

    Nothing else is in the loop: no kernel that needs so many exponentials can be faster.
    """
    return (_powers_of_two if base == "2" else _powers_of_e)(exponents, times)


@fast_jit
def _sum_of_two(exponents):
    total = exponents.dtype.type(0)
    for j in range(exponents.size):
        total += exp2(exponents[j])
    return total


@jit
def _powers_of_two(exponents, times):
    total = 0.0
    for _ in range(times):
        total += _sum_of_two(exponents)
    return total


@fast_jit
def _sum_of_e(exponents):
    total = 0.0
    for j in range(exponents.size):
        total += exp64(exponents[j])
    return total


@jit
def _powers_of_e(exponents, times):
    total = 0.0
    for _ in range(times):
        total += _sum_of_e(exponents)
    return total
