"""Particle mean-field variational Bayes: Langevin particles for every block, the other blocks averaged out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from pmdviz.densities.product import ProductDensity
from pmdviz.errors import TargetError
from pmdviz.kernels.langevin_blocks import langevin_step
from pmdviz.knobs import Choice, Real, Whole
from pmdviz.methods.base import Method, checked_log_density, read_only, rows_in_words
from pmdviz.methods.grammar import Grammar, by
from pmdviz.methods.shared import optimisers
from pmdviz.methods.shared.particles import check_reach, equal_log_weights, num_particles_knob
from pmdviz.methods.shared.smoothing import SmoothingKnobs, smoothed, smoothed_along
from pmdviz.methods.step import STEP_SIZE, ComputedTerms, Cost, Scalar, StepInfo, Term, Update, Work
from pmdviz.targets import Target
from pmdviz.targets.blocks import Block, coordinate_blocks

WINDOW = 50  # steps over which the lower bound is averaged before it is compared
BOUND_EVERY = 10  # steps; it costs a likelihood of every particle, and tells nothing new at each of them
USUAL_STEPS = 2000
MOST_IN_SHAPE = 10  # coordinates of a block whose kernel has a shape; of more it is diagonal


class PMFVBKnobs(SmoothingKnobs):
    """The knobs of `pmfvb`."""

    kind_words = "knob of method 'pmfvb':"

    num_particles = num_particles_knob(300, "restart", "Number of particles of every block.", (50, 5000))
    num_others = Whole(
        10,
        bounds=(1, 10_000),
        softbounds=(1, 100),
        log=True,
        label="Averaged over",
        unit="particles",
        doc="How many particles of the other blocks, redrawn at every step, a gradient is averaged over.",
    )
    step_size = Real(
        0.01,
        bounds=(0, 1_000_000),
        inclusive_bounds=(False, True),
        softbounds=(1e-4, 1),
        log=True,
        basic=True,
        label="Langevin step h",
        unit="θ²",
        doc="Each particle moves by h/2 gradients and noise of variance h. What it settles to is off by O(h): too wide "
        "a variance, on a Gaussian by 1/(1 - h/4v) for a variance v given all other parameters.",
    )
    kappa = optimisers.step_decay(0.0)
    grouping = Choice(
        "target",
        choices={"target": "the target's blocks", "single": "each parameter alone", "joint": "all parameters together"},
        label="Blocks",
        basic=True,
        acts="restart",
        doc="Which parameters are independent of one another under q. All together is no approximation: unadjusted "
        "Langevin dynamics of every particle.",
    )
    patience = Whole(
        0,
        bounds=(0, 10_000),
        softbounds=(0, 500),
        label="Stop when stalled",
        unit="steps",
        doc=f"End the run when the mean of the lower bound over the last {WINDOW} steps, known at every "
        f"{BOUND_EVERY}th of them, has not risen for so many steps; 0 never does.",
    )

    def work(self, num_data: int, num_blocks: int = 2) -> Work:
        """Gradients of m particles against those averaged over, for each block; and the lower bound."""
        m = self.num_particles
        averaged = 1 if num_blocks == 1 or self.grouping == "joint" else num_blocks * min(self.num_others, m)
        return Work(likelihoods=m * num_data, gradients=m * averaged * num_data)

    def work_on(self, target: Target) -> Work:
        """The same for as many blocks as the target has, but for those in closed form."""
        moved = sum(not block.closed for block in blocks_of(target, self))
        return self.work(target.num_data, moved)


class PMFVBState(NamedTuple):
    """Particles, whose rows pair the blocks at random, and the parameters of blocks in closed form."""

    particles: np.ndarray  # (m, d)
    log_weights: np.ndarray  # (m,) equal, logsumexp 0
    closed: Mapping[str, np.ndarray]  # by the block's name
    iteration: int
    bounds: np.ndarray  # (k,) lower bounds of the last WINDOW steps, one in BOUND_EVERY
    best: float  # the highest mean of a whole window so far
    best_at: int  # its iteration


class PMFVB(Method):
    """θ_b <- θ_b + h/2 E_q(-b) ∇_b log p(θ, X) + N(0, h I), one block after the other  (Algorithm 1, Eq. 9).

    E_q(-b) is the mean over `num_others` particles of the other blocks, the same for all particles of the block. One
    in closed form takes its best q, and is redrawn from.

    The lower bound, mean log p(θ, X) + log m, has a constant in place of q's entropy: it falls where q grows as it
    should, and nothing but when to stop is read off it. It is computed at every tenth step.
    """

    name = "pmfvb"
    title = "Particle mean-field VB"
    about = (
        "Particle mean-field variational Bayes gives every block of parameters particles of its own, which climb the "
        "log posterior averaged over the other blocks; what the blocks know of one another is lost."
    )
    formula = "θ_b ← θ_b + (h/2) mean_k ∇_b log p(θ_b, θ_{-b}^{(k)}, X) + N(0, h I)"
    what_moves = "Particles drift uphill with noise, one block of parameters after the other."
    source = "Tran, Tseng, Kohn 2023, Algorithm 1"
    short_title = "PMFVB"
    requires = frozenset({"reals", "gradient", "blocks"})
    grammar = Grammar(
        propagate=by("prior", remark="unless the target has a better start"),
        move=by("Langevin", "closed form", remark="block by block, averaged over the other blocks"),
    )
    Knobs = PMFVBKnobs
    kernel_groups = ("langevin_blocks",)
    scalars = (STEP_SIZE, Scalar("stopping_bound", "lower bound (stopping only)", "nats"))

    update = Update(
        "move",
        "θ′ − θ",
        "move",
        "units of θ",
        (
            Term(
                "drift",
                "drift",
                "h/2 mean_k ∇_b log p(θ_b, θ_{−b}^{(k)}, X)",
                "Uphill on the log posterior, averaged over particles of the other blocks.",
            ),
            Term("noise", "noise", "+ √h ξ", "The noise that keeps the particles from coming to rest at the mode."),
            Term(
                "redrawn",
                "closed form",
                "+ (θ_b^{new} − θ_b)",
                "Of a block whose best density has a closed form: a fresh draw from it.",
            ),
        ),
    )

    def batches(self, state: PMFVBState, knobs: PMFVBKnobs) -> str:
        """All rows."""
        return "whole"

    def batch_size(self, state: PMFVBState, knobs: PMFVBKnobs, num_data: int) -> int:
        """N."""
        return num_data

    def default_budget(self, target: Target, knobs: PMFVBKnobs) -> int:
        """For 2,000 steps: passes over the data, or without any so many evaluations a particle."""
        if target.data is not None:
            return USUAL_STEPS * target.num_data
        averaged = knobs.work_on(target).gradients // knobs.num_particles
        return int(USUAL_STEPS * averaged + USUAL_STEPS // BOUND_EVERY)

    def init(self, rng: np.random.Generator, target: Target, knobs: PMFVBKnobs) -> PMFVBState:
        """m points that the target begins with, as a rule from its prior; closed blocks by draws of their first q."""
        particles = target.first_particles(rng, knobs.num_particles)
        closed = {}
        for block in blocks_of(target, knobs):
            if block.closed:
                closed[block.name] = target.closed_start(block)
                particles[:, block.columns] = target.closed_draws(block, closed[block.name], rng, len(particles))
        weights, bounds = equal_log_weights(len(particles)), np.empty(0)
        return PMFVBState(*read_only(particles, weights), _kept(closed), 0, *read_only(bounds), -np.inf, 0)

    def step(
        self, rng: np.random.Generator, state: PMFVBState, target: Target, batch: np.ndarray, knobs: PMFVBKnobs
    ) -> tuple[PMFVBState, StepInfo]:
        """All blocks once, each given what the ones before it have come to."""
        t, particles, closed = state.iteration + 1, state.particles.copy(), dict(state.closed)
        h, blocks = optimisers.step_size(t, knobs.step_size, knobs.kappa), blocks_of(target, knobs)
        averaged, pulls = 0, []
        for block in blocks:
            columns = block.columns
            if block.closed:
                closed[block.name] = target.closed_form(block, particles, closed)
                drawn = target.closed_draws(block, closed[block.name], rng, len(particles))
                particles[:, columns] = drawn
                continue
            others, own = others_of(rng, particles, block, blocks, knobs), particles[:, columns]
            gradient = checked(target.block_gradient(block, own, others, closed), target, batch)
            averaged += len(others)
            steps = h * block.paces
            normals = rng.standard_normal(gradient.shape, dtype=np.float32)  # a fifth of a step's time less
            move(particles, columns, gradient, normals, steps)
            pulls.append((columns, 0.5 * steps, gradient))
        check_reach(particles, target, h, batch)
        evaluated, bounded = len(batch) * len(particles), t % BOUND_EVERY == 1
        bound = lower_bound(target, particles, batch) if bounded else None
        before, state = state, recorded(state, particles, closed, bound)
        words = f"h {h:.3g} · {len(blocks)} blocks · lower bound {state.bounds[-1]:.6g}, for stopping only"
        return state, StepInfo(
            Cost(len(batch), evaluated * bounded, evaluated * averaged),
            words,
            scalars={"step_size": h, "stopping_bound": float(state.bounds[-1])},
            terms=ComputedTerms(lambda: terms_of(before, particles, pulls)),
            numbers={"h": h},
        )

    def density(self, state: PMFVBState, knobs: PMFVBKnobs, target: Target) -> ProductDensity:
        """The product of a KDE of every block; of many coordinates with a diagonal kernel."""
        blocks, parts = blocks_of(target, knobs), []
        for block in blocks:
            own, scale = np.ascontiguousarray(state.particles[:, block.columns]), target.scale[block.columns]
            kde = smoothed if len(block.coordinates) <= MOST_IN_SHAPE else smoothed_along
            parts.append(kde(own, state.log_weights, knobs, scale))
        return ProductDensity(tuple(block.coordinates for block in blocks), tuple(parts))

    def ended(self, state: PMFVBState, knobs: PMFVBKnobs, target: Target) -> str:
        """That the lower bound has stalled, where that is to end a run."""
        known = state.best_at and state.iteration % BOUND_EVERY == 1
        if not knobs.patience or not known or state.iteration - state.best_at < knobs.patience:
            return ""
        return f"the lower bound, a mean over {WINDOW} steps, has not risen for {knobs.patience:,} steps"


def blocks_of(target: Target, knobs: PMFVBKnobs) -> tuple[Block, ...]:
    """The blocks that the knobs ask for."""
    if knobs.grouping == "target":
        return target.blocks
    if knobs.grouping == "single":
        return coordinate_blocks(target.parameter_names)
    return (Block("all", tuple(range(target.dim))),)


def move(
    particles: np.ndarray, columns: slice | list[int], gradient: np.ndarray, normals: np.ndarray, steps: np.ndarray
) -> None:
    """x += h/2 gradient + sqrt(h) normals in a block's columns, in place."""
    if isinstance(columns, slice):
        langevin_step(particles, columns.start, gradient, normals, steps)
    else:
        particles[:, columns] += 0.5 * steps * gradient + np.sqrt(steps) * normals


def terms_of(
    before: PMFVBState, particles: np.ndarray, pulls: Sequence[tuple[slice | list[int], np.ndarray, np.ndarray]]
) -> dict[str, np.ndarray]:
    """By how much each particle was moved by the gradients, by noise, and where its block was redrawn, (m, d) each."""
    drift, noise, redrawn = np.zeros((3, *particles.shape))
    redrawn += particles - before.particles
    for columns, halves, gradient in pulls:
        drift[:, columns] = halves * gradient
        noise[:, columns] = redrawn[:, columns] - drift[:, columns]
        redrawn[:, columns] = 0.0
    return {"drift": drift, "noise": noise} | ({"redrawn": redrawn} if redrawn.any() else {})


def lower_bound(target: Target, particles: np.ndarray, batch: np.ndarray) -> float:
    """Mean log p(theta, X) over the particles + log m, in nats: for stopping only, as log m is no entropy."""
    return float(checked_log_density(target, particles, batch, 1.0).mean() + np.log(len(particles)))


def others_of(
    rng: np.random.Generator, particles: np.ndarray, block: Block, blocks: Sequence[Block], knobs: PMFVBKnobs
) -> np.ndarray:
    """Rows of `particles` (m, d) that a gradient of the block is averaged over; one where no other block has any."""
    if all(other.closed for other in blocks if other is not block):
        return particles[:1]
    return particles[rng.choice(len(particles), min(knobs.num_others, len(particles)), replace=False)]


def recorded(
    state: PMFVBState, particles: np.ndarray, closed: Mapping[str, np.ndarray], bound: float | None
) -> PMFVBState:
    """The next state, with the lower bound, where it is known, among the last ones and their highest mean so far."""
    t, bounds, best, best_at = state.iteration + 1, state.bounds, state.best, state.best_at
    if bound is not None:
        bounds = np.append(bounds, bound)[-(WINDOW // BOUND_EVERY) :]
    if bound is not None and len(bounds) == WINDOW // BOUND_EVERY and bounds.mean() > best:
        best, best_at = float(bounds.mean()), t
    particles, bounds = read_only(particles, bounds)
    return PMFVBState(particles, state.log_weights, _kept(closed), t, bounds, best, best_at)


def checked(gradient: np.ndarray, target: Target, batch: np.ndarray) -> np.ndarray:
    """The gradient (m, k) of a block. Raises TargetError where it is not finite."""
    if np.isfinite(gradient.sum()):  # no array of their size where all is well
        return gradient
    bad = ~np.isfinite(gradient).all(axis=1)
    if not bad.any():
        return gradient
    words = f"the gradient of a block of target {target.name!r} is {gradient[bad][0]}, averaged over other blocks"
    raise TargetError(words, None, rows_in_words(batch))


def _kept(closed: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
    """Parameters that do not change any more."""
    names = list(closed)
    return MappingProxyType(dict(zip(names, read_only(*(closed[name] for name in names)), strict=True)))
