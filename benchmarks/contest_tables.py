"""Who takes part in `bench claims`, `claims-logistic`, `claims-gp` and `claims-topics`: tables/contests.yaml."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import yaml

GIVEN = yaml.safe_load((Path(__file__).parent / "tables" / "contests.yaml").read_text(encoding="utf-8"))
Settings = tuple[dict[str, Any], ...]
REFERENCE = "reference"


class Entrant(NamedTuple):
    """A method, and the settings among which its best is sought: the first is our default."""

    title: str
    method: str
    tried: Settings = ({},)
    more: Settings = ({},)  # what may be added to the best of these where evaluations are counted
    paper: dict[str, Any] | None = None  # the paper's setting
    paper_passes: int = 0  # over the data, where the paper's setting has another budget than the last
    slow: tuple[str, ...] = ()  # clocks on which it has fewer run seeds and the last budget alone; "paper": its setting
    clocks: tuple[str, ...] = ("data", "evaluations")  # of the budgets on which it runs
    passes: float = float("inf")  # after which it stays where it is


class Problem(NamedTuple):
    """A target, a clock, and budgets in its unit; claims are judged at the last one."""

    words: str
    target: str
    options: dict[str, Any]
    budgets: tuple[int, ...]
    unit: str = "data"
    data: range = range(1011, 1016)
    runs: range = range(200, 202)
    batch: int = 0  # observations, where it is the problem's
    base: str = ""  # the problem on the other clock, whose best settings are where this one's search begins


class Contest(NamedTuple):
    """Problems, entrants, the seeds that choose (none of them judges), and the number by which they choose."""

    problems: dict[str, Problem]
    entrants: dict[str, Entrant]
    numbers: tuple[str, ...]  # metrics and fields of a frame, functions of benchmarks/contests.py
    chosen_by: str
    search_data: range = range(1001, 1002)
    search_runs: range = range(100, 101)


def settings(given: list[dict[str, Any]] | dict[str, Any]) -> Settings:
    """Those of a list; or the `first`, where there is one, and every combination of `each`, with `all` beside it."""
    if isinstance(given, list):
        return tuple(given)
    fixed, each = given.get("first", given.get("all", {})), given["each"]
    made = ({**fixed, **dict(zip(each, values, strict=True))} for values in product(*each.values()))
    return ((fixed,) if "first" in given else ()) + tuple(made)


def _entrant(given: dict[str, Any]) -> Entrant:
    parts = {name: settings(value) if name in ("tried", "more") else value for name, value in given.items()}
    return Entrant(**{name: tuple(v) if isinstance(v, list) else v for name, v in parts.items()})


def _problem(given: dict[str, Any]) -> Problem:
    seeds = {name: range(*given[name]) for name in ("data", "runs") if name in given}
    return Problem(**{**given, "budgets": tuple(given["budgets"]), **seeds})


def _contest(given: dict[str, Any]) -> Contest:
    return Contest(
        {name: _problem(each) for name, each in given["problems"].items()},
        {name: _entrant(each) for name, each in given["entrants"].items()},
        tuple(given["numbers"]),
        given["chosen_by"],
        **{name: range(*given[name]) for name in ("search_data", "search_runs") if name in given},
    )


CONTESTS = {name: _contest(given) for name, given in GIVEN["contests"].items()}
ABLATION: dict[str, dict[str, Any]] = GIVEN["ablation"]
PASSES: tuple[float, ...] = tuple(GIVEN["passes"])
MIXTURE, LOGISTIC = CONTESTS["claims"], CONTESTS["claims-logistic"]
