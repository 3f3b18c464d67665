"""Black-box importance sampling: points are given the weights of least kernel Stein discrepancy."""

from typing import NamedTuple

import numpy as np

from pmdviz.densities.density import effective_sample_size, normalise
from pmdviz.kernels.checks import Array, Rng
from pmdviz.kernels.stein import Descent, descended, stein_matrix
from pmdviz.knobs import Choice, Real, Whole
from pmdviz.methods import weighting
from pmdviz.methods.base import Stepped, checked_gradient, checked_log_likelihood, usual_rows
from pmdviz.methods.stein import GIVEN_WIDTH, POSITIVE, WIDTH_RULE, WidthKnobs, squared_width
from pmdviz.methods.step import Cost, Scalar, StepInfo, Term, Update, Work
from pmdviz.targets import Target

LARGEST = 500  # points: a step costs the square of their number
MOST = 3000  # iterations
GRADIENT, GRADIENT_FREE = "gradient", "gradient_free"
SCORES = {GRADIENT_FREE: "proposal", GRADIENT: "target"}
IS_GAUSSIAN = ("proposal", "gaussian")


PROPOSAL_SD = Real(1.5, POSITIVE, (0.1, 10), "Sd of ρ", "units of θ", log=True, acts="restart", only_if=IS_GAUSSIAN)


class BlackBoxISKnobs(WidthKnobs, weighting.SmoothingKnobs):
    """The knobs of `black_box_is`.

    num_particles: Number of points to be weighted; they never move. An iteration costs m² multiplications.
    score: Whose gradient of the log density makes the Stein kernel. Of the proposal ρ: each value is multiplied by ρ/p
        at both points, and the target's gradient is not needed. Of the target: needs its gradient.
    alpha: The kernel is p(x)^α k(x, x′) p(x′)^α, which makes the score (1 + α) times the target's. 0: the usual kernel.
        -1: no gradient is left, as without a surrogate.
    proposal: What the points are drawn from: the prior (q₀ without data), or a Gaussian of the given mean and sd.
    proposal_mean: Mean of the Gaussian that points are drawn from, in every coordinate.
    proposal_sd: Sd of the Gaussian that points are drawn from, in every coordinate.
    ridge: How much is added to the diagonal of K: a share of each entry, or without scaling of their mean. It keeps
        weights from following rounding errors.
    scaling: The units of ridge and steps. By the diagonal of K: a step takes each weight as far as its own
        curvature allows. None: the largest ρ/p decides for all points, and where it outweighs the others by far the
        weights stay nearly equal.
    iterations: Iterations of accelerated projected gradient descent between two pictures.
    """

    num_particles = Whole(100, (1, LARGEST), (10, LARGEST), "Particles m", log=True, basic=True, acts="restart")
    score = Choice(GRADIENT_FREE, SCORES, "Score in the kernel", basic=True, acts="restart")
    alpha = Real(0.0, (-1, 10), (-1, 1), "Power of p in the kernel", acts="restart", only_if=("score", GRADIENT))
    proposal = Choice("q0", {"q0": "prior, or q₀", "gaussian": "round Gaussian"}, "Proposal ρ", acts="restart")
    proposal_mean = Real(0.0, (-1000, 1000), (-3, 3), "Mean of ρ", "units of θ", acts="restart", only_if=IS_GAUSSIAN)
    proposal_sd = PROPOSAL_SD
    length_scale_rule = WIDTH_RULE.at("liu_wang")
    length_scale = GIVEN_WIDTH.at(0.3)
    median = "exact"  # of so few points
    ridge = Real(1e-6, (0, 1), (1e-9, 1e-2), "Ridge", "K's diagonal", log=True)
    scaling = Choice("diagonal", {"diagonal": "by the diagonal of K", "none": "none"}, "Scaling of the descent")
    iterations = Whole(10, (1, 1000), (1, 100), "Iterations per step", log=True)

    def work(self, num_data: int) -> Work:
        """All pairs of points, and in the first step the target's values."""
        pairs, kernels = self.num_particles * num_data, self.num_particles**2 * (1 + self.iterations / 10)
        return Work(kernels, likelihoods=pairs, gradients=pairs if self.score == GRADIENT else 0.0)


def proposed(rng: Rng, target: Target, knobs: BlackBoxISKnobs) -> Array:
    """m draws (m, d) of the proposal."""
    if knobs.proposal == "q0":
        return weighting.prior_draws(rng, target, knobs.num_particles)[0]
    return knobs.proposal_mean + knobs.proposal_sd * rng.standard_normal((knobs.num_particles, target.dim))


def log_proposal(points: Array, target: Target, knobs: BlackBoxISKnobs) -> Array:
    """log rho at points (m, d), (m,) in nats."""
    if knobs.proposal == "q0":
        return target.log_prior(points)
    return gaussian_log_density(points, knobs.proposal_mean, knobs.proposal_sd)


def surrogate(points: Array, target: Target, knobs: BlackBoxISKnobs) -> tuple[Array, Array]:
    """log rho (m,) and its gradient (m, d): of the proposal, or of a Gaussian with its draws' means and sds.

    The latter replaces a prior whose gradient is unknown; kappa_rho has mean 0 under p whatever rho is.
    """
    if knobs.proposal == "gaussian":
        mean, sd = np.full(target.dim, knobs.proposal_mean), np.full(target.dim, knobs.proposal_sd)
    elif "gradient" in target.offers:
        return target.log_prior(points), target.grad_log_prior(points)
    else:
        mean, sd = points.mean(axis=0), np.maximum(points.std(axis=0), 1e-6 * target.scale)
    return gaussian_log_density(points, mean, sd), (mean - points) / sd**2


def gaussian_log_density(points: Array, mean: Array | float, sd: Array | float) -> Array:
    """log N(x | mean, diag(sd)^2) at points (m, d), (m,) in nats."""
    z = (points - mean) / sd
    return (-0.5 * z**2 - np.log(np.sqrt(2 * np.pi) * np.broadcast_to(sd, points.shape[1]))).sum(axis=1)


NEGLIGIBLE = 1e-8  # of the largest p/rho: points below have weight 0, and rho/p of the others fits into a matrix
CLOSE = 1e-6  # duality gap: a share of u'Ku at which the weights are final
UNSOLVED = 0.1  # gap at which a stopped descent is not said to have arrived
FEWEST = 5.0  # effective points
IMPORTANCE = Term("importance", "importance weight", "log w")
CORRECTION = Term("correction", "correction", "+ log(u/w)")


class BlackBoxState(NamedTuple):
    """Points that stay where they are, with their weights, and where the descent stands."""

    particles: Array  # (m, d)
    log_weights: Array  # (m,) log u, logsumexp 0
    importance: Array  # (m,) log of the self-normalised weights p/rho, logsumexp 0
    scores: Array  # (m, d) of the target or the surrogate
    log_ratios: Array  # (m,) log rho/p, its exp of mean 1; 0 with the target's score; -inf: weight 0 for good
    ahead: Array  # (m,) the point that descent looks ahead to
    pace: float
    value: float  # u'Ku, the squared discrepancy (and the ridge's part)
    gap: float  # duality gap, in the same units
    iterations: int  # of the descent
    iteration: int


class BlackBoxIS(weighting.SmoothedMethod):
    """Black-box importance sampling.

    short_title: Black-box IS
    about: Black-box importance sampling gives points, wherever they come from, the weights for which their kernel Stein
        discrepancy from the posterior is least.
    formula: u = argmin u'Ku, u_i ≥ 0, Σu_i = 1;  K_ij = κ_p(θ_i, θ_j), or w_i κ_ρ(θ_i, θ_j) w_j with w = ρ/p
    what_moves: Nothing moves: points stay in place, and their weights descend to the least Stein discrepancy.
    source: Liu, Lee 2017; gradient-free: Han, Liu 2018, and Han 2019 (thesis); the scaling of the descent: ours
    propagate: prior (or another proposal, if you choose one)
    reweight: least discrepancy
    adapt: kernel width (by the points)

    importance: Target over proposal, with w adding up to 1.
    correction: Adjusted so far by the descent: the errors of the points then cancel.

    Both kernels have mean 0 under p in either argument: u'Ku is the squared (gradient-free) kernel Stein
    discrepancy of the weighted points: errors of means of smooth functions fall faster than 1/sqrt(m), where the
    errors of importance weights do not. w is divided by its mean. The thesis' Lemma 8 has the mean SQUARED error
    O(1/m), not O(1/sqrt(m)) as printed. Gram matrices of smooth kernels are singular but for rounding; hence the ridge.
    That it is in units of each K_ii, like the steps, is ours: one of all, 1e-6 tr K / m, lies above all else of K
    wherever one rho/p outweighs the others, and then 3,000 iterations do not arrive either. So is that points with
    p/rho below 1e-8 of the largest have no weight.
    """

    name = "black_box_is"
    goal = "count most"
    needs = (("score", GRADIENT, "gradient", GRADIENT_FREE),)
    varies_less = "weights that make errors cancel vary less"
    kernel_groups = ("black_box", "svgd")
    scalars = (
        *weighting.SCALARS,
        Scalar("weighted_discrepancy", "KSD of the weighted points", "√nats per unit of θ", True),
        Scalar("duality_gap", "duality gap", "share of KSD²", True),
    )
    clock = "iteration"  # all evaluations are made in the first one
    budget_words = f"one pass, and {MOST:,} iterations"
    update = Update("weights", "log u", "new log-weight", "nats", (IMPORTANCE, CORRECTION))

    def default_budget(self, target: Target, knobs: BlackBoxISKnobs) -> int:
        """More than the one pass over the data, after which no more are visited; never less than other methods."""
        return max(usual_rows(target), 3 * target.num_data)

    def init(self, rng: Rng, target: Target, knobs: BlackBoxISKnobs) -> BlackBoxState:
        """m draws of the proposal, equally weighted."""
        points = proposed(rng, target, knobs)
        m, equal = len(points), weighting.equal(len(points))
        arrays = points, equal, equal.copy(), np.zeros(points.shape), np.zeros(m), np.full(m, 1 / m)
        return BlackBoxState(*arrays, 1.0, np.inf, np.inf, 0, 0)

    def batch_size(self, state: BlackBoxState, knobs: BlackBoxISKnobs, num_data: int) -> int:
        """All data in the first step, and none later."""
        return 0 if state is not None and state.iteration else num_data

    def batches(self, state: BlackBoxState, knobs: BlackBoxISKnobs) -> str:
        """All data in their order, once."""
        return "epochs" if state.iteration else "whole"

    def ended(self, state: BlackBoxState, knobs: BlackBoxISKnobs, target: Target) -> str:
        """When the weights are final, or after 3,000 iterations."""
        if state.iteration and state.gap <= CLOSE * state.value:
            return "the weights are final"
        return f"{MOST:,} iterations" if state.iterations >= MOST else ""

    def step(self, rng: Rng, state: BlackBoxState, target: Target, batch: Array, knobs: BlackBoxISKnobs) -> Stepped:
        """Some iterations of descent; before the first one the target is asked what it is at the points."""
        ess, cost = effective_sample_size(state.log_weights), Cost()
        if state.iteration == 0:
            state, cost = informed(state, target, batch, knobs)
        state = lowered(state, target, knobs)
        gap = state.gap / state.value if state.value > 0 else 0.0
        scalars = weighting.scalars(ess, state.log_weights) | {"duality_gap": gap}
        scalars["weighted_discrepancy"] = float(np.sqrt(state.value))
        words = f"{state.iterations:,} iterations of descent · KSD {np.sqrt(state.value):.3g} · "
        words += f"duality gap {gap:.2g} of KSD² · {weighting.words(state.log_weights)}"
        return state, StepInfo(cost, words, scalars=scalars, terms=terms_of(state))

    def caveat(self, state: BlackBoxState, knobs: BlackBoxISKnobs) -> str:
        """That few points carry the weight, or that the descent was stopped on its way."""
        if state.iteration == 0:
            return ""
        ess = effective_sample_size(state.log_weights)
        if len(state.particles) >= FEWEST > ess:
            return f"{ess:.1f} effective points: too few for their errors to cancel; draw points nearer to it"
        if state.iterations >= MOST and state.gap > UNSOLVED * state.value:
            gap = f"{state.gap / state.value:.0%}"
            return f"not converged after {state.iterations:,} iterations: KSD² may be up to {gap} above its least"
        return ""


def informed(state: BlackBoxState, target: Target, batch: Array, knobs: BlackBoxISKnobs) -> tuple[BlackBoxState, Cost]:
    """Importance weights, scores and ratios at the points, and what they cost."""
    points, B = state.particles, len(batch)
    log_prior = target.log_prior(points)
    inside = log_prior > -np.inf
    log_p = log_prior + target.num_data / B * checked_log_likelihood(target, points, batch, inside)
    importance = weighting.normalised(log_p - log_proposal(points, target, knobs), points, batch)
    cost = Cost(B, B * int(inside.sum()))
    if knobs.score == GRADIENT:
        scores, ratios, alive = np.zeros(points.shape), np.full(len(points), -np.inf), log_p > -np.inf
        scores[alive] = (1 + knobs.alpha) * checked_gradient(target, points[alive], batch)
        ratios[alive] = knobs.alpha * (log_p[alive] - log_p.max())  # kernel p^α k p^α (0.103)
        cost = Cost(2 * B, cost.density_evaluations, B * int(alive.sum()))
    else:
        log_rho, scores = surrogate(points, target, knobs)
        ratios = log_rho - log_p
        kept = ratios <= ratios.min() - np.log(NEGLIGIBLE)
        ratios = normalise(np.where(kept, ratios, -np.inf)) + np.log(kept.sum())  # of mean 1
    ahead = np.where(ratios > -np.inf, 1.0, 0.0)
    ahead /= ahead.sum()
    return state._replace(importance=importance, scores=scores, log_ratios=ratios, ahead=ahead), cost


def discrepancy_matrix(state: BlackBoxState, target: Target, knobs: BlackBoxISKnobs) -> tuple[Array, Array]:
    """Rows of the points that may have weight, (n,), and K with its ridge between them, (n, n)."""
    rows = np.flatnonzero(state.log_ratios > -np.inf)
    h = squared_width(state.particles, knobs, target)
    w = np.exp(state.log_ratios[rows])
    K = w[:, None] * stein_matrix(state.particles[rows], state.scores[rows], h) * w
    diagonal = np.einsum("ii->i", K)
    diagonal += knobs.ridge * (diagonal if knobs.scaling == "diagonal" else diagonal.mean())
    return rows, K


def lowered(state: BlackBoxState, target: Target, knobs: BlackBoxISKnobs) -> BlackBoxState:
    """The state some iterations of descent later."""
    rows, K = discrepancy_matrix(state, target, knobs)
    metric = np.diag(K).copy() if knobs.scaling == "diagonal" else np.ones(len(K))
    u = np.exp(state.log_weights[rows]) if state.iteration else state.ahead[rows]
    count = min(knobs.iterations, MOST - state.iterations)
    found = descended(K, metric, Descent(u, state.ahead[rows], state.pace, state.value, state.gap), count)
    weights, ahead = np.zeros(len(state.particles)), np.zeros(len(state.particles))
    weights[rows], ahead[rows] = found.u, found.ahead
    with np.errstate(divide="ignore"):
        log_weights = normalise(np.log(weights))
    state = state._replace(iterations=state.iterations + count, iteration=state.iteration + 1)
    return state._replace(log_weights=log_weights, ahead=ahead, pace=found.pace, value=found.value, gap=found.gap)


def terms_of(state: BlackBoxState) -> dict[str, Array]:
    """The importance weight, and by how much the descent has corrected it: together log u."""
    known = state.importance > -np.inf
    correction = np.zeros(len(known))
    correction[known] = state.log_weights[known] - state.importance[known]
    return {"importance": state.importance, "correction": correction}
