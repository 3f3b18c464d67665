"""Importance sampling: from the prior, and with a mixture as the proposal that adapts to the weights."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from pmdviz.densities.bandwidth import local_scale, neighbourhood_covariance
from pmdviz.densities.density import Density, GaussianMixture, effective_sample_size, normalise
from pmdviz.densities.product import MANY, DiagonalDensity
from pmdviz.kernels.checks import Array, Rng
from pmdviz.kernels.mixture import component_shares, weighted_sums
from pmdviz.kernels.resampling import systematic
from pmdviz.knobs import Choice, Real, Whole
from pmdviz.methods import optimisers, weighting
from pmdviz.methods.base import DEFAULT_BUDGET, Stepped, checked_log_likelihood, checked_log_prior
from pmdviz.methods.smc import OnePass
from pmdviz.methods.step import BATCH_SIZE, Cost, Scalar, StepInfo, Term, Work
from pmdviz.targets import Target


class ImportanceKnobs(weighting.SmoothingKnobs):
    """The knobs of `importance`.

    num_particles: Number of draws from the prior; they never move.
    """

    num_particles = weighting.NUM_PARTICLES.at(1500)
    batch_size = BATCH_SIZE.at(10)


class Importance(OnePass):
    """Importance sampling from the prior.

    short_title: Importance sampling
    about: Importance sampling weights draws from the prior by the likelihood of the data.
    formula: w_i ∝ p(X | θ_i),  θ_i ~ p(θ)
    what_moves: Nothing moves: draws from the prior stay in place, and their weights follow the likelihood of the data
        seen.
    source: any textbook on Monte Carlo methods, for example Robert and Casella 2004, section 3.3
    propagate: prior
    reweight: likelihood

    The weights are exact for any m, but only the few draws that fell near the posterior carry any: the effective
    sample size falls like the posterior's share of the prior's volume.
    """

    name = "importance"
    goal = "count most"
    scalars = weighting.SCALARS


# The proposal of adaptive importance sampling, and how weighted draws change it: by weighted EM, or down chi^2.

GONE = 1e-12  # a component with less of the weight is dropped
NARROWEST, WIDEST = np.log(1e-3), 1.5  # of log sds, in the prior's
HALVINGS = 50  # of the interval that holds the power of the weights
TRACE = 1e-6  # of the prior's sd: no component is narrower, whatever the particles

Moments = tuple[Array, Array]  # Adam's, (K, 2 d + 1) each


class Proposal(NamedTuple):
    """q(theta) = (1 - delta) sum_k a_k N(theta | mu_k, diag(s_k)^2) + delta p(theta), p the prior, or the q0."""

    log_shares: Array  # (K,) log a_k, logsumexp 0
    means: Array  # (K, d)
    sds: Array  # (K, d)
    defensive: float  # delta in [0, 1)

    def sample(self, rng: Rng, target: Target, n: int) -> Array:
        """n draws (n, d), each from q: of every component as many as its share says, the remainders at random."""
        shares = np.append((1 - self.defensive) * np.exp(self.log_shares), self.defensive)
        chosen = systematic(shares / shares.sum(), n, rng.random())
        noise, own = rng.standard_normal((n, self.means.shape[1])), chosen < len(self.means)
        draws = np.empty_like(noise)
        draws[own] = self.means[chosen[own]] + self.sds[chosen[own]] * noise[own]
        if not own.all():
            draws[~own] = target.sample_prior(rng, int((~own).sum()))
        return draws

    def at(self, points: Array, log_prior: Array) -> tuple[Array, Array]:
        """log q (n,), in nats, and each component's share in it (n, K), at points (n, d) of known log prior (n,)."""
        rest = np.log(self.defensive) + log_prior if self.defensive > 0 else np.full(len(points), -np.inf)
        return component_shares(points, np.log1p(-self.defensive) + self.log_shares, self.means, self.sds, rest)

    def density(self) -> GaussianMixture | DiagonalDensity:
        """The Gaussians alone, as fitted to the target."""
        log_shares, d = normalise(self.log_shares), self.means.shape[1]
        if d > MANY:
            return DiagonalDensity(self.means, log_shares, self.means, self.sds)
        return GaussianMixture(self.means, log_shares, self.sds[:, :, None] * np.eye(d))


def power_of_weights(log_weights: Array, wanted: float) -> float:
    """The largest power in [0, 1] with which weights w^power have an ESS of `wanted`; 0 where none has.

    The tempered weights of Koblents and Miguez 2015, the power being found by bisection.
    """
    if effective_sample_size(log_weights) >= wanted:
        return 1.0
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        enough = effective_sample_size(tempered(log_weights, middle)) >= wanted
        low, high = (middle, high) if enough else (low, middle)
    return low


def tempered(log_weights: Array, power: float) -> Array:
    """log of w^power (m,), logsumexp 0; a particle without weight gets none."""
    return normalise(np.where(log_weights > -np.inf, power * np.maximum(log_weights, -1e300), -np.inf))


def m_pmc(
    proposal: Proposal, particles: Array, log_weights: Array, shares: Array, knobs: AdaptiveISKnobs, unit: Array
) -> tuple[Proposal, Array, float]:
    """One weighted step of EM (Cappe et al. 2008, Eq. 12-14), which components it kept, and the power of the weights.

        a_k = sum_i w_i r_ik,   mu_k = sum_i w_i r_ik x_i / a_k,   s_k^2 = sum_i w_i r_ik (x_i - mu_k)^2 / a_k

    with r (m, K) each component's share in q at the particles (m, d). Covariances are diagonal, and a variance is at
    least `variance_floor` times the variance of the weighted particles within neighbourhoods (ours: it follows the
    posterior's own scale, unlike a fixed one). `unit` (d,) is the prior's sd.
    """
    power = power_of_weights(log_weights, knobs.smallest_ess * len(log_weights))
    weights = np.exp(tempered(log_weights, power))
    sums = weighted_sums(particles, proposal.means, proposal.sds, shares, weights)
    kept = sums[0] > GONE * sums[0].sum()
    log_shares = normalise(np.where(kept, np.log(np.where(kept, sums[0], 1.0)), -np.inf))[kept]
    total, first, second, means, sds = (each[kept] for each in (*sums, proposal.means, proposal.sds))
    shift = first / total[:, None]  # in sds, like the second moments
    variances = sds**2 * (second / total[:, None] - shift**2)
    least = knobs.variance_floor * np.diag(neighbourhood_covariance(particles, weights, unit)) / local_scale(len(unit))
    variances = np.maximum(variances, np.maximum(least, (TRACE * unit) ** 2))
    return Proposal(log_shares, means + sds * shift, np.sqrt(variances), proposal.defensive), kept, power


def chi2(
    proposal: Proposal, moments: Moments, t: int, gradient: Array, learning_rate: float, unit: Array
) -> tuple[Proposal, Moments]:
    """One step of Adam down the gradient (K, 2 d + 1) of log chi^2; means and sds in units (d,) of the prior's sd."""
    direction, first, second = optimisers.adam(gradient, *moments, t)
    step, d = learning_rate * direction, len(unit)
    log_sds = np.log(proposal.sds / unit) - step[:, 1 + d :]
    sds = unit * np.exp(np.clip(log_sds, NARROWEST, WIDEST))
    means = proposal.means - unit * step[:, 1 : 1 + d]
    return Proposal(normalise(proposal.log_shares - step[:, 0]), means, sds, proposal.defensive), (first, second)


def chi2_gradient(
    proposal: Proposal, particles: Array, log_weights: Array, shares: Array, clamp: float, unit: Array
) -> Array:
    """Gradient (K, 2 d + 1) of log E_q w^2 in log a_k (before they are normalised), mu_k / unit, log s_k.

        -(1/m) sum_i c_i grad log q(x_i),   c_i = w_i^2 / mean_j w_j^2 - 1

    From E_q w^2 = 1 + chi^2(p, q) for normalised w, whose gradient is -E_q w^2 grad log q; the -1 is a control variate.
    """
    m, c = len(particles), coefficients(log_weights, clamp)
    total, first, second = weighted_sums(particles, proposal.means, proposal.sds, shares, c / m)
    own = float((c * shares.sum(axis=1)).sum()) / m  # all but the prior's part
    in_shares = total - np.exp(proposal.log_shares) * own
    in_means, in_log_sds = unit * first / proposal.sds, second - total[:, None]
    return -np.concatenate([in_shares[:, None], in_means, in_log_sds], axis=1)


def coefficients(log_weights: Array, clamp: float) -> Array:
    """c (m,) of log weights (m,); log w^2 is at most its median plus `clamp` nats, 0 for no such limit."""
    logs = 2 * log_weights
    if clamp > 0:
        logs = np.minimum(logs, np.median(logs[logs > -np.inf]) + clamp)
    squares = np.exp(logs - logs.max())
    return squares / squares.mean() - 1


# Adaptive importance sampling: a mixture of Gaussians that learns from the weights of its own draws.

STEPS = {"m_pmc": 20, "chi2": 500}  # that come to a picture
STEPS_OF_FEW_DATA = 100  # where they cost no more rows than other methods have


BY_EM, BY_CHI2, NOT_DEFENSIVE = ("adaptation", "m_pmc"), ("adaptation", "chi2"), ("adaptation", {"chi2": 0.0})


class AdaptiveISKnobs(weighting.SmoothingKnobs):
    """The knobs of `adaptive_is`.

    adaptation: How the weighted draws change the mixture. Weighted EM: every component takes the share, mean and
        variances of the draws that it explains. Gradient of χ²: one step of Adam that makes the weights vary less.
    num_components: Number of Gaussians in the proposal; their covariances are diagonal.
    num_particles: Draws from the proposal at each step.
    defensive: Share of the proposal kept as the prior; it bounds the weights wherever the likelihood is bounded.
    smallest_ess: Where the weights have a smaller ESS, EM uses a power of them below 1 that has this one. 0: never, as
        in the paper.
    variance_floor: Smallest variance of a component, relative to the variance of the weighted draws within a mode.
    learning_rate: Length of a step of Adam: of the means in the prior's sds, and of log sds and log shares.
    clamp: The gradient uses no log w² that is further than this above the median. 0: no clamp.
    """

    adaptation = Choice("m_pmc", {"m_pmc": "weighted EM (M-PMC)", "chi2": "gradient of χ²"}, "Adaptation")
    num_components = Whole(20, (1, 1000), (1, 200), "Components M", log=True, basic=True, acts="restart")
    num_particles = weighting.NUM_PARTICLES.at(2000, acts="next step", default_by=("adaptation", {"chi2": 200}))
    defensive = Real(0.02, "[0, 1)", (0, 0.2), "Defensive share δ", "share of the draws", default_by=NOT_DEFENSIVE)
    smallest_ess = Real(0.05, (0, 1), (0, 0.5), "Smallest ESS", "fraction of m", only_if=BY_EM)
    variance_floor = Real(0.02, (0, 1), (0, 0.2), "Variance floor", "× local variance", only_if=BY_EM)
    learning_rate = Real(0.01, "(0, 1]", (0.001, 0.1), "Learning rate", "prior sds", log=True, only_if=BY_CHI2)
    clamp = Real(20.0, (0, 1000), (0, 50), "Clamp of log w²", "nats", only_if=BY_CHI2)

    def work(self, num_data: int) -> Work:
        """m likelihoods of all data, and the densities of M components at m points, twice."""
        return Work(2 * self.num_particles * self.num_components, likelihoods=self.num_particles * num_data)


class AdaptiveISState(NamedTuple):
    """The last draws with their weights, and the proposal that they led to: the next draws are from it.

    A component that has no share any more is gone from all arrays of components.
    """

    particles: Array  # (m, d)
    log_weights: Array  # (m,) logsumexp 0
    proposal: Proposal
    num_components: int  # M at the start
    first: Array  # (K, 2 d + 1) Adam's mean of the gradients in log shares, means and log sds
    second: Array  # (K, 2 d + 1) and of their squares
    power: float  # of the weights, in the last adaptation
    log_evidence: float  # log of the last draws' mean weight, nats; NaN before there is one
    iteration: int


POWER, COMPONENTS = Scalar("power", "power of the weights"), Scalar("components", "effective components", "", True)


class AdaptiveIS(weighting.SmoothedMethod):
    """Adaptive importance sampling.

    short_title: Adaptive IS
    about: Adaptive importance sampling weights draws from a mixture of Gaussians, and fits the mixture to the posterior
        by these weights.
    formula: w_i ∝ p(θ_i) p(X | θ_i) / q_t(θ_i),  θ_i ~ q_t;  q_{t+1} fitted to the weighted θ_i
    what_moves: Gaussians wrap themselves around the posterior; the particles are new draws from them at every step.
    source: Cappé, Douc, Guillin, Marin, Robert 2008 (M-PMC); gradient of χ²: Ryu and Boyd 2014; tempered weights:
        Koblents and Míguez 2015; local variance floor: ours
    propagate: prior + proposal (first draws from the prior, later ones from the mixture)
    reweight: density ratio (posterior over mixture)
    adapt: proposal (by the weighted draws)

    prior: Where the prior is higher a draw counts for more.
    likelihood: How well the draw explains the data.
    proposal: Where many are drawn each counts for less.

    The mixture follows by EM with these weights, or down the gradient of log chi^2(p, q_t).

    q_t is known before its draws: their mean weight is an unbiased estimate of Z whatever q_t is; the means of
    self-normalised weights are consistent only. Every step visits all data, and keeps nothing of the draws before.
    """

    name = "adaptive_is"
    goal = "count most"
    varies_less = "draws shared out among the components vary less"
    kernel_groups = ("components",)
    estimates_log_z = True
    scalars = (*weighting.SCALARS, optimisers.STEP_SIZE, POWER, COMPONENTS)
    budget_words = "the proposal to settle"
    update = weighting.update(
        Term("prior", "prior", "log p(θ)"),
        Term("likelihood", "likelihood of all data", "+ log p(X | θ)"),
        Term("proposal", "density it was drawn from", "− log q_t(θ)"),
        fresh=True,
    )

    def default_budget(self, target: Target, knobs: AdaptiveISKnobs) -> int:
        """Enough steps, and more of them where the data are few or there are none."""
        more = min(DEFAULT_BUDGET, STEPS_OF_FEW_DATA * target.num_data)
        return max(more, STEPS[knobs.adaptation] * target.num_data)

    def init(self, rng: Rng, target: Target, knobs: AdaptiveISKnobs) -> AdaptiveISState:
        """m draws from the prior; components as wide as it around draws of their own."""
        m, M = knobs.num_particles, knobs.num_components
        particles, _ = weighting.prior_draws(rng, target, m)
        means, _ = weighting.prior_draws(rng, target, M)
        moments = np.zeros((M, 2 * target.dim + 1)), np.zeros((M, 2 * target.dim + 1))
        sds = np.tile(np.asarray(target.scale, float), (M, 1))
        proposal = Proposal(weighting.equal(M), means, sds, knobs.defensive)
        return AdaptiveISState(particles, weighting.equal(m), proposal, M, *moments, 1.0, np.nan, 0)

    def step(self, rng: Rng, state: AdaptiveISState, target: Target, batch: Array, knobs: AdaptiveISKnobs) -> Stepped:
        """Draws from the proposal, their weights, and the next proposal."""
        ess, proposal = effective_sample_size(state.log_weights), state.proposal._replace(defensive=knobs.defensive)
        particles = proposal.sample(rng, target, knobs.num_particles)
        log_prior = checked_log_prior(target, particles)
        supported = log_prior > -np.inf
        log_likelihood = checked_log_likelihood(target, particles, batch, supported, may_vanish=True)
        log_proposal, shares = proposal.at(particles, log_prior)
        raw = log_prior + log_likelihood - log_proposal
        log_weights = weighting.normalised(raw, particles, batch)
        best = int(np.argmax(raw))
        log_evidence = float(raw[best] - log_weights[best] - np.log(len(raw)))
        state = state._replace(particles=particles, log_weights=log_weights, log_evidence=log_evidence)
        state = _adapted(state._replace(iteration=state.iteration + 1), proposal, shares, target, knobs)
        asked, log_shares = int(supported.sum()), state.proposal.log_shares
        scalars = {
            **weighting.scalars(ess, log_weights),
            "components": float(np.exp(-(np.exp(log_shares) * log_shares).sum())),
            **({"power": state.power} if knobs.adaptation == "m_pmc" else {"step_size": knobs.learning_rate}),
        }
        terms = weighting.terms(log_weights, prior=log_prior, likelihood=log_likelihood, proposal=-log_proposal)
        words = _words(state, scalars["components"])
        cost = Cost(len(batch) if asked else 0, len(batch) * asked)
        return state, StepInfo(cost, words, scalars=scalars, terms=terms)

    def log_z(self, state: AdaptiveISState, knobs: AdaptiveISKnobs, target: Target) -> float | None:
        """log of the mean weight of the last step's draws: the mean itself is unbiased for Z."""
        return None if np.isnan(state.log_evidence) else state.log_evidence

    def densities(self, state: AdaptiveISState, knobs: AdaptiveISKnobs, target: Target) -> dict[str, Density]:
        """The KDE of the weighted particles, and the mixture that the next ones are drawn from."""
        return {"kde": self.density(state, knobs, target), "mixture": self.components(state, knobs, target)}

    def components(
        self, state: AdaptiveISState, knobs: AdaptiveISKnobs, target: Target
    ) -> GaussianMixture | DiagonalDensity:
        """The Gaussians of the next proposal, without the prior's share."""
        return state.proposal.density()

    def caveat(self, state: AdaptiveISState, knobs: AdaptiveISKnobs) -> str:
        """That the weights have collapsed, that EM could not use them as they are, or that draws are too few."""
        if known := super().caveat(state, knobs):
            return known
        m, M = len(state.particles), state.num_components
        if state.iteration and state.power < 1:
            far = "the proposal is still far from the posterior, and log Z from few draws is unreliable"
            return f"power {state.power:.2g} of the weights: {far}"
        if m < M:
            return f"{m:,} draws for {M:,} components: most components see none to learn from"
        return ""


def _adapted(
    state: AdaptiveISState, old: Proposal, shares: Array, target: Target, knobs: AdaptiveISKnobs
) -> AdaptiveISState:
    """The state with the proposal after its draws."""
    unit, power, moments = np.asarray(target.scale, float), 1.0, (state.first, state.second)
    if knobs.adaptation == "m_pmc":
        new, kept, power = m_pmc(old, state.particles, state.log_weights, shares, knobs, unit)
        moments = state.first[kept], state.second[kept]
    else:
        gradient = chi2_gradient(old, state.particles, state.log_weights, shares, knobs.clamp, unit)
        new, moments = chi2(old, moments, state.iteration, gradient, knobs.learning_rate, unit)
    return state._replace(proposal=new, first=moments[0], second=moments[1], power=power)


def _words(state: AdaptiveISState, components: float) -> str:
    parts = [f"{len(state.particles):,} new draws", weighting.words(state.log_weights)]
    parts += [f"log Z {state.log_evidence:.2f}"]
    parts += [f"{components:.1f} of {state.num_components} components effective"]
    parts += [f"weights to the power {state.power:.2g}"] if state.power < 1 else []
    return " · ".join(parts)
