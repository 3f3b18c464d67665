"""Adaptive importance sampling: a mixture of Gaussians that learns from the weights of its own draws."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pmdviz.densities.density import Density, GaussianMixture, effective_sample_size
from pmdviz.knobs import Choice, Real, Whole
from pmdviz.methods.base import DEFAULT_BUDGET, checked_log_likelihood, checked_log_prior, read_only
from pmdviz.methods.grammar import Grammar, by
from pmdviz.methods.importance import adaptations
from pmdviz.methods.importance.adaptations import Proposal
from pmdviz.methods.shared.particles import (
    equal_log_weights,
    normalised,
    num_particles_knob,
    prior_draws,
    weight_terms,
    weight_update,
)
from pmdviz.methods.shared.smoothing import SmoothedMethod, SmoothingKnobs
from pmdviz.methods.step import STEP_SIZE, WEIGHTED, Cost, Scalar, StepInfo, Term, Work
from pmdviz.targets import Target

STEPS = {"m_pmc": 20, "chi2": 500}  # that come to a picture
STEPS_OF_FEW_DATA = 100  # where they cost no more rows than other methods have


class AdaptiveISKnobs(SmoothingKnobs):
    """The knobs of `adaptive_is`."""

    kind_words = "knob of method 'adaptive_is':"

    adaptation = Choice(
        "m_pmc",
        choices={"m_pmc": "weighted EM (M-PMC)", "chi2": "gradient of χ²"},
        label="Adaptation",
        doc="How the weighted draws change the mixture. Weighted EM: every component takes the share, mean and "
        "variances of the draws that it explains. Gradient of χ²: one step of Adam that makes the weights vary less.",
    )
    num_components = Whole(
        20,
        bounds=(1, 1000),
        softbounds=(1, 200),
        log=True,
        basic=True,
        label="Components M",
        acts="restart",
        doc="Number of Gaussians in the proposal; their covariances are diagonal.",
    )
    num_particles = num_particles_knob(
        2000,
        "next step",
        "Draws from the proposal at each step.",
        default_by=("adaptation", {"m_pmc": 2000, "chi2": 200}),
    )
    defensive = Real(
        0.02,
        bounds=(0, 1),
        inclusive_bounds=(True, False),
        softbounds=(0, 0.2),
        label="Defensive share δ",
        unit="share of the draws",
        default_by=("adaptation", {"m_pmc": 0.02, "chi2": 0.0}),
        doc="So much of the proposal stays the prior, which bounds the weights wherever the likelihood is bounded.",
    )
    smallest_ess = Real(
        0.05,
        bounds=(0, 1),
        softbounds=(0, 0.5),
        label="Smallest ESS",
        unit="fraction of m",
        only_if=("adaptation", "m_pmc"),
        doc="Where the weights have a smaller ESS, EM uses a power of them below 1 that has this one. 0: never, as in "
        "the paper.",
    )
    variance_floor = Real(
        0.02,
        bounds=(0, 1),
        softbounds=(0, 0.2),
        label="Variance floor",
        unit="× local variance",
        only_if=("adaptation", "m_pmc"),
        doc="Smallest variance of a component, relative to that of the weighted draws within a mode.",
    )
    learning_rate = Real(
        0.01,
        bounds=(0, 1),
        inclusive_bounds=(False, True),
        softbounds=(0.001, 0.1),
        log=True,
        label="Learning rate",
        unit="prior sds",
        only_if=("adaptation", "chi2"),
        doc="Length of a step of Adam: of the means in the prior's sds, and of log sds and log shares.",
    )
    clamp = Real(
        20.0,
        bounds=(0, 1000),
        softbounds=(0, 50),
        label="Clamp of log w²",
        unit="nats",
        only_if=("adaptation", "chi2"),
        doc="The gradient uses no log w² that is further than this above the median. 0: no clamp.",
    )

    def work(self, num_data: int) -> Work:
        """m likelihoods of all data, and the densities of M components at m points, twice."""
        return Work(2 * self.num_particles * self.num_components, likelihoods=self.num_particles * num_data)


class AdaptiveISState(NamedTuple):
    """The last draws with their weights, and the proposal that they led to: the next draws are from it."""

    particles: np.ndarray  # (m, d)
    log_weights: np.ndarray  # (m,) logsumexp 0
    log_shares: np.ndarray  # (M,) of the components, logsumexp 0; -inf of those that are gone
    means: np.ndarray  # (M, d)
    sds: np.ndarray  # (M, d)
    first: np.ndarray  # (M, 2 d + 1) Adam's mean of the gradients in log shares, means and log sds
    second: np.ndarray  # (M, 2 d + 1) and of their squares
    power: float  # of the weights, in the last adaptation
    log_evidence: float  # log of the last draws' mean weight, nats; NaN before there is one
    iteration: int


class AdaptiveIS(SmoothedMethod):
    """x_i ~ q_t, w_i = p(x_i) p(X | x_i) / q_t(x_i), and q_(t+1) by EM with these weights, or down log chi^2(p, q_t).

    q_t is known before its draws, so that their mean weight is an unbiased estimate of Z whatever q_t is; the means of
    self-normalised weights are consistent only. Every step visits all data, and keeps nothing of the draws before.
    """

    name = "adaptive_is"
    title = "Adaptive importance sampling"
    about = (
        "Adaptive importance sampling weights draws from a mixture of Gaussians, and fits the mixture to the "
        "posterior by these weights."
    )
    formula = "w_i ∝ p(θ_i) p(X | θ_i) / q_t(θ_i),  θ_i ~ q_t;  q_{t+1} fitted to the weighted θ_i"
    goal = "count most"
    what_moves = "Gaussians wrap themselves around the posterior; the particles are new draws from them at every step."
    source = (
        "Cappé, Douc, Guillin, Marin, Robert 2008 (M-PMC); gradient of χ²: Ryu and Boyd 2014; tempered weights: "
        "Koblents and Míguez 2015; local variance floor: ours"
    )
    short_title = "Adaptive IS"
    grammar = Grammar(
        propagate=by("prior", "proposal", remark="first draws from the prior, later ones from the mixture"),
        reweight=by("density ratio", remark="posterior over mixture"),
        adapt=by("proposal", remark="by the weighted draws"),
    )
    Knobs = AdaptiveISKnobs
    kernel_groups = ("components",)
    estimates_log_z = True
    scalars = (
        *WEIGHTED,
        STEP_SIZE,
        Scalar("power", "power of the weights"),
        Scalar("components", "effective components", "", True),
    )
    budget_words = "the proposal to settle"
    update = weight_update(
        Term("prior", "prior", "log p(θ)", "Where the prior is higher a draw counts for more."),
        Term("likelihood", "likelihood of all data", "+ log p(X | θ)", "How well the draw explains the data."),
        Term("proposal", "density it was drawn from", "− log q_t(θ)", "Where many are drawn each counts for less."),
        fresh=True,
    )

    def varies_less(self, knobs: AdaptiveISKnobs) -> str:
        """Of every component there are as many draws as its share says."""
        return "draws shared out among the components vary less"

    def default_budget(self, target: Target, knobs: AdaptiveISKnobs) -> int:
        """Enough steps, and more of them where the data are few or there are none."""
        more = min(DEFAULT_BUDGET, STEPS_OF_FEW_DATA * target.num_data)
        return max(more, STEPS[knobs.adaptation] * target.num_data)

    def init(self, rng: np.random.Generator, target: Target, knobs: AdaptiveISKnobs) -> AdaptiveISState:
        """m draws from the prior; components as wide as it around draws of their own."""
        m, M = knobs.num_particles, knobs.num_components
        particles, _ = prior_draws(rng, target, m)
        means, _ = prior_draws(rng, target, M)
        moments = np.zeros((M, 2 * target.dim + 1)), np.zeros((M, 2 * target.dim + 1))
        sds = np.tile(np.asarray(target.scale, float), (M, 1))
        parts = read_only(particles, equal_log_weights(m), equal_log_weights(M), means, sds, *moments)
        return AdaptiveISState(*parts, 1.0, np.nan, 0)

    def batch_size(self, state: AdaptiveISState, knobs: AdaptiveISKnobs, num_data: int) -> int:
        """All data."""
        return num_data

    def batches(self, state: AdaptiveISState, knobs: AdaptiveISKnobs) -> str:
        """All data in their order."""
        return "whole"

    def step(
        self,
        rng: np.random.Generator,
        state: AdaptiveISState,
        target: Target,
        batch: np.ndarray,
        knobs: AdaptiveISKnobs,
    ) -> tuple[AdaptiveISState, StepInfo]:
        """Draws from the proposal, their weights, and the next proposal."""
        ess, alive = effective_sample_size(state.log_weights), state.log_shares > -np.inf
        proposal = _proposal(state, knobs).living()
        particles = proposal.sample(rng, target, knobs.num_particles)
        log_prior = checked_log_prior(target, particles)
        supported = log_prior > -np.inf
        log_likelihood = checked_log_likelihood(target, particles, batch, supported, may_vanish=True)
        log_proposal, shares = proposal.at(particles, log_prior)
        raw = log_prior + log_likelihood - log_proposal
        log_weights = normalised(raw, particles, batch)
        best = int(np.argmax(raw))
        state = state._replace(
            particles=particles,
            log_weights=log_weights,
            log_evidence=float(raw[best] - log_weights[best] - np.log(len(raw))),
            iteration=state.iteration + 1,
        )
        state = _adapted(state, alive, proposal, shares, target, knobs)
        read_only(*(part for part in state if isinstance(part, np.ndarray)))
        asked, zeros = int(supported.sum()), int((log_weights == -np.inf).sum())
        scalars = {
            "ess_before": ess,
            "zero_weight": zeros,
            "components": float(np.exp(-(np.exp(state.log_shares[alive]) * _finite(state.log_shares[alive])).sum())),
            **({"power": state.power} if knobs.adaptation == "m_pmc" else {"step_size": knobs.learning_rate}),
        }
        terms = weight_terms(log_weights, prior=log_prior, likelihood=log_likelihood, proposal=-log_proposal)
        words = _words(state, scalars["components"])
        return state, StepInfo(
            Cost(len(batch) if asked else 0, len(batch) * asked), words, scalars=scalars, terms=terms
        )

    def log_z(self, state: AdaptiveISState, knobs: Any, target: Target) -> float | None:
        """log of the mean weight of the last step's draws: the mean itself is unbiased for Z."""
        return None if np.isnan(state.log_evidence) else state.log_evidence

    def densities(self, state: AdaptiveISState, knobs: AdaptiveISKnobs, target: Target) -> dict[str, Density]:
        """The KDE of the weighted particles, and the mixture that the next ones are drawn from."""
        return {"kde": self.density(state, knobs, target), "mixture": self.components(state, knobs, target)}

    def components(self, state: AdaptiveISState, knobs: AdaptiveISKnobs, target: Target) -> GaussianMixture:
        """The Gaussians of the next proposal, without the prior's share."""
        return _proposal(state, knobs).density()

    def caveat(self, state: AdaptiveISState, knobs: AdaptiveISKnobs) -> str:
        """That the weights have collapsed, that EM could not use them as they are, or that draws are too few."""
        if known := super().caveat(state, knobs):
            return known
        m, M = len(state.particles), len(state.means)
        if state.iteration and state.power < 1:
            return (
                f"power {state.power:.2g} of the weights: the proposal is still far from the posterior, and log Z from "
                "few draws is not to be trusted"
            )
        if m < M:
            return f"{m:,} draws for {M:,} components: most components see none to learn from"
        return ""


def _proposal(state: AdaptiveISState, knobs: AdaptiveISKnobs) -> Proposal:
    return Proposal(state.log_shares, state.means, state.sds, knobs.defensive)


def _finite(logs: np.ndarray) -> np.ndarray:
    return np.where(logs > -np.inf, logs, 0.0)


def _adapted(
    state: AdaptiveISState, alive: np.ndarray, old: Proposal, shares: np.ndarray, target: Target, knobs: AdaptiveISKnobs
) -> AdaptiveISState:
    """The state with the proposal after its draws; `old` and `shares` are of the components that are `alive`."""
    unit = np.asarray(target.scale, float)
    first, second, power = state.first.copy(), state.second.copy(), 1.0
    if knobs.adaptation == "m_pmc":
        new, power = adaptations.m_pmc(old, state.particles, state.log_weights, shares, knobs, unit)
    else:
        gradient = adaptations.chi2_gradient(old, state.particles, state.log_weights, shares, knobs.clamp, unit)
        moments = first[alive], second[alive]
        new, moments = adaptations.chi2(old, moments, state.iteration, gradient, knobs.learning_rate, unit)
        first[alive], second[alive] = moments
    log_shares, means, sds = state.log_shares.copy(), state.means.copy(), state.sds.copy()
    log_shares[alive], means[alive], sds[alive] = new.log_shares, new.means, new.sds
    return state._replace(log_shares=log_shares, means=means, sds=sds, first=first, second=second, power=power)


def _words(state: AdaptiveISState, components: float) -> str:
    m, ess = len(state.particles), effective_sample_size(state.log_weights)
    parts = [f"{m:,} new draws", f"ESS {ess:,.0f} of {m:,} ({ess / m:.0%})", f"log Z {state.log_evidence:.2f}"]
    parts += [f"{components:.1f} of {len(state.means)} components effective"]
    parts += [f"weights to the power {state.power:.2g}"] if state.power < 1 else []
    return " · ".join(parts)
