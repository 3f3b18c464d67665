"""The problems of `bench claims`: which data, what the budget counts, and which seeds choose and which judge."""

from __future__ import annotations

from typing import Any, NamedTuple

from benchmarks.search import TARGET as SEPARATED

PAPERS_DATA = {"num_data": 1000, "sigma_x": 2.5}
SEARCH_DATA, SEARCH_RUNS = range(1001, 1004), range(100, 102)  # no seed of these judges
HELD_OUT, RUNS, SLOW_RUNS = range(1011, 1016), range(200, 204), range(200, 202)
EVALUATIONS = 30_000_000  # of 1,500 particles at 20,000 observations used


class Problem(NamedTuple):
    """A mixture, a clock, and budgets in its unit; the last one is where claims are judged."""

    data: str  # in words
    options: dict[str, Any]
    unit: str
    budgets: tuple[int, ...]

    @property
    def clock(self) -> str:
        """The clock in words."""
        return "observations used" if self.unit == "data" else "likelihood evaluations"


PROBLEMS = {
    "separated": Problem("separated modes", SEPARATED, "data", (400, 1000, 2000, 5000, 10_000, 20_000)),
    "separated, evaluations": Problem("separated modes", SEPARATED, "evaluations", (EVALUATIONS,)),
    "paper's": Problem("the paper's data", PAPERS_DATA, "data", (1000, 2000, 5000, 10_000, 20_000)),
    "paper's, evaluations": Problem("the paper's data", PAPERS_DATA, "evaluations", (EVALUATIONS,)),
}
BY_EVALUATIONS = {"separated": "separated, evaluations", "paper's": "paper's, evaluations"}
