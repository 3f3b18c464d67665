"""A posterior over shards: what becomes of subposteriors when they are made into one, against their number."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from pmdviz.densities.density import Density
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.recipe_parts import resolved_target
from pmdviz.experiments.base import (
    START_S,
    Case,
    Chart,
    Ellipses,
    Experiment,
    Group,
    Row,
    Size,
    mean_series,
    mean_with_error,
    size_of_run,
)
from pmdviz.experiments.shards.combine import COMBINERS, SAMPLERS, Combined, kernel_density, shards_of
from pmdviz.knobs import Choice, Knobs, Whole
from pmdviz.metrics import METRICS
from pmdviz.metrics.divergences import Divergences, picture
from pmdviz.metrics.moments import kl_of_moments, mean_error, sd_ratios
from pmdviz.streams import stream
from pmdviz.targets import Target

# Subposteriors from near: an ellipse for each, and for what was made of them, over draws of the posterior.

POINTS = 500  # draws of the posterior
FIRST = slice(0, 2)  # the coordinates that are drawn
FEW = 8  # components of a density; of more, as of a KDE, mean and covariance


def near(whole: Target, parts: Sequence[np.ndarray], made: Mapping[str, Density]) -> Ellipses:
    """Means and covariances of the parts, components of what was made of them; the first two coordinates of each."""
    names = whole.parameter_names
    groups = [Group("subposteriors", *_moments(parts))]
    groups += [Group(title, *_shape(density), bold=True) for title, density in made.items()]
    points = whole.reference().sample(stream("pictures"), POINTS)[:, FIRST]
    return Ellipses(groups, points, names[0], names[1], f"{len(parts)} shards; the dots are draws of the posterior")


def _moments(parts: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """(K, 2) and (K, 2, 2)."""
    return np.stack([part[:, FIRST].mean(axis=0) for part in parts]), np.stack(
        [np.cov(part[:, FIRST].T) for part in parts]
    )


def _shape(density: Density) -> tuple[np.ndarray, np.ndarray]:
    """Of each component, or of the whole where there are many: (k, 2) and (k, 2, 2)."""
    if len(density.particles) > FEW:
        return density.mean[None, FIRST], density.cov[None, FIRST, FIRST]
    factors = density.choleskys
    return density.centres[:, FIRST], (factors @ factors.transpose(0, 2, 1))[:, FIRST, FIRST]


# The posteriors that are cut into shards, and by what their approximations are judged.

ERRORS = ("tv", "kl_moments", "mean_error", "sd_ratio_min", "sd_ratio_max")


class FullTarget(NamedTuple):
    """A posterior, and the error that its chart shows."""

    title: str
    error: str
    make: Callable[[int, int], Target]  # N and the seed of the data -> the target


def _built_in(title: str, error: str, name: str, **options: Any) -> FullTarget:
    def make(num_data: int, seed: int) -> Target:
        return resolved_target(name, {**options, "num_data": num_data, "data_seed": seed})

    return FullTarget(title, error, make)


WHOLES = {
    "mixture": _built_in("two-mode mixture (2-D)", "tv", "mixture"),
    "linear": _built_in("linear regression (5-D)", "kl_moments", "linear", dim=5),
}


def errors_of(density: Density, target: Target) -> dict[str, float]:
    """Every error of an approximation; NaN where one is unavailable."""
    reference = target.reference()
    ratios = sd_ratios(density.cov, reference)
    found = {
        "tv": _tv(density, target),
        "kl_moments": kl_of_moments(density.mean, density.cov, reference),
        "mean_error": mean_error(density.mean, reference),
        "sd_ratio_min": ratios.min(),
        "sd_ratio_max": ratios.max(),
    }
    return {name: float("nan") if value is None else float(value) for name, value in found.items()}


def words_of(error: str) -> str:
    """An error with its unit, for an axis."""
    return METRICS[error].label


def _tv(density: Density, target: Target) -> float | None:
    if target.planar is None:
        return None
    return Divergences(density, target.planar, picture(density, target.planar, target.view_box))["tv"]


COUNTS = (1, 2, 5, 10, 20, 50)
LEAST_ROWS = 10  # of a shard
ONE_TITLE = "one machine, all data"
FIT_S = 0.5  # a machine's model


class ShardKnobs(Knobs):
    """The knobs of `sharded_posterior`."""

    kind_words = "knob of experiment 'sharded_posterior':"

    target = Choice(
        "mixture",
        choices={name: each.title for name, each in WHOLES.items()},
        label="Posterior",
        doc="Of linear regression every subposterior is a Gaussian; of the mixture it has two modes.",
    )
    sampler = Choice(
        "pmd",
        choices={name: each.title for name, each in SAMPLERS.items()},
        label="Sampler on a shard",
        doc="With its default settings. Exact draws show what is lost by putting subposteriors together alone.",
    )
    combiners = Choice(
        "all",
        choices={"all": "all of them"} | {name: each.title for name, each in COMBINERS.items()},
        label="Put together by",
        doc="How one posterior is made of the draws of all machines.",
    )
    most_shards = Whole(10, bounds=(1, 50), label="Largest K", doc="From 1, 2, 5, 10, 20 those below it, and itself.")
    num_data = Whole(1000, bounds=(10, 100_000), log=True, label="Data points N", doc="On all machines together.")
    num_particles = Whole(
        1000,
        bounds=(50, 20_000),
        log=True,
        label="Draws of a machine",
        doc="How many each machine sends, and how many particles its sampler has.",
    )
    seeds = Whole(2, bounds=(1, 100), label="Runs at each K", doc="Each on a data set of its own: seeds from 0 on.")

    def check(self) -> None:
        """Every shard has some data."""
        if self.most_shards * LEAST_ROWS > self.num_data:
            raise self.specs()["most_shards"].refusal(
                f"must leave {LEAST_ROWS} data to every shard, and {self.num_data:,} data do so for at most "
                f"{self.num_data // LEAST_ROWS}; given: {self.most_shards}"
            )


class ShardedPosterior(Experiment):
    """The prior to the power 1/K on each of K shards, and K subposteriors put together in several ways."""

    name = "sharded_posterior"
    title = "A posterior over shards"
    about = "K machines have a shard of the data each. How near to the posterior do their subposteriors come together?"
    source = "Scott et al. 2016; Neiswanger, Wang, Xing 2014; weighted fits: Han 2019 (thesis), Algorithm 12"
    Knobs = ShardKnobs

    def columns(self, knobs: ShardKnobs) -> Mapping[str, type]:
        """Who put together how many shards, every error, and what must be known of it."""
        errors = dict.fromkeys(ERRORS, float)
        return {"combiner": str, "K": int, "seed": int, **errors, "seconds": float, "note": str}

    def cases(self, knobs: ShardKnobs) -> list[Case]:
        """A number of shards and a seed each; few shards come first."""
        shared = {
            name: getattr(knobs, name) for name in ("target", "sampler", "combiners", "num_data", "num_particles")
        }
        counts = [count for count in COUNTS if count < knobs.most_shards] + [knobs.most_shards]
        return [{**shared, "K": count, "seed": seed} for count in counts for seed in range(knobs.seeds)]

    def size(self, case: Case) -> Size:
        """Of K samplers and K models, and of one sampler on all data."""
        whole, count, method = whole_of(case), case["K"], SAMPLERS[case["sampler"]].method
        fits = FIT_S * (count + 1) * case["num_particles"] / 1000
        if not method:
            return Size(START_S * (count + 2) + fits, 300.0)
        run = size_of_run(Recipe(whole, method, num_particles=case["num_particles"]), whole)
        return Size((count + 1) * run.seconds + fits, run.megabytes + 100.0)

    def run(self, case: Case) -> list[Row]:
        """A row for each way to put the same draws together, and one of a machine that has all data."""
        whole, parts = whole_of(case), draws_of(case)
        rows = []
        for name in names_of(case["combiners"]):
            begin = time.perf_counter()
            found = combined(name, parts, whole, case["seed"])
            row = {"combiner": COMBINERS[name].title, "seconds": time.perf_counter() - begin, "note": found.note}
            rows.append({**row, **errors_of(found.density, whole)})
        begin = time.perf_counter()
        alone = kernel_density(draws_of({**case, "K": 1})[0], whole.scale)
        row = {"combiner": ONE_TITLE, "seconds": time.perf_counter() - begin, "note": alone.note}
        rows.append({**row, **errors_of(alone.density, whole)})
        return [{**row, "K": case["K"], "seed": case["seed"]} for row in rows]

    def summary(self, rows: Sequence[Row], knobs: ShardKnobs) -> list[dict[str, Any]]:
        """For each way and K the mean of the error, with its standard error."""
        error = WHOLES[knobs.target].error
        keys = sorted({(row["combiner"], row["K"]) for row in rows}, key=lambda key: (titles().index(key[0]), key[1]))
        return [_entry(*key, [row for row in rows if (row["combiner"], row["K"]) == key], error) for key in keys]

    def pictures(self, rows: Sequence[Row], knobs: ShardKnobs) -> list[Chart]:
        """The error against K, a line a combiner."""
        error = WHOLES[knobs.target].error
        there = [title for title in titles() if any(row["combiner"] == title for row in rows)]
        series = [
            mean_series(
                title,
                [row for row in rows if row["combiner"] == title],
                "K",
                error,
                "dashes" if title == ONE_TITLE else "line",
            )
            for title in there
        ]
        return [Chart(series, "number of shards K", f"error of the posterior: {words_of(error)}", y_log=error != "tv")]

    def examples(self, knobs: ShardKnobs) -> list[Ellipses]:
        """Subposteriors by exact draws of the first data set, and what is made of them, over draws of the posterior."""
        cases = [case for case in self.cases(knobs) if case["K"] <= max(2, min(5, knobs.most_shards))]
        case = {**cases[-1], "seed": 0, "sampler": "exact"}
        whole, parts = whole_of(case), draws_of(case)
        made = {COMBINERS[name].title: combined(name, parts, whole, 0) for name in names_of(case["combiners"])}
        return [near(whole, parts, {title: each.density for title, each in made.items()})]


def whole_of(case: Case) -> Target:
    """The posterior given all data."""
    return WHOLES[case["target"]].make(case["num_data"], case["seed"])


def draws_of(case: Case) -> list[np.ndarray]:
    """The draws (n, d) that each machine sends."""
    shards = shards_of(whole_of(case), case["K"], case["seed"])
    draw, n = SAMPLERS[case["sampler"]].draw, case["num_particles"]
    return [draw(shard, n, 1000 * case["seed"] + k) for k, shard in enumerate(shards)]


def combined(name: str, parts: Sequence[np.ndarray], whole: Target, seed: int) -> Combined:
    """By the combiner of that name."""
    return COMBINERS[name].combine(parts, whole.scale, np.random.default_rng([seed, 3]))


def names_of(combiners: str) -> list[str]:
    """Keys of COMBINERS."""
    return [*COMBINERS] if combiners == "all" else [combiners]


def titles() -> list[str]:
    """Everybody's words in the order of legends."""
    return [*(each.title for each in COMBINERS.values()), ONE_TITLE]


def _entry(combiner: str, count: int, rows: list[Row], error: str) -> dict[str, Any]:
    mean, spread = mean_with_error(np.array([row[error] for row in rows]))
    return {
        "combiner": combiner,
        "K": count,
        "mean": mean,
        "standard error": spread,
        "runs": len(rows),
        "with note": sum(bool(row["note"]) for row in rows),
        "seconds": float(np.mean([row["seconds"] for row in rows])),
    }
