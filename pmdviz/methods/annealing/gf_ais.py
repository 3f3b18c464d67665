"""Annealed importance sampling without a gradient: Langevin proposals by a surrogate's, or random walks."""

from __future__ import annotations

import numpy as np

from pmdviz.knobs import Choice
from pmdviz.methods.annealing import moves
from pmdviz.methods.annealing.ladder import PILOTS, Ladder, LadderKnobs, sandwich_knob
from pmdviz.methods.annealing.moves import Walkers
from pmdviz.methods.base import Method
from pmdviz.methods.grammar import Grammar, by
from pmdviz.methods.stein.flow import squared_width
from pmdviz.methods.stein.surrogates import KernelSurrogate
from pmdviz.methods.step import Work
from pmdviz.targets import Target

BY_PILOTS, AS_PRINTED, WALK = "pilots", "printed", "walk"


class GFAISKnobs(LadderKnobs):
    """The knobs of `gf_ais`."""

    kind_words = "knob of method 'gf_ais':"

    proposals = Choice(
        BY_PILOTS,
        choices={
            BY_PILOTS: "Langevin, surrogate by pilots",
            AS_PRINTED: "Langevin, surrogate by all (as printed)",
            WALK: "random walk",
        },
        label="Kind of proposal",
        basic=True,
        doc="Langevin: along the gradient of Σ p(x′) exp(-|x-x′|²/h), a sum over pilots or over all walkers x′, with p "
        "at the temperature. As printed, each walker is a centre of its own proposal: the move does not keep p, and "
        "log Z is wrong in high dimensions. Without pilots (no tuning, or on the way back): a random walk.",
    )
    leaps = 0
    sandwich = sandwich_knob()

    def work(self, num_data: int) -> Work:
        """The likelihoods of all proposals, and in the first step of where they start from; kernels of surrogates."""
        walkers = self.num_particles + PILOTS
        centres = {BY_PILOTS: PILOTS, AS_PRINTED: walkers, WALK: 0}[self.proposals]
        return Work(likelihoods=2 * walkers * self.rows(num_data), kernels=2 * centres * walkers)


class GFAIS(Ladder):
    """As annealed importance sampling, with MALA by the gradient of a surrogate at each temperature.

    θ' = θ + (ε²/2) S ∇ log ρ(θ) + ε N(0, S), S the prior's variances, accepted by the ratio of p_β = prior x L^β with
    the proposals' densities. ρ(x) = sum_j p_β(x_j) exp(-|x - x_j|²/h), in prior sds, h = med²/(2 log(n + 1)), as in
    annealed GF-SVGD (0.88). The centres x_j are the pilots; each half of them has the other half. So ρ depends on no
    particle that is weighed, p_β stays as it is, and the mean weight is unbiased for Z.

    The thesis takes all chains as centres. Then ρ at θ' has a kernel at the θ that was left: the move does not keep
    p_β, and the more so the fewer other centres are near.
    """

    name = "gf_ais"
    title = "Gradient-free annealed importance sampling"
    about = (
        "Gradient-free annealed importance sampling leads draws of a simple density to the posterior by Langevin "
        "proposals along a surrogate's gradient, which need densities alone, and weighs each by what it gained."
    )
    formula = "log w ← log w + (β_t - β_{t-1}) log p(X | θ),  θ' = θ + (ε²/2) ∇ log ρ(θ) + ε ξ, corrected to keep p_β"
    what_moves = "Particles drift uphill on a sum of kernels while the temperature rises, and each collects a weight."
    source = "Han 2019 (thesis), Figure 11 and (0.88); Neal 2001; pilots as centres and for the step: ours"
    short_title = "GF-AIS"
    grammar = Grammar(
        propagate=by("prior"),
        reweight=by("temperature"),
        move=by("MALA", remark="by the gradient of kernels at pilots, weighted by their density"),
        adapt=by("step size", "surrogate", remark="by pilots, which have no weight"),
    )
    Knobs = GFAISKnobs
    kernel_groups = ("responsibilities", "svgd")
    bounds_log_z = True

    def missing_in(self, target: Target) -> str:
        """Proposals need real coordinates and nothing else."""
        return Method.missing_in(self, target)

    def by_gradient(self, target: Target) -> bool:
        """Never."""
        return False

    def wanted(self, target: Target, knobs: GFAISKnobs) -> float:
        """Of Langevin proposals 0.57 (Roberts, Rosenthal 1998)."""
        return super().wanted(target, knobs) if knobs.proposals == WALK else 0.57

    def move(self, rng: np.random.Generator, walkers: Walkers, at: moves.Rung, knobs: GFAISKnobs) -> moves.Moved:
        """One proposal for each walker."""
        n = len(walkers.points)
        every, middle = slice(0, n), n - at.pilots // 2
        if knobs.proposals == AS_PRINTED:
            return langevin(rng, walkers, at, [(every, every)])
        if knobs.proposals == WALK or at.pilots < 2:
            return moves.walked(rng, walkers, at)
        weighed, first, second = slice(0, n - at.pilots), slice(n - at.pilots, middle), slice(middle, n)
        return langevin(rng, walkers, at, [(weighed, slice(n - at.pilots, n)), (first, second), (second, first)])


def langevin(
    rng: np.random.Generator, walkers: Walkers, at: moves.Rung, groups: list[tuple[slice, slice]]
) -> moves.Moved:
    """MALA by surrogates: a leapfrog step along grad log rho, accepted by p_β. `groups`: walkers, and their centres."""
    n, unit, log_p = len(walkers.points), at.target.scale, moves.finite(at.log_density(walkers))
    rhos = [(mine, surrogate(walkers.points[centres] / unit, log_p[centres])) for mine, centres in groups]

    def slope(points: np.ndarray) -> np.ndarray:
        found = np.empty_like(points)
        for mine, rho in rhos:
            found[mine] = rho.score(points[mine] / unit)
        return found

    start = rng.standard_normal(walkers.points.shape)
    log_u = np.log1p(-rng.random(n))
    half = start + 0.5 * at.step * slope(walkers.points)
    points = walkers.points + at.step * unit * half
    end = half + 0.5 * at.step * slope(points)
    gain = 0.5 * ((start**2).sum(axis=1) - (end**2).sum(axis=1))
    return moves.judged(log_u - gain, walkers, walkers._replace(points=points), at)


def surrogate(centres: np.ndarray, log_p: np.ndarray) -> KernelSurrogate:
    """sum_j p(x_j) exp(-|x - x_j|²/h) of centres (n, d) in prior sds with h = med²/(2 log(n + 1))  (0.88)."""
    return KernelSurrogate(np.ascontiguousarray(centres), log_p - log_p.max(), squared_width(centres, 1.0))
