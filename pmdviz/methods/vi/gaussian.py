"""Stochastic variational inference with a Gaussian family: the widest net that has one mode only."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pmdviz.densities.density import KernelDensity
from pmdviz.kernels.factors import inverse
from pmdviz.knobs import Choice, Whole
from pmdviz.methods.base import checked_gradient, read_only
from pmdviz.methods.grammar import Grammar, by
from pmdviz.methods.shared import optimisers
from pmdviz.methods.shared.batching import BatchKnobs, BatchMethod
from pmdviz.methods.shared.linear_algebra import one_blas_thread
from pmdviz.methods.shared.pulls import mean_terms, mean_update, momentum, natural_terms, paced
from pmdviz.methods.step import STEP_SIZE, ComputedTerms, Cost, StepInfo, Work
from pmdviz.targets import Target

START_SD = 0.3  # of the prior's
UPDATES = {"natural": mean_update("ρ", "S′"), "adam": mean_update("ρ", "D", momentum("ρ"))}
POINT = 1e-9  # of the largest number of the mean: sds below it are none


class SVIKnobs(BatchKnobs):
    """The knobs of `svi`."""

    kind_words = "knob of method 'svi':"

    shape = Choice(
        "full",
        choices={"full": "full covariance", "mean_field": "mean field"},
        basic=True,
        label="Gaussian family",
        acts="restart",
        doc="Full covariance: any Gaussian. Mean field: independent coordinates.",
    )
    optimiser = Choice(
        "natural",
        choices={"natural": "natural gradient", "adam": "Adam"},
        label="Optimiser",
        doc="Natural gradient: in the Gaussian's natural parameters. Adam: on mean and Cholesky factor.",
    )
    num_pairs = Whole(
        16,
        bounds=(1, 10_000),
        softbounds=(1, 200),
        log=True,
        basic=True,
        label="Pairs of draws",
        doc="Number of antithetic pairs ±ε drawn from q to estimate the gradient of a step.",
    )
    eta = optimisers.eta(5.0, default_by=("optimiser", {"natural": 5.0, "adam": 10.0}))
    n0 = optimisers.n0(20.0, default_by=("optimiser", {"natural": 20.0, "adam": 40.0}))
    kappa = optimisers.kappa()

    def work(self, num_data: int) -> Work:
        """The gradients of both draws of every pair."""
        return Work(gradients=2 * self.num_pairs * self.rows(num_data))


class SVIState(NamedTuple):
    """q = N(mean, L L')."""

    mean: np.ndarray  # (d,)
    cholesky: np.ndarray  # (d, d), lower triangular
    first: np.ndarray  # (d, d + 1) Adam's mean of the gradients in mean and factor
    second: np.ndarray  # (d, d + 1) and of their squares
    iteration: int


class SVI(BatchMethod):
    """Ascent of the ELBO E_q[log p(theta, X)] + H(q) over q = N(mu, L L') by reparametrised gradients.

    With theta = mu + L eps and r = grad log p(theta, X) + L^-T eps, the part that vanishes where q is the posterior,
    the gradients are E r in mu and E r eps' in L (lower triangle): path derivatives, free of noise at the optimum of
    a Gaussian posterior. The natural step is mu <- mu + rho S E r, P <- P + rho A for precisions, S = P^-1 and
    A = -E[hess log p] - P = -L^-T sym(E eps r' L) L^-1.
    """

    name = "svi"
    title = "Stochastic variational inference (Gaussian)"
    about = (
        "Variational inference climbs to a Gaussian that is, at least locally, closest to the posterior in reverse KL."
    )
    formula = "maximise E_q[log p(θ, X)] - E_q[log q(θ)] over q = N(μ, Σ)"
    what_moves = "No particles: a single Gaussian shifts and changes its shape."
    source = "Hoffman, Blei, Wang, Paisley 2013; Kingma, Welling 2014; natural gradient: Lin, Schmidt, Khan 2020"
    short_title = "Gaussian SVI"
    family = "parametric"
    requires = frozenset({"reals", "gradient"})
    grammar = Grammar(
        propagate=by("prior", "fitted density", remark="the mean starts at a draw of the prior"),
        move=by("natural gradient", remark="of the ELBO, on a batch"),
    )
    Knobs = SVIKnobs
    scalars = (STEP_SIZE,)
    update = UPDATES["natural"]

    def who(self, knobs: SVIKnobs) -> tuple[int, str]:
        """One Gaussian."""
        return 1, "Gaussian"

    def init(self, rng: np.random.Generator, target: Target, knobs: SVIKnobs) -> SVIState:
        """A draw from the prior as the mean, with a third of its sds: between modes the ELBO has saddles to stay on."""
        d = target.dim
        mean, zeros = target.sample_prior(rng, 1)[0], np.zeros((d, d + 1))
        return SVIState(*read_only(mean, np.diag(START_SD * target.scale), zeros, zeros.copy()), 0)

    def step(
        self, rng: np.random.Generator, state: SVIState, target: Target, batch: np.ndarray, knobs: SVIKnobs
    ) -> tuple[SVIState, StepInfo]:
        """One stochastic step."""
        t, half = state.iteration + 1, rng.standard_normal((knobs.num_pairs, target.dim))
        noise = np.concatenate([half, -half])
        theta = draws(state, noise)
        gradients = checked_gradient(target, theta, batch)
        rho = optimisers.decayed(t, knobs)
        slope, curvature = path_gradients(state, noise, gradients)
        if knobs.shape == "mean_field":
            curvature = np.diag(np.diag(curvature))
        if knobs.optimiser == "natural":
            moved = natural_step(state, slope, curvature, rho)
            terms = ComputedTerms(partial(natural_terms, moved.mean - state.mean, rho, moved.cholesky, theta, target))
        else:
            moved = adam_step(state, slope, curvature, rho, target.scale)
            memory = state.first[None, :, 0], moved.second[None, :, 0], t
            pulls = partial(pulls_of, slope, theta, target)
            terms = paced("adam", memory, rho * target.scale, target.scale, pulls)
        state = moved._replace(iteration=t)
        read_only(*state[:-1])
        return state, StepInfo(
            Cost(len(batch), 0, len(batch) * len(noise)),
            _words(state, rho, len(batch)),
            scalars={"step_size": rho},
            terms=terms,
            numbers={"ρ": rho, "N/B": target.num_data / len(batch)},
            update=UPDATES[knobs.optimiser],
        )

    def points(self, state: SVIState) -> np.ndarray:
        """The mean, (1, d)."""
        return state.mean[None]

    def density(self, state: SVIState, knobs: SVIKnobs, target: Target) -> KernelDensity:
        """The Gaussian itself: one kernel at its mean."""
        return KernelDensity(state.mean[None], np.zeros(1), state.cholesky)

    def caveat(self, state: SVIState, knobs: SVIKnobs) -> str:
        """That q has become a point."""
        return of_a_point(state.mean, np.sqrt((state.cholesky**2).sum(axis=1)))


def of_a_point(mean: np.ndarray, sds: np.ndarray) -> str:
    """That a Gaussian has no width left: "" unless every sd is below a billionth of the mean's largest number."""
    if sds.max() > POINT * np.abs(mean).max():
        return ""
    return "q has shrunk to a point: its first steps were too long for this posterior; use a smaller step"


def draws(state: SVIState, noise: np.ndarray) -> np.ndarray:
    """theta = mu + L eps, (n, d)."""
    return state.mean + np.einsum("ij,nj->ni", state.cholesky, noise)


def path_gradients(state: SVIState, noise: np.ndarray, gradients: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """E r (d,) and E (L' r) eps' (d, d): the ELBO's gradient in the mean, and in the factor seen from within."""
    within = np.einsum("ji,nj->ni", state.cholesky, gradients) + noise  # L' r, as L' L^-T eps = eps
    inner = np.einsum("ni,nj->ij", within, noise) / len(noise)
    return gradients.mean(axis=0), inner


def grown(curvature: np.ndarray, rho: float) -> np.ndarray:
    """f(c) = 1 + rho c, plus (rho c)^2 / 2 where c < 0: what a precision is multiplied by; positive for every c."""
    return 1 + rho * curvature + 0.5 * np.minimum(rho * curvature, 0.0) ** 2


@one_blas_thread
def natural_step(state: Any, slope: np.ndarray, inner: np.ndarray, rho: float) -> Any:
    """P <- L^-T f(-sym(inner)) L^-1 with f = `grown`; then mu <- mu + rho S slope.

    The quadratic term keeps the precision positive whatever the noise (Lin, Schmidt, Khan 2020, Eq. 9-10); where the
    precision grows none is needed.
    """
    values, vectors = np.linalg.eigh(-0.5 * (inner + inner.T))
    root = state.cholesky @ (vectors / np.sqrt(grown(values, rho)))
    cholesky = lower_factor(root)
    return state._replace(mean=state.mean + rho * (cholesky @ (cholesky.T @ slope)), cholesky=cholesky)


def lower_factor(root: np.ndarray) -> np.ndarray:
    """The Cholesky factor of R R', from R by QR: without forming the product, which would lose half of the digits."""
    factor = np.linalg.qr(root.T, mode="r").T
    return factor * np.where(np.diag(factor) < 0, -1.0, 1.0)


def adam_step(state: SVIState, slope: np.ndarray, inner: np.ndarray, rho: float, scale: np.ndarray) -> SVIState:
    """Adam on mu / scale, log L_ii and L_ij / scale_i, with steps of about rho."""
    within = np.einsum("ki,kj->ij", inverse(state.cholesky), inner)  # L^-T inner = E r eps'
    in_factor = factor_gradient(within, np.diag(within) * np.diag(state.cholesky), scale)
    gradient = np.column_stack([slope * scale, in_factor])
    direction, first, second = optimisers.adam(gradient, state.first, state.second, state.iteration + 1)
    change = rho * direction
    cholesky = factor_moved(state.cholesky, change[:, 1:], scale)
    return state._replace(mean=state.mean + scale * change[:, 0], cholesky=cholesky, first=first, second=second)


def pulls_of(slope: np.ndarray, theta: np.ndarray, target: Target) -> dict[str, np.ndarray]:
    """The gradient (d,) in the mean as what the prior and what the batch says at draws (n, d) of q."""
    return mean_terms(slope, target.grad_log_prior(theta).mean(axis=0))


def factor_gradient(in_factor: np.ndarray, in_logs: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """The gradient (d, d) in L_ij / scale_i below the diagonal and in log L_ii on it.

    `in_factor` (d, d) is that in L, of which the strict lower triangle counts; `in_logs` (d,) that in log L_ii.
    """
    return np.tril(in_factor, -1) * scale[:, None] + np.diag(in_logs)


def factor_moved(cholesky: np.ndarray, change: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """L (d, d) after a `change` (d, d) of those coordinates."""
    lower = np.tril(cholesky, -1) + np.tril(change, -1) * scale[:, None]
    return lower + np.diag(np.diag(cholesky) * np.exp(np.diag(change)))


def _words(state: SVIState, rho: float, batch: int) -> str:
    mean = ", ".join(f"{v:.3g}" for v in state.mean[:6])
    sd = ", ".join(f"{v:.3g}" for v in np.sqrt((state.cholesky**2).sum(axis=1))[:6])
    return f"step {rho:.3g} · batch of {batch:,} · mean ({mean}) · sd ({sd})"
