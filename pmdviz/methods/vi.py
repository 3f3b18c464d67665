"""Variational inference: of topics, and with a Gaussian, by a bound in closed form or by reparametrised gradients."""

from functools import partial
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np

from pmdviz.densities.density import KernelDensity
from pmdviz.densities.product import MANY, DiagonalDensity, DirichletMixture
from pmdviz.kernels.checks import Array, Rng
from pmdviz.kernels.factors import cholesky, inverse
from pmdviz.kernels.pool import one_blas_thread
from pmdviz.kernels.topics import expected_counts
from pmdviz.knobs import Choice, Whole
from pmdviz.methods import optimisers
from pmdviz.methods.base import BatchMethod, Stepped, check_reach, checked_gradient, checked_log_density
from pmdviz.methods.step import BatchKnobs, ComputedTerms, Cost, Scalar, StepInfo, Term, Work
from pmdviz.targets import Target

START = 100.0  # Gamma's shape at the start, its mean 1: topics that differ a little


class OnlineVBKnobs(optimisers.DecayingKnobs, BatchKnobs):
    """The knobs of `online_vb`."""


class OnlineVBState(NamedTuple):
    """q(φ_k) = Dir(natural[0, :, k])."""

    natural: Array  # (1, W, K)
    iteration: int


class OnlineVB(BatchMethod):
    """Online variational Bayes (LDA).

    short_title: online VB
    about: Online variational Bayes fits independent Dirichlet densities to topics and shares, a batch at a time.
    formula: λ ← (1-ρ) λ + ρ [β + (N/B) Σ E_q n_{kw}],  q(φ_k) = Dir(λ_k)
    what_moves: No particles: one Dirichlet density of each topic moves towards what a batch of documents says.
    source: Hoffman, Blei, Bach 2010, Algorithm 2
    propagate: random start
    move: natural gradient (of the ELBO, on a batch)

    forgotten: The step forgets the share ρ of all counts so far.
    prior: The prior enters again by as much as is forgotten.
    counts: How often each word belongs to the topic, as if all documents were like these.

    q(z) and q(θ_d) are fitted to each document.
    """

    name = "online_vb"
    family = "parametric"
    requires = frozenset({"documents"})
    noun = "set of topics"
    scalars = (optimisers.STEP_SIZE,)
    update = optimisers.move_update(
        Term("forgotten", "forgotten", "− ρ λ"),
        Term("prior", "prior", "+ ρ β"),
        Term("counts", "words of the batch", "+ ρ N/B Σ E_q n_{kw}"),
        formula="λ_k′ − λ_k",
        unit="words",
    )

    def init(self, rng: Rng, target: Target, knobs: OnlineVBKnobs) -> OnlineVBState:
        """Dirichlet parameters near 1, drawn at random so that topics differ."""
        shape = target.documents(target.data_rows[:0]).shape
        return OnlineVBState(rng.gamma(START, 1 / START, (1, *shape)), 0)

    def step(self, rng: Rng, state: OnlineVBState, target: Target, batch: Array, knobs: OnlineVBKnobs) -> Stepped:
        """One natural gradient step on the batch."""
        t, documents = state.iteration + 1, target.documents(batch)
        rho = optimisers.decayed(t, knobs)
        counts = expected_counts(state.natural[0], documents.sparse, documents.alpha)
        before, share = state.natural[0], target.num_data / len(batch)
        natural = (1 - rho) * state.natural + rho * (documents.beta + share * counts)

        def terms() -> dict[str, Array]:
            prior = np.full(before.shape, rho * documents.beta)
            return {"forgotten": -rho * before.T, "prior": prior.T, "counts": rho * share * counts.T}

        cost, words = Cost(len(batch), len(batch)), f"ρ = {rho:.3g} · batch of {len(batch):,} documents"
        numbers = {"ρ": rho, "N/B": share}
        info = StepInfo(cost, words, {}, {"step_size": rho}, ComputedTerms(terms), numbers=numbers)
        return OnlineVBState(natural, t), info

    def points(self, state: OnlineVBState) -> Array:
        """λ, topic by topic, (K, W)."""
        return state.natural[0].T

    def density(self, state: OnlineVBState, knobs: OnlineVBKnobs, target: Target) -> DirichletMixture:
        """The product of the topics' Dirichlet densities."""
        return DirichletMixture(state.natural, np.zeros(1))


# Stochastic variational inference with the bound of Jaakkola and Jordan: closed-form steps for logistic regression.


AnyGaussian: TypeAlias = "BoundState | SVIState | GaussianVBState"


class JaakkolaJordanKnobs(optimisers.DecayingKnobs, BatchKnobs):
    """The knobs of `jaakkola_jordan`."""

    eta = optimisers.ETA.at(2.0)
    n0 = optimisers.N0.at(10.0)
    kappa = optimisers.KAPPA.at(1.0)


class BoundState(NamedTuple):
    """q = N(mean, L L'), by its natural parameters too."""

    linear: Array  # (d,) h = P mean
    precision: Array  # (d, d) P
    mean: Array  # (d,)
    cholesky: Array  # (d, d) L, lower triangular, L L' = P^-1
    iteration: int


class GaussianFit(BatchMethod):
    """A method that fits q = N(mean, L L'): its state has `mean` (d,) and `cholesky`, L (d, d) or its diagonal (d,)."""

    family = "parametric"
    noun = "Gaussian"

    def points(self, state: AnyGaussian) -> Array:
        """The mean, (1, d)."""
        return state.mean[None]

    def density(self, state: AnyGaussian, knobs: BatchKnobs, target: Target) -> KernelDensity | DiagonalDensity:
        """The Gaussian itself: one kernel at its mean."""
        if state.cholesky.ndim == 1 and target.dim > MANY:
            return DiagonalDensity(state.mean[None], np.zeros(1), state.mean[None], state.cholesky)
        factor = state.cholesky if state.cholesky.ndim == 2 else np.diag(state.cholesky)
        return KernelDensity(state.mean[None], np.zeros(1), factor)

    def caveat(self, state: AnyGaussian, knobs: BatchKnobs) -> str:
        """That q has become a point."""
        return of_a_point(state.mean, sds(state))


def sds(state: AnyGaussian) -> Array:
    """sd_q(theta_k), (d,)."""
    return state.cholesky if state.cholesky.ndim == 1 else np.sqrt((state.cholesky**2).sum(axis=1))


def gaussian_words(state: AnyGaussian) -> str:
    """Mean and sds of the first six coordinates, for a step's line."""
    mean, sd = (", ".join(f"{v:.3g}" for v in values[:6]) for values in (state.mean, sds(state)))
    return f"mean ({mean}) · sd ({sd})"


class JaakkolaJordan(GaussianFit):
    """SVI with the Jaakkola-Jordan bound.

    short_title: SVI, bound
    about: A quadratic lower bound of the log likelihood makes every step of variational inference a closed form.
    formula: log σ(z) ≥ log σ(ξ) + (z - ξ)/2 - λ(ξ) (z² - ξ²),  λ(ξ) = tanh(ξ/2)/(4ξ)
    what_moves: No particles: a single Gaussian moves towards the one that the batch's bound gives.
    source: Jaakkola, Jordan 2000; stochastic: Hoffman, Blei, Wang, Paisley 2013; compared with in Dai et al. 2016
    move: natural gradient (of a quadratic bound of the ELBO, on a batch)

    Natural gradient ascent of the ELBO in which each log likelihood is replaced by a quadratic lower bound.

    On a batch the bound, at its tightest under q, makes the posterior a Gaussian with natural parameters (h_B, P_B),
    the batch scaled by N/B; a natural step goes there by a share: h <- (1 - rho) h + rho h_B, P alike. The local step
    xi^2 = E_q (x.w)^2 and the global step are Hoffman et al.'s.
    """

    name = "jaakkola_jordan"
    requires = frozenset({"reals", "quadratic_bound"})
    scalars = (optimisers.STEP_SIZE,)
    update = optimisers.mean_update("ρ", "S′", bound="b")

    def init(self, rng: Rng, target: Target, knobs: JaakkolaJordanKnobs) -> BoundState:
        """The prior, N(0, diag(scale^2))."""
        d = target.dim
        return BoundState(np.zeros(d), np.diag(target.scale**-2.0), np.zeros(d), np.diag(target.scale), 0)

    def step(self, rng: Rng, state: BoundState, target: Target, batch: Array, knobs: JaakkolaJordanKnobs) -> Stepped:
        """One natural step."""
        t = state.iteration + 1
        rho = optimisers.decayed(t, knobs)
        towards = target.quadratic_bound(state.mean, state.cholesky, batch)
        linear = (1 - rho) * state.linear + rho * towards.linear
        precision = (1 - rho) * state.precision + rho * towards.precision
        # P = U U' with an upper triangular U, so P^-1 = L L' with L = U^-T.
        factor = inverse(cholesky(precision[::-1, ::-1]))[::-1, ::-1].T
        mean = np.einsum("ik,jk,j->i", factor, factor, linear)
        size = np.sqrt((factor**2).sum(axis=1).mean())
        words = f"step {rho:.3g} · batch of {len(batch):,} · mean of length {np.linalg.norm(mean):.3g} · sd {size:.3g}"
        before, pull = state.mean, state.mean / target.scale**2  # of the prior, with another sign
        state = BoundState(linear, precision, mean, factor, t)
        terms = ComputedTerms(lambda: optimisers.mean_terms(mean - before, -rho * factor @ (factor.T @ pull)))
        cost, numbers = Cost(len(batch), len(batch)), {"ρ": rho, "N/B": target.num_data / len(batch)}
        return state, StepInfo(cost, words, {}, {"step_size": rho}, terms, numbers=numbers)


# Stochastic variational inference with a Gaussian: reparametrised gradients of the ELBO, natural or by Adam.

START_SD = 0.3  # of the prior's
BY_ADAM = optimisers.mean_update("ρ", "D", optimisers.momentum("ρ"))
SVI_UPDATES = {"natural": optimisers.mean_update("ρ", "S′"), "adam": BY_ADAM}
FACTORS = {"full": "full covariance", "mean_field": "mean field"}
POINT = 1e-9  # of the largest number of the mean: sds below it are none


class SVIKnobs(optimisers.DecayingKnobs, BatchKnobs):
    """The knobs of `svi`.

    shape: Full covariance: any Gaussian. Mean field: independent coordinates.
    optimiser: Natural gradient: in the Gaussian's natural parameters. Adam: on mean and Cholesky factor.
    num_pairs: Number of antithetic pairs ±ε drawn from q to estimate the gradient of a step.
    """

    shape = Choice("full", FACTORS, "Gaussian family", basic=True, acts="restart")
    optimiser = Choice("natural", {"natural": "natural gradient", "adam": "Adam"}, "Optimiser")
    num_pairs = Whole(16, (1, 10_000), (1, 200), "Pairs of draws", log=True, basic=True)
    eta = optimisers.ETA.at(5.0, default_by=("optimiser", {"natural": 5.0, "adam": 10.0}))
    n0 = optimisers.N0.at(20.0, default_by=("optimiser", {"natural": 20.0, "adam": 40.0}))
    kappa = optimisers.KAPPA.at(1.0)

    def work(self, num_data: int) -> Work:
        """The gradients of both draws of every pair."""
        return Work(gradients=2 * self.num_pairs * self.rows(num_data))


class SVIState(NamedTuple):
    """q = N(mean, L L')."""

    mean: Array  # (d,)
    cholesky: Array  # (d, d), lower triangular
    first: Array  # (d, d + 1) Adam's mean of the gradients in mean and factor
    second: Array  # (d, d + 1) and of their squares
    iteration: int


class SVI(GaussianFit):
    """Stochastic variational inference (Gaussian).

    short_title: Gaussian SVI
    about: Variational inference climbs to a Gaussian that is, at least locally, closest to the posterior in reverse KL.
    formula: maximise E_q[log p(θ, X)] - E_q[log q(θ)] over q = N(μ, Σ)
    what_moves: No particles: a single Gaussian shifts and changes its shape.
    source: Hoffman, Blei, Wang, Paisley 2013; Kingma, Welling 2014; natural gradient: Lin, Schmidt, Khan 2020
    propagate: prior + fitted density (the mean starts at a draw from the prior)
    move: natural gradient (of the ELBO, on a batch)

    Ascent of the ELBO E_q[log p(theta, X)] + H(q) over q = N(mu, L L') by reparametrised gradients.

    With theta = mu + L eps and r = grad log p(theta, X) + L^-T eps, the part that vanishes where q is the posterior,
    the gradients are E r in mu and E r eps' in L (lower triangle): path derivatives, free of noise at the optimum of
    a Gaussian posterior. The natural step is mu <- mu + rho S E r, P <- P + rho A for precisions, S = P^-1 and
    A = -E[hess log p] - P = -L^-T sym(E eps r' L) L^-1.
    """

    name = "svi"
    requires = frozenset({"reals", "gradient"})
    scalars = (optimisers.STEP_SIZE,)
    update = SVI_UPDATES["natural"]

    def init(self, rng: Rng, target: Target, knobs: SVIKnobs) -> SVIState:
        """A draw from the prior as the mean, with a third of its sds: between modes the ELBO has saddles to stay on."""
        d = target.dim
        mean, zeros = target.sample_prior(rng, 1)[0], np.zeros((d, d + 1))
        return SVIState(mean, np.diag(START_SD * target.scale), zeros, zeros.copy(), 0)

    def step(self, rng: Rng, state: SVIState, target: Target, batch: Array, knobs: SVIKnobs) -> Stepped:
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
            way = moved.mean - state.mean, rho, moved.cholesky
            terms = ComputedTerms(partial(optimisers.natural_terms, *way, theta, target))
        else:
            moved = adam_step(state, slope, curvature, rho, target.scale)
            memory = state.first[None, :, 0], moved.second[None, :, 0], t
            pulls = partial(pulls_of, slope, theta, target)
            terms = optimisers.paced("adam", memory, rho * target.scale, target.scale, pulls)
        state = moved._replace(iteration=t)
        words = f"step {rho:.3g} · batch of {len(batch):,} · {gaussian_words(state)}"
        cost, numbers = Cost(len(batch), 0, len(batch) * len(noise)), {"ρ": rho, "N/B": target.num_data / len(batch)}
        info = StepInfo(cost, words, {}, {"step_size": rho}, terms, numbers=numbers)
        return state, info._replace(update=SVI_UPDATES[knobs.optimiser])


def of_a_point(mean: Array, sds: Array) -> str:
    """That a Gaussian has no width left: "" unless every sd is below a billionth of the mean's largest number."""
    if sds.max() > POINT * np.abs(mean).max():
        return ""
    return "q has shrunk to a point: its first steps were too long for this posterior; use a smaller step"


def path_gradients(state: SVIState, noise: Array, gradients: Array) -> tuple[Array, Array]:
    """E r (d,) and E (L' r) eps' (d, d): the ELBO's gradient in the mean, and in the factor seen from within."""
    within = np.einsum("ji,nj->ni", state.cholesky, gradients) + noise  # L' r, as L' L^-T eps = eps
    inner = np.einsum("ni,nj->ij", within, noise) / len(noise)
    return gradients.mean(axis=0), inner


def grown(curvature: Array, rho: float) -> Array:
    """f(c) = 1 + rho c, plus (rho c)^2 / 2 where c < 0: what a precision is multiplied by; positive for every c."""
    return 1 + rho * curvature + 0.5 * np.minimum(rho * curvature, 0.0) ** 2


OneGaussian = TypeVar("OneGaussian", "SVIState", "GaussianVBState")


@one_blas_thread()
def natural_step(state: OneGaussian, slope: Array, inner: Array, rho: float) -> OneGaussian:
    """P <- L^-T f(-sym(inner)) L^-1 with f = `grown`; then mu <- mu + rho S slope.

    The quadratic term keeps the precision positive whatever the noise (Lin, Schmidt, Khan 2020, Eq. 9-10); where the
    precision grows none is needed.
    """
    values, vectors = np.linalg.eigh(-0.5 * (inner + inner.T))
    root = state.cholesky @ (vectors / np.sqrt(grown(values, rho)))
    # By QR, without forming R R', which would lose half of the digits.
    factor = np.asarray(np.linalg.qr(root.T, mode="r")).T
    cholesky = factor * np.where(np.diag(factor) < 0, -1.0, 1.0)
    return state._replace(mean=state.mean + rho * (cholesky @ (cholesky.T @ slope)), cholesky=cholesky)


def adam_step(state: SVIState, slope: Array, inner: Array, rho: float, scale: Array) -> SVIState:
    """Adam on mu / scale, log L_ii and L_ij / scale_i, with steps of about rho."""
    within = np.einsum("ki,kj->ij", inverse(state.cholesky), inner)  # L^-T inner = E r eps'
    in_factor = factor_gradient(within, np.diag(within) * np.diag(state.cholesky), scale)
    gradient = np.column_stack([slope * scale, in_factor])
    direction, first, second = optimisers.adam(gradient, state.first, state.second, state.iteration + 1)
    change = rho * direction
    cholesky = factor_moved(state.cholesky, change[:, 1:], scale)
    return state._replace(mean=state.mean + scale * change[:, 0], cholesky=cholesky, first=first, second=second)


def pulls_of(slope: Array, theta: Array, target: Target) -> dict[str, Array]:
    """The gradient (d,) in the mean as what the prior and what the batch says at draws (n, d) of q."""
    return optimisers.mean_terms(slope, target.grad_log_prior(theta).mean(axis=0))


def factor_gradient(in_factor: Array, in_logs: Array, scale: Array) -> Array:
    """The gradient (d, d) in L_ij / scale_i below the diagonal and in log L_ii on it.

    `in_factor` (d, d) is that in L; its strict lower triangle counts; `in_logs` (d,) that in log L_ii.
    """
    return np.tril(in_factor, -1) * scale[:, None] + np.diag(in_logs)


def factor_moved(cholesky: Array, change: Array, scale: Array) -> Array:
    """L (d, d) after a `change` (d, d) of those coordinates."""
    lower = np.tril(cholesky, -1) + np.tril(change, -1) * scale[:, None]
    return lower + np.diag(np.diag(cholesky) * np.exp(np.diag(change)))


# Gaussian variational Bayes by reparametrised gradients: full or diagonal, by natural gradients or normalised ones.

MOST_FULL = 200  # dimensions: the squares of ten gradients in a full factor are then 3 MB
VB_UPDATES = {"natural": optimisers.mean_update("γ", "S′"), "normalised": optimisers.mean_update("γ", "D")}
LONGEST = 30.0  # root mean squares of the gradients before: a step by those alone has no bound of its own


SHAPES = {"full": "full covariance", "diagonal": "independent coordinates"}
NORMALISERS = {"past": "gradients before it", "present": "its own square too"}
IS_NORMALISED = ("gradient", "normalised")


class GaussianVBKnobs(optimisers.DecayingKnobs, BatchKnobs):
    """The knobs of `gaussian_vb`.

    shape: Full covariance: any Gaussian, in up to 200 dimensions. Independent coordinates: a mean and a standard
        deviation each, too narrow where the posterior's coordinates depend on each other.
    gradient: Natural: the gradient in the Gaussian's geometry, which follows no scale but q's own. Normalised: that in
        the mean and the factor of the covariance, each number divided by the root mean square of its last ones; a full
        covariance in tens of dimensions diverges with it.
    normaliser: What a gradient is divided by: the root mean square of the gradients before it, or of itself and those
        before it. The second shortens large gradients more than small ones, and standard deviations come out too large:
        by 9 % with one draw.
    window: How many gradients the root mean square is taken over.
    num_draws: Number of draws from q that estimate the gradient of a step.
    """

    shape = Choice("full", SHAPES, "Gaussian family", basic=True, acts="restart")
    gradient = Choice("natural", {"natural": "natural", "normalised": "normalised"}, "Gradient")
    normaliser = Choice("past", NORMALISERS, "Normaliser", only_if=IS_NORMALISED)
    window = Whole(10, (3, 1000), (3, 100), "Normaliser's window", "steps", acts="restart", only_if=IS_NORMALISED)
    num_draws = Whole(10, (1, 10_000), (1, 100), "Draws", log=True, basic=True)
    eta = optimisers.ETA.at(5.0, default_by=("gradient", {"normalised": 10.0, "natural": 5.0}))
    n0 = optimisers.N0.at(50.0, default_by=("gradient", {"normalised": 100.0, "natural": 50.0}))
    kappa = optimisers.KAPPA.at(1.0)

    def work(self, num_data: int) -> Work:
        """Gradient and density at every draw."""
        pairs = self.num_draws * self.rows(num_data)
        return Work(likelihoods=pairs, gradients=pairs)


class GaussianVBState(NamedTuple):
    """q = N(mean, L L')."""

    mean: Array  # (d,)
    cholesky: Array  # L: (d, d) lower triangular, or its diagonal (d,) where there is nothing else
    squares: Array  # (w, d, 1 + columns of L) the last squared gradients, the newest last; (0, ...) if natural
    iteration: int


class GaussianVB(GaussianFit):
    """Gaussian variational Bayes.

    short_title: Gaussian VB
    about: Gaussian variational Bayes fits one Gaussian, full or with independent coordinates, by noisy gradients of the
        evidence lower bound.
    formula: maximise E_q[log p(θ, X)] + H(q) over q = N(μ, L L'), θ = μ + L ε
    what_moves: No particles: a single Gaussian shifts and changes its shape.
    source: Titsias, Lázaro-Gredilla 2014; Kucukelbir et al. 2017; natural gradient: Khan, Rue 2023, section 4; positive
        precisions: Lin, Schmidt, Khan 2020
    propagate: prior + fitted density (the mean starts at a draw from the prior)
    move: natural gradient (of the ELBO, on a batch)

    Ascent of the ELBO E_q log p(theta, X) + H(q) over q = N(mu, L L'), its entropy in closed form.

    With theta = mu + L eps and g = grad log p(theta, X) the gradients are E g in mu, and E g eps' + L^-T in L
    (Titsias, Lazaro-Gredilla 2014). Unlike the gradients of `svi`, which follow the path alone, they have noise at the
    optimum.

    Normalised, mu / scale (the prior's sds), log L_ii and L_ij / sd_i (q's own, unscaled) move by gamma_t g / v,
    v^2 the mean of the last squares. With g itself among them the step has a fixed point of its own, E g / sqrt(g^2
    + S) = 0 instead of E g = 0. In log L_ii the noise of g is skewed: with one draw on a Gaussian posterior g = 1 -
    a eps^2, a = (sd / exact sd)^2, and over ten gradients that fixed point is a = 1.19, an sd 8.9 % too large
    (computed here; PyMC's `adagrad_window` is off by as much: its issue 8444, and Andersen, Bersson, Broderick
    2026, arXiv 2608.01403). With n draws the skewness falls like 1 / sqrt n, and the bias like 1 / n: 0.8 % with
    ten. With the earlier gradients alone, from which g is independent given the state, there is none; such a step is
    cut at 30 root mean squares.

    Natural: mu <- mu + gamma S E g and P <- P + gamma A for precisions, A = -E hess log p - P, by Stein's identity
    A = -L^-T (sym E eps g' L + I) L^-1, as in `svi`.
    """

    name = "gaussian_vb"
    requires = frozenset({"reals", "gradient"})
    scalars = (optimisers.STEP_SIZE, Scalar("elbo", "ELBO of the step's draws", "nats"))
    usual_steps = 2000
    update = VB_UPDATES["natural"]

    def fitted(self, knobs: GaussianVBKnobs, target: Target) -> GaussianVBKnobs:
        """Independent coordinates where there are too many for a full covariance."""
        knobs = super().fitted(knobs, target)
        return knobs.changed({"shape": "diagonal"}) if target.dim > MOST_FULL else knobs

    def check_pair(self, target: Target, knobs: GaussianVBKnobs) -> None:
        """A full covariance has its limit. Raises InputError."""
        super().check_pair(target, knobs)
        if knobs.shape == "full" and target.dim > MOST_FULL:
            many = f"in more than {MOST_FULL} dimensions"
            on_page = f"must be independent coordinates {many}; the target has {target.dim:,}"
            words = f"must be 'diagonal' {many}; target {target.name!r} has {target.dim:,}"
            raise knobs.specs()["shape"].refusal(words, on_page)

    def init(self, rng: Rng, target: Target, knobs: GaussianVBKnobs) -> GaussianVBState:
        """A draw from the prior as the mean, with a third of its sds, as `svi` begins."""
        mean, sd = target.sample_prior(rng, 1)[0], START_SD * target.scale
        columns = target.dim if knobs.shape == "full" else 1
        kept = knobs.window if knobs.gradient == "normalised" else 0
        squares = np.zeros((kept, target.dim, 1 + columns))
        return GaussianVBState(mean, np.diag(sd) if knobs.shape == "full" else sd, squares, 0)

    def step(self, rng: Rng, state: GaussianVBState, target: Target, batch: Array, knobs: GaussianVBKnobs) -> Stepped:
        """One stochastic step."""
        t, noise = state.iteration + 1, rng.standard_normal((knobs.num_draws, target.dim))
        theta = draws(state, noise)
        gradients, gamma = checked_gradient(target, theta, batch), optimisers.decayed(t, knobs)
        scalars = {"step_size": gamma, "elbo": elbo(state, theta, target, batch)}
        before = state.mean
        if knobs.gradient == "natural":
            state = natural(state, noise, gradients, gamma)
            terms = partial(optimisers.natural_terms, state.mean - before, gamma, state.cholesky, theta, target)
        else:
            state = normalised(state, noise, gradients, gamma, target.scale, knobs)
            terms = partial(optimisers.paced_terms, state.mean - before, gradients.mean(axis=0), theta, target)
        ends = np.stack([state.mean - sds(state), state.mean + sds(state)])
        check_reach(ends, target, gamma, batch, "q")
        state = state._replace(iteration=t)
        pairs, numbers = len(batch) * len(noise), {"γ": gamma, "N/B": target.num_data / len(batch)}
        words = f"step {gamma:.3g} · batch of {len(batch):,} · ELBO {scalars['elbo']:.4g} · {gaussian_words(state)}"
        info = StepInfo(Cost(len(batch), pairs, pairs), words, {}, scalars, ComputedTerms(terms), numbers=numbers)
        return state, info._replace(update=VB_UPDATES[knobs.gradient])


def draws(state: AnyGaussian, noise: Array) -> Array:
    """theta = mu + L eps, (n, d)."""
    if state.cholesky.ndim == 1:
        return state.mean + state.cholesky * noise
    return state.mean + np.einsum("ij,nj->ni", state.cholesky, noise)


def elbo(state: GaussianVBState, theta: Array, target: Target, batch: Array) -> float:
    """Mean of log p(theta, X) over draws (n, d) of q, the batch standing for all data, and H(q); in nats."""
    joint = checked_log_density(target, theta, batch, target.num_data / len(batch))
    logs = np.log(state.cholesky if state.cholesky.ndim == 1 else np.diag(state.cholesky))
    return float(joint.mean() + 0.5 * len(logs) * (1 + np.log(2 * np.pi)) + logs.sum())


def natural(state: GaussianVBState, noise: Array, gradients: Array, gamma: float) -> GaussianVBState:
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
    state: GaussianVBState, noise: Array, gradients: Array, gamma: float, scale: Array, knobs: GaussianVBKnobs
) -> GaussianVBState:
    """mu and L after each number's gradient, divided by a root mean square of its last ones, times gamma."""
    gradient = coordinates_gradient(state, noise, gradients, scale)
    with np.errstate(over="ignore"):  # then no number is finite any more, and an error is raised
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


def coordinates_gradient(state: GaussianVBState, noise: Array, gradients: Array, scale: Array) -> Array:
    """The ELBO's gradient in mu / scale, log L_ii and, of a full factor, L_ij / sd_i: (d, 2) or (d, 1 + d)."""
    slope, along = gradients.mean(axis=0) * scale, (gradients * noise).mean(axis=0)
    if state.cholesky.ndim == 1:
        return np.column_stack([slope, along * state.cholesky + 1])
    in_factor = np.einsum("ni,nj->ij", gradients, noise) / len(noise)
    in_logs = along * np.diag(state.cholesky) + 1
    return np.column_stack([slope, factor_gradient(in_factor, in_logs, sds(state))])
