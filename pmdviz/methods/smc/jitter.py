"""One-pass sequential Monte Carlo (Balakrishnan, Madigan 2006): each datum once, resampling with jitter."""

from __future__ import annotations

import numpy as np

from pmdviz.densities.bandwidth import RULES
from pmdviz.densities.density import KernelDensity, weighted_sum
from pmdviz.knobs import Choice, Flag, Real
from pmdviz.methods.base import checked_log_prior, read_only
from pmdviz.methods.cost import Work
from pmdviz.methods.grammar import Grammar, by
from pmdviz.methods.shared.batching import batch_size_knob
from pmdviz.methods.shared.draws import children
from pmdviz.methods.shared.linear_algebra import one_blas_thread
from pmdviz.methods.shared.particles import (
    covariance,
    equal_log_weights,
    ess_below,
    ess_threshold_knob,
    num_particles_knob,
)
from pmdviz.methods.shared.smoothing import KERNELS, SmoothingKnobs
from pmdviz.methods.smc.one_pass import OnePass, OnePassState
from pmdviz.methods.step import WEIGHTED
from pmdviz.targets import Target


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
