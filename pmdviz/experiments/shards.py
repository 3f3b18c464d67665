"""A posterior over shards: the error of combined subposteriors against their number."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from pmdviz import experiments
from pmdviz.densities.density import Density, GaussianMixture, effective_sample_size, normalise
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.errors import InputError, shown
from pmdviz.experiments import Case, Chart, Ellipses, Experiment, Row, Size, grouped, numbers
from pmdviz.experiments.mixtures import MODELS, Mixture, Model, fit_by_bic
from pmdviz.kernels.checks import Array, Rng
from pmdviz.knobs import Choice, Knobs, Value, Whole
from pmdviz.methods import METHODS
from pmdviz.methods.weighting import SmoothingKnobs, smoothed
from pmdviz.metrics import METRICS
from pmdviz.metrics.divergences import Divergences, picture
from pmdviz.streams import stream
from pmdviz.targets import Target, get_target
from pmdviz.targets.base import GaussianPrior
from pmdviz.targets.custom import CustomTarget
from pmdviz.targets.exact import GaussianExact, Reference
from pmdviz.targets.normal_noise import Linear

# Ways to make one posterior, a density q, of draws of K subposteriors.

MOST_COMPONENTS = 4  # of a machine's model, chosen by BIC
ROUNDS = 4  # of draws and fits


class Combined(NamedTuple):
    """An approximation of the posterior, and what must be known of it, in words, or ""."""

    density: Density
    note: str = ""


def gaussian_product(parts: Sequence[Array], scale: Array, rng: Rng) -> Combined:
    """N(m, C) with C^-1 = sum_k C_k^-1 and C^-1 m = sum_k C_k^-1 m_k, from the moments of draws (n, d) of each part.

    Exact for Gaussian subposteriors (Scott et al. 2016, section 3.1; Neiswanger, Wang, Xing 2014, section 3.1).
    """
    means, precisions = _moments(parts)
    cov = np.linalg.inv(precisions.sum(axis=0))
    mean = cov @ np.einsum("kij,kj->i", precisions, means)
    return Combined(GaussianMixture(mean[None], np.zeros(1), np.linalg.cholesky(cov)[None]))


def consensus(parts: Sequence[Array], scale: Array, rng: Rng) -> Combined:
    """A KDE of the averages theta_i = (sum_k W_k)^-1 sum_k W_k theta_ki, W_k = C_k^-1 (Scott et al. 2016, section 3).

    The i-th draws of all parts are averaged. For Gaussian subposteriors they are draws from the posterior.
    """
    _, precisions = _moments(parts)
    total = np.einsum("kij,knj->ni", precisions, np.stack(parts))
    return kernel_density(np.linalg.solve(precisions.sum(axis=0), total.T).T, scale)


def kl_weighted(parts: Sequence[Array], scale: Array, rng: Rng) -> Combined:
    """The mixture of Gaussians nearest to the product of the machines' mixtures q_k: argmax E_{prod q_k} log p(x).

    A machine fits a mixture to its draws, with as many components as BIC says. Points are drawn from the pool
    (1/K) sum_k q_k, and the mixture is fitted to them by EM with weights prod_k q_k over what they were drawn from;
    then half of the points come from this fit, and again. That is the weighted fit to pooled points by which Han 2019
    (Algorithm 12) averages models, with other weights: the algorithm's weights lead to the average of the K
    subposteriors, which is too wide for their product. It has as many components as the largest of the q_k.
    """
    dim = parts[0].shape[1]
    ladder = [MODELS["gmm"](dim, components) for components in range(1, MOST_COMPONENTS + 1)]
    fits = [fit_by_bic(ladder, part, rng).params for part in parts]
    model = ladder[max(len(fit.shares) for fit in fits) - 1]
    current, n = None, len(parts[0])
    for _ in range(ROUNDS):
        points, log_weights = _weighted_points(model, fits, current, rng, n)
        current = model.fit(points, log_weights, start=current, rng=rng).params
    with np.errstate(divide="ignore"):
        density = GaussianMixture(current.means, np.log(current.shares), np.linalg.cholesky(current.covs))
    ess, wanted = effective_sample_size(normalise(log_weights)), model.num_params()
    few = ess < 5 * wanted  # effective points for each number that is fitted
    return Combined(density, f"{ess:.0f} effective points: too few to fit {wanted} numbers to" if few else "")


def _weighted_points(
    model: Model, fits: list[Mixture], current: Mixture | None, rng: Rng, n: int
) -> tuple[Array, Array]:
    """Points (2 n, d) from the pool, or half of them from the current fit, and the log weights of the product."""
    share = n * 2 if current is None else n
    which = np.bincount(rng.integers(len(fits), size=share), minlength=len(fits))
    drawn = [model.sample(fit, rng, int(count)) for fit, count in zip(fits, which, strict=True)]
    if current is not None:
        drawn.append(model.sample(current, rng, n))
    points = np.concatenate(drawn)
    each = np.stack([model.log_density(points, fit) for fit in fits])
    proposal = np.logaddexp.reduce(each, axis=0) - np.log(len(fits))
    if current is not None:
        proposal = np.logaddexp(proposal, model.log_density(points, current)) - np.log(2)
    return points, each.sum(axis=0) - proposal


def kernel_density(draws: Array, scale: Array) -> Combined:
    """A KDE of draws (n, d) that all count alike, with the kernel that methods have by default."""
    log_weights = np.full(len(draws), -np.log(len(draws)))
    return Combined(smoothed(draws, log_weights, SmoothingKnobs.defaults(), scale))


def _moments(parts: Sequence[Array]) -> tuple[Array, Array]:
    """Means (K, d) and inverse covariances (K, d, d)."""
    return np.stack([part.mean(axis=0) for part in parts]), np.stack([np.linalg.inv(np.cov(p.T)) for p in parts])


class Combiner(NamedTuple):
    """An entry of COMBINERS: its words, and what it does with the draws, the prior's sds and a generator."""

    title: str
    combine: Callable[[Sequence[Array], Array, Rng], Combined]


COMBINERS = {
    "product": Combiner("product of Gaussians", gaussian_product),
    "consensus": Combiner("weighted averages of draws", consensus),
    "kl_weighted": Combiner("product of mixtures, KL-weighted", kl_weighted),
}


# How a machine draws from its subposterior.

EXACT = "exact"
SAMPLERS = {EXACT: "iid draws", **{name: METHODS[name].title for name in ("pmd", "smc_mcmc")}}


def drawn_by(sampler: str, target: Target, n: int, seed: int) -> Array:
    """n draws that all count alike: exact ones, or of q at the end of a run with n particles, in random order.

    Without that order averages of i-th draws would be of draws from the same place, and not of independent ones.
    """
    rng = np.random.default_rng([seed, 2])
    if sampler == EXACT:
        return target.exact.sample(rng, n)
    recipe = Recipe(target, sampler, seed=seed, num_particles=n)
    return rng.permutation(Session(recipe, metrics_every=10**9).advance(10**9).density.sample(rng, n))


# The subposterior of a shard: the prior to the power 1/K times the likelihood of the shard's rows.


class Subposterior(CustomTarget):
    """p(theta)^(1/K) prod over the shard's rows of p(row | theta), up to a constant; K of them multiply to the whole.

    The prior N(0, s^2 I) of the whole becomes N(0, K s^2 I): its density is p(theta / sqrt K) / K^(d/2) (Scott et al.
    2016, section 3.1).

    Parameters
    ----------
    whole : Target
        With a Gaussian prior around 0.
    rows : array (n, ...)
        Of its data.
    count : int
        K, the number of shards.

    Raises
    ------
    InputError
        Without data, or if the prior is not a Gaussian around 0.
    """

    def __init__(self, whole: Target, rows: Array, count: int) -> None:
        if whole.data is None:
            words = f"target {whole.name!r} has no data to share out"
            raise InputError(f"{words}; choose one that `pmdviz list` gives `data`")
        if not isinstance(whole, GaussianPrior):
            words = f"the prior must be a Gaussian around 0; target {whole.name!r} has another one"
            raise InputError(f"{words}: choose a target such as 'gaussian', 'linear' or 'logistic'")
        self.whole, self.count = whole, count
        wider, constant = np.sqrt(count), 0.5 * whole.dim * np.log(count)
        gradients: dict[str, Callable[..., Array]] = {}
        if "gradient" in whole.offers:
            gradients["grad_log_prior"] = lambda theta: whole.grad_log_prior(theta / wider) / wider
            gradients["grad_log_likelihood"] = lambda theta, rows: _gradient(whole, theta, rows)
        super().__init__(
            log_prior=lambda theta: whole.log_prior(theta / wider) - constant,
            log_likelihood=whole.log_likelihood,
            sample_prior=lambda rng, n: wider * whole.sample_prior(rng, n),
            data=rows,
            dim=whole.dim,
            name=f"shard_of_{whole.name}",
            **gradients,
        )

    def make_reference(self) -> Reference | None:
        """In closed form where the whole is linear regression; elsewhere by a grid sum in the plane."""
        if not isinstance(self.whole, Linear):
            return super().make_reference()
        x, y, variance = self.data_rows[:, :-1], self.data_rows[:, -1], self.whole.sigma_y**2
        precision = np.eye(self.dim) / (self.count * self.whole.prior_sd**2) + x.T @ x / variance
        return GaussianExact(np.linalg.solve(precision, x.T @ y / variance), np.linalg.inv(precision))


def _gradient(whole: Target, theta: Array, rows: Array) -> Array:
    """Of the sum of log p(row | theta) over the rows alone: without the prior, and without the factor N / B."""
    both = whole.grad_log_joint(theta, rows) - whole.grad_log_prior(theta)
    return both * len(rows) / whole.num_data


def shards_of(whole: Target, count: int, seed: int) -> list[Subposterior]:
    """Subposteriors on `count` shards of the data in a random order, of as equal sizes as can be. Raises InputError."""
    if not 1 <= count <= whole.num_data:
        raise InputError(f"there are {whole.num_data:,} data for {shown(count)} shards; give at least one to each")
    order = np.random.default_rng([seed, 1]).permutation(whole.num_data)
    return [Subposterior(whole, whole.data_rows[np.sort(rows)], count) for rows in np.array_split(order, count)]


# Subposteriors from near: an ellipse for each, and for the combined posterior, over draws from the posterior.

POINTS = 500  # draws from the posterior
FIRST = slice(0, 2)  # the coordinates that are drawn
FEW = 8  # components of a density; of more, as of a KDE, mean and covariance


def near(whole: Target, parts: Sequence[Array], made: Mapping[str, Density]) -> Ellipses:
    """Means and covariances of the parts, components of the combined model; the first two coordinates of each."""
    firsts = [part[:, FIRST] for part in parts]
    moments = np.stack([part.mean(axis=0) for part in firsts]), np.stack([np.cov(part.T) for part in firsts])
    groups = [experiments.Group("subposteriors", *moments)]
    groups += [experiments.Group(title, *_shape(density), bold=True) for title, density in made.items()]
    points = whole.reference().sample(stream("pictures"), POINTS)[:, FIRST]
    title = f"{len(parts)} shards; the dots are draws from the posterior"
    return Ellipses(groups, points, *whole.parameter_names[FIRST], title)


def _shape(density: Density) -> tuple[Array, Array]:
    """Of each component, or of the whole where there are many: (k, 2) and (k, 2, 2)."""
    if len(density.particles) > FEW:
        return density.mean[None, FIRST], density.cov[None, FIRST, FIRST]
    factors = density.choleskys
    return density.centres[:, FIRST], (factors @ factors.transpose(0, 2, 1))[:, FIRST, FIRST]


# The posteriors that are cut into shards, and by what their approximations are judged.

ERRORS = ("tv", "kl_moments", "mean_error", "sd_ratio_min", "sd_ratio_max")


class FullTarget(NamedTuple):
    """A posterior by the name of its target, and the error that its chart shows."""

    title: str
    error: str
    options: Mapping[str, Value]


WHOLES = {
    "mixture": FullTarget("two-mode mixture (2-D)", "tv", {}),
    "linear": FullTarget("linear regression (5-D)", "kl_moments", {"dim": 5}),
}


def errors_of(density: Density, target: Target) -> dict[str, float]:
    """Every error of an approximation; NaN where one is unavailable."""
    planar = target.planar
    tv = None if planar is None else Divergences(density, planar, picture(density, planar, target.view_box))["tv"]
    # The attributes of a frame that these metrics read.
    shown: Any = SimpleNamespace(target=target, reference=target.reference(), density=density, tv=tv)
    return numbers({name: METRICS[name].measure(shown) for name in ERRORS})


COUNTS = (1, 2, 5, 10, 20, 50)
LEAST_ROWS = 10  # of a shard
ONE_TITLE = "one machine, all data"
TITLES = [*(each.title for each in COMBINERS.values()), ONE_TITLE]  # in the order of legends
WAYS = {"all": "all of them", **{name: each.title for name, each in COMBINERS.items()}}
FIT_S = 0.5  # a machine's model


class ShardedPosteriorKnobs(Knobs):
    """The knobs of `sharded_posterior`.

    target: Of linear regression every subposterior is a Gaussian; of the mixture it has two modes.
    sampler: The sampler on each machine, at its default settings. Exact draws show the loss
        by putting subposteriors together alone.
    combiners: How one posterior is made of the draws of all machines.
    most_shards: The numbers of machines are this one, and any of 1, 2, 5, 10 and 20 below it.
    num_data: Data points on all machines together.
    num_particles: Draws that each machine sends, and particles of its sampler.
    seeds: Number of seeds, from 0 on; each has its own data set.
    """

    target = Choice("mixture", {name: each.title for name, each in WHOLES.items()}, "Posterior")
    sampler = Choice("pmd", SAMPLERS, "Sampler on a shard")
    combiners = Choice("all", WAYS, "Put together by")
    most_shards = Whole(10, (1, 50), label="Largest K")
    num_data = Whole(1000, (10, 100_000), log=True, label="Data points N")
    num_particles = Whole(1000, (50, 20_000), log=True, label="Draws of a machine")
    seeds = Whole(2, (1, 100), label="Runs at each K")

    def check(self) -> None:
        """Every shard has some data."""
        if self.most_shards * LEAST_ROWS > self.num_data:
            words = f"must leave {LEAST_ROWS} data to every shard, and {self.num_data:,} data do so for at most"
            most = self.num_data // LEAST_ROWS
            raise self.specs()["most_shards"].refusal(f"{words} {most}; got {self.most_shards}")


class ShardedPosterior(Experiment[ShardedPosteriorKnobs]):
    """The prior to the power 1/K on each of K shards, and K subposteriors put together in several ways.

    title: A posterior over shards
    about: K machines have a shard of the data each. How near to the posterior do their subposteriors come together?
    source: Scott et al. 2016; Neiswanger, Wang, Xing 2014; weighted fits: Han 2019 (thesis), Algorithm 12
    """

    name = "sharded_posterior"

    def columns(self, knobs: ShardedPosteriorKnobs) -> Mapping[str, type]:
        """Who put together how many shards, every error, and what must be known of it."""
        errors = dict.fromkeys(ERRORS, float)
        return {"combiner": str, "K": int, "seed": int, **errors, "seconds": float, "note": str}

    def cases(self, knobs: ShardedPosteriorKnobs) -> list[Case]:
        """A number of shards and a seed each; few shards come first."""
        names = ("target", "sampler", "combiners", "num_data", "num_particles")
        shared = {name: getattr(knobs, name) for name in names}
        counts = [count for count in COUNTS if count < knobs.most_shards] + [knobs.most_shards]
        return [{**shared, "K": count, "seed": seed} for count in counts for seed in range(knobs.seeds)]

    def size(self, case: Case) -> Size:
        """Of K samplers and K models, and of one sampler on all data."""
        whole, count, sampler = whole_of(case), case["K"], case["sampler"]
        fits = FIT_S * (count + 1) * case["num_particles"] / 1000
        if sampler == EXACT:
            return Size(experiments.START_S * (count + 2) + fits, 300.0)
        run = experiments.size_of_run(Recipe(whole, sampler, num_particles=case["num_particles"]), whole)
        return Size((count + 1) * run.seconds + fits, run.megabytes + 100.0)

    def run(self, case: Case) -> list[Row]:
        """A row for each way to put the same draws together, and one of a machine that has all data."""
        whole, parts, rows = whole_of(case), draws_of(case), []
        ways: dict[str, Callable[[], Combined]] = {
            COMBINERS[name].title: partial(combined, name, parts, whole, case["seed"]) for name in names_of(case)
        }
        ways[ONE_TITLE] = lambda: kernel_density(*draws_of({**case, "K": 1}), whole.scale)
        for title, combine in ways.items():
            begin = time.perf_counter()
            found = combine()
            row = {"combiner": title, "seconds": time.perf_counter() - begin, "note": found.note}
            rows.append({**row, **errors_of(found.density, whole), "K": case["K"], "seed": case["seed"]})
        return rows

    def summary(self, rows: Sequence[Row], knobs: ShardedPosteriorKnobs) -> list[Row]:
        """For each way and K the mean of the error, with its standard error."""
        ordered = sorted(rows, key=lambda row: (TITLES.index(row["combiner"]), row["K"]))
        return experiments.means_of(ordered, ("combiner", "K"), WHOLES[knobs.target].error, "note")

    def pictures(self, rows: Sequence[Row], knobs: ShardedPosteriorKnobs) -> list[Chart]:
        """The error against K, a line a combiner."""
        error, groups = WHOLES[knobs.target].error, grouped(rows, "combiner")
        looks = {title: "dashes" if title == ONE_TITLE else "line" for title in TITLES if (title,) in groups}
        series = [experiments.mean_series(title, groups[title,], "K", error, look) for title, look in looks.items()]
        words = f"error of the posterior: {METRICS[error].label}"
        return [Chart(series, "number of shards K", words, y_log=error != "tv")]

    def examples(self, knobs: ShardedPosteriorKnobs) -> list[Ellipses]:
        """Subposteriors by exact draws of the first data set, and the combined one, over draws from the posterior."""
        cases = [case for case in self.cases(knobs) if case["K"] <= max(2, min(5, knobs.most_shards))]
        case = {**cases[-1], "seed": 0, "sampler": EXACT}
        whole, parts = whole_of(case), draws_of(case)
        made = {COMBINERS[name].title: combined(name, parts, whole, 0) for name in names_of(case)}
        return [near(whole, parts, {title: each.density for title, each in made.items()})]


def whole_of(case: Case) -> Target:
    """The posterior given all data."""
    own = {"num_data": case["num_data"], "data_seed": case["seed"]}
    return get_target(case["target"], {**WHOLES[case["target"]].options, **own})


def draws_of(case: Case) -> list[Array]:
    """The draws (n, d) that each machine sends."""
    shards = shards_of(whole_of(case), case["K"], case["seed"])
    sampler, n = case["sampler"], case["num_particles"]
    return [drawn_by(sampler, shard, n, 1000 * case["seed"] + k) for k, shard in enumerate(shards)]


def combined(name: str, parts: Sequence[Array], whole: Target, seed: int) -> Combined:
    """By the combiner of that name."""
    return COMBINERS[name].combine(parts, whole.scale, np.random.default_rng([seed, 3]))


def names_of(case: Case) -> list[str]:
    """Keys of COMBINERS."""
    return [*COMBINERS] if case["combiners"] == "all" else [case["combiners"]]
