"""Annealed importance sampling (Neal 2001): plain, Hamiltonian, stochastic, and without a gradient."""

from __future__ import annotations

import numpy as np

from pmdviz.kernels.checks import Array, Rng
from pmdviz.knobs import Choice, Real
from pmdviz.methods.annealing import (
    LEAPFROG_STEPS,
    PILOTS,
    SANDWICH,
    Ladder,
    LadderKnobs,
    LadderState,
    Moved,
    Rung,
    Walkers,
    asked,
    finite,
    judged,
    leapt,
    walked,
)
from pmdviz.methods.base import BatchMethod, Method
from pmdviz.methods.particles import PREVIOUS, weight_update
from pmdviz.methods.stein import leaders_width
from pmdviz.methods.stein.gf_svgd import KernelSurrogate
from pmdviz.methods.step import BATCH_SIZE, BatchKnobs, Cost, Term, Work
from pmdviz.targets import Target


class AISKnobs(LadderKnobs):
    """The knobs of `ais`."""

    leapfrog_steps = LEAPFROG_STEPS.at(1)
    sandwich = SANDWICH.at(False)


class AIS(Ladder):
    """Annealed importance sampling.

    short_title: AIS
    about: Annealed importance sampling leads draws of a simple density to the posterior by small rises of temperature,
        and weighs each by what it gained at every rise.
    formula: log w ← log w + (β_t - β_{t-1}) log p(X | θ),  θ ~ move that keeps p(θ) p(X | θ)^{β_t}
    what_moves: Particles follow the rising temperature by Metropolis moves, and each collects a weight of its own.
    source: Neal 2001; the way back: Grosse, Ghahramani, Adams 2015; the step tuned by pilots: ours
    propagate: prior
    reweight: temperature
    move: MALA (HMC with more leapfrog steps; Metropolis without a gradient)
    adapt: step size (by pilots, which have no weight)

    The move is MALA, or HMC with L > 1. Where there is no gradient it is a random walk, and on discrete
    states single changes, d of them or 64.
    """

    name = "ais"
    bounds_log_z = True


# Hamiltonian annealed importance sampling (Sohl-Dickstein, Culpepper 2012): momenta that outlive a temperature.


class HAISKnobs(LadderKnobs):
    """The knobs of `hais`.

    refreshment: How much of the momentum is replaced by a fresh draw at each temperature. At 1 all of it: that is AIS
        with the same leapfrog steps.
    """

    leapfrog_steps = LEAPFROG_STEPS.at(10)
    refreshment = Real(0.5, "(0, 1]", (0.01, 1), "Refreshment γ", "share of the momentum's variance", basic=True)
    sandwich = SANDWICH.at(False)


class HAIS(Ladder):
    """Hamiltonian annealed importance sampling.

    short_title: HAIS
    about: Hamiltonian annealed importance sampling leads draws of a simple density to the posterior by trajectories
        that keep some of their momentum from one temperature to the next.
    formula: p ← √{1-γ} p + √γ ξ;  θ, p by L leapfrog steps;  log w ← log w + (β_t - β_{t-1}) log p(X | θ)
    what_moves: Particles glide along trajectories while the temperature rises, and each collects a weight of its own.
    source: Sohl-Dickstein, Culpepper 2012; partial refreshment: Horowitz 1991; the step tuned by pilots: ours
    propagate: prior
    reweight: temperature
    move: HMC (half of the momentum is kept from one temperature to the next)
    adapt: step size (by pilots, which have no weight)

    The ladder is that of prior x L^β x N(p | 0, I), of which the momenta's part has the same normaliser at every rung
    and cancels in the weights. A refused trajectory turns its momentum round.
    """

    name = "hais"
    requires = frozenset({"reals", "gradient"})
    bounds_log_z = True

    def missing_in(self, target: Target) -> str:
        """Trajectories need real coordinates and a gradient."""
        return Method.missing_in(self, target)

    def move(self, rng: Rng, walkers: Walkers, at: Rung, knobs: HAISKnobs) -> Moved:
        """The leapfrog from a momentum that is partly new."""
        return leapt(rng, walkers, at, knobs.leaps, kept=float(np.sqrt(1 - knobs.refreshment)))


# Annealed importance sampling with a minibatch at each temperature: it is cheap, and its log Z is wrong.


class StochasticAISKnobs(BatchKnobs, LadderKnobs):
    """The knobs of `stochastic_ais`."""

    batch_size = BATCH_SIZE.at(100)
    leapfrog_steps = LEAPFROG_STEPS.at(1)


class StochasticAIS(BatchMethod, Ladder):
    """Stochastic annealed importance sampling.

    short_title: Stochastic AIS
    about: Stochastic annealed importance sampling replaces the likelihood by that of a batch at each temperature, which
        spoils the weights and log Z.
    formula: log w ← log w + (N/B) [β_t log p(batch_t | θ) - β_{t-1} log p(batch_{t-1} | θ)]
    what_moves: Particles chase the posterior of one batch after another, and most of the weight goes to a few of them.
    source: Han 2019, section on stochastic annealed importance sampling; that it is biased: ours
    propagate: prior
    reweight: temperature (one batch comes in, the one before it goes out)
    move: MALA (HMC with more leapfrog steps; Metropolis without a gradient)
    adapt: step size (by pilots, which have no weight)

    likelihood: The new batch comes in and the one before it goes out, which leaves the noise of both.

    In place of the likelihood stands L_t = exp of (N/B) sum over batch t of log p(x | θ).

    The move at rung t and the denominator of the next weight share batch t; then w is exact for a ladder that ends at
    prior x L_T, the posterior of ONE batch counted N/B times, and not at the posterior. So the mean of Z-hat is that of
    Z_T, which by Jensen's inequality is above Z, but it is so by rare batches and particles. What a run sees lies far
    below: walkers that follow batch t-1 fit batch t less well. On N data around θ in d dimensions that costs
    β_t d (N/B - 1) nats at each rung where the moves forget their start, so MORE temperatures make it worse
    (T/(p + 1) times d (N/B - 1) in all; ours). With B = N and shuffled passes it is `ais`.
    """

    name = "stochastic_ais"
    update = weight_update(
        PREVIOUS,
        Term(
            "likelihood", "likelihoods of two batches", "+ N/B [β′ Σ_{batch′} log p(x | θ) − β Σ_{batch} log p(x | θ)]"
        ),
    )

    def missing_in(self, target: Target) -> str:
        """Without data there are no batches."""
        return super().missing_in(target) or ("data to take batches of" if target.data is None else "")

    def passes(self, target: Target, knobs: LadderKnobs) -> int:
        """Besides the move's, those of the new batch where the walkers stand."""
        return super().passes(target, knobs) + (2 if {"reals", "gradient"} <= target.offers else 1)

    def known_at(self, state: LadderState, target: Target, batch: Array) -> tuple[Walkers, Cost]:
        """Of this batch, in every step."""
        walkers, _ = super().known_at(state._replace(iteration=1), target, batch)
        return asked(walkers, target, batch, self.by_gradient(target))

    def numbers(self, before: LadderState, after: LadderState, target: Target, batch: Array) -> dict[str, float]:
        """Both temperatures, and how many data a row of a batch stands for."""
        return {"N/B": target.num_data / len(batch), "β′": after.beta, "β": before.beta}

    def gained(self, state: LadderState, beta: float, log_likelihood: Array) -> Array:
        """β' log L' - β log L, (n,), where L is of the batch before."""
        if state.beta == 0:
            return beta * log_likelihood
        with np.errstate(invalid="ignore"):
            found = beta * log_likelihood - state.beta * state.log_likelihood
        return np.where(np.isnan(found), -np.inf, found)


# Annealed importance sampling without a gradient: Langevin proposals by a surrogate's, or random walks.

BY_PILOTS, AS_PRINTED, WALK = "pilots", "printed", "walk"


class GFAISKnobs(LadderKnobs):
    """The knobs of `gf_ais`.

    proposals: Langevin: along the gradient of Σ p(x′) exp(-|x-x′|²/h), a sum over pilots or over all walkers x′, with p
        at the temperature. As printed, each walker is a centre of its own proposal: the move does not keep p, and log Z
        is wrong in high dimensions. Without pilots (no tuning, or on the way back): a random walk.
    """

    proposals = Choice(
        BY_PILOTS,
        {
            BY_PILOTS: "Langevin, surrogate by pilots",
            AS_PRINTED: "Langevin, surrogate by all (as printed)",
            WALK: "random walk",
        },
        "Kind of proposal",
        basic=True,
    )
    leaps = 0
    sandwich = SANDWICH.at(False)

    def work(self, num_data: int) -> Work:
        """The likelihoods of all proposals, and in the first step of where they start from; kernels of surrogates."""
        walkers = self.num_particles + PILOTS
        centres = {BY_PILOTS: PILOTS, AS_PRINTED: walkers, WALK: 0}[self.proposals]
        return Work(likelihoods=2 * walkers * self.rows(num_data), kernels=2 * centres * walkers)


class GFAIS(Ladder):
    """Gradient-free annealed importance sampling.

    short_title: GF-AIS
    about: Gradient-free annealed importance sampling leads draws of a simple density to the posterior by Langevin
        proposals along a surrogate's gradient, which need densities alone, and weighs each by what it gained.
    formula: log w ← log w + (β_t - β_{t-1}) log p(X | θ),  θ' = θ + (ε²/2) ∇ log ρ(θ) + ε ξ, corrected to keep p_β
    what_moves: Particles drift uphill on a sum of kernels while the temperature rises, and each collects a weight.
    source: Han 2019 (thesis), Figure 11 and (0.88); Neal 2001; pilots as centres and for the step: ours
    propagate: prior
    reweight: temperature
    move: MALA (by the gradient of kernels at pilots, weighted by their density)
    adapt: step size + surrogate (by pilots, which have no weight)

    As annealed importance sampling, with MALA by the gradient of a surrogate at each temperature.

    θ' = θ + (ε²/2) S ∇ log ρ(θ) + ε N(0, S), S the prior's variances, accepted by the ratio of p_β = prior x L^β with
    the proposals' densities. ρ(x) = sum_j p_β(x_j) exp(-|x - x_j|²/h), in prior sds, h = med²/(2 log(n + 1)), as in
    annealed GF-SVGD (0.88). The centres x_j are the pilots; each half of them has the other half. So ρ depends on no
    particle that is weighed, p_β stays as it is, and the mean weight is unbiased for Z.

    The thesis takes all chains as centres. Then ρ at θ' has a kernel at the θ that was left: the move does not keep
    p_β, and the more so the fewer other centres are near.
    """

    name = "gf_ais"
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

    def move(self, rng: Rng, walkers: Walkers, at: Rung, knobs: GFAISKnobs) -> Moved:
        """One proposal for each walker."""
        n = len(walkers.points)
        every, middle = slice(0, n), n - at.pilots // 2
        if knobs.proposals == AS_PRINTED:
            return langevin(rng, walkers, at, [(every, every)])
        if knobs.proposals == WALK or at.pilots < 2:
            return walked(rng, walkers, at)
        weighed, first, second = slice(0, n - at.pilots), slice(n - at.pilots, middle), slice(middle, n)
        return langevin(rng, walkers, at, [(weighed, slice(n - at.pilots, n)), (first, second), (second, first)])


def langevin(rng: Rng, walkers: Walkers, at: Rung, groups: list[tuple[slice, slice]]) -> Moved:
    """MALA by surrogates: a leapfrog step along grad log rho, accepted by p_β. `groups`: walkers, and their centres."""
    n, unit, log_p = len(walkers.points), at.target.scale, finite(at.log_density(walkers))
    rhos = [(mine, surrogate(walkers.points[centres] / unit, log_p[centres])) for mine, centres in groups]

    def slope(points: Array) -> Array:
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
    return judged(log_u - gain, walkers, walkers._replace(points=points), at)


def surrogate(centres: Array, log_p: Array) -> KernelSurrogate:
    """sum_j p(x_j) exp(-|x - x_j|²/h) of centres (n, d) in prior sds with h = med²/(2 log(n + 1))  (0.88)."""
    return KernelSurrogate(np.ascontiguousarray(centres), log_p - log_p.max(), leaders_width(centres, 1.0))
