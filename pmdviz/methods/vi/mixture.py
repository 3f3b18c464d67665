"""Nonparametric variational inference (Gershman, Hoffman, Blei 2012): K round Gaussians that share the posterior."""

from __future__ import annotations

import importlib.util
from typing import NamedTuple

import numpy as np

from pmdviz.densities.density import GaussianMixture
from pmdviz.densities.diagonal import MANY, DiagonalDensity
from pmdviz.errors import InputError
from pmdviz.knobs import Choice, Whole
from pmdviz.methods.base import read_only
from pmdviz.methods.grammar import Grammar, by
from pmdviz.methods.shared import optimisers
from pmdviz.methods.shared.batching import BatchKnobs, BatchMethod
from pmdviz.methods.shared.pulls import momentum, move_update
from pmdviz.methods.step import NOTHING, STEP_SIZE, TEMPERATURE, ComputedTerms, Cost, StepInfo, Term, Work
from pmdviz.methods.vi import elbo
from pmdviz.targets import Target

START_WIDTH = 0.5  # of the components, in the prior's sds
NARROWEST, WIDEST = np.log(1e-6), np.log(2.0)  # of log widths: where log p is convex none would be wide enough
IN_NUMPY = 64  # kernel values that a pair of components costs: whole arrays, one operation after the other
POOL, LLOYD_ROUNDS = 100, 20  # prior draws a component, from which the spread start is made


class NPVKnobs(BatchKnobs):
    """The knobs of `npv`."""

    kind_words = "knob of method 'npv':"

    num_components = Whole(
        10,
        bounds=(1, 1500),
        softbounds=(1, 50),
        basic=True,
        label="Components K",
        acts="restart",
        doc="Number of Gaussians, each of weight 1/K; Dai et al. 2016 use 1,500. The gradients of a step grow with K, "
        "the kernels with K².",
    )
    optimiser = Choice(
        "adam",
        choices={"adam": "Adam", "lbfgs": "L-BFGS"},
        label="Optimiser",
        doc="Adam: one noisy step per batch. L-BFGS (SciPy), as in the paper: optimises first the means and then the "
        "widths on each batch and keeps a fraction of the change, given by the step size; best with all data in a "
        "batch.",
    )
    eta = optimisers.eta(4.0, default_by=("optimiser", {"adam": 4.0, "lbfgs": 10.0}))
    n0 = optimisers.n0(40.0, default_by=("optimiser", {"adam": 40.0, "lbfgs": 3.0}))
    kappa = optimisers.kappa()
    lbfgs_iterations = Whole(
        5,
        bounds=(1, 200),
        softbounds=(1, 20),
        label="L-BFGS iterations",
        only_if=("optimiser", "lbfgs"),
        doc="Maximum for the means and for the widths; each evaluation uses the batch twice.",
    )
    start = Choice(
        "spread",
        choices={"spread": "evenly spread", "prior": "drawn from the prior"},
        label="Initial means",
        acts="restart",
        doc="Evenly spread: the centres of clusters of prior draws. Drawn from the prior: K draws.",
    )
    annealing = Whole(
        5000,
        bounds=(0, 10_000_000),
        softbounds=(0, 20_000),
        default_by=("optimiser", {"adam": 5000, "lbfgs": 0}),
        label="Annealing",
        unit="data points",
        doc="Over this many data points the target changes from a Gaussian as wide as the prior to the posterior, so "
        "that components can distribute over the modes. 0: no annealing, as in the paper.",
    )

    def work(self, num_data: int) -> Work:
        """K^2 kernels and (2 d + 1) K gradients of the batch, d = 2; by L-BFGS each iteration anew."""
        K, rows = self.num_components, self.rows(num_data)
        rounds = self.lbfgs_iterations if self.optimiser == "lbfgs" else 0
        bounds = 1 + 2 * rounds  # of the entropy
        return Work(IN_NUMPY * bounds * K**2, likelihoods=rounds * K * rows, gradients=(5 + rounds) * K * rows)


class NPVState(NamedTuple):
    """q = (1/K) sum_k N(mu_k, s_k^2 diag(scale)^2)."""

    means: np.ndarray  # (K, d)
    widths: np.ndarray  # (K,) s_k in the prior's sds
    origin: np.ndarray  # (d,) centre of the Gaussian that annealing starts from
    first: np.ndarray  # (K, d + 1) Adam's mean of the gradients in means and log widths
    second: np.ndarray  # (K, d + 1) and of their squares
    visited: int
    iteration: int


class NPV(BatchMethod):
    """Ascent of (1/K) sum_k [f(mu_k) + s_k^2/2 tr hess f(mu_k)] - (1/K) sum_k log q_k, f = log p(theta, X)  (Eq. 7-10).

    q_k = (1/K) sum_j N(mu_k | mu_j, s_k^2 + s_j^2): Jensen's bound of the entropy. The means follow the terms without
    the trace, the widths all of them, as in the paper. Traces are central differences of the gradient. Round means
    round in units of the prior's sds. A component that went to one mode stays there: weights cannot follow the masses.
    """

    name = "npv"
    title = "Nonparametric variational inference"
    about = "Nonparametric variational inference fits a mixture of round Gaussians of equal weight to the posterior."
    formula = "q(θ) = (1/K) Σ_k N(θ; μ_k, σ_k² I)"
    what_moves = "No particles: the round Gaussians of a mixture shift and change their widths."
    source = "Gershman, Hoffman, Blei 2012, Eq. 5-10; batches as in Dai et al. 2016; spread start, annealing: ours"
    short_title = "NPV"
    family = "parametric"
    requires = frozenset({"reals", "gradient"})
    grammar = Grammar(
        propagate=by("prior", remark="the means start at centres of clusters of draws"),
        move=by("gradient", remark="of a bound of the ELBO, on a batch"),
        adapt=by("pace", remark="Adam"),
    )
    Knobs = NPVKnobs
    scalars = (STEP_SIZE, TEMPERATURE)
    update = move_update(
        Term("posterior", "uphill", "ρ D β ∇ log p(μ_k | batch)", "Uphill on the log posterior; D is the pace."),
        Term("start", "first Gaussian", "− ρ D (1 − β) (μ_k − μ_0)", "Back to the start, as long as β is below 1."),
        Term("entropy", "apart", "− ρ D ∇_k Σ_j log q_j", "Away from the other Gaussians, where they overlap."),
        momentum("ρ"),
        formula="μ_k′ − μ_k",
    )

    def check_pair(self, target: Target, knobs: NPVKnobs) -> None:
        """L-BFGS is SciPy's. Raises InputError."""
        super().check_pair(target, knobs)
        if knobs.optimiser == "lbfgs" and importlib.util.find_spec("scipy") is None:
            raise InputError("optimiser = 'lbfgs' needs SciPy, which is not installed: install it, or take 'adam'")

    def who(self, knobs: NPVKnobs) -> tuple[int, str]:
        """The components."""
        return knobs.num_components, "Gaussian"

    def init(self, rng: np.random.Generator, target: Target, knobs: NPVKnobs) -> NPVState:
        """Means spread over the prior or drawn from it, half as wide as the prior."""
        K, d = knobs.num_components, target.dim
        pool = target.sample_prior(rng, POOL * K)
        means = cluster_centres(pool, K, target.scale) if knobs.start == "spread" else pool[:K].copy()
        moments = np.zeros((K, d + 1)), np.zeros((K, d + 1))
        return NPVState(*read_only(means, np.full(K, START_WIDTH), pool.mean(axis=0), *moments), 0, 0)

    def step(
        self, rng: np.random.Generator, state: NPVState, target: Target, batch: np.ndarray, knobs: NPVKnobs
    ) -> tuple[NPVState, StepInfo]:
        """One Adam step, or a few iterations of L-BFGS, on the batch's objective."""
        t, beta = state.iteration + 1, temperature(state.visited + len(batch), knobs)
        rho, near = optimisers.decayed(t, knobs), elbo.Tempered(target, batch, beta, state.origin)
        start, adam = (state.means / target.scale, np.log(state.widths)), knobs.optimiser == "adam"
        if adam:
            means, log_widths, first, second = adam_step(*start, state.first, state.second, near, rho, t)
        else:
            best = elbo.maximised(*start, near, knobs.lbfgs_iterations, (NARROWEST, WIDEST))
            means, log_widths = (old + rho * (new - old) for old, new in zip(start, best, strict=True))
            first, second = state.first, state.second
        widths = np.exp(np.clip(log_widths, NARROWEST, WIDEST))
        visited, before = state.visited + near.visited, state
        state = NPVState(*read_only(means * target.scale, widths), state.origin, first, second, visited, t)
        read_only(first, second)
        return state, StepInfo(
            Cost(near.visited, near.density_evaluations, near.gradient_evaluations),
            _words(state, rho, beta, len(batch)),
            scalars={"step_size": rho, "temperature": beta},
            terms=ComputedTerms(lambda: terms_of(before, state, beta, rho, target.scale)) if adam else NOTHING,
            numbers={"ρ": rho, "β": beta} if adam else {},
        )

    def points(self, state: NPVState) -> np.ndarray:
        """The means, (K, d)."""
        return state.means

    def density(self, state: NPVState, knobs: NPVKnobs, target: Target) -> GaussianMixture | DiagonalDensity:
        """The mixture itself."""
        equal = np.full(len(state.widths), -np.log(len(state.widths)))
        if target.dim > MANY:
            return DiagonalDensity(state.means, equal, state.means, state.widths[:, None] * target.scale)
        return GaussianMixture(state.means, equal, state.widths[:, None, None] * np.diag(target.scale))

    def components(self, state: NPVState, knobs: NPVKnobs, target: Target) -> GaussianMixture | DiagonalDensity:
        """Its Gaussians."""
        return self.density(state, knobs, target)


def temperature(visited: int, knobs: NPVKnobs) -> float:
    """The share of the posterior in the geometric path from the first Gaussian to it; 1 after the annealing."""
    return min(1.0, visited / knobs.annealing) if knobs.annealing else 1.0


def adam_step(
    means: np.ndarray,
    log_widths: np.ndarray,
    first: np.ndarray,
    second: np.ndarray,
    near: elbo.Tempered,
    rho: float,
    t: int,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """One step of about rho prior sds on the means (K, d), in the prior's sds, and of about rho on the log widths."""
    slopes, traces = near.slopes_and_traces(means)
    gradient = elbo.gradient(means, np.exp(log_widths), slopes, traces)
    direction, first, second = optimisers.adam(gradient, first, second, t)
    return means + rho * direction[:, :-1], log_widths + rho * direction[:, -1], first, second


def terms_of(before: NPVState, after: NPVState, beta: float, rho: float, scale: np.ndarray) -> dict[str, np.ndarray]:
    """What moved the means in a step of Adam, (K, d) each; the pull of the posterior is what the others leave."""
    z, K = before.means / scale, len(before.means)
    pace, past = optimisers.adam_parts(before.first[:, :-1], after.second[:, :-1], after.iteration)
    apart = rho * scale * pace * K * elbo.entropy_bound(z, before.widths)[1]
    start = -rho * scale * pace * (1 - beta) * (z - before.origin / scale)
    terms = {"start": start, "entropy": apart, "momentum": rho * scale * past}
    posterior = after.means - before.means - sum(terms.values())
    return {"posterior": posterior} | {name: part for name, part in terms.items() if part.any()}


def cluster_centres(pool: np.ndarray, K: int, scale: np.ndarray) -> np.ndarray:
    """K centres (K, d) of a pool of points (n, d) by Lloyd's algorithm, distances in units of `scale`."""
    points = pool / scale
    centres = points[:K].copy()
    for _ in range(LLOYD_ROUNDS):
        nearest = np.array([((point - centres) ** 2).sum(axis=1).argmin() for point in points])
        for k in np.unique(nearest):
            centres[k] = points[nearest == k].mean(axis=0)
    return centres * scale


def _words(state: NPVState, rho: float, beta: float, batch: int) -> str:
    parts = [f"step {rho:.3g}", f"batch of {batch:,}"]
    parts += [f"annealing, β = {beta:.2f}"] if beta < 1 else []
    parts += [f"{len(state.widths)} components, widths {state.widths.min():.2g} to {state.widths.max():.2g} prior sd"]
    return " · ".join(parts)
