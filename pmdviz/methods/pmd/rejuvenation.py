"""Rejuvenation: when the particles of `pmd` are redrawn from the density estimate, and how."""

from __future__ import annotations

import numpy as np

from pmdviz.densities.density import KernelDensity
from pmdviz.densities.shaped import ShapedDensity
from pmdviz.methods.base import checked_log_prior, read_only
from pmdviz.methods.pmd.knobs import PMDKnobs
from pmdviz.methods.pmd.state import PMDState
from pmdviz.methods.shared import draws
from pmdviz.methods.shared.particles import equal_log_weights, ess_below
from pmdviz.methods.shared.schedules import GROWTHS
from pmdviz.targets import Target

GROWN = 1.5  # so many times more particles are worth a rejuvenation of their own

# From so many particles the O(m^2) density of the draws is taken in float32. It is off by 2e-5 nats at most, so that
# weights are off by 2e-5 of themselves, where drawing the particles anew moves them by a hundredth.
SINGLE_FROM = 4000


def wanted_particles(t: int, knobs: PMDKnobs) -> int:
    """m_t: how many particles are drawn for step t; the steps of a warm start's pass have as many as step 1."""
    return GROWTHS[knobs.growth](max(t, 1), knobs)


def rejuvenation_reason(state: PMDState, ess: float, knobs: PMDKnobs) -> str:
    """Why the next step must draw new particles first; "" where it need not."""
    m, wanted = len(state.particles), wanted_particles(state.next_step, knobs)
    size = "" if wanted == m else f"particles {m:,} → {wanted:,}"
    turned = wanted_particles(state.drawn_at, knobs) != m  # the knobs have been turned since
    grown = knobs.policy != "never" and not m <= wanted < GROWN * m
    due = _due(state, ess, knobs)
    if due:
        return f"{due}, {size}" if size else due
    return size if turned or grown else ""


def _due(state: PMDState, ess: float, knobs: PMDKnobs) -> str:
    """What the policy says."""
    m = len(state.particles)
    if knobs.policy == "always" and state.iteration > 0:
        return "at every step"
    if knobs.policy == "until" and state.iteration > 0 and state.next_step <= knobs.until + 1:
        return f"at every step until {knobs.until:,}"
    if knobs.policy == "ess" and ess_below(ess, knobs.ess_threshold, m):
        return f"only {ess / m:.0%} were still effective"
    return ""


def rejuvenate(
    rng: np.random.Generator,
    state: PMDState,
    density: KernelDensity | ShapedDensity,
    target: Target,
    knobs: PMDKnobs,
) -> tuple[PMDState, np.ndarray]:
    """Draw new particles from the current weighted KDE; they start with equal weights. And each one's parent, (m,)."""
    t = state.next_step
    m = wanted_particles(t, knobs)
    particles, parents = draws.children(rng, density, m, knobs.draws, knobs.resampler)
    log_proposal = density.log_density(particles, single=m >= SINGLE_FROM)
    log_prior = checked_log_prior(target, particles)
    drawn = read_only(particles, equal_log_weights(m), log_proposal, log_prior)
    names = ("particles", "log_weights", "log_proposal", "log_prior")
    each = draws.candidates_each(knobs.draws, m, target.dim)
    return state._replace(drawn_at=max(t, 1), each=each, **dict(zip(names, drawn, strict=True))), parents
