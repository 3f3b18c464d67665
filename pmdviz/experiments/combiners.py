"""Ways to make one model of the machines' models. Their parameters are sent, and no data but for `mle`.

KL averaging looks for the model nearest to all machines' models theta_k, argmax sum_k E_{theta_k} log p(x | theta);
the expectations are taken over n points drawn from each of them (Han 2019, Algorithms 11 and 12; Theorem 19
is of plain draws, 20 of control variates, 22 of weighted draws).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TypeVar

import numpy as np

from pmdviz.experiments.mixtures import Fit, Mixture, Model, matched
from pmdviz.methods.stein import log_mean
from pmdviz.metrics.divergences import spread_normals

Part = TypeVar("Part")
CAP = 10.0  # of a weight, where their mean is 1
EXACT_POINTS = 20_000  # of each machine, where the exact KL average has no closed form


class NotApplicable(ValueError):
    """A sentence on why these models cannot be combined in this way."""


class Machines:
    """The machines' models theta_k, components matched to the first machine's with the usual number of components."""

    def __init__(self, model: Model, fits: list[Mixture], rng: np.random.Generator) -> None:
        self.model = model
        counts = [len(each.shares) for each in fits]
        self.components = min(set(counts), key=lambda c: (-counts.count(c), c))
        self.first = fits[counts.index(self.components)]
        self.params = [matched(each, self.first) if len(each.shares) == self.components else each for each in fits]
        self.rng = rng
        self.shuffled = [each.ordered(rng.permutation(len(each.shares))) for each in fits]

    def check_alike(self) -> None:
        """Raise NotApplicable where parameters of one machine have no counterpart on another."""
        counts = sorted({len(each.shares) for each in self.params})
        if len(counts) > 1:
            raise NotApplicable(
                f"the machines' models have {', '.join(map(str, counts[:-1]))} and {counts[-1]} components: their "
                "parameters cannot be averaged"
            )


class Bootstrap:
    """n points drawn from each machine's model, and the models fitted to them; every part is made when it is needed."""

    def __init__(self, machines: Machines, n: int, rng: np.random.Generator) -> None:
        self.machines, self.n = machines, n
        self._rng, self._other_rng = rng.spawn(2)  # so that it does not matter which part comes first
        self.seconds: dict[str, float] = {}

    @cached_property
    def draws(self) -> list[np.ndarray]:
        """Points (n, d) of every machine."""
        return self._timed("draws", lambda: self._drawn(self._rng))

    @cached_property
    def others(self) -> list[np.ndarray]:
        """As many points again, independent of `draws`."""
        return self._timed("others", lambda: self._drawn(self._other_rng))

    def _drawn(self, rng: np.random.Generator) -> list[np.ndarray]:
        return [self.machines.model.sample(each, rng, self.n) for each in self.machines.params]

    @cached_property
    def naive(self) -> Fit:
        """The model fitted to all machines' points."""
        draws = np.concatenate(self.draws)
        return self._timed("naive", lambda: self.machines.model.fit(draws, start=self.machines.first))

    @cached_property
    def refits(self) -> list[Fit]:
        """Every machine's model fitted to its own points again, from where it was."""
        pairs, fit = list(zip(self.draws, self.machines.params, strict=True)), self.machines.model.fit
        return self._timed("refits", lambda: [fit(points, start=params) for points, params in pairs])

    def _timed(self, part: str, work: Callable[[], Part]) -> Part:
        began = time.perf_counter()
        found = work()
        self.seconds[part] = time.perf_counter() - began
        return found


def naive(machines: Machines, bootstrap: Bootstrap) -> Fit:
    """Fit the model to all drawn points: argmax sum_k sum_j log p(x_jk | theta). Squared error: O(1/(K n))."""
    return bootstrap.naive


def control(machines: Machines, bootstrap: Bootstrap) -> Fit:
    """theta_naive - (sum_j I_j)^-1 sum_k I_k (theta~_k - theta_k) (Algorithm 11).

    theta~_k is machine k's refit, I_k = mean_j s_jk s_jk' with s_jk the score of a drawn point at theta_k. Theorem 20
    has a squared error of O(1/(K n^2)). As measured it is O(1/n^2), however many machines there are: I_k depends on the
    draws that theta~_k was fitted to, which is a bias of O(1/n), the same on every machine. Raises NotApplicable where
    parameters have no counterpart, or where there are more of them than points.
    """
    return _controlled(machines, bootstrap, bootstrap.draws)


def control_fresh(machines: Machines, bootstrap: Bootstrap) -> Fit:
    """The same with I_k from other draws (ours): most of the bias is gone; the bias of theta~_k itself stays."""
    return _controlled(machines, bootstrap, bootstrap.others)


def _controlled(machines: Machines, bootstrap: Bootstrap, informing: list[np.ndarray]) -> Fit:
    machines.check_alike()
    (start, note), at = bootstrap.naive, machines.model.coordinates(machines.first)
    drawn, wanted = len(machines.params) * bootstrap.n, machines.model.num_params(machines.components)
    if drawn <= wanted:
        raise NotApplicable(f"{drawn:,} draws in all do not tell the Fisher information of {wanted:,} parameters")
    information, shift = 0.0, 0.0
    for params, points, (refit, _) in zip(machines.params, informing, bootstrap.refits, strict=True):
        scores = at.score(points, params)
        fisher = scores.T @ scores / len(points)
        information = information + fisher
        shift = shift + fisher @ (at.vector(refit) - at.vector(params))
    params = at.params(at.vector(start) - np.linalg.solve(information, shift))
    return Fit(params, params.fault or note or _notes(bootstrap))


def weighted(machines: Machines, bootstrap: Bootstrap) -> Fit:
    """Fit to all drawn points with weights p(x | theta_k) / p(x | theta~_k) (Algorithm 12). Squared error O(1/(K n^2)).

    Weights are normalised on each machine to mean 1, and none is above CAP.
    """
    return _weighted(machines, bootstrap, capped)


def weighted_printed(machines: Machines, bootstrap: Bootstrap) -> Fit:
    """The same with the weights as they are: argmax sum_k sum_j p(x | theta_k) / p(x | theta~_k) log p(x | theta).

    (0.139) as printed: a machine whose weights have a larger mean counts more, and one point may decide.
    """
    return _weighted(machines, bootstrap, lambda log_ratios: log_ratios)


def _weighted(machines: Machines, bootstrap: Bootstrap, changed: Callable[[np.ndarray], np.ndarray]) -> Fit:
    model = machines.model
    log_weights = [
        changed(model.log_density(points, params) - model.log_density(points, refit))
        for params, points, (refit, _) in zip(machines.params, bootstrap.draws, bootstrap.refits, strict=True)
    ]
    params, note = model.fit(np.concatenate(bootstrap.draws), np.concatenate(log_weights), machines.first)
    return Fit(params, note or _notes(bootstrap))


def capped(log_ratios: np.ndarray) -> np.ndarray:
    """Log weights (n,) of mean weight 1, the largest cut to CAP times that before they are normalised again."""
    shifted = log_ratios - log_mean(log_ratios)
    cut = np.minimum(shifted, np.log(CAP))
    return cut - log_mean(cut)


def _notes(bootstrap: Bootstrap) -> str:
    """How many refits are in doubt, and why the first is."""
    found = [note for _, note in bootstrap.refits if note]
    return f"{len(found)} of {len(bootstrap.refits)} refits: {found[0]}" if found else ""


def linear(machines: Machines, bootstrap: Bootstrap) -> Fit:
    """Mean of the parameters, matched. Raises NotApplicable where they have no counterpart."""
    machines.check_alike()
    at = machines.model.coordinates(machines.first)
    params = at.params(np.mean([at.vector(each) for each in machines.params], axis=0))
    return Fit(params, params.fault)


def linear_unmatched(machines: Machines, bootstrap: Bootstrap) -> Fit:
    """The same where components come in any order, and loadings W turned in any way: both say nothing of a model."""
    machines.check_alike()
    shares, means, covs = zip(*machines.shuffled, strict=True)
    family = machines.model.covariances
    mean_covs = [family.unmatched_mean(each, machines.rng) for each in zip(*covs, strict=True)]
    return Fit(Mixture(np.mean(shares, axis=0), np.mean(means, axis=0), np.array(mean_covs)))


def exact(machines: Machines) -> Fit:
    """The KL average itself: for one component in closed form, from the mean of the machines' moments.

    Else by a quadrature without random draws: `normal_points` in each component of each machine, EXACT_POINTS a machine
    in all, weighted by the components' shares.
    """
    model = machines.model
    if model.closed_form:
        means, seconds = zip(*(each.moments for each in machines.params), strict=True)
        return Fit(model.of_moments(np.mean(means, axis=0), np.mean(seconds, axis=0)))
    points, log_weights = [], []
    for each in machines.params:
        z = normal_points(EXACT_POINTS // len(each.shares), model.dim)
        for share, mean, cov in zip(*each, strict=True):
            points.append(mean + z @ np.linalg.cholesky(cov).T)
            log_weights.append(np.full(len(z), np.log(max(share, np.finfo(float).tiny) / len(z))))
    return model.fit(np.concatenate(points), np.concatenate(log_weights), machines.first)


@lru_cache(maxsize=16)
def normal_points(n: int, d: int) -> np.ndarray:
    """About n points (2 ⌈n/2⌉, d) spread evenly over N(0, I), of mean 0 and covariance I but for rounding.

    The sequence of `quasi_draws` with g^(d+1) = g + 1 in any dimension, and its mirror images.
    """
    g = 2.0
    for _ in range(60):
        g = (1 + g) ** (1 / (d + 1))
    z = spread_normals((n + 1) // 2, g ** -np.arange(1.0, d + 1))
    z = np.concatenate([z, -z])
    z = np.linalg.solve(np.linalg.cholesky(z.T @ z / len(z)), z.T).T
    z.flags.writeable = False
    return z


@dataclass(frozen=True)
class Combiner:
    """An entry of COMBINERS. `parts` of a bootstrap that it uses; none for one that draws nothing."""

    title: str
    combine: Callable[[Machines, Bootstrap], Fit]
    parts: tuple[str, ...] = ()
    rate: float = 0.0  # squared error as a power of n, by theory
    ambiguous_only: bool = False  # shows what happens where different parameters are the same density


COMBINERS: dict[str, Combiner] = {
    "naive": Combiner("KL, plain draws", naive, ("draws", "naive"), -1.0),
    "control": Combiner("KL, control variates", control, ("draws", "naive", "refits"), -2.0),
    "control_fresh": Combiner(
        "KL, control variates, information of other draws", control_fresh, ("draws", "naive", "refits", "others"), -2.0
    ),
    "weighted": Combiner("KL, weighted draws", weighted, ("draws", "refits"), -2.0),
    "weighted_printed": Combiner("KL, weighted draws, as printed", weighted_printed, ("draws", "refits"), -2.0),
    "linear": Combiner("mean of the parameters", linear),
    "linear_unmatched": Combiner("mean of the parameters, unmatched", linear_unmatched, ambiguous_only=True),
}


def combined(name: str, machines: Machines, bootstrap: Bootstrap) -> tuple[Fit | None, float, str]:
    """The fit of a combiner (None where it fails), its seconds with the parts that it uses, and its note."""
    combiner, began = COMBINERS[name], time.perf_counter()
    before = dict(bootstrap.seconds)
    try:
        found, note = combiner.combine(machines, bootstrap), ""
    except NotApplicable as error:
        found, note = None, str(error)
    except np.linalg.LinAlgError as error:
        found, note = None, f"the parameters cannot be computed: {error}"
    spent = time.perf_counter() - began
    shared = sum(before[part] for part in combiner.parts if part in before)
    return found, spent + shared, found.note if found else note
