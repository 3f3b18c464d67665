"""What dimension does: the error of methods against d, beside that of as many independent draws."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.errors import InputError, TargetError
from pmdviz.experiments.base import Case, Experiment, Row, mean_with_error
from pmdviz.experiments.dimension.entrants import ENTRANTS, TEAMS, Entrant
from pmdviz.experiments.dimension.errors import COLUMNS, of_exact_draws, of_frame
from pmdviz.experiments.dimension.families import FAMILIES
from pmdviz.experiments.forecast import Size
from pmdviz.experiments.pictures import Chart, mean_series
from pmdviz.experiments.run_size import size_of_run
from pmdviz.knobs import Choice, Knobs, Whole
from pmdviz.metrics import METRICS
from pmdviz.targets import Target

DIMS = (1, 2, 3, 5, 10, 20, 50, 100)
EXACT, EXACT_TITLE = "exact", "as many independent draws"
EXACT_SIZE = Size(0.1, 200.0)


class DimensionKnobs(Knobs):
    """The knobs of `dimension`."""

    kind_words = "knob of experiment 'dimension':"

    family = Choice(
        "linear",
        choices={name: each.title for name, each in FAMILIES.items()},
        label="Posterior",
        doc="A regression on d features, whose answer is known at every d.",
    )
    methods = Choice(
        "few",
        choices={name: words for name, (words, _) in TEAMS.items()} | {name: e.title for name, e in ENTRANTS.items()},
        label="Methods",
        doc="With their default settings, unless they are settings of PMD.",
    )
    metric = Choice(
        "mean_error",
        choices={name: METRICS[name].label for name in COLUMNS},
        label="Error",
        doc="What the chart shows; every run is measured by all of them.",
    )
    largest_dim = Whole(
        20, bounds=(1, 100), label="Largest d", doc="From 1, 2, 3, 5, 10, 20 and 50 those below it, and itself."
    )
    num_particles = Whole(
        1000,
        bounds=(10, 100_000),
        log=True,
        label="Particles m",
        doc="Of every method that has particles, and how many independent draws are compared with them.",
    )
    num_data = Whole(500, bounds=(1, 100_000), log=True, label="Data points N", doc="The same number at every d.")
    budget = Choice(
        "own",
        choices={"own": "what each method needs", "equal": "the same for all"},
        label="Budget",
        doc="What a method visits by default, or the same number of data for all.",
    )
    visited = Whole(
        30_000,
        bounds=(1, 1_000_000_000),
        log=True,
        label="Data to visit",
        only_if=("budget", "equal"),
        doc="By every method, unless it ends before of itself.",
    )
    seeds = Whole(2, bounds=(1, 100), label="Runs at each d", doc="Each on a data set of its own: seeds from 0 on.")


class Dimension(Experiment):
    """Methods on the same posterior in more and more dimensions; seeds differ in data and run."""

    name = "dimension"
    title = "What dimension does"
    about = "How does the error of each method grow with the number of parameters, and which of them say so?"
    source = "ours; why weights collapse: Bengtsson, Bickel, Li 2008"
    Knobs = DimensionKnobs

    def columns(self, knobs: DimensionKnobs) -> Mapping[str, type]:
        """Who, d, the seed, all errors, and what the run itself says of them."""
        errors = dict.fromkeys(COLUMNS, float)
        return {"method": str, "d": int, "seed": int, **errors, "visited": int, "seconds": float, "caveat": str}

    def cases(self, knobs: DimensionKnobs) -> list[Case]:
        """Exact draws and a run of every method, for each d and seed; what takes long comes last. Raises InputError."""
        shared = {name: getattr(knobs, name) for name in ("family", "num_particles", "num_data")}
        shared["visited"] = knobs.visited if knobs.budget == "equal" else None
        dims = [d for d in DIMS if d < knobs.largest_dim] + [knobs.largest_dim]
        names = (EXACT, *entrants_of(knobs.methods, knobs.family))
        found = [
            {**shared, "entrant": name, "dim": d, "seed": seed}
            for name in names
            for d in dims
            for seed in range(knobs.seeds)
        ]
        return sorted(found, key=lambda case: round(self.size(case).seconds, 1))

    def size(self, case: Case) -> Size:
        """By the work that the method's knobs declare."""
        if case["entrant"] == EXACT:
            return EXACT_SIZE
        target = target_of(case)
        return size_of_run(recipe_of(case, target), target)

    def run(self, case: Case) -> list[Row]:
        """One row; of a chain that diverged without numbers."""
        begin, target = time.perf_counter(), target_of(case)
        row = {"method": title_of(case["entrant"]), "d": case["dim"], "seed": case["seed"], "visited": 0, "caveat": ""}
        if case["entrant"] == EXACT:
            row |= of_exact_draws(target, case["num_particles"], case["seed"])
        else:
            row |= _of_run(recipe_of(case, target))
        return [{**row, "seconds": time.perf_counter() - begin}]

    def summary(self, rows: Sequence[Row], knobs: DimensionKnobs) -> list[dict[str, Any]]:
        """For each method and d the mean of the error with its standard error, and how many runs have a caveat."""
        groups: dict[tuple[str, int], list[Row]] = {}
        for row in sorted(rows, key=lambda row: row["d"]):
            groups.setdefault((row["method"], row["d"]), []).append(row)
        order = [row["method"] for row in rows]
        return [_entry(*key, groups[key], knobs.metric) for key in sorted(groups, key=lambda key: order.index(key[0]))]

    def pictures(self, rows: Sequence[Row], knobs: DimensionKnobs) -> list[Chart]:
        """The error against d, a line a method."""
        metric, names = METRICS[knobs.metric], list(dict.fromkeys(row["method"] for row in rows))
        low, high = metric.limits
        inside = [{**row, knobs.metric: float(np.clip(row[knobs.metric], low, high))} for row in rows]
        cut = any(row[knobs.metric] < low or row[knobs.metric] > high for row in rows)
        series = [
            mean_series(
                name,
                [row for row in inside if row["method"] == name],
                "d",
                knobs.metric,
                "dashes" if name == EXACT_TITLE else "line",
            )
            for name in names
        ]
        title = f"Runs below {low:g} or above {high:g} count as {low:g} and {high:g}." if cut else ""
        return [Chart(series, "dimension d", metric.label, y_log=metric.log, title=title)]


def entrants_of(methods: str, family: str) -> list[str]:
    """The entrants of a team that fit the family, or the one of that name. Raises InputError."""
    offers = FAMILIES[family]
    if methods in TEAMS:
        return [name for name in TEAMS[methods][1] if ENTRANTS[name].fits(offers)]
    if not ENTRANTS[methods].fits(offers):
        words = f"method {methods!r} does not run on {family!r}; choose another posterior or method"
        raise InputError(words, "methods", f"{ENTRANTS[methods].title} does not run on this posterior: choose another")
    return [methods]


def target_of(case: Case) -> Target:
    """One for all cases of a process that are about it."""
    return FAMILIES[case["family"]].make(case["dim"], case["num_data"], case["seed"])


def recipe_of(case: Case, target: Target) -> Recipe:
    """The run of a case."""
    entrant: Entrant = ENTRANTS[case["entrant"]]
    return entrant.recipe(target, case["num_particles"], case["visited"], case["seed"])


def title_of(name: str) -> str:
    """For legends."""
    return EXACT_TITLE if name == EXACT else ENTRANTS[name].title


def _of_run(recipe: Recipe) -> dict[str, Any]:
    """Errors at the end of a run; of one that cannot go on, why."""
    session = Session(recipe, metrics_every=10**9)
    try:
        frame = session.advance(10**9)
    except TargetError as error:
        return {**dict.fromkeys(COLUMNS, np.nan), "visited": session.frame.visited, "caveat": f"stopped: {error}"}
    return {**of_frame(frame), "visited": frame.visited, "caveat": frame.caveat}


def _entry(method: str, dim: int, rows: list[Row], metric: str) -> dict[str, Any]:
    values = np.array([row[metric] for row in rows])
    values = values[np.isfinite(values)]
    mean, error = mean_with_error(values)
    return {
        "method": method,
        "d": dim,
        "mean": mean,
        "standard error": error,
        "runs": len(rows),
        "without number": len(rows) - len(values),
        "with caveat": sum(bool(row["caveat"]) for row in rows),
        "seconds": float(np.mean([row["seconds"] for row in rows])),
    }
