"""PMD and its theorems: bounds, what the Theory page can vary, and runs of PMD against both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from pmdviz.densities.density import Density, Grid, normalise
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.errors import InputError
from pmdviz.experiments import Case, Chart, Experiment, Row, Series, grouped, mean_series
from pmdviz.experiments.sweep import COUNTS, ERRORS, Fit, Job, fitted, measured_run, planned
from pmdviz.kernels.checks import Array
from pmdviz.knobs import Choice, Knobs, Value, Whole
from pmdviz.targets import TARGETS, Target
from pmdviz.targets.custom import names

# The bounds of Dai, He, Dai, Song 2016 as formulas; logarithms are natural, divergences in nats.
# The constants of Theorems 3 to 6 are suprema over an unbounded space (M, C, rho), which a run cannot estimate. A run
# is compared with how these bounds fall: `RATES`. Of Theorem 2 both the paper's eps_t and its proof's are here
# (docs/replication/errata.md).


def theorem2(kl: float, gamma: float, gradient_bound: float, inexactness: float = 0.0) -> float:
    """E KL(p || q_{t+1}) <= eps_t + (1 - gamma_t) E KL(p || q_t) + gamma_t^2 / 2 E ||g_t||^2.

    `kl` is KL(p || q_t), `gradient_bound` the root of the mean of ||g_t||^2 (largest absolute value, nats).
    As printed `inexactness` is eps_t of Eq. 3, KL(q_{t+1} || exact prox-mapping), and the bound is false; as proved it
    is <gradient of the prox objective at q_{t+1}, q_{t+1} - p>, see `proved_inexactness`. Source: Theorem 2.
    """
    return inexactness + (1 - gamma) * kl + 0.5 * gamma**2 * gradient_bound**2


def proved_inexactness(printed: float, kl_after: float, kl_exact: float) -> float:
    """The eps_t with which Theorem 2 holds: KL(q_{t+1} || q^) + KL(p || q_{t+1}) - KL(p || q^), q^ the exact step.

    `printed` is the first term, eps_t of Eq. 3; all in nats. The first-order condition that the proof starts from,
    <gamma g + log q_{t+1} - log q_t, q_{t+1} - q> <= eps_t, at q = p. Source: appendix B of the paper; this form ours.
    """
    return printed + kl_after - kl_exact


def kde_exponent(smoothness: float, dim: int) -> float:
    """-beta / (d + 2 beta): how the L1 error of a weighted KDE falls with m at the best bandwidth (Theorem 4)."""
    return -smoothness / (dim + 2 * smoothness)


class Rate(NamedTuple):
    """How one bound, or a term of it, falls: error ~ x^exponent(beta, d), with a constant that is not known.

    `whole` are the letters that must grow together for the whole bound to fall so; () where no choice of the page makes
    it do that, and the slope belongs to one term.
    """

    theorem: str
    x: str  # "m" particles, "T" steps
    errors: tuple[str, ...]  # which errors it is about, by their names in a sweep
    exponent: Callable[[float, int], float]
    words: str
    whole: tuple[str, ...] = ()

    def holds(self, letters: Iterable[str]) -> bool:
        """Whether the whole bound falls so while these letters grow together."""
        return bool(self.whole) and {*self.whole} <= {*letters}


NO_BOUND = "no theorem of the paper bounds this error with these particles"
NO_GRID = "this experiment needs a target of one or two dimensions with an exact posterior, such as 'mixture'"
ONE_STEP = "one step, against the exact q of that step"
THEOREM5 = "as printed, m and T in step; its proof gives √(log T / T) for the second term at η = 1"
RATES = (
    Rate("Theorem 3", "m", ("bounded",), lambda beta, d: -0.5, ONE_STEP, ("m", "one step")),
    Rate("Theorem 4", "m", ("tv",), kde_exponent, ONE_STEP, ("m", "one step")),
    Rate("Theorem 5", "m", ("bounded",), lambda beta, d: -0.5, THEOREM5, ("m", "T")),
    Rate("Theorem 5", "T", ("bounded",), lambda beta, d: -0.5, THEOREM5, ("m", "T")),
    Rate("Theorem 6", "m", ("kl_forward",), kde_exponent, "the part of the KDE, which T does not take away"),
    Rate("Theorem 6", "T", ("kl_forward",), lambda beta, d: -1.0, "needs m_t growing like t^(2+d/β) in each run",
         ("T", "m_t")),
)  # fmt: skip


def rates_for(x: str, error: str) -> list[Rate]:
    """The bounds that say how `error` falls with `x` ("m" or "T")."""
    return [rate for rate in RATES if rate.x == x and error in rate.errors]


# The quantities that the Theory page can vary: recipes whose error a theorem bounds, with the values to try.

SIZES = (64, 128, 256, 512, 1024, 2048)
STEPS = (16, 32, 64, 128, 256, 512)
DATA = (40, 80, 160, 320, 640, 1280)
GROWN_FROM, GROWN_STEPS = 10, {1: (2, 3, 4, 6, 8, 12), 2: (2, 3, 4, 5, 6, 7)}  # m_1, and T by dimension d
# beta: what the paper counts a Gaussian kernel as; the bounds' slopes and the KDE's bandwidth go by it
SMOOTHNESS = 1.0
FIXED_SIZE, FIXED_STEPS, PARTS = 512, 200, 20  # m and T where they are not varied; batches in a pass


class Strategy(NamedTuple):
    """A way to carry q, and the theorems of the paper that cover it as it is run here."""

    title: str
    knobs: dict[str, Value]
    theorems: tuple[str, ...] = ()


STRATEGIES: dict[str, Strategy] = {
    "particles": Strategy(
        "weighted particles, γ = 1/t (Theorem 5)",
        {"policy": "never", "eta": 1.0, "n0": 0.0, "kappa": 1.0, "step_limit": 0.0, "bandwidth_rule": "local",
         "draws": "independent", "batches": "replacement"},
        ("Theorem 2", "Theorem 3", "Theorem 5"),
    ),
    "kde": Strategy(
        "weighted KDE, γ = 2/(t+1) (Theorem 6)",
        {"policy": "always", "eta": 2.0, "n0": 1.0, "kappa": 1.0, "step_limit": 0.0, "bandwidth_rule": "covariance",
         "smoothness": SMOOTHNESS, "draws": "independent", "resampler": "multinomial", "batches": "replacement"},
        ("Theorem 2", "Theorem 4", "Theorem 6"),
    ),
    # Balanced draws are not independent, an epoch's batches neither, and a limited step size depends on its batch
    "ours": Strategy("our default: new particles when the ESS falls", {}),
}  # fmt: skip


class Varied(NamedTuple):
    """One thing to vary. `over` gives the lists that go side by side, for a batch of B, N data and d dimensions."""

    title: str
    letters: tuple[str, ...]  # which of m, T, N change, and what else a bound needs
    column: str  # of the sweep's rows, for the x axis
    axis: str
    over: Callable[[int, int, int], dict[str, list[Value]]]


def _all(**values: Value) -> dict[str, list[Value]]:
    """The same values in every run."""
    return {name: [value] * len(SIZES) for name, value in values.items()}


VARIED: dict[str, Varied] = {
    "m": Varied(
        "particles m", ("m",), "num_particles", "particles m",
        lambda batch, n, d: {"num_particles": [*SIZES], "budget": [FIXED_STEPS * batch] * len(SIZES)},
    ),
    "one_step": Varied(
        "particles m, one step on all data", ("m", "one step"), "num_particles", "particles m",
        lambda batch, n, d: {"num_particles": [*SIZES],
                             **_all(budget=n, batch_size=n, batches="epochs", schedule="constant", step_size=1.0)},
    ),
    "T": Varied(
        "steps T", ("T",), "iterations", "steps T",
        lambda batch, n, d: {"budget": [t * batch for t in STEPS], **_all(num_particles=FIXED_SIZE)},
    ),
    "grown": Varied(
        "steps T, particles growing like t^(2+d)", ("T", "m_t"), "iterations", "steps T",
        lambda batch, n, d: {"budget": [t * batch for t in GROWN_STEPS[d]],
                             **_all(num_particles=GROWN_FROM, growth="power", growth_exponent=2.0 + d,
                                    most_particles=GROWN_FROM * GROWN_STEPS[d][-1] ** (2 + d))},
    ),
    "mT": Varied(
        "m and T = m together", ("m", "T"), "num_particles", "particles m = steps T",
        lambda batch, n, d: {"num_particles": [*SIZES], "budget": [m * batch for m in SIZES]},
    ),
    "N": Varied(
        "data N", ("N",), "num_data", "data N",
        lambda batch, n, d: {"num_data": [*DATA], "batch_size": [size // PARTS for size in DATA],
                          "budget": [FIXED_STEPS * size // PARTS for size in DATA]},
    ),
}  # fmt: skip


def planned_runs(target: str, strategy: str, varied: str) -> tuple[Recipe, dict[str, list[Value]]]:
    """The recipe and the settings varied together; a batch has a twentieth of the data.

    Raises InputError for a target without an exact posterior on a grid.
    """
    options = {"dim": 1} if target == "gaussian" else {}
    made = Recipe(target, target_options=options).make_target()
    if made.planar is None:
        raise InputError(f"{NO_GRID}; got {target!r}", "target")
    batch = max(1, made.num_data // PARTS)
    knobs = {**STRATEGIES[strategy].knobs, "batch_size": batch, "num_particles": FIXED_SIZE}
    recipe = Recipe(target, "pmd", target_options=options, **knobs)
    return recipe, VARIED[varied].over(batch, made.num_data, made.dim)


# Runs of PMD against the theorems: how fast the error falls, and the bounds by the recurrence of Theorem 2.


class BothKnobs(Knobs):
    """The knobs of both experiments.

    target: A target with an exact posterior on a grid.
    strategy: The setting of PMD, one for each theorem.
    """


POSTERIOR = Choice("gaussian", {name: each.title for name, each in TARGETS.items()}, "Posterior", more=names)
PARTICLES = Choice("particles", {name: each.title for name, each in STRATEGIES.items()}, "Particles")


# How fast the error falls with particles, steps or data, next to the slopes of the theorems.


class ConvergenceKnobs(BothKnobs):
    """The knobs of `convergence`.

    varied: Particles m (in whole runs, or in one step), steps T (also with growing particles), both, or data N.
    error: What the slope is fitted to.
    seeds: Run seeds from 0 on.
    """

    target, strategy = POSTERIOR, PARTICLES
    varied = Choice("mT", {name: each.title for name, each in VARIED.items()}, "Varied setting")
    error = Choice("bounded", {name: words for name, (words, _) in ERRORS.items()}, "Error")
    seeds = Whole(20, (1, 1000), label="Runs at each value")


class Convergence(Experiment[ConvergenceKnobs]):
    """Runs of `pmd` at growing m, T or N: every run's error, and the power law through all of them.

    title: Error against particles, steps or data
    about: Does the error fall as the theorems say? Runs at growing m, T or N, and the slope through all of them. Guide
        lines have the slopes of the bounds, whose constants are not known; β = 1 in the bounds and in the KDE's
        bandwidth.
    source: Dai, He, Dai, Song 2016, Theorems 3 to 6
    """

    name = "convergence"
    judging = ("error",)

    def columns(self, knobs: ConvergenceKnobs) -> Mapping[str, type]:
        """The varied quantity, the seed, the counts, and every error."""
        column = {VARIED[knobs.varied].column: int}
        return column | {"seed": int, **COUNTS, **dict.fromkeys(ERRORS, float), "seconds": float}

    def cases(self, knobs: ConvergenceKnobs) -> list[Case]:
        """A recipe each."""
        jobs = planned(*planned_runs(knobs.target, knobs.strategy, knobs.varied), knobs.seeds, together=True)
        return [{"recipe": {**job.recipe.to_dict(), "made_with": {}}, "values": job.values} for job in jobs]

    def run(self, case: Case) -> list[Row]:
        """A run to the end of its budget, and its errors there."""
        job = Job(Recipe.from_dict(case["recipe"]), case["values"])
        return [{**job.values, "seed": job.recipe.seed, **row} for row in measured_run(job, {})]

    def summary(self, rows: Sequence[Row], knobs: ConvergenceKnobs) -> list[Row]:
        """The fitted slope with its standard error, each whole bound's, and each term's of a bound."""
        fit = self.fit(rows, knobs)
        if fit is None:
            return []
        bounds, slopes, dim = self.bounds(knobs), self.guides(knobs), dimension(knobs)
        terms = [each for each in bounds if not each.holds(VARIED[knobs.varied].letters)]
        slopes += [(f"{each.theorem}, a term alone: {each.words}", each.exponent(SMOOTHNESS, dim)) for each in terms]
        own = {"what": "measured", "slope": fit.slope, "standard_error": fit.standard_error, "runs": len(rows)}
        found = [own, *({"what": words, "slope": slope} for words, slope in slopes)]
        return found if bounds else [*found, {"what": NO_BOUND}]

    def fit(self, rows: Sequence[Row], knobs: ConvergenceKnobs) -> Fit | None:
        """The power law through all runs; None while there are too few."""
        try:
            return fitted(*self.points(rows, knobs))
        except InputError:
            return None

    def bounds(self, knobs: ConvergenceKnobs) -> list[Rate]:
        """The bounds on this error for this varied quantity and strategy, whole bounds and terms of bounds."""
        found = [rate for letter in VARIED[knobs.varied].letters for rate in rates_for(letter, knobs.error)]
        return [rate for rate in found if rate.theorem in STRATEGIES[knobs.strategy].theorems]

    def pictures(self, rows: Sequence[Row], knobs: ConvergenceKnobs) -> list[Chart]:
        """Every run, the mean over them, and the law fitted to all."""
        varied, words, (x, y) = VARIED[knobs.varied], ERRORS[knobs.error][0], self.points(rows, knobs)
        series = [Series("one run", x, y, look="points")]
        series.append(mean_series("mean of the runs", rows, varied.column, knobs.error))
        title = ""
        if fit := self.fit(rows, knobs):
            ends = np.array([x.min(), x.max()])
            series.append(Series("fit", ends, fit.at(ends), look="dashes"))
            out = f", {fit.left_out:,} without a logarithm left out" if fit.left_out else ""
            slope = f"{fit.slope:.2f}".replace("-", "−")
            title = f"Measured slope {slope} ± {fit.standard_error:.2f} (all {fit.num_points:,} points{out})"
        return [Chart(series, varied.axis, words, slopes=self.guides(knobs), title=title)]

    def guides(self, knobs: ConvergenceKnobs) -> list[tuple[str, float]]:
        """A guide line for each slope of bounds that hold for all that is varied, with the theorems that print it."""
        names: dict[float, list[str]] = {}
        for rate in self.bounds(knobs):
            if rate.holds(VARIED[knobs.varied].letters):
                names.setdefault(rate.exponent(SMOOTHNESS, dimension(knobs)), []).append(rate.theorem)
        printed = [(", ".join(dict.fromkeys(found)), slope) for slope, found in names.items()]
        return [(f"{theorems} as printed: slope {slope:.2f}".replace("-", "−"), slope) for theorems, slope in printed]

    def points(self, rows: Sequence[Row], knobs: ConvergenceKnobs) -> tuple[Array, Array]:
        """The varied quantity and the error, (runs,) each."""
        column = VARIED[knobs.varied].column
        return np.array([row[column] for row in rows], float), np.array([row[knobs.error] for row in rows], float)


def dimension(knobs: ConvergenceKnobs) -> int:
    """d of the posterior."""
    return planned_runs(knobs.target, knobs.strategy, knobs.varied)[0].make_target().dim


# Theorem 2 term by term: the values of a run at each step next to the bound of the recurrence.

SIDES = {1: 1024, 2: 160}
FLOOR = -1e5  # nats; log q of particles that all have weight 0 there
TINY = np.finfo(float).tiny
SMALLEST = 1e-5  # nats; smaller terms are not drawn
TERMS = {  # in the picture
    "proved": "allowed, as proved", "bound": "allowed, as printed", "noise": "γ²/2 ‖g‖²", "kept": "(1−γ) KL",
    "proved_inexactness": "εₜ, as proved",
}  # fmt: skip


NAMES = tuple("gamma kl kept gradient noise inexactness bound proved_inexactness proved measured averaged".split())


def terms(recipe: Recipe, steps: int) -> list[Row]:
    """The terms of the first steps of a `pmd` recipe on a target with an exact posterior in one or two dimensions.

    The run follows the recipe, batch for batch. Raises InputError for another method or target.
    """
    target = recipe.make_target()
    if recipe.method != "pmd":
        raise InputError(f"Theorem 2 is about 'pmd'; give a recipe with method='pmd'; got {recipe.method!r}")
    if target.planar is None:
        raise InputError(f"{NO_GRID}; got {target.name!r}")
    session, board = Session(recipe.limited(None), metrics_every=10**9), Board(target)
    log_q, found = board.log_q(session.frame.density), []
    for _ in range(steps):
        if session.frame.state.next_step < 1:
            raise InputError("Theorem 2 is about mirror steps; give a recipe without warm_start")
        frame = session.advance(1)
        after = board.log_q(frame.method.density(frame.state, frame.knobs, target))
        batch = target.data_rows[frame.batch_rows]
        found.append(board.terms(frame.iteration, float(frame.info.step_size), log_q, after, batch))
        log_q = after
    return found


class RecurrenceKnobs(BothKnobs):
    """The knobs of `recurrence`.

    runs: Run seeds from 0 on: the theorem is about their mean.
    steps: Number of steps, from the first one on.
    """

    target, strategy = POSTERIOR, PARTICLES
    runs = Whole(4, (1, 1000), label="Runs")
    steps = Whole(15, (1, 10_000), label="Steps")


class Recurrence(Experiment[RecurrenceKnobs]):
    """Every term of Theorem 2 at every step, measured on a grid, next to KL(p || q) itself.

    title: Theorem 2, term by term
    about: KL(p‖q_{t+1}) ≤ ε_t + (1−γ) KL(p‖q_t) + γ²/2 ‖g_t‖², in the mean, term by term. As printed ε_t is
        KL(q_{t+1}‖q̂), q̂ the exact step, and the bound is false; the proof needs KL(p‖q_{t+1}) − KL(p‖q̂) besides.
    source: Dai, He, Dai, Song 2016, Theorem 2
    """

    name = "recurrence"

    def columns(self, knobs: RecurrenceKnobs) -> Mapping[str, type]:
        """The terms, in nats."""
        return {"seed": int, "t": int, **dict.fromkeys(NAMES, float)}

    def cases(self, knobs: RecurrenceKnobs) -> list[Case]:
        """A run each."""
        planned_runs(knobs.target, knobs.strategy, "T")  # refuses what it is not about
        shared = {"target": knobs.target, "strategy": knobs.strategy, "steps": knobs.steps}
        return [{**shared, "seed": seed} for seed in range(knobs.runs)]

    def run(self, case: Case) -> list[Row]:
        """A row a step."""
        recipe, _ = planned_runs(case["target"], case["strategy"], "T")
        found = terms(recipe.replaced(seed=case["seed"]), case["steps"])
        return [{"seed": case["seed"], **step} for step in found]

    def summary(self, rows: Sequence[Row], knobs: RecurrenceKnobs) -> list[Row]:
        """Each term's mean over the runs, step by step, and what the unrolled recurrence and (b) allow, as proved."""
        steps = mean_terms(rows)
        allowed = zip(steps, unrolled(steps)[1:].tolist(), averages_allowed(steps).tolist(), strict=True)
        return [{**step, "unrolled_proved": from_start, "averaged_proved": of_b} for step, from_start, of_b in allowed]

    def pictures(self, rows: Sequence[Row], knobs: RecurrenceKnobs) -> list[Chart]:
        """KL(p || q) after each step with the terms of Theorem 2, and of the averaged iterate with what it allows."""
        lines = [mean_series(words, rows, "t", name, "dashes") for name, words in TERMS.items()]
        seen = [one._replace(y=np.where(one.y > SMALLEST, one.y, np.nan), low=None, high=None) for one in lines]
        average = mean_series("measured", rows, "t", "averaged")
        allowed = Series("allowed, as proved", average.x, averages_allowed(mean_terms(rows)), look="dashes")
        measured = mean_series("measured", rows, "t", "measured")
        one = Chart([measured, *seen], "step t", "KL(p‖q) after the step (nats)", x_log=False)
        return [one, Chart([average, allowed], "step t", "KL(q̄‖p) of the averaged iterate (nats)", x_log=False)]


def mean_terms(rows: Sequence[Row]) -> list[Row]:
    """The mean over runs of every term, step by step: the theorem is about expectations.

    ||g_t|| is the root of the mean of its square, as in the theorem.
    """
    means = []
    for (t,), mine in grouped(rows, "t").items():
        mean = np.mean([[row[name] for name in NAMES] for row in mine], axis=0).tolist()
        gradient = float(np.sqrt(np.square([row["gradient"] for row in mine]).mean()))
        means.append({"t": t, **dict(zip(NAMES, mean, strict=True)), "gradient": gradient})
    return means


class Board:
    """A grid over the box Omega that holds prior and posterior; densities are normalised on it, as in Lemma 18."""

    def __init__(self, target: Target) -> None:
        self.target = target
        pairs = zip(target.view_box, target.exact.box, strict=True)
        self.grid = Grid(tuple((min(a, c), max(b, d)) for (a, b), (c, d) in pairs), SIDES[target.dim])
        self.points = self.grid.points
        self.log_prior = target.log_prior(self.points)
        self.log_p = normalise(target.exact.log_density(self.points))
        self.p = np.exp(self.log_p)
        self.sum_q, self.sum_gamma = np.zeros_like(self.p), 0.0  # over the steps so far, for the averaged iterate

    def log_q(self, density: Density) -> Array:
        """Log mass of q in each cell, (cells,)."""
        return normalise(np.maximum(density.log_density(self.points), FLOOR))

    def terms(self, t: int, gamma: float, before: Array, after: Array, batch: Array) -> Row:
        """The terms of the step t -> t + 1, from `before` to `after`; called once for each step, in order.

        gamma, and kl, KL(p || q_t)
        kept : (1 - gamma) KL(p || q_t)
        gradient : ||g_t||, the largest absolute value of g_t on the grid
        noise : gamma^2 / 2 ||g_t||^2
        inexactness : eps_t as printed: KL(q_{t+1} || exact prox-mapping), Eq. 3
        bound : as printed: the sum of kept, noise and inexactness
        proved_inexactness : eps_t as proved: that and KL(p || q_{t+1}) - KL(p || exact prox-mapping)
        proved : the sum of kept, noise and proved_inexactness
        measured : KL(p || q_{t+1})
        averaged : KL(q-bar_t || p) = L(q-bar_t) - L(p), q-bar_t = sum gamma_s q_s / sum gamma_s over s <= t
        """
        self.sum_q += gamma * np.exp(before)
        self.sum_gamma += gamma
        average = self.sum_q / self.sum_gamma
        averaged = float((average * (np.log(np.maximum(average, TINY)) - self.log_p)).sum())
        scaled = self.target.num_data / len(batch) * self.target.log_likelihood(self.points, batch)
        g = before - self.log_prior - scaled  # the stochastic gradient of Eq. 1
        g = g - 0.5 * (g.max() + g.min())  # a constant does nothing to a step: the one with the smallest ||g||
        exact = normalise(before - gamma * g)
        inexactness = float((np.exp(after) * (after - exact)).sum())
        kl, gradient = self._kl(before), float(np.abs(g).max())
        kept, noise, measured = (1 - gamma) * kl, 0.5 * gamma**2 * gradient**2, self._kl(after)
        proved = proved_inexactness(inexactness, measured, self._kl(exact))
        bounds = [theorem2(kl, gamma, gradient, eps) for eps in (inexactness, proved)]
        values = (gamma, kl, kept, gradient, noise, inexactness, bounds[0], proved, bounds[1], measured, averaged)
        return {"t": t, **dict(zip(NAMES, values, strict=True))}

    def _kl(self, log_q: Array) -> float:
        return float((self.p * (self.log_p - log_q)).sum())


def unrolled(rows: list[Row]) -> Array:
    """Theorem 2, as proved, put into itself from the first KL on: bounds on KL(p || q_t), t = 1 .. T + 1."""
    bounds = [rows[0]["kl"]]
    for row in rows:
        bounds.append(theorem2(bounds[-1], row["gamma"], row["gradient"], row["proved_inexactness"]))
    return np.array(bounds)


def averages_allowed(rows: list[Row]) -> Array:
    """E KL(q-bar_t || p) <= (M^2/2 sum gamma^2 + sum eps + D1) / sum gamma over the steps to t, after each step.

    q-bar_t = sum gamma q / sum gamma; D1 is the first KL(p || q); M^2 the largest E ||g||^2; eps as proved
    (`proved_inexactness`), nats. Source: Theorem 2(b), appendix B of the paper.
    """
    names = "gamma", "gradient", "proved_inexactness"
    gamma, gradient, eps = (np.array([row[name] for row in rows]) for name in names)
    noise = 0.5 * np.maximum.accumulate(gradient) ** 2 * np.cumsum(gamma**2)
    return (noise + np.cumsum(eps) + rows[0]["kl"]) / np.cumsum(gamma)
