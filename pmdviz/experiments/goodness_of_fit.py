"""How often each test rejects, with what it supposes and against what it should find."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from pmdviz import experiments
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.experiments import Case, Chart, Experiment, HeatMap, Histogram, Picture, Row, Size
from pmdviz.experiments.fit_statistics import FACTORS, FIT_TESTS, p_value
from pmdviz.experiments.fit_testing import ALPHA, checked_draws, find_test
from pmdviz.kernels.checks import Array, Rng
from pmdviz.knobs import Choice, Knobs, Real, Value, Whole
from pmdviz.streams import stream
from pmdviz.targets import Target, make_target
from pmdviz.targets.discrete import TABLES
from pmdviz.targets.enumeration import Enumeration

# Pairs of a target p and a q that the sample comes from, which differ by a perturbation; at 0 they are the same.

Draws = Callable[[Rng, int], Array]

FIELD_COUPLING = 0.1  # of the lattice whose field is perturbed
HIDDEN = 5  # units of the machine


class Scenario(NamedTuple):
    """p by a temperature T of spins, and the draws of q by T and the perturbation."""

    title: str
    perturbation: str  # what it is, for an axis
    levels: Sequence[float]  # that are tried
    at: float  # the level at which the sample size is varied
    target: Callable[[float], Target]
    draws: Callable[[float, float], Draws]


def ising(size: int, coupling: float, field_sd: float = 0.0) -> Target:
    """Spins without a common field on an open lattice, whose exact draws are quick."""
    return _made("ising", size=size, coupling=coupling, field=0.0, field_sd=field_sd, boundary="open")


def couplings(size: int, levels: Sequence[float], at: float) -> Scenario:
    """Lattices at the temperatures T and T': the perturbation is 1/T' - 1/T."""
    return Scenario(
        *(f"Ising {size} × {size}, another temperature", "1/T′ - 1/T", levels, at),
        lambda temperature: ising(size, 1 / temperature),
        lambda temperature, level: ising(size, 1 / temperature + level).reference().sample,
    )


def machine(temperature: float = 0.0) -> Target:
    """W ~ N(0, 1/M) without biases, by which some states would be so rare that one of them decides a test."""
    return _made("bernoulli_rbm", visible=8, hidden=HIDDEN, weight_sd=1 / np.sqrt(HIDDEN), bias_ratio=0.0)


@lru_cache(maxsize=64)
def perturbed_machine(temperature: float, level: float) -> Draws:
    """W + N(0, level^2), always by the same normals."""
    p = machine()
    q = copy.copy(p)
    q.weights = p.weights + level * stream("perturbation").standard_normal(p.weights.shape)
    return Enumeration(q.states, q.log_joint).sample


def shifted_table(temperature: float, level: float) -> Draws:
    """0.25 + level, 0.45 - level and 0.3."""
    values, p = TABLES["three"]
    q = np.maximum(np.array(p) + level * np.array([1.0, -1.0, 0.0]), 0.0)
    q /= q.sum()
    return lambda rng, n: np.array(values)[rng.choice(len(q), size=n, p=q)][:, None]


def normal(rng: Rng, n: int, shift: float, sd: float) -> Array:
    """n draws (n, 2) of N((shift, 0), sd^2 I)."""
    return np.array([shift, 0.0]) + sd * rng.standard_normal((n, 2))


@lru_cache(maxsize=32)
def _made(name: str, **options: float | str) -> Target:
    return make_target(name, **options)


def plane(temperature: float) -> Target:
    """N(0, I)."""
    return _made("correlated_gaussian", dim=2, correlation=0.0, q0_sd=1.0)


COLDER, TENTHS = (0.0, 0.05, 0.1, 0.15), (0.0, 0.1, 0.2, 0.3)
SCENARIOS = {
    "ising_3x3": couplings(3, COLDER, 0.1),
    "ising_4x4": couplings(4, COLDER, 0.1),
    "ising_10x10": couplings(10, (0.0, 0.01, 0.02, 0.03), 0.02),
    "ising_field": Scenario(
        *("Ising 3 × 3, a random field", "sd of the field", TENTHS, 0.1),
        lambda temperature: ising(3, FIELD_COUPLING),  # weakly coupled, whatever the temperature
        lambda temperature, level: ising(3, FIELD_COUPLING, level).reference().sample,
    ),
    "rbm": Scenario(
        "Bernoulli RBM, noise on its weights", "sd of the noise on W", TENTHS, 0.2, machine, perturbed_machine
    ),
    "categorical": Scenario(
        *("Three values, another probability", "probability moved from 0 to -1", COLDER, 0.1),
        *(lambda temperature: _made("categorical", table="three"), shifted_table),
    ),
    "gaussian_mean": Scenario(
        *("Gaussian in the plane, another mean", "shift of the first coordinate, in sds", TENTHS, 0.2, plane),
        lambda temperature, level: partial(normal, shift=level, sd=1.0),
    ),
    "gaussian_scale": Scenario(
        *("Gaussian in the plane, another width", "sd of q minus 1", TENTHS, 0.2, plane),
        lambda temperature, level: partial(normal, shift=0.0, sd=1 + level),
    ),
}


# The pictures of tests: power curves, a kernel matrix, and a null distribution.

SHOWN = 100  # rows of a kernel matrix
BINS = 40


def power_curves(rates: Sequence[Row], varied: str, scenario: Scenario, alpha: float) -> Chart:
    """Rates of rejection with their intervals; `rates` is the summary."""
    series = []
    for (test,), mine in experiments.grouped(rates, "test").items():
        x, y, low, high = (np.array([rate[column] for rate in mine], float) for column in (varied, *RATE))
        series.append(experiments.Series(FIT_TESTS[test].title, x, y, low, high))
    by_size = varied == "num_points"
    label = "points n of a sample" if by_size else f"perturbation: {scenario.perturbation}"
    levels = [(f"α = {alpha:g}", alpha)]
    return Chart(series, label, "share of samples rejected", by_size, False, levels=levels, title=scenario.title)


RATE = ("rejected", "low", "high")


def kernel_picture(title: str, kernel: Array, points: Array) -> HeatMap:
    """The first 100 points' kernel matrix off its diagonal, similar points next to one another."""
    count = min(SHOWN, len(points))
    order = np.lexsort(points[:count].T[::-1])
    order = order[np.argsort(points[:count].sum(axis=1)[order], kind="stable")]
    values = kernel[np.ix_(order, order)].copy()
    np.fill_diagonal(values, 0.0)
    axis = "points of the sample, by the sum of their coordinates"
    return HeatMap(values, axis, axis, "kernel", f"{title}: kernel matrix, without its diagonal")


# How often a test rejects: rates with intervals, and the rate over the seeds of a recipe.

Z = 1.959964  # of 95 %


def wilson(rejected: int, runs: int) -> tuple[float, float]:
    """The interval that holds the true rate with 95 % confidence (Wilson 1927), with p = rejected / runs.

    (p + z^2/2n +- z sqrt(p (1-p)/n + z^2/4n^2)) / (1 + z^2/n)
    """
    p, spread = rejected / runs, Z**2 / runs
    middle, half = p + spread / 2, Z * np.sqrt(p * (1 - p) / runs + spread / (4 * runs))
    return max(0.0, float(middle - half) / (1 + spread)), float(middle + half) / (1 + spread)


BLOCK = 20  # repetitions of a case
FIRST_S, PROCESS_MB = 0.2, 150.0  # exact draws of a block; the pool of reference draws and tables of a process
DRAWN_BY = ("scenario", "temperature", "perturbation", "seed", "first", "count", "num_points")
ALL = "all"
VARIED = {"perturbation": "how far q is from p", "num_points": "sample size"}
BANDWIDTHS = {"median": "the usual one", "aggregated": "several, combined", "own": "one of your own"}
SPINS = ("ising_3x3", "ising_4x4", "ising_10x10")


class GoodnessOfFitKnobs(Knobs):
    """The knobs of `goodness_of_fit`.

    scenario: The target p, and how the q that samples come from differs from it.
    temperature: Neighbours of p are coupled by 1/T; q's neighbours by 1/T plus the perturbation.
    strength: Factor of the perturbations; at 0 q is p, and the rates are the sizes of the tests.
    varied: The setting along the horizontal axis. Without a perturbation q is p, and the rate is the size of the test.
    test: The test; all tests see the same samples.
    num_points: Where the sample size is varied: the largest one; the others are a half, a quarter and an eighth of
        it.
    repetitions: Repetitions at each point of a curve.
    draws: Draws of the null distribution for every p-value: bootstrap, permutations or simulated counts.
    bandwidth: Bandwidth of the kernels. The usual one is the squared median distance, or of kernels on states the
        published one. Several are combined by their least p-value at the same level.
    width: The same for all tests, each in its own unit.
    alpha: How often a sample of p itself may be rejected.
    seed: Seed of all samples.
    """

    scenario = Choice("ising_3x3", {name: each.title for name, each in SCENARIOS.items()}, "Scenario")
    temperature = Real(10.0, (1, 1000), (2, 50), "Temperature T of p", log=True, only_if=("scenario", SPINS))
    strength = Real(1.0, (0, 3), label="Strength")
    varied = Choice("perturbation", VARIED, "Varied setting")
    test = Choice(ALL, {ALL: "all that apply", **{name: each.title for name, each in FIT_TESTS.items()}}, "Tests")
    num_points = Whole(200, (10, 1000), label="Points n of a sample")
    repetitions = Whole(200, (1, 10_000), label="Samples")
    draws = Whole(300, (19, 10_000), label="Null draws m")
    bandwidth = Choice("median", BANDWIDTHS, "Bandwidth")
    width = Real(1.0, (1e-4, 10_000), (0.05, 50), "Bandwidth h", log=True, only_if=("bandwidth", "own"))
    alpha = ALPHA
    seed = Whole(0, (0, 2**32 - 1), label="Seed")

    def check(self) -> None:
        """So many draws that p-values can be below the level."""
        checked_draws(self.draws, self.alpha)


class GoodnessOfFit(Experiment[GoodnessOfFitKnobs]):
    """Samples of q, and which of the tests reject that they come from p.

    title: Does the sample come from the model?
    about: How often tests reject samples of the model itself, and of others that differ a little from it.
    source: Han 2019 (thesis), Algorithm 10 and its experiments; Yang, Liu, Rao, Neville 2018
    """

    name = "goodness_of_fit"

    def columns(self, knobs: GoodnessOfFitKnobs) -> Mapping[str, type]:
        """A row a sample and test."""
        numbers = {"num_points": int, "perturbation": float, "seed": int, "statistic": float, "p_value": float}
        return {"test": str, **numbers, "rejected": bool, "seconds": float}

    def cases(self, knobs: GoodnessOfFitKnobs) -> list[Case]:
        """A block of samples for one test at one point of its curve."""
        scenario, same = SCENARIOS[knobs.scenario], knobs.as_dict()
        for name in ("varied", "test", "num_points", "repetitions", "strength"):
            same.pop(name)
        starts = range(0, knobs.repetitions, BLOCK)
        return [
            {**same, "test": test, "num_points": n, "perturbation": level, "first": first, "count": count}
            for level, n in points_of_curve(knobs, scenario)
            for first in starts
            if (count := min(BLOCK, knobs.repetitions - first))
            for test in tests_of(knobs, scenario)
        ]

    def run(self, case: Case) -> list[Row]:
        """All samples of the block, drawn at once; one of them is the same whatever test is made of it."""
        test, target = FIT_TESTS[case["test"]], SCENARIOS[case["scenario"]].target(case["temperature"])
        rows = []
        for number, points in enumerate(samples_of(case), start=case["first"]):
            start = time.perf_counter()
            rng = np.random.default_rng([case["seed"], number, 1])
            found = test.compare(rng, target, points, case["draws"], bandwidth_of(case))
            p = p_value(found.values)
            result = {"statistic": float(found.values[0]), "p_value": p, "rejected": p <= case["alpha"]}
            known = {name: case[name] for name in ("test", "num_points", "perturbation")}
            rows.append({**known, "seed": number, **result, "seconds": time.perf_counter() - start})
        return rows

    def summary(self, rows: Sequence[Row], knobs: GoodnessOfFitKnobs) -> list[Row]:
        """The share of rejections with Wilson's 95 % interval, of every test at every point of its curve."""
        names, found = ("test", "num_points", "perturbation"), []
        for key, mine in sorted(experiments.grouped(rows, *names).items()):
            rejected, runs = sum(row["rejected"] for row in mine), len(mine)
            low, high = wilson(rejected, runs)
            numbers = {"rejected": rejected / runs, "low": low, "high": high, "samples": runs}
            ms = 1000 * float(np.mean([row["seconds"] for row in mine]))
            found.append({**dict(zip(names, key, strict=True)), **numbers, "milliseconds": ms})
        return found

    def pictures(self, rows: Sequence[Row], knobs: GoodnessOfFitKnobs) -> list[Chart]:
        """The power curves."""
        return [power_curves(self.summary(rows, knobs), knobs.varied, SCENARIOS[knobs.scenario], knobs.alpha)]

    def examples(self, knobs: GoodnessOfFitKnobs) -> Sequence[Picture]:
        """The kernel matrix of 100 points of one sample, and the null distribution with its statistic."""
        scenario = SCENARIOS[knobs.scenario]
        target, level = scenario.target(knobs.temperature), points_of_curve(knobs, scenario)[-1][0]
        case = {**knobs.as_dict(), "perturbation": level, "first": 0, "count": 1}
        (points,) = samples_of(case)
        pictures: list[Picture] = []
        for name in tests_of(knobs, scenario):
            rng = np.random.default_rng([knobs.seed, 0, 1])
            found = FIT_TESTS[name].compare(rng, target, points, knobs.draws, bandwidth_of(case))
            if found.kernel is not None:
                pictures.append(kernel_picture(FIT_TESTS[name].title, found.kernel, points))
            finite = found.values[1:][np.isfinite(found.values[1:])]
            counts, edges = np.histogram(finite, BINS)
            marks = [("the sample's statistic", float(found.values[0]))] if np.isfinite(found.values[0]) else []
            words = f"{FIT_TESTS[name].title}: null distribution"
            pictures.append(Histogram(edges, counts, marks, "statistic", "null draws", words))
        return pictures

    def size(self, case: Case) -> Size:
        """By measured times of a kernel matrix and of the null draws."""
        test, n = FIT_TESTS[case["test"]], case["num_points"]
        target = SCENARIOS[case["scenario"]].target(case["temperature"])
        kernels = len(FACTORS) if case["bandwidth"] == "aggregated" else 1
        seconds = test.seconds(target, n, case["draws"], kernels)
        return Size(FIRST_S + case["count"] * seconds, PROCESS_MB + 8e-6 * (24 * n**2 + 4 * n * case["draws"]))


def points_of_curve(knobs: GoodnessOfFitKnobs, scenario: Scenario) -> list[tuple[float, int]]:
    """(perturbation, number of points) along the axis."""
    if knobs.varied == "perturbation":
        levels = sorted({float(knobs.strength * level) for level in scenario.levels})
        return [(level, knobs.num_points) for level in levels]
    sizes = sorted({max(10, knobs.num_points // factor) for factor in (8, 4, 2, 1)})
    return [(float(knobs.strength * scenario.at), n) for n in sizes]


def tests_of(knobs: GoodnessOfFitKnobs, scenario: Scenario) -> list[str]:
    """Names of the tests that are made. Raises InputError where the one that was chosen does not apply."""
    target = scenario.target(knobs.temperature)
    if knobs.test == ALL:
        return [name for name, each in FIT_TESTS.items() if each.applies(target)]
    find_test(knobs.test, target)
    return [knobs.test]


def samples_of(case: Case) -> list[Array]:
    """The block's samples, (n, d) each: by seed and number of the block, the same for every test."""
    return _drawn(*(case[name] for name in DRAWN_BY))


@lru_cache(maxsize=2)
def _drawn(
    scenario: str, temperature: float, perturbation: float, seed: int, first: int, count: int, num_points: int
) -> list[Array]:
    """Kept for the tests that come next: exact draws of a wide lattice take as long as a test."""
    draw = SCENARIOS[scenario].draws(temperature, perturbation)
    points = draw(np.random.default_rng([seed, first, 0]), count * num_points)
    points.flags.writeable = False
    return np.split(points, count)


def bandwidth_of(case: Case) -> str | float:
    """As `compare` takes it."""
    return case["width"] if case["bandwidth"] == "own" else case["bandwidth"]


# Calibration: whether true parameters drawn from the prior have uniform ranks among the posterior's draws.


NUM_BINS = 10
NUM_RANKED = 99  # draws of a chain, evenly spaced, among which the truth is ranked: nearly independent if it has mixed
NARROW, WIDE = 1.3, 0.7  # of 12 Var(rank), from which q is called too narrow or too wide
SAMPLERS: Mapping[str, tuple[str, str, int, Mapping[str, Value]]] = {  # title, method, budget and knobs
    "hmc": ("Hamiltonian Monte Carlo", "hmc", 20_000, {}),
    "hot_sgld": ("SGLD with long steps on batches of two", "sgld", 4_000, {"a": 0.15, "g": 0.0, "batch_size": 2}),
    "walk": ("a random walk with short steps", "random_walk", 4_000, {"tune": False, "scale": 0.02}),
}
METHODS = {name: title for name, (title, *_) in SAMPLERS.items()}


class CalibrationKnobs(Knobs):
    """Knobs of `calibration`.

    method: The sampler that is checked.
    num_data_sets: Parameters drawn from the prior, each with data of its own.
    """

    method = Choice("hmc", METHODS, "Method", basic=True)
    num_data_sets = Whole(60, (10, 1000), (20, 200), "Data sets", basic=True)


class Calibration(Experiment[CalibrationKnobs]):
    """Draw theta from N(0, 1) and 20 observations given theta; run the sampler; rank theta among 99 of its draws.

    The rank is the share of draws below theta. Over many data sets it is uniform on 0, 1/99, ..., 1 if the draws are
    independent and from the posterior (simulation-based calibration). It piles up in the middle where they are too
    wide, at both ends where they are too narrow, or where they are correlated. So a chain is thinned (section 4 of the
    source), and its bulk ESS is given: with less than the 99 draws, ranks at both ends may be due to correlation alone.

    title: Calibration of a sampler
    about: Ranks of true parameters among thinned draws from their posteriors: uniform for a sampler that is right.
    source: Talts, Betancourt, Simpson, Vehtari, Gelman 2018
    """

    name = "calibration"

    def columns(self, knobs: CalibrationKnobs) -> Mapping[str, type]:
        """The truth, its rank, and the bulk ESS of all draws, per data set."""
        return {"seed": int, "theta": float, "rank": float, "bulk_ess": float}

    def cases(self, knobs: CalibrationKnobs) -> list[Case]:
        """One per data set."""
        return [{"method": knobs.method, "seed": seed} for seed in range(knobs.num_data_sets)]

    def run(self, case: Case) -> list[Row]:
        """Data, draws and the rank."""
        recipe = _recipe(case)
        frame = Session(recipe, metrics_every=10**9).advance(10**9)
        theta, draws = recipe.target_options["theta"], frame.particles[:, 0]
        ranked = draws[np.linspace(0, len(draws) - 1, NUM_RANKED).astype(np.int64)]
        below, ess = float((ranked < theta).mean()), frame.metrics["bulk_ess"]
        return [{"seed": case["seed"], "theta": theta, "rank": below, "bulk_ess": ess}]

    def summary(self, rows: Sequence[Row], knobs: CalibrationKnobs) -> list[Row]:
        """How often the truth is in the central intervals, 12 Var(rank), 1 for uniform ranks, and the bulk ESS."""
        ranks = np.array([row["rank"] for row in rows], float)
        if len(ranks) < NUM_BINS:
            return []
        spread = float(12 * np.mean((ranks - 0.5) ** 2))
        verdict = "too narrow" if spread > NARROW else "too wide" if spread < WIDE else "calibrated"
        off = 2 * np.abs(ranks - 0.5)  # a rank is in the central interval of that probability or a larger one
        inside = {f"inside {100 * level:.0f} %": float(np.mean(off <= level)) for level in (0.5, 0.9)}
        ess = float(np.median([row["bulk_ess"] for row in rows]))
        entry = {"method": METHODS[knobs.method], "data sets": len(ranks), **inside, "spread": spread, "draws": verdict}
        return [{**entry, "bulk ESS": ess}]

    def pictures(self, rows: Sequence[Row], knobs: CalibrationKnobs) -> Sequence[Picture]:
        """The ranks, and how many a bin would have if they were uniform."""
        edges = np.linspace(0, 1, NUM_BINS + 1)
        counts, _ = np.histogram([row["rank"] for row in rows], edges)
        title = f"{METHODS[knobs.method]}: uniform would be {len(rows) / NUM_BINS:.0f} per bin"
        return [Histogram(edges, counts, (), "rank of the true θ among the draws", "data sets", title)]

    def size(self, case: Case) -> Size:
        """That of its run."""
        recipe = _recipe(case)
        return experiments.size_of_run(recipe, recipe.make_target())


def _recipe(case: Case) -> Recipe:
    """The run on data of a true parameter that is drawn from the prior."""
    theta = float(np.random.default_rng([case["seed"], 2018]).standard_normal())
    options = {"dim": 1, "theta": round(theta, 6), "data_seed": case["seed"]}
    _, method, budget, knobs = SAMPLERS[case["method"]]
    return Recipe("gaussian", method, target_options=options, seed=case["seed"], budget=budget, **knobs)
