"""Gaussian variational Bayes by reparametrised gradients: full or diagonal, by natural gradients or normalised ones."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pmdviz.densities.density import KernelDensity
from pmdviz.densities.diagonal import MANY, DiagonalDensity
from pmdviz.errors import TargetError
from pmdviz.knobs import Choice, Whole
from pmdviz.methods.base import checked_gradient, checked_log_density, read_only, rows_in_words
from pmdviz.methods.grammar import Grammar, by
from pmdviz.methods.shared import optimisers
from pmdviz.methods.shared.batching import BatchKnobs, BatchMethod
from pmdviz.methods.shared.pulls import mean_update, natural_terms, paced_terms
from pmdviz.methods.step import STEP_SIZE, ComputedTerms, Cost, Scalar, StepInfo, Work
from pmdviz.methods.vi.gaussian import START_SD, factor_gradient, factor_moved, grown, natural_step, of_a_point
from pmdviz.targets import Target

USUAL_STEPS = 2000
MOST_FULL = 200  # dimensions: the squares of ten gradients in a full factor are then 3 MB
REACH = 1e6  # sds of the prior; beyond that q has diverged
UPDATES = {"natural": mean_update("γ", "S′"), "normalised": mean_update("γ", "D")}
LONGEST = 30.0  # root mean squares of the gradients before: a step by those alone has no bound of its own


class GaussianVBKnobs(BatchKnobs):
    """The knobs of `gaussian_vb`."""

    kind_words = "knob of method 'gaussian_vb':"

    shape = Choice(
        "full",
        choices={"full": "full covariance", "diagonal": "independent coordinates"},
        basic=True,
        label="Gaussian family",
        acts="restart",
        doc=f"Full covariance: any Gaussian, in up to {MOST_FULL} dimensions. Independent coordinates: a mean and a "
        "standard deviation each, too narrow where the posterior's coordinates depend on each other.",
    )
    gradient = Choice(
        "natural",
        choices={"natural": "natural", "normalised": "normalised"},
        label="Gradient",
        doc="Natural: that of the Gaussian's geometry, which follows no scale but q's own. Normalised: that in the "
        "mean and the factor of the covariance, each number divided by the root mean square of its last ones; a full "
        "covariance in tens of dimensions diverges with it.",
    )
    normaliser = Choice(
        "past",
        choices={"past": "gradients before it", "present": "its own square too"},
        only_if=("gradient", "normalised"),
        label="Normaliser",
        doc="What a gradient is divided by: the root mean square of the gradients before it, or of itself and those "
        "before it. The second shortens large gradients more than small ones, and standard deviations come out too "
        "large: by 9 % with one draw.",
    )
    window = Whole(
        10,
        bounds=(3, 1000),
        softbounds=(3, 100),
        only_if=("gradient", "normalised"),
        label="Normaliser's window",
        unit="steps",
        acts="restart",
        doc="How many gradients the root mean square is taken over.",
    )
    num_draws = Whole(
        10,
        bounds=(1, 10_000),
        softbounds=(1, 100),
        log=True,
        basic=True,
        label="Draws",
        doc="Number of draws from q that estimate the gradient of a step.",
    )
    eta = optimisers.eta(5.0, default_by=("gradient", {"normalised": 10.0, "natural": 5.0}))
    n0 = optimisers.n0(50.0, default_by=("gradient", {"normalised": 100.0, "natural": 50.0}))
    kappa = optimisers.kappa()

    def work(self, num_data: int) -> Work:
        """Gradient and density at every draw."""
        pairs = self.num_draws * self.rows(num_data)
        return Work(likelihoods=pairs, gradients=pairs)


class GaussianVBState(NamedTuple):
    """q = N(mean, L L')."""

    mean: np.ndarray  # (d,)
    cholesky: np.ndarray  # L: (d, d) lower triangular, or its diagonal (d,) where there is nothing else
    squares: np.ndarray  # (w, d, 1 + columns of L) the last squared gradients, the newest last; (0, ...) if natural
    iteration: int


class GaussianVB(BatchMethod):
    """Ascent of the ELBO E_q log p(theta, X) + H(q) over q = N(mu, L L'), its entropy in closed form.

    With theta = mu + L eps and g = grad log p(theta, X) the gradients are E g in mu, and E g eps' + L^-T in L
    (Titsias, Lazaro-Gredilla 2014). Unlike those of `svi`, which follow the path alone, they have noise at the optimum.

    Normalised, mu / scale (the prior's sds), log L_ii and L_ij / sd_i (q's own, as they are) move by gamma_t g / v,
    v^2 the mean of the last squares. With g itself among them the step has a fixed point of its own, E g / sqrt(g^2
    + S) = 0 instead of E g = 0. In log L_ii the noise of g is skewed: with one draw on a Gaussian posterior g = 1 -
    a eps^2, a = (sd / exact sd)^2, and over ten gradients that fixed point is a = 1.19, an sd 8.9 % too large
    (computed here; PyMC's `adagrad_window` is off by as much: its issue 8444, and Andersen, Bersson, Broderick
    2026, arXiv 2608.01403). With n draws the skewness falls like 1 / sqrt n, and the bias like 1 / n: 0.8 % with
    ten. By the gradients before it alone, of which g is independent given the state, there is none; such a step is
    cut at 30 root mean squares.

    Natural: mu <- mu + gamma S E g and P <- P + gamma A for precisions, A = -E hess log p - P, by Stein's identity
    A = -L^-T (sym E eps g' L + I) L^-1, as in `svi`.
    """

    name = "gaussian_vb"
    title = "Gaussian variational Bayes"
    about = (
        "Gaussian variational Bayes fits one Gaussian, full or with independent coordinates, by noisy gradients of "
        "the evidence lower bound."
    )
    formula = "maximise E_q[log p(θ, X)] + H(q) over q = N(μ, L L'), θ = μ + L ε"
    what_moves = "No particles: a single Gaussian shifts and changes its shape."
    source = (
        "Titsias, Lázaro-Gredilla 2014; Kucukelbir et al. 2017; natural gradient: Khan, Rue 2023, section 4; positive "
        "precisions: Lin, Schmidt, Khan 2020"
    )
    short_title = "Gaussian VB"
    family = "parametric"
    requires = frozenset({"reals", "gradient"})
    grammar = Grammar(
        propagate=by("prior", "fitted density", remark="the mean starts at a draw of the prior"),
        move=by("natural gradient", remark="of the ELBO, on a batch"),
    )
    Knobs = GaussianVBKnobs
    scalars = (STEP_SIZE, Scalar("elbo", "ELBO of the step's draws", "nats"))
    budget_words = f"{USUAL_STEPS:,} steps"
    update = UPDATES["natural"]

    def who(self, knobs: GaussianVBKnobs) -> tuple[int, str]:
        """One Gaussian."""
        return 1, "Gaussian"

    def default_budget(self, target: Target, knobs: GaussianVBKnobs) -> int:
        """Two thousand steps."""
        return USUAL_STEPS * knobs.rows(target.num_data)

    def fitted(self, knobs: Any, target: Target) -> Any:
        """Independent coordinates where there are too many for a full covariance."""
        knobs = super().fitted(knobs, target)
        return knobs.changed({"shape": "diagonal"}) if target.dim > MOST_FULL else knobs

    def check_pair(self, target: Target, knobs: GaussianVBKnobs) -> None:
        """A full covariance has its limit. Raises InputError."""
        super().check_pair(target, knobs)
        if knobs.shape == "full" and target.dim > MOST_FULL:
            raise knobs.specs()["shape"].refusal(
                f"must be 'diagonal' in more than {MOST_FULL} dimensions; target {target.name!r} has {target.dim:,}",
                f"must be independent coordinates in more than {MOST_FULL} dimensions; the target has {target.dim:,}",
            )

    def init(self, rng: np.random.Generator, target: Target, knobs: GaussianVBKnobs) -> GaussianVBState:
        """A draw from the prior as the mean, with a third of its sds, as `svi` begins."""
        mean, sd = target.sample_prior(rng, 1)[0], START_SD * target.scale
        columns = target.dim if knobs.shape == "full" else 1
        kept = knobs.window if knobs.gradient == "normalised" else 0
        squares = np.zeros((kept, target.dim, 1 + columns))
        return GaussianVBState(*read_only(mean, np.diag(sd) if knobs.shape == "full" else sd, squares), 0)

    def step(
        self,
        rng: np.random.Generator,
        state: GaussianVBState,
        target: Target,
        batch: np.ndarray,
        knobs: GaussianVBKnobs,
    ) -> tuple[GaussianVBState, StepInfo]:
        """One stochastic step."""
        t, noise = state.iteration + 1, rng.standard_normal((knobs.num_draws, target.dim))
        theta = draws(state, noise)
        gradients, gamma = checked_gradient(target, theta, batch), optimisers.decayed(t, knobs)
        scalars = {"step_size": gamma, "elbo": elbo(state, theta, target, batch)}
        before = state.mean
        if knobs.gradient == "natural":
            state = natural(state, noise, gradients, gamma)
            terms = partial(natural_terms, state.mean - before, gamma, state.cholesky, theta, target)
        else:
            state = normalised(state, noise, gradients, gamma, target.scale, knobs)
            terms = partial(paced_terms, state.mean - before, gradients.mean(axis=0), theta, target)
        check_reach(state.mean, sds(state), target, gamma, batch)
        state = state._replace(iteration=t)
        read_only(*state[:-1])
        pairs = len(batch) * len(noise)
        return state, StepInfo(
            Cost(len(batch), pairs, pairs),
            _words(state, scalars, len(batch)),
            scalars=scalars,
            terms=ComputedTerms(terms),
            numbers={"γ": gamma, "N/B": target.num_data / len(batch)},
            update=UPDATES[knobs.gradient],
        )

    def points(self, state: GaussianVBState) -> np.ndarray:
        """The mean, (1, d)."""
        return state.mean[None]

    def density(
        self, state: GaussianVBState, knobs: GaussianVBKnobs, target: Target
    ) -> KernelDensity | DiagonalDensity:
        """The Gaussian itself: one kernel at its mean."""
        if state.cholesky.ndim == 1 and target.dim > MANY:
            return DiagonalDensity(state.mean[None], np.zeros(1), state.mean[None], state.cholesky)
        factor = state.cholesky if state.cholesky.ndim == 2 else np.diag(state.cholesky)
        return KernelDensity(state.mean[None], np.zeros(1), factor)

    def caveat(self, state: GaussianVBState, knobs: GaussianVBKnobs) -> str:
        """That q has become a point."""
        return of_a_point(state.mean, sds(state))


def draws(state: GaussianVBState, noise: np.ndarray) -> np.ndarray:
    """theta = mu + L eps, (n, d)."""
    if state.cholesky.ndim == 1:
        return state.mean + state.cholesky * noise
    return state.mean + np.einsum("ij,nj->ni", state.cholesky, noise)


def check_reach(mean: np.ndarray, width: np.ndarray, target: Target, gamma: float, batch: np.ndarray) -> None:
    """Raise TargetError where q is a million sds of the prior away, or as wide."""
    if not (np.abs(mean) + width <= REACH * target.scale).all():
        words = f"q diverged on target {target.name!r}; use a step smaller than {gamma:.3g}"
        raise TargetError(words, mean, rows_in_words(batch))


def sds(state: GaussianVBState) -> np.ndarray:
    """sd_q(theta_k), (d,)."""
    return state.cholesky if state.cholesky.ndim == 1 else np.sqrt((state.cholesky**2).sum(axis=1))


def elbo(state: GaussianVBState, theta: np.ndarray, target: Target, batch: np.ndarray) -> float:
    """Mean of log p(theta, X) over draws (n, d) of q, the batch standing for all data, and H(q); in nats."""
    joint = checked_log_density(target, theta, batch, target.num_data / len(batch))
    logs = np.log(state.cholesky if state.cholesky.ndim == 1 else np.diag(state.cholesky))
    return float(joint.mean() + 0.5 * len(logs) * (1 + np.log(2 * np.pi)) + logs.sum())


def natural(state: GaussianVBState, noise: np.ndarray, gradients: np.ndarray, gamma: float) -> GaussianVBState:
    """mu and P one natural step on, P positive whatever the noise."""
    slope = gradients.mean(axis=0)
    if state.cholesky.ndim == 2:
        within = np.einsum("ji,nj->ni", state.cholesky, gradients)  # L' g
        inner = np.einsum("ni,nj->ij", within, noise) / len(noise) + np.eye(len(slope))
        return natural_step(state, slope, inner, gamma)
    inner = state.cholesky * (gradients * noise).mean(axis=0) + 1
    sd = state.cholesky / np.sqrt(grown(-inner, gamma))
    return state._replace(mean=state.mean + gamma * sd**2 * slope, cholesky=sd)


def normalised(
    state: GaussianVBState,
    noise: np.ndarray,
    gradients: np.ndarray,
    gamma: float,
    scale: np.ndarray,
    knobs: GaussianVBKnobs,
) -> GaussianVBState:
    """mu and L after each number's gradient, divided by a root mean square of its last ones, times gamma."""
    gradient = coordinates_gradient(state, noise, gradients, scale)
    with np.errstate(over="ignore"):  # then nothing is finite any more, and it is said
        squares = np.concatenate([state.squares[1:], gradient[None] ** 2])
    full = state.iteration >= len(squares)  # until then the present gradient counts too: the first alone would not do
    counted = state.squares if knobs.normaliser == "past" and full else squares
    among = min(state.iteration + 1, len(squares))
    size = np.sqrt(counted.sum(axis=0) / among) + optimisers.SMALLEST
    change = gamma * np.clip(gradient / size, -LONGEST, LONGEST)
    mean = state.mean + scale * change[:, 0]
    if state.cholesky.ndim == 1:
        return state._replace(mean=mean, cholesky=state.cholesky * np.exp(change[:, 1]), squares=squares)
    return state._replace(mean=mean, cholesky=factor_moved(state.cholesky, change[:, 1:], sds(state)), squares=squares)


def coordinates_gradient(
    state: GaussianVBState, noise: np.ndarray, gradients: np.ndarray, scale: np.ndarray
) -> np.ndarray:
    """The ELBO's gradient in mu / scale, log L_ii and, of a full factor, L_ij / sd_i: (d, 2) or (d, 1 + d)."""
    slope, along = gradients.mean(axis=0) * scale, (gradients * noise).mean(axis=0)
    if state.cholesky.ndim == 1:
        return np.column_stack([slope, along * state.cholesky + 1])
    in_factor = np.einsum("ni,nj->ij", gradients, noise) / len(noise)
    in_logs = along * np.diag(state.cholesky) + 1
    return np.column_stack([slope, factor_gradient(in_factor, in_logs, sds(state))])


def _words(state: GaussianVBState, scalars: dict[str, float], batch: int) -> str:
    mean = ", ".join(f"{v:.3g}" for v in state.mean[:6])
    sd = ", ".join(f"{v:.3g}" for v in sds(state)[:6])
    step, bound = scalars["step_size"], scalars["elbo"]
    return f"step {step:.3g} · batch of {batch:,} · ELBO {bound:.4g} · mean ({mean}) · sd ({sd})"
