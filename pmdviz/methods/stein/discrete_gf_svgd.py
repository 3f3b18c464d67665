"""Stein variational gradient descent on discrete states, without a gradient of the target (Han 2019, Algorithm 8)."""

from __future__ import annotations

from functools import lru_cache, partial
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np

from pmdviz.densities.density import Points, effective_sample_size
from pmdviz.errors import InputError, TargetError
from pmdviz.kernels.stein.few_points import matched_force
from pmdviz.kernels.stein.svgd import stein_force
from pmdviz.methods.base import read_only
from pmdviz.methods.grammar import Grammar, by
from pmdviz.methods.shared import optimisers
from pmdviz.methods.shared.batching import BatchMethod
from pmdviz.methods.shared.particles import equal_log_weights
from pmdviz.methods.shared.pulls import clipped, flow_update, momentum, paced
from pmdviz.methods.stein.discrete_knobs import FACTORS, DiscreteGFSVGDKnobs
from pmdviz.methods.stein.discrete_surrogates import WEIGHTINGS, bins, evaluations, is_smooth, surrogate
from pmdviz.methods.stein.flow import squared_width
from pmdviz.methods.stein.kernels import parts_of_force
from pmdviz.methods.stein.quantile_bins import QuantileBins
from pmdviz.methods.stein.shown import Latent
from pmdviz.methods.step import STEP_SIZE, ComputedTerms, Cost, Scalar, StepBlock, StepInfo, Term
from pmdviz.targets import Target

STEPS = 500  # that the default budget is enough for
MOST_IN_A_MATRIX = 1_000  # particles whose distances from one another are held all at once
LEAP_STEPS, LEAP_PAIRS = 64, 10**8  # steps at most in one call, and pairs of particles in them times coordinates
FEW = 0.05  # of the particles: an ESS of the weights below it


class DiscreteGFSVGDState(NamedTuple):
    """Latent points, the states that they stand for, and the optimiser's memory."""

    particles: np.ndarray  # (m, d) z = Gamma(x), in the target's values
    log_weights: np.ndarray  # (m,) equal, logsumexp 0
    latent: np.ndarray  # (m, d) x
    first: np.ndarray  # (m, d)
    second: np.ndarray  # (m, d)
    ess: float  # of the weights in the last step's force, in [1, m]; m at the start
    iteration: int


class DiscreteGFSVGD(BatchMethod, Latent):
    """x_i <- x_i + step sum_j w_j [k(x_j, x_i) grad log rho(x_j) + grad_j k(x_j, x_i)], and z = Gamma(x).

    Gamma gives every value a bin of the base p0 with the same mass, so that p_c(x) proportional to p0(x) p(Gamma(x))
    has Gamma(x) ~ p. p_c is flat in steps but for p0: its gradient says nothing of p. So the force is that of a
    smooth surrogate rho, with weights w_j proportional to rho(x_j) / p_c(x_j), which make p_c what it leaves at rest:

    base:  rho = p0, log w = -log p(Gamma(x)), grad log rho = -x
    tanh:  rho = p0 ptilde(sigma(x)), log w = log ptilde(sigma(x)) - log p(Gamma(x)), grad log rho = -x + sigma' grad
           log ptilde, with sigma(x) = tanh(tau x / 2) between the lowest value and the highest

    `ranks` are Algorithm 9's weights, 1 / H(mu_j) with mu_j = log rho - log p_c and H(t) the share of all mu >= t.
    With `clip` x stays where the truncated base has its mass. As printed, Algorithm 8 has grad rho for grad log rho,
    and does not divide by the sum of w.
    """

    name = "discrete_gf_svgd"
    title = "Gradient-free SVGD on discrete states"
    about = (
        "Gradient-free SVGD on discrete states moves real numbers whose quantile bins stand for the states, "
        "by the force of a smooth surrogate with weights that correct for it."
    )
    formula = "x_i ← x_i + ε · Σ_j w_j [k(x_j, x_i) ∇ log ρ(x_j) + ∇_j k(x_j, x_i)],  w ∝ ρ/p_c,  z = Γ(x)"
    what_moves = "Particles move on a hidden real axis; a state changes where one crosses into another quantile bin."
    source = "Han 2019 (thesis), Algorithms 8 and 9; Han, Ding, Liu, Torresani, Peng, Liu 2020"
    short_title = "Discrete GF-SVGD"
    requires = frozenset({"discrete"})
    grammar = Grammar(
        propagate=by("random start", remark="on the latent axis"),
        move=by("Stein force", remark="of a surrogate, on the latent axis"),
        adapt=by("pace", "kernel width", remark="Adam; the width by the points"),
    )
    Knobs = DiscreteGFSVGDKnobs
    kernel_groups = ("few_points", "smooth_steps", "svgd")
    scalars = (
        STEP_SIZE,
        Scalar("length_scale", "kernel width", "units of x", True),
        Scalar("typical_move", "typical move", "units of x", True),
        Scalar("ess_of_ratios", "ESS of the weights in the force", "particles", True),
        Scalar("distinct_states", "distinct states", "states", True),
    )
    budget_words = f"{STEPS} steps"
    update = flow_update(
        "Σ_j w_j k(x_j, x) ∇ log ρ(x_j)",
        "Σ_j w_j ∇_j k(x_j, x)",
        "the surrogate ρ, weighted by w ∝ ρ/p_c",
        momentum(),
        Term("clip", "clipped", "+ (clip(x′) − x′)", "Back to where the base has its mass."),
        formula="x′ − x",
        unit="units of x",
    )

    def fitted(self, knobs: DiscreteGFSVGDKnobs, target: Target) -> DiscreteGFSVGDKnobs:
        """With the kernel width of the base alone where the target leaves no other surrogate to be chosen."""
        knobs = super().fitted(knobs, target)
        follows = knobs.surrogate == "automatic" and knobs.length_scale_factor == FACTORS["automatic"]
        if is_smooth(knobs, target) or not follows:
            return knobs
        return knobs.changed({"length_scale_factor": FACTORS["base"]})

    def check_pair(self, target: Target, knobs: DiscreteGFSVGDKnobs) -> None:
        """The smooth surrogate asks for a relaxation. Raises InputError."""
        if knobs.surrogate == "tanh" and "relaxation" not in target.offers and not self.missing_in(target):
            raise InputError(
                f"surrogate = tanh needs a smooth log density between the states, which target {target.name!r} does "
                "not offer; set surrogate to automatic or base",
                "surrogate",
            )
        super().check_pair(target, knobs)

    def varies_less(self, knobs: DiscreteGFSVGDKnobs) -> str:
        """They keep their distance from one another, as draws that know nothing of one another do not."""
        return "particles that push one another apart vary less"

    def default_budget(self, target: Target, knobs: DiscreteGFSVGDKnobs) -> int:
        """For 500 steps, in data or without any in evaluations a particle."""
        rows = self.batch_size(None, knobs, target.num_data)
        return STEPS * rows * (1 if target.data is not None else evaluations(knobs, target))

    def init(self, rng: np.random.Generator, target: Target, knobs: DiscreteGFSVGDKnobs) -> DiscreteGFSVGDState:
        """m draws of N(start_mean, start_sd^2), clipped."""
        m = knobs.num_particles
        latent = kept_inside(knobs.start_mean + knobs.start_sd * rng.standard_normal((m, target.dim)), knobs)
        zeros = np.zeros(latent.shape)
        arrays = read_only(bins(target, knobs)(latent), equal_log_weights(m), latent, zeros, zeros.copy())
        return DiscreteGFSVGDState(*arrays, float(m), 0)

    def step(
        self,
        rng: np.random.Generator,
        state: DiscreteGFSVGDState,
        target: Target,
        batch: np.ndarray,
        knobs: DiscreteGFSVGDKnobs,
    ) -> tuple[DiscreteGFSVGDState, StepInfo]:
        """One step along the weighted force of the surrogate."""
        moved = _moved(state, target, batch, SimpleNamespace(**knobs.as_dict()))
        return moved.state, told(state, moved, target, len(batch), knobs)

    def max_block(self, state: DiscreteGFSVGDState, knobs: DiscreteGFSVGDKnobs, target: Target, rows: int) -> int:
        """As many steps as the budget is enough for in evaluations, and as take no longer than a moment."""
        m, size = len(state.particles), self.batch_size(state, knobs, target.num_data)
        affordable = rows // (evaluations(knobs, target) * m * size)
        return max(1, min(affordable, LEAP_STEPS, LEAP_PAIRS // (m * max(m, size) * target.dim)))

    def step_many(
        self,
        rng: np.random.Generator,
        state: DiscreteGFSVGDState,
        target: Target,
        batches: np.ndarray,
        count: int,
        knobs: DiscreteGFSVGDKnobs,
        rows: int,
    ) -> StepBlock | None:
        """Steps of which only the last one tells anything; fewer where the target fails."""
        turned, before, moved, made = SimpleNamespace(**knobs.as_dict()), state, None, 0
        for batch in batches:
            now = state if moved is None else moved.state
            try:
                before, moved = now, _moved(now, target, batch, turned)
            except TargetError:
                break
            made += 1
        if moved is None:
            return None
        info = told(before, moved, target, batches.shape[1], knobs)
        return StepBlock(moved.state, info, made, Cost(*(made * part for part in info.cost)))

    def density(self, state: DiscreteGFSVGDState, knobs: DiscreteGFSVGDKnobs, target: Target) -> Points:
        """The states themselves."""
        return Points(state.particles, state.log_weights)

    def points(self, state: DiscreteGFSVGDState) -> np.ndarray:
        """Where the points are, (m, d): what moves."""
        return state.latent

    def latent(self, state: DiscreteGFSVGDState) -> np.ndarray:
        """Where the points are, (m, d)."""
        return state.latent

    def bins(self, target: Target, knobs: DiscreteGFSVGDKnobs) -> QuantileBins:
        """Gamma, and its base."""
        return bins(target, knobs)

    def caveat(self, state: DiscreteGFSVGDState, knobs: DiscreteGFSVGDKnobs) -> str:
        """That all particles are in one state, or that few of them have all the weight in the force."""
        m = len(state.particles)
        if state.iteration == 0 or m == 1:
            return ""
        if (state.particles == state.particles[0]).all():
            return f"all {m:,} particles are in the same state: what they say of any other state is nothing"
        if state.ess < max(1.5, FEW * m):
            return (
                f"ESS {state.ess:.1f} of the weights in the force: few of {m:,} particles decide where all go; a "
                "smoother surrogate or ranks spread the weight"
            )
        return ""


class Moved(NamedTuple):
    """A step, with what it may be asked about."""

    state: DiscreteGFSVGDState
    step_size: float
    squared_width: float
    terms: ComputedTerms


def _moved(state: DiscreteGFSVGDState, target: Target, batch: np.ndarray, knobs: Any) -> Moved:
    """A step; `knobs` are plain attributes, as `param` takes its time over each look at one."""
    t, x = state.iteration + 1, state.latent
    log_ratio, scores = surrogate(target, x, state.particles, batch, knobs)
    log_w = WEIGHTINGS[knobs.weighting](log_ratio)
    weights = np.exp(log_w)
    force, h = weighted_force(x, scores, weights, knobs.length_scale_factor)
    direction, first, second = optimisers.OPTIMISERS[knobs.optimiser](force, state.first, state.second, t)
    eps = optimisers.step_size(t, knobs.eta, knobs.kappa)
    free = x + eps * direction
    latent = kept_inside(free, knobs)
    arrays = read_only(bins(target, knobs)(latent), state.log_weights, latent, first, second)
    forces = partial(parts_of_force, x, scores, h, weights=weights)
    parts = paced(knobs.optimiser, (state.first, second, t), eps, 1.0, forces)
    return Moved(DiscreteGFSVGDState(*arrays, effective_sample_size(log_w), t), eps, h, clipped(parts, free, latent))


def told(before: DiscreteGFSVGDState, moved: Moved, target: Target, rows: int, knobs: DiscreteGFSVGDKnobs) -> StepInfo:
    """What a step on so many rows says of itself."""
    now, width, eps = moved.state, float(np.sqrt(moved.squared_width)), moved.step_size
    scalars = {
        "step_size": eps,
        "length_scale": width,
        "typical_move": float(np.sqrt(((now.latent - before.latent) ** 2).sum(axis=1).mean())),
        "ess_of_ratios": now.ess,
        "distinct_states": distinct(now.particles),
    }
    flips, pairs = np.count_nonzero(now.particles != before.particles), rows * len(now.particles)
    words = f"step {eps:.3g} · kernel width {width:.3g} · ESS of the weights {now.ess:.3g} · {flips:,} values changed"
    smooth = is_smooth(knobs, target)
    cost = Cost(rows, pairs * (1 + smooth), pairs * smooth)
    return StepInfo(cost, words, scalars=scalars, terms=moved.terms, numbers={"ε": eps})


def kept_inside(latent: np.ndarray, knobs: DiscreteGFSVGDKnobs) -> np.ndarray:
    """The points kept in [-clip, clip]."""
    return np.clip(latent, -knobs.clip, knobs.clip) if knobs.clip else latent


def weighted_force(x: np.ndarray, scores: np.ndarray, weights: np.ndarray, factor: float) -> tuple[np.ndarray, float]:
    """sum_j w_j [k(x_j, x_i) s_j + grad_j k(x_j, x_i)], (m, d), and h = factor med^2 / (2 log(m + 1))."""
    if 1 < len(x) <= MOST_IN_A_MATRIX:
        return matched_force(x, scores, weights, factor)
    h = squared_width(x, factor)
    return stein_force(x, scores, h, weights), h


def distinct(particles: np.ndarray) -> int:
    """How many different states there are among particles (m, d), by a fixed random projection of them."""
    along = np.einsum("ij,j->i", particles, _direction(particles.shape[1]))
    return len(np.unique(along))


@lru_cache(maxsize=64)
def _direction(dim: int) -> np.ndarray:
    return np.random.default_rng(0).standard_normal(dim)
