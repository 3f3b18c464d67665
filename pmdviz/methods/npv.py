"""Nonparametric variational inference (Gershman, Hoffman, Blei 2012): a mixture of round Gaussians."""

import importlib.util
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from pmdviz.densities.density import GaussianMixture
from pmdviz.densities.product import MANY, DiagonalDensity
from pmdviz.errors import InputError
from pmdviz.kernels.checks import Array, Rng
from pmdviz.knobs import Choice, Whole
from pmdviz.methods import optimisers
from pmdviz.methods.base import BatchMethod, Stepped, checked_gradient, checked_log_likelihood
from pmdviz.methods.step import NOTHING, BatchKnobs, ComputedTerms, Cost, StepInfo, Term, Work, total
from pmdviz.targets import Target

DIFFERENCE = 1e-4  # prior sds: half the distance of the two gradients that give a second derivative


class Tempered:
    """beta log p(theta, X) - (1 - beta) |z - z0|^2 / 2 on a batch, z = theta / scale; counts what it asks."""

    def __init__(self, target: Target, batch: Array, beta: float, origin: Array) -> None:
        self.target, self.batch, self.beta, self.origin = target, batch, beta, origin / target.scale
        self.cost = Cost()

    def values(self, z: Array) -> Array:
        """At z (n, d), as (n,)."""
        theta = z * self.target.scale
        likelihood = checked_log_likelihood(self.target, theta, self.batch, may_vanish=True)
        joint = self.target.log_prior(theta) + self.target.num_data / len(self.batch) * likelihood
        self.cost = total(self.cost, Cost(len(self.batch), len(self.batch) * len(z)))
        return self.beta * joint - 0.5 * (1 - self.beta) * ((z - self.origin) ** 2).sum(axis=1)

    def slopes(self, z: Array) -> Array:
        """Gradients (n, d) in z."""
        gradient = checked_gradient(self.target, z * self.target.scale, self.batch) * self.target.scale
        self.cost = total(self.cost, Cost(len(self.batch), 0, len(self.batch) * len(z)))
        return self.beta * gradient - (1 - self.beta) * (z - self.origin)

    def slopes_and_traces(self, z: Array) -> tuple[Array, Array]:
        """Gradients (n, d) and the Hessians' traces (n,), by central differences, from one visit to the batch."""
        n, d = z.shape
        shifts = DIFFERENCE * np.eye(d)
        every = self.slopes(np.concatenate([z, *(z + e for e in shifts), *(z - e for e in shifts)]))
        ahead, behind = every[n:].reshape(2, d, n, d)
        traces = np.einsum("ini->n", ahead - behind) / (2 * DIFFERENCE)
        return every[:n], traces


def entropy_bound(z: Array, widths: Array) -> tuple[float, Array, Array]:
    """-(1/K) sum_n log q_n with q_n = (1/K) sum_j N(z_n | z_j, s_n^2 + s_j^2), below the entropy of q (Eq. 6).

    z (K, d), widths s (K,); the value, its gradient (K, d) in z and (K,) in s.
    """
    K, d = z.shape
    differences = z[:, None] - z
    squared, variance = (differences**2).sum(axis=2), widths[:, None] ** 2 + widths**2
    log_normal = -squared / (2 * variance) - 0.5 * d * np.log(2 * np.pi * variance)
    top = log_normal.max(axis=1, keepdims=True)
    log_q = top[:, 0] + np.log(np.exp(log_normal - top).sum(axis=1)) - np.log(K)
    shares = np.exp(log_normal - log_q[:, None]) / K**2  # -d value / d log_normal
    both = shares + shares.T
    in_z = (both[:, :, None] * differences / variance[:, :, None]).sum(axis=1)
    in_s = -widths * (both * (squared / variance**2 - d / variance)).sum(axis=1)
    return float(-log_q.mean()), in_z, in_s


def elbo_gradient(z: Array, widths: Array, slopes: Array, traces: Array) -> Array:
    """K times the ELBO's gradient in the means and the log widths, (K, d + 1); the means' without the trace (Eq. 9)."""
    K = len(z)
    _, in_z, in_s = entropy_bound(z, widths)
    return np.column_stack([slopes + K * in_z, widths**2 * traces + K * widths * in_s])


def maximised(
    z: Array, log_widths: Array, near: Tempered, iterations: int, bounds: tuple[float, float]
) -> tuple[Array, Array]:
    """Means (K, d) by L-BFGS without the trace, then log widths (K,) with it, as in the paper's two phases."""
    K = len(z)

    def means(flat: Array) -> tuple[float, Array]:
        moved = flat.reshape(z.shape)
        value, in_z, _ = entropy_bound(moved, np.exp(log_widths))
        return -(near.values(moved).mean() + value), -(near.slopes(moved) / K + in_z).ravel()

    z = _lbfgs(means, z.ravel(), iterations).reshape(z.shape)
    _, traces = near.slopes_and_traces(z)

    def widths(logs: Array) -> tuple[float, Array]:
        s = np.exp(logs)
        value, _, in_s = entropy_bound(z, s)
        return -(0.5 * (s**2 * traces).mean() + value), -(s**2 * traces / K + s * in_s)

    return z, _lbfgs(widths, np.clip(log_widths, *bounds), iterations, [bounds] * K)


def _lbfgs(objective: Callable, start: Array, iterations: int, bounds: list[tuple] | None = None) -> Array:
    from scipy.optimize import minimize  # here: SciPy is optional, and slow to import

    found = minimize(objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": iterations})
    return found.x


# Nonparametric variational inference (Gershman, Hoffman, Blei 2012): K round Gaussians that share the posterior.

START_WIDTH = 0.5  # of the components, in the prior's sds
NARROWEST, WIDEST = np.log(1e-6), np.log(2.0)  # of log widths: where log p is convex none would be wide enough
IN_NUMPY = 64  # kernel values that a pair of components costs: whole arrays, one operation after the other
STARTS, NOT_BY_LBFGS = {"spread": "evenly spread", "prior": "drawn from the prior"}, ("optimiser", {"lbfgs": 0})
POOL, LLOYD_ROUNDS = 100, 20  # prior draws a component, from which the spread start is made


class NPVKnobs(optimisers.DecayingKnobs, BatchKnobs):
    """The knobs of `npv`.

    num_components: Number of Gaussians, each of weight 1/K; Dai et al. 2016 use 1,500. The gradients of a step grow
        with K, the kernels with K².
    optimiser: Adam: one noisy step per batch. L-BFGS (SciPy), as in the paper: optimises first the means and then the
        widths on each batch and keeps a fraction of the change, given by the step size; best with all data in a batch.
    lbfgs_iterations: Maximum for the means and for the widths; each evaluation uses the batch twice.
    start: Evenly spread: the centres of clusters of prior draws. Drawn from the prior: K draws.
    annealing: Over this many data points the target changes from a Gaussian as wide as the prior to the posterior:
        components can distribute over the modes. 0: no annealing, as in the paper.
    """

    num_components = Whole(10, (1, 1500), (1, 50), "Components K", basic=True, acts="restart")
    optimiser = Choice("adam", {"adam": "Adam", "lbfgs": "L-BFGS"}, "Optimiser")
    eta = optimisers.ETA.at(4.0, default_by=("optimiser", {"adam": 4.0, "lbfgs": 10.0}))
    n0 = optimisers.N0.at(40.0, default_by=("optimiser", {"adam": 40.0, "lbfgs": 3.0}))
    kappa = optimisers.KAPPA.at(1.0)
    lbfgs_iterations = Whole(5, (1, 200), (1, 20), "L-BFGS iterations", only_if=("optimiser", "lbfgs"))
    start = Choice("spread", STARTS, "Initial means", acts="restart")
    annealing = Whole(5000, (0, 10_000_000), (0, 20_000), "Annealing", "data points", default_by=NOT_BY_LBFGS)

    def work(self, num_data: int) -> Work:
        """K^2 kernels and (2 d + 1) K gradients of the batch, d = 2; by L-BFGS in each iteration."""
        K, rows = self.num_components, self.rows(num_data)
        rounds = self.lbfgs_iterations if self.optimiser == "lbfgs" else 0
        bounds = 1 + 2 * rounds  # of the entropy
        return Work(IN_NUMPY * bounds * K**2, likelihoods=rounds * K * rows, gradients=(5 + rounds) * K * rows)


class NPVState(NamedTuple):
    """q = (1/K) sum_k N(mu_k, s_k^2 diag(scale)^2)."""

    means: Array  # (K, d)
    widths: Array  # (K,) s_k in the prior's sds
    origin: Array  # (d,) centre of the Gaussian that annealing starts from
    first: Array  # (K, d + 1) Adam's mean of the gradients in means and log widths
    second: Array  # (K, d + 1) and of their squares
    visited: int
    iteration: int


class NPV(BatchMethod):
    """Nonparametric variational inference.

    short_title: NPV
    about: Nonparametric variational inference fits a mixture of round Gaussians of equal weight to the posterior.
    formula: q(θ) = (1/K) Σ_k N(θ; μ_k, σ_k² I)
    what_moves: No particles: the round Gaussians of a mixture shift and change their widths.
    source: Gershman, Hoffman, Blei 2012, Eq. 5-10; batches as in Dai et al. 2016; spread start, annealing: ours
    propagate: prior (the means start at centres of clusters of draws)
    move: gradient (of a bound of the ELBO, on a batch)
    adapt: preconditioner (Adam)

    posterior: Uphill on the log posterior; D is the preconditioner.
    start: Back to the start, as long as β is below 1.
    entropy: Away from the other Gaussians, where they overlap.

    Ascent of (1/K) sum_k [f(mu_k) + s_k^2/2 tr hess f(mu_k)] - (1/K) sum_k log q_k, f = log p(theta, X)  (Eq. 7-10).

    q_k = (1/K) sum_j N(mu_k | mu_j, s_k^2 + s_j^2): Jensen's bound of the entropy. The means follow the terms without
    the trace, the widths all of them, as in the paper. Traces are central differences of the gradient. Round means
    round in units of the prior's sds. A component that went to one mode stays there: weights cannot follow the masses.
    """

    name = "npv"
    family = "parametric"
    requires = frozenset({"reals", "gradient"})
    counted, noun = "num_components", "Gaussian"
    scalars = (optimisers.STEP_SIZE, optimisers.TEMPERATURE)
    update = optimisers.move_update(
        Term("posterior", "uphill", "ρ D β ∇ log p(μ_k | batch)"),
        Term("start", "first Gaussian", "− ρ D (1 − β) (μ_k − μ_0)"),
        Term("entropy", "apart", "− ρ D ∇_k Σ_j log q_j"),
        optimisers.momentum("ρ"),
        formula="μ_k′ − μ_k",
    )

    def check_pair(self, target: Target, knobs: NPVKnobs) -> None:
        """L-BFGS is SciPy's. Raises InputError."""
        super().check_pair(target, knobs)
        if knobs.optimiser == "lbfgs" and importlib.util.find_spec("scipy") is None:
            raise InputError("optimiser = 'lbfgs' needs SciPy, which is not installed: install it, or take 'adam'")

    def init(self, rng: Rng, target: Target, knobs: NPVKnobs) -> NPVState:
        """Means spread over the prior or drawn from it, half as wide as the prior."""
        K, d = knobs.num_components, target.dim
        pool = target.sample_prior(rng, POOL * K)
        means = cluster_centres(pool, K, target.scale) if knobs.start == "spread" else pool[:K].copy()
        moments = np.zeros((K, d + 1)), np.zeros((K, d + 1))
        return NPVState(means, np.full(K, START_WIDTH), pool.mean(axis=0), *moments, 0, 0)

    def step(self, rng: Rng, state: NPVState, target: Target, batch: Array, knobs: NPVKnobs) -> Stepped:
        """One Adam step, or a few iterations of L-BFGS, on the batch's objective."""
        t, beta = state.iteration + 1, temperature(state.visited + len(batch), knobs)
        rho, near = optimisers.decayed(t, knobs), Tempered(target, batch, beta, state.origin)
        start, adam = (state.means / target.scale, np.log(state.widths)), knobs.optimiser == "adam"
        if adam:
            means, log_widths, first, second = adam_step(*start, state.first, state.second, near, rho, t)
        else:
            best = maximised(*start, near, knobs.lbfgs_iterations, (NARROWEST, WIDEST))
            means, log_widths = (old + rho * (new - old) for old, new in zip(start, best, strict=True))
            first, second = state.first, state.second
        widths = np.exp(np.clip(log_widths, NARROWEST, WIDEST))
        visited, before = state.visited + near.cost.visited, state
        state = NPVState(means * target.scale, widths, state.origin, first, second, visited, t)
        words, scalars = _words(state, rho, beta, len(batch)), {"step_size": rho, "temperature": beta}
        terms = ComputedTerms(lambda: terms_of(before, state, beta, rho, target.scale)) if adam else NOTHING
        return state, StepInfo(near.cost, words, {}, scalars, terms, numbers={"ρ": rho, "β": beta} if adam else {})

    def points(self, state: NPVState) -> Array:
        """The means, (K, d)."""
        return state.means

    def density(self, state: NPVState, knobs: NPVKnobs, target: Target) -> GaussianMixture | DiagonalDensity:
        """The mixture itself."""
        equal = np.full(len(state.widths), -np.log(len(state.widths)))
        if target.dim > MANY:
            return DiagonalDensity(state.means, equal, state.means, state.widths[:, None] * target.scale)
        return GaussianMixture(state.means, equal, state.widths[:, None, None] * np.diag(target.scale))

    components = density


def temperature(visited: int, knobs: NPVKnobs) -> float:
    """The share of the posterior in the geometric path from the first Gaussian to it; 1 after the annealing."""
    return min(1.0, visited / knobs.annealing) if knobs.annealing else 1.0


def adam_step(
    means: Array, log_widths: Array, first: Array, second: Array, near: Tempered, rho: float, t: int
) -> tuple[Array, Array, Array, Array]:
    """One step of about rho prior sds on the means (K, d), in the prior's sds, and of about rho on the log widths."""
    slopes, traces = near.slopes_and_traces(means)
    gradient = elbo_gradient(means, np.exp(log_widths), slopes, traces)
    direction, first, second = optimisers.adam(gradient, first, second, t)
    return means + rho * direction[:, :-1], log_widths + rho * direction[:, -1], first, second


def terms_of(before: NPVState, after: NPVState, beta: float, rho: float, scale: Array) -> dict[str, Array]:
    """What moved the means in a step of Adam, (K, d) each; the pull of the posterior is what the others leave."""
    z, K = before.means / scale, len(before.means)
    pace, past = optimisers.adam_parts(before.first[:, :-1], after.second[:, :-1], after.iteration)
    apart = rho * scale * pace * K * entropy_bound(z, before.widths)[1]
    start = -rho * scale * pace * (1 - beta) * (z - before.origin / scale)
    terms = {"start": start, "entropy": apart, "momentum": rho * scale * past}
    posterior = after.means - before.means - sum(terms.values())
    return {"posterior": posterior} | {name: part for name, part in terms.items() if part.any()}


def cluster_centres(pool: Array, K: int, scale: Array) -> Array:
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
