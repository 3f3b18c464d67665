"""One pass over the data: what importance sampling shares with it, and sequential Monte Carlo with jitter."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from pmdviz.densities.bandwidth import RULES
from pmdviz.densities.density import KernelDensity, effective_sample_size, weighted_sum
from pmdviz.knobs import Choice, Flag, Real
from pmdviz.methods.base import checked_log_likelihood, checked_log_prior, read_only, usual_rows
from pmdviz.methods.grammar import Grammar, by
from pmdviz.methods.shared.batching import BatchMethod, batch_size_knob
from pmdviz.methods.shared.draws import children
from pmdviz.methods.shared.linear_algebra import one_blas_thread
from pmdviz.methods.shared.particles import (
    PREVIOUS,
    covariance,
    descended,
    equal_log_weights,
    ess_below,
    ess_threshold_knob,
    normalised,
    num_particles_knob,
    prior_draws,
    weight_terms,
    weight_update,
)
from pmdviz.methods.shared.smoothing import KERNELS, SmoothedMethod, SmoothingKnobs
from pmdviz.methods.step import WEIGHTED, Cost, StepInfo, Term, Work, events
from pmdviz.targets import Target


class OnePassState(NamedTuple):
    """Weighted particles that stand for the posterior given the data seen so far."""

    particles: np.ndarray  # (m, d)
    log_weights: np.ndarray  # (m,) logsumexp 0
    supported: np.ndarray  # (m,) 1.0 where the prior is above 0, else 0.0
    iteration: int
    seen: int  # observations used, each once
    fewest: float  # the smallest ESS that new particles have been drawn from; infinite where none have
    fewest_at: int  # iteration of that
    log_z: float  # estimate of log p(data seen), nats


class Once(BatchMethod):
    """A method that visits every datum once; its state says how many have been `seen`."""

    budget_words = "one pass over the data"

    def default_budget(self, target: Target, knobs: Any) -> int:
        """The one pass; never less than other methods have."""
        return max(usual_rows(target), target.num_data)

    def batch_size(self, state: Any, knobs: Any, num_data: int) -> int:
        """B, and at last what is left."""
        return min(knobs.batch_size, num_data - state.seen)

    def batches(self, state: Any, knobs: Any) -> str:
        """Always one pass: there is no second one to draw from."""
        return "epochs"

    def ended(self, state: Any, knobs: Any, target: Target) -> str:
        """After the pass there is nothing more to do, whatever the budget."""
        return "one pass only" if state.seen >= target.num_data else ""


class OnePass(SmoothedMethod, Once):
    """Every datum is visited once: log w <- log w + sum over the batch of log p(x | theta).

    log p(batch | data before it) is estimated by the log of the weighted mean of p(batch | theta), and log Z is the sum
    over batches: exp of it is unbiased where particles are not redrawn, or redrawn without any noise.
    """

    estimates_log_z = True
    update = weight_update(
        PREVIOUS,
        Term(
            "likelihood",
            "likelihood of the batch",
            "+ Σ log p(x | θ)",
            "Bayes' rule for the rows of this batch: each datum counts once.",
        ),
    )

    def init(self, rng: np.random.Generator, target: Target, knobs: Any) -> OnePassState:
        """m draws from the prior, equally weighted."""
        m = knobs.num_particles
        particles, _ = prior_draws(rng, target, m)
        return OnePassState(*read_only(particles, equal_log_weights(m), np.ones(m)), 0, 0, np.inf, 0, 0.0)

    def renewed(
        self, rng: np.random.Generator, state: OnePassState, target: Target, ess: float, knobs: Any
    ) -> tuple[OnePassState, str, np.ndarray | None]:
        """The state that the step starts from; where particles were redrawn why ("" elsewhere), and their parents."""
        return state, "", None

    def step(
        self, rng: np.random.Generator, state: OnePassState, target: Target, batch: np.ndarray, knobs: Any
    ) -> tuple[OnePassState, StepInfo]:
        """Bayes' rule for the batch, after new particles where they are due."""
        ess = effective_sample_size(state.log_weights)
        state, reason, parents = self.renewed(rng, state, target, ess, knobs)
        if reason and ess < state.fewest:
            state = state._replace(fewest=ess, fewest_at=state.iteration)
        log_likelihood = checked_log_likelihood(target, state.particles, batch, state.supported > 0)
        before = state.log_weights
        log_z = state.log_z + float(np.logaddexp.reduce(before + log_likelihood))
        (log_weights,) = read_only(normalised(state.log_weights + log_likelihood, state.particles, batch))
        state = state._replace(
            log_weights=log_weights, iteration=state.iteration + 1, seen=state.seen + len(batch), log_z=log_z
        )
        zeros = int((log_weights == -np.inf).sum())
        return state, StepInfo(
            Cost(len(batch), len(batch) * int((state.supported > 0).sum())),
            _words(state, len(batch), target.num_data, reason, zeros),
            events(rejuvenated=reason),
            {"ess_before": ess, "zero_weight": zeros},
            weight_terms(log_weights, previous=before, likelihood=log_likelihood),
            parents=parents,
        )

    def log_z(self, state: OnePassState, knobs: Any, target: Target) -> float | None:
        """Of the data seen."""
        return state.log_z if state.seen else None

    def caveat(self, state: OnePassState, knobs: Any) -> str:
        """That too few particles carry the posterior, or once did."""
        return super().caveat(state, knobs) or descended(state.fewest, state.fewest_at, state.particles)


def _words(state: OnePassState, batch: int, num_data: int, reason: str, zeros: int) -> str:
    m, after = len(state.particles), effective_sample_size(state.log_weights)
    parts = [f"batch of {batch:,}", f"{state.seen:,} of {num_data:,} data seen"]
    parts += [f"ESS {after:,.0f} of {m:,} ({after / m:.0%})"]
    parts += [f"resampled and jittered first ({reason})"] if reason else []
    parts += [f"{zeros:,} particles have weight 0"] if zeros else []
    return " · ".join(parts)


# One-pass sequential Monte Carlo (Balakrishnan, Madigan 2006): each datum once, resampling with jitter.


class SMCKnobs(SmoothingKnobs):
    """The knobs of `smc`; the jitter that moves the particles and the kernel that judges them are two things."""

    kind_words = "knob of method 'smc':"

    num_particles = num_particles_knob(1500, "rejuvenation", "Number of points that carry the approximation.")
    batch_size = batch_size_knob(10)
    ess_threshold = ess_threshold_knob(0.5, "Resample, with jitter, when the ESS is below τ m.", basic=True)
    jitter_rule = Choice(
        "local",
        choices={rule: KERNELS[rule] for rule in RULES},
        label="Jitter rule",
        doc="Shape of the noise added to resampled particles; the rules are those of the bandwidth.",
    )
    jitter = Real(
        0.85,
        bounds=(1e-6, 1_000_000),
        softbounds=(0.02, 5),
        log=True,
        basic=True,
        label="Jitter width",
        unit="units of θ (isotropic) or median distances (median) or factor c (covariance) or factor c (local)",
        default_by=("jitter_rule", {"isotropic": 0.1, "median": 0.05, "covariance": 0.35, "local": 0.85}),
        doc="Width of the noise added to resampled particles; its unit follows the jitter rule. Too little leaves "
        "copies of a few particles; too much blurs the modes at every resampling.",
    )
    shrinkage = Flag(
        True,
        label="Shrinkage",
        doc="Pull the particles together before the noise is added, so that it does not widen the posterior "
        "(Liu and West 2001).",
    )

    def work(self, num_data: int) -> Work:
        """m likelihoods of the batch."""
        return Work(likelihoods=self.num_particles * self.rows(num_data))


class SMC(OnePass):
    """log w <- log w + sum over the batch of log p(x | theta); below an ESS of tau m, m draws from the weighted KDE.

    The weights do not correct for the smoothing. With shrinkage the particles' mean and covariance survive a
    resampling, though not their finer shape; without it each one adds the kernel's covariance: the price of one pass.
    """

    name = "smc"
    title = "One-pass sequential Monte Carlo"
    about = (
        "One-pass sequential Monte Carlo reads each data point once: it reweights the particles, and "
        "resamples them with a little jitter when few still count."
    )
    formula = "w_i ← w_i · p(batch | θ_i);  resample and jitter when ESS is low"
    what_moves = "Particles stay in place and change weight; when few count, new ones are drawn near the heavy ones."
    source = "Balakrishnan and Madigan 2006; jitter by the rule local and shrinkage in its shape: ours"
    short_title = "One-pass SMC"
    grammar = Grammar(
        propagate=by("prior"),
        reweight=by("likelihood", remark="each datum once"),
        resample=by("kernel density", remark="when the ESS falls below τ m; points are pulled together first"),
        adapt=by("kernel width", remark="of the jitter, by the points"),
    )
    Knobs = SMCKnobs
    scalars = WEIGHTED
    marks = ("rejuvenated",)

    def renewed(
        self, rng: np.random.Generator, state: OnePassState, target: Target, ess: float, knobs: SMCKnobs
    ) -> tuple[OnePassState, str, np.ndarray | None]:
        """New particles where the ESS fell too low or another number of them is wanted."""
        reason = resampling_reason(len(state.particles), ess, knobs)
        if not reason:
            return state, "", None
        density = self.jitter_density(state, knobs, target)
        particles, parents = children(rng, density, knobs.num_particles, "independent", "systematic")
        supported = (checked_log_prior(target, particles) > -np.inf).astype(np.float64)
        drawn = read_only(particles, equal_log_weights(len(particles)), supported)
        return (
            state._replace(**dict(zip(("particles", "log_weights", "supported"), drawn, strict=True))),
            reason,
            parents,
        )

    def jitter_density(self, state: OnePassState, knobs: SMCKnobs, target: Target) -> KernelDensity:
        """The weighted KDE that new particles are drawn from."""
        weights = np.exp(state.log_weights)
        cholesky = RULES[knobs.jitter_rule](state.particles, weights, knobs.jitter, target.scale)
        centres = shrunk(state.particles, weights, cholesky, target.scale) if knobs.shrinkage else state.particles
        return KernelDensity(centres, state.log_weights, cholesky)


@one_blas_thread
def shrunk(particles: np.ndarray, weights: np.ndarray, cholesky: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Particles (m, d) drawn towards their mean so that the kernel L L' gives them back their covariance V.

    theta <- mean + A (theta - mean) with A V A' + L L' = V, that is A = C (I - K)^(1/2) C^-1 for V = C C' and
    K = C^-1 L L' C^-T; with an isotropic K = h^2 I this is the a = sqrt(1 - h^2) of Liu and West 2001. In a direction
    in which the kernel is wider than the particles all of them go to the mean. `scale` (d,): the prior's sd.
    """
    mean = weighted_sum(weights, particles)
    factor = np.linalg.cholesky(covariance(particles, weights, scale))
    relative = np.linalg.solve(factor, cholesky)
    shares, directions = np.linalg.eigh(relative @ relative.T)
    kept = (directions * np.sqrt(np.clip(1.0 - shares, 0.0, None))) @ directions.T
    return mean + np.einsum("ij,mj->mi", factor @ kept @ np.linalg.inv(factor), particles - mean)


def resampling_reason(m: int, ess: float, knobs: SMCKnobs) -> str:
    """Why the next step must draw new particles first; "" where it need not."""
    if knobs.num_particles != m:
        return f"particles {m:,} → {knobs.num_particles:,}"
    return f"only {ess / m:.0%} were still effective" if ess_below(ess, knobs.ess_threshold, m) else ""
