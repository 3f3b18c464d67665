"""The error of methods against the dimension d, next to the error of as many independent draws."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from pmdviz import experiments
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.errors import InputError, TargetError
from pmdviz.experiments import Case, Chart, Experiment, Row, Size, grouped, numbers
from pmdviz.kernels.checks import Array, Rng
from pmdviz.knobs import Choice, Knobs, Value, Whole
from pmdviz.methods import METHODS
from pmdviz.metrics import METRICS
from pmdviz.metrics.distances import NUM_DRAWS
from pmdviz.targets import Target, find_target, get_target
from pmdviz.targets.custom import CustomTarget
from pmdviz.targets.exact import DrawsReference

# How far a run's end is from the answer, and how far as many exact draws are: the same metrics of both.

OF_ANY = ("mean_error", "sd_ratio_min", "sd_ratio_max", "kl_moments", "mmd", "sliced_w")
OF_WEIGHTS = ("ess", "khat")
COLUMNS = (*OF_ANY, *OF_WEIGHTS)


def of_exact_draws(target: Target, num: int, seed: int) -> dict[str, float]:
    """The same of `num` iid draws of the reference: what no method with as many particles beats."""
    reference, rng = target.reference(), np.random.default_rng([seed, num])
    draws = reference.sample(rng, num)
    cov, few = np.cov(draws.T).reshape(2 * (target.dim,)), num < target.dim + 2
    density = SimpleNamespace(mean=draws.mean(axis=0), cov=cov, few=few)  # `few`: fewer than a covariance takes
    # The attributes of a frame that these metrics read.
    shown: Any = SimpleNamespace(target=target, reference=reference, density=density)
    shown.draws = reference.sample(rng, NUM_DRAWS)
    found = numbers({name: METRICS[name].measure(shown) for name in OF_ANY})
    return {**found, **dict.fromkeys(OF_WEIGHTS, np.nan), "ess": float(num)}


# A posterior with two modes in any dimension: a regression with an unobserved sign, judged by exact Gibbs draws.

CHAINS, KEPT, BURN_IN = 40, 250, 100
REFERENCE_SEED = 2017


class TwoRegressions(CustomTarget):
    """y = s w.x + e with s = -1 or 1 unseen, each with probability 1/2; x, w and e standard normal.

    Likelihood of a row 0.5 N(y | w.x, 1) + 0.5 N(y | -w.x, 1): it is the same at w and -w, and so is the prior N(0, I).
    As s^2 = 1, the precision given all signs is I + X'X whatever they are, and a Gibbs sweep over (s, w) costs no more
    than a likelihood.
    """

    def __init__(self, dim: int, num_data: int, seed: int) -> None:
        rng = np.random.default_rng([seed, dim, 2])
        x, self.true_weights = rng.standard_normal((num_data, dim)), rng.standard_normal(dim)
        signs, noise = rng.choice([-1.0, 1.0], num_data), rng.standard_normal(num_data)
        super().__init__(
            log_prior=lambda w: -0.5 * (w**2).sum(axis=1) - 0.5 * dim * np.log(2 * np.pi),
            log_likelihood=log_likelihood,
            sample_prior=lambda rng, m: rng.standard_normal((m, dim)),
            grad_log_prior=lambda w: -w,
            grad_log_likelihood=grad_log_likelihood,
            data=np.column_stack([x, signs * np.einsum("nd,d->n", x, self.true_weights) + noise]),
            dim=dim,
            name="two_regressions",
        )

    def make_reference(self) -> DrawsReference:
        """Draws of many Gibbs chains from the true w, each with its mirror image: the mean is 0 as it must be."""
        x, y = self.data_rows[:, :-1], self.data_rows[:, -1]
        rng, factor = np.random.default_rng(REFERENCE_SEED), np.linalg.cholesky(np.eye(self.dim) + x.T @ x)
        w, kept = np.tile(self.true_weights, (CHAINS, 1)), []
        for _ in range(BURN_IN + KEPT):
            w = sweep(rng, w, x, y, factor)
            kept.append(w)
        draws = np.stack(kept[BURN_IN:], axis=1)
        return DrawsReference(np.concatenate([draws, -draws], axis=1))


def log_likelihood(w: Array, rows: Array) -> Array:
    """sum over rows of log(0.5 N(y | f, 1) + 0.5 N(y | -f, 1)), f = w.x: (m, d) and (n, d + 1) -> (m,), in nats."""
    y, f = rows[:, -1], _fitted(w, rows)
    cosh = np.abs(y * f) + np.log1p(np.exp(-2 * np.abs(y * f))) - np.log(2)  # log cosh(y f), which does not overflow
    return (cosh - 0.5 * (y**2 + f**2) - 0.5 * np.log(2 * np.pi)).sum(axis=1)


def grad_log_likelihood(w: Array, rows: Array) -> Array:
    """Its gradient, the sum of (y tanh(y f) - f) x: (m, d)."""
    y, f = rows[:, -1], _fitted(w, rows)
    return np.einsum("mn,nd->md", y * np.tanh(y * f) - f, rows[:, :-1])


def sweep(rng: Rng, w: Array, x: Array, y: Array, factor: Array) -> Array:
    """Signs given w, with P(s = 1) = 1 / (1 + exp(-2 y f)), then w given the signs, for chains (c, d).

    `factor` (d, d) is the Cholesky factor of the precision.
    """
    likely = 0.5 * (1 + np.tanh(y * np.einsum("cd,nd->cn", w, x)))
    signed = np.where(rng.random(likely.shape) < likely, y, -y)
    scores = np.linalg.solve(factor, np.einsum("cn,nd->dc", signed, x))
    return np.linalg.solve(factor.T, scores + rng.standard_normal(scores.shape)).T


def _fitted(w: Array, rows: Array) -> Array:
    return np.einsum("md,nd->mn", w, rows[:, :-1])  # not BLAS, whose last bits depend on its number of threads


@lru_cache(maxsize=8)
def two_regressions(dim: int, num_data: int, seed: int) -> TwoRegressions:
    """One for all runs of a process: its reference is drawn once."""
    return TwoRegressions(dim, num_data, seed)


# Posteriors that exist in every dimension, with an answer by which any method can be judged.


class Family(NamedTuple):
    """A posterior for each d."""

    title: str
    offers: frozenset[str]  # what its targets offer, names of `targets.base.OFFERS`
    make: Callable[[int, int, int], Target]  # d, N and the seed of the data -> the target


def _built_in(title: str, name: str, options: Mapping[str, Value]) -> Family:
    def make(dim: int, num_data: int, seed: int) -> Target:
        return get_target(name, {**options, "dim": dim, "num_data": num_data, "data_seed": seed})

    return Family(title, find_target(name).declared | {"reals"}, make)


FAMILIES = {
    "linear": _built_in("linear regression", "linear", {"correlation": 0.0}),
    "two_regressions": Family(
        "regression of unseen sign: two modes", frozenset({"reals", "gradient"}), two_regressions
    ),
    "logistic": _built_in("logistic regression", "logistic", {"truth": "prior"}),
}


# Who is measured against d: every method as it is by default, and settings of PMD that show ideas.


class Entrant(NamedTuple):
    """A method, and its knobs where they are not the defaults."""

    title: str  # in legends
    method: str
    knobs: Mapping[str, Value]

    def fits(self, family: Family) -> bool:
        """Whether the family offers what the method needs."""
        return METHODS[self.method].requires <= family.offers

    def recipe(self, target: Target, case: Case) -> Recipe:
        """Its run, to the end of its own budget where `visited` is None. Raises InputError where it does not fit."""
        knobs, budget = dict(self.knobs), ... if case["visited"] is None else case["visited"]
        if count := METHODS[self.method].Knobs.specs().get("num_particles"):
            knobs["num_particles"] = min(case["num_particles"], int(count.bounds[1]))
        return Recipe(target, self.method, seed=case["seed"], budget=budget, **knobs)


ALGORITHM_1 = {  # as the paper prints it
    **{"policy": "always", "bandwidth_rule": "isotropic", "bandwidth": 0.05, "draws": "independent"},
    **{"resampler": "multinomial", "batches": "replacement", "batch_size": 10, "step_limit": 0.0},
    **{"eta": 1.0, "n0": 100.0, "kappa": 0.5},
}
FITTING = [one for one in METHODS.values() if any(one.requires <= family.offers for family in FAMILIES.values())]
ENTRANTS = {method.name: Entrant(method.title, method.name, {}) for method in FITTING}
ENTRANTS |= {
    "pmd_weights": Entrant("PMD, no new particles", "pmd", {"policy": "never", "step_limit": 0.0}),
    "pmd_modes": Entrant("PMD, kernel of each mode's shape", "pmd", {"bandwidth_rule": "local"}),
    "pmd_unlimited": Entrant("PMD, steps without a limit", "pmd", {"step_limit": 0.0}),
    "pmd_algorithm_1": Entrant("PMD, Algorithm 1 as printed", "pmd", ALGORITHM_1),
}
SETTINGS = ("pmd", "pmd_weights", "pmd_modes", "pmd_unlimited", "pmd_algorithm_1")
TEAMS: dict[str, tuple[str, tuple[str, ...]]] = {
    "few": ("a few of different kinds", ("pmd", "pmd_weights", "smc_mcmc", "hmc")),
    "settings": ("settings of PMD", SETTINGS),
    "all": ("all that run on it", (*ENTRANTS,)),
}


WHO = {name: words for name, (words, _) in TEAMS.items()} | {name: each.title for name, each in ENTRANTS.items()}
DIMS = (1, 2, 3, 5, 10, 20, 50, 100)
EXACT, EXACT_TITLE = "exact", "as many independent draws"
EXACT_SIZE = Size(0.1, 200.0)


class DimensionKnobs(Knobs):
    """The knobs of `dimension`.

    family: A regression on d features, whose answer is known at every d.
    methods: The methods, at their default settings unless they are settings of PMD.
    metric: What the chart shows; every run is measured by all of them.
    largest_dim: The dimensions are this one, and any of 1, 2, 3, 5, 10, 20 and 50 below it.
    num_particles: Particles of every method that has them, and independent draws to compare with.
    num_data: The same number at every d.
    budget: What a method visits by default, or the same number of data for all.
    visited: Observations used by every method, unless its run ends before.
    seeds: Number of seeds, from 0 on; each has its own data set.
    """

    family = Choice("linear", {name: each.title for name, each in FAMILIES.items()}, "Posterior")
    methods = Choice("few", WHO, "Methods")
    metric = Choice("mean_error", {name: METRICS[name].label for name in COLUMNS}, "Error")
    largest_dim = Whole(20, (1, 100), label="Largest d")
    num_particles = Whole(1000, (10, 100_000), log=True, label="Particles m")
    num_data = Whole(500, (1, 100_000), log=True, label="Data points N")
    budget = Choice("own", {"own": "what each method needs", "equal": "the same for all"}, "Budget")
    visited = Whole(30_000, (1, 1_000_000_000), log=True, label="Data to visit", only_if=("budget", "equal"))
    seeds = Whole(2, (1, 100), label="Runs at each d")


class Dimension(Experiment[DimensionKnobs]):
    """Methods on the same posterior in more and more dimensions; seeds differ in data and run.

    title: What dimension does
    about: How does the error of each method grow with the number of parameters, and which of them report it?
    source: ours; why weights collapse: Bengtsson, Bickel, Li 2008
    """

    name = "dimension"
    judging = ("metric",)

    def columns(self, knobs: DimensionKnobs) -> Mapping[str, type]:
        """Who, d, the seed, all errors, and what the run itself says of them."""
        errors = dict.fromkeys(COLUMNS, float)
        return {"method": str, "d": int, "seed": int, **errors, "visited": int, "seconds": float, "caveat": str}

    def cases(self, knobs: DimensionKnobs) -> list[Case]:
        """Exact draws and a run of every method, for each d and seed; what takes long comes last. Raises InputError."""
        shared = {name: getattr(knobs, name) for name in ("family", "num_particles", "num_data")}
        shared["visited"] = knobs.visited if knobs.budget == "equal" else None
        dims = [d for d in DIMS if d < knobs.largest_dim] + [knobs.largest_dim]
        each = itertools.product((EXACT, *entrants_of(knobs.methods, knobs.family)), dims, range(knobs.seeds))
        found = [{**shared, "entrant": name, "dim": d, "seed": seed} for name, d, seed in each]
        return sorted(found, key=lambda case: round(self.size(case).seconds, 1))

    def size(self, case: Case) -> Size:
        """By the work that the method's knobs declare."""
        if case["entrant"] == EXACT:
            return EXACT_SIZE
        target = target_of(case)
        return experiments.size_of_run(ENTRANTS[case["entrant"]].recipe(target, case), target)

    def run(self, case: Case) -> list[Row]:
        """One row; of a chain that diverged without numbers."""
        begin, target, name = time.perf_counter(), target_of(case), case["entrant"]
        title = EXACT_TITLE if name == EXACT else ENTRANTS[name].title
        row = {"method": title, "d": case["dim"], "seed": case["seed"], "visited": 0, "caveat": ""}
        if name == EXACT:
            row |= of_exact_draws(target, case["num_particles"], case["seed"])
        else:
            row |= _of_run(ENTRANTS[name].recipe(target, case))
        return [{**row, "seconds": time.perf_counter() - begin}]

    def summary(self, rows: Sequence[Row], knobs: DimensionKnobs) -> list[Row]:
        """For each method and d the mean of the error with its standard error, and how many runs have a caveat."""
        order = [*dict.fromkeys(row["method"] for row in rows)]
        ordered = sorted(rows, key=lambda row: (order.index(row["method"]), row["d"]))
        return experiments.means_of(ordered, ("method", "d"), knobs.metric, "caveat")

    def pictures(self, rows: Sequence[Row], knobs: DimensionKnobs) -> list[Chart]:
        """The error against d, a line a method."""
        metric = METRICS[knobs.metric]
        low, high = metric.limits
        inside = [{**row, knobs.metric: float(np.clip(row[knobs.metric], low, high))} for row in rows]
        cut = any(row[knobs.metric] < low or row[knobs.metric] > high for row in rows)
        series = [
            experiments.mean_series(name, mine, "d", knobs.metric, "dashes" if name == EXACT_TITLE else "line")
            for (name,), mine in grouped(inside, "method").items()
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


def _of_run(recipe: Recipe) -> Row:
    """Errors at the end of a run; of one that cannot go on, why."""
    session = Session(recipe, metrics_every=10**9)
    try:
        frame = session.advance(10**9)
    except TargetError as error:
        return {**dict.fromkeys(COLUMNS, np.nan), "visited": session.frame.visited, "caveat": f"stopped: {error}"}
    return {**numbers({name: frame.metric(name) for name in COLUMNS}), "visited": frame.visited, "caveat": frame.caveat}
