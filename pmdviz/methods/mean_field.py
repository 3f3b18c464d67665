"""Mean-field variational Bayes by particles (Tran, Tseng, Kohn 2023): q is a product over blocks of parameters.

    θ_b <- θ_b + (h_b/2) mean_k grad_b log p(θ_b, θ_-b^(k), X) + sqrt(h_b) N(0, I)      (Algorithm 1, Eq. 9)

one block b after the other, with particles k of all other blocks and all data; h_b is h = h_0 / t^kappa (kappa is 0
unless set) times the block's pace, which is 1 but on stochastic_volatility (`Block.paces`). In `PMFVB.step`: the other
blocks' particles (`others_of`), the mean gradient, the Langevin step (`move`), and the lower bound that says when to
stop. `PMFVBNN` moves a random block of the weights of every net against the mean net (Algorithm 2).
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from pmdviz.densities.product import ProductDensity
from pmdviz.errors import TargetError
from pmdviz.kernels.chains import langevin_step
from pmdviz.kernels.checks import Array, Rng
from pmdviz.knobs import Choice, Real, Whole
from pmdviz.methods import optimisers, weighting
from pmdviz.methods.base import BatchMethod, Method, Stepped, check_reach, checked_log_density, rows_in_words
from pmdviz.methods.step import BATCH_SIZE, BatchKnobs, ComputedTerms, Cost, Scalar, StepInfo, Term, Terms, Work
from pmdviz.targets import Target
from pmdviz.targets.space import Block, coordinate_blocks

WINDOW = 50  # steps over which the lower bound is averaged before it is compared
BOUND_EVERY = 10  # steps; it costs a likelihood of every particle, and tells nothing new at each of them
USUAL_STEPS = 2000
MOST_IN_SHAPE = 10  # coordinates of a block whose kernel has a shape; of more it is diagonal


GROUPINGS = {"target": "the target's blocks", "single": "each parameter alone", "joint": "all parameters together"}


class PMFVBKnobs(weighting.SmoothingKnobs):
    """The knobs of `pmfvb`.

    num_particles: Number of particles of every block.
    num_others: How many particles of the other blocks, redrawn at every step, a gradient is averaged over.
    step_size: Each particle moves by h/2 gradients and noise of variance h. What it settles to is off by O(h): too wide
        a variance, on a Gaussian by 1/(1 - h/4v) for a variance v given all other parameters.
    grouping: Which parameters are independent of one another under q. With all together q is not
        restricted: unadjusted Langevin dynamics of every particle.
    patience: End the run when the mean of the lower bound over the last 50 steps, known at every 10th of them, has not
        risen for so many steps; 0 never does.
    """

    num_particles = weighting.NUM_PARTICLES.at(300, softbounds=(50, 5000), acts="copies")
    num_others = Whole(10, (1, 10_000), (1, 100), "Averaged over", "particles", log=True)
    step_size = Real(0.01, "(0, 1_000_000]", (1e-4, 1), "Langevin step h", "θ²", log=True, basic=True)
    kappa = optimisers.STEP_DECAY.at(0.0)
    grouping = Choice("target", GROUPINGS, "Blocks", basic=True, acts="restart")
    patience = Whole(0, (0, 10_000), (0, 500), "Stop when stalled", "steps")

    def work(self, num_data: int, num_blocks: int = 2) -> Work:
        """Gradients of m particles against those averaged over, for each block; and the lower bound."""
        m = self.num_particles
        averaged = 1 if num_blocks == 1 or self.grouping == "joint" else num_blocks * min(self.num_others, m)
        return Work(likelihoods=m * num_data, gradients=m * averaged * num_data)

    def work_on(self, target: Target) -> Work:
        """The same for as many blocks as the target has, but for those in closed form."""
        return self.work(target.num_data, sum(not block.closed for block in blocks_of(target, self)))


class PMFVBState(NamedTuple):
    """Particles, whose rows pair the blocks at random, and the parameters of blocks in closed form."""

    particles: Array  # (m, d)
    log_weights: Array  # (m,) equal, logsumexp 0
    closed: Mapping[str, Array]  # by the block's name
    iteration: int
    bounds: Array  # (k,) lower bounds of the last WINDOW steps, one in BOUND_EVERY
    best: float  # the highest mean of a whole window so far
    best_at: int  # its iteration


class PMFVB(Method):
    """Particle mean-field VB.

    short_title: PMFVB
    about: Particle mean-field variational Bayes gives every block of parameters particles of its own, which climb the
        log posterior averaged over the other blocks; the dependence between blocks is lost.
    formula: θ_b ← θ_b + (h_b/2) mean_k ∇_b log p(θ_b, θ_{-b}^{(k)}, X) + N(0, h_b I),  h_b = h times the block's pace
    what_moves: Particles drift uphill with noise, one block of parameters after the other.
    source: Tran, Tseng, Kohn 2023, Algorithm 1
    propagate: prior (unless the target has a better start)
    move: Langevin + closed form (block by block, averaged over the other blocks)

    drift: Uphill on the log posterior, averaged over particles of the other blocks.
    noise: The noise that keeps the particles from coming to rest at the mode.
    redrawn: Of a block whose best density has a closed form: a fresh draw from it.

    One block moves after the other (Algorithm 1, Eq. 9).

    E_q(-b) is the mean over `num_others` particles of the other blocks, the same for all particles of the block: they
    share its noise within a step. Rows pair the blocks at random, which is a draw from q, a product of blocks. A block
    in closed form takes its best q, and is redrawn from.

    The lower bound, mean log p(θ, X) + log m, has a constant instead of q's entropy: it can fall while q improves.
    Use it only as a rule for stopping. It is computed at every tenth step of the run.
    """

    name = "pmfvb"
    requires = frozenset({"reals", "gradient", "blocks"})
    kernel_groups = ("langevin_blocks",)
    scalars = (optimisers.STEP_SIZE, Scalar("stopping_bound", "lower bound (stopping only)", "nats"))

    update = optimisers.move_update(
        Term("drift", "drift", "h_b/2 mean_k ∇_b log p(θ_b, θ_{−b}^{(k)}, X)"),
        Term("noise", "noise", "+ √h_b ξ"),
        Term("redrawn", "closed form", "+ (θ_b^{new} − θ_b)"),
    )

    def default_budget(self, target: Target, knobs: PMFVBKnobs) -> int:
        """For 2,000 steps: passes over the data, or without any so many evaluations per particle."""
        if target.data is not None:
            return USUAL_STEPS * target.num_data
        averaged = knobs.work_on(target).gradients // knobs.num_particles
        return int(USUAL_STEPS * averaged + USUAL_STEPS // BOUND_EVERY)

    def init(self, rng: Rng, target: Target, knobs: PMFVBKnobs) -> PMFVBState:
        """m points that the target begins with, usually from its prior; closed blocks by draws of their first q."""
        particles = target.first_particles(rng, knobs.num_particles)
        closed = {}
        for block in blocks_of(target, knobs):
            if block.closed:
                closed[block.name] = target.closed_start(block)
                particles[:, block.columns] = target.closed_draws(block, closed[block.name], rng, len(particles))
        weights, bounds = weighting.equal(len(particles)), np.empty(0)
        return PMFVBState(particles, weights, MappingProxyType(dict(closed)), 0, bounds, -np.inf, 0)

    def step(self, rng: Rng, state: PMFVBState, target: Target, batch: Array, knobs: PMFVBKnobs) -> Stepped:
        """All blocks once, each given what the ones before it have come to."""
        # Where the knob m has been turned: a random subset, or plain copies, which the noise of the move separates.
        state, resize, rows = weighting.resized(rng, state, knobs.num_particles, target)
        t, particles, closed = state.iteration + 1, state.particles.copy(), dict(state.closed)
        h, blocks = optimisers.step_size(t, knobs.step_size, knobs.kappa), blocks_of(target, knobs)
        averaged, pulls = 0, []
        for block in blocks:
            columns = block.columns
            if block.closed:  # the parameters of its best q given the others, then fresh draws of it
                closed[block.name] = target.closed_form(block, particles, closed)
                particles[:, columns] = target.closed_draws(block, closed[block.name], rng, len(particles))
                continue
            others, own = others_of(rng, particles, block, blocks, knobs), particles[:, columns]
            # (m, k): the mean over the rows of `others`; closed blocks enter by their exact expectations.
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
        words = f"{resize}h {h:.3g} · {len(blocks)} blocks · lower bound {state.bounds[-1]:.6g}, for stopping only"
        cost = Cost(len(batch), evaluated * bounded, evaluated * averaged)
        scalars = {"step_size": h, "stopping_bound": float(state.bounds[-1])}
        terms = ComputedTerms(lambda: terms_of(before, particles, pulls))
        numbers = {"h_b": h} if all((block.paces == 1).all() for block in blocks) else {}
        return state, StepInfo(cost, words, scalars=scalars, terms=terms, parents=rows, numbers=numbers)

    def density(self, state: PMFVBState, knobs: PMFVBKnobs, target: Target) -> ProductDensity:
        """The product of a KDE of every block; of many coordinates with a diagonal kernel."""
        blocks, parts = blocks_of(target, knobs), []
        for block in blocks:
            own, scale = np.ascontiguousarray(state.particles[:, block.columns]), target.scale[block.columns]
            kde = weighting.smoothed if len(block.coordinates) <= MOST_IN_SHAPE else weighting.smoothed_along
            parts.append(kde(own, state.log_weights, knobs, scale))
        return ProductDensity(tuple(block.coordinates for block in blocks), tuple(parts))

    def ended(self, state: PMFVBState, knobs: PMFVBKnobs, target: Target) -> str:
        """That the lower bound has stalled, where that is to end a run."""
        known = state.best_at and state.iteration % BOUND_EVERY == 1
        if not knobs.patience or not known or state.iteration - state.best_at < knobs.patience:
            return ""
        return f"the lower bound, a mean over {WINDOW} steps, has not risen for {knobs.patience:,} steps"


def blocks_of(target: Target, knobs: PMFVBKnobs) -> tuple[Block, ...]:
    """The blocks that the knobs select."""
    if knobs.grouping == "target":
        return target.blocks
    if knobs.grouping == "single":
        return coordinate_blocks(target.parameter_names)
    return (Block("all", tuple(range(target.dim))),)


def move(particles: Array, columns: slice | list[int], gradient: Array, normals: Array, steps: Array) -> None:
    """x += h/2 gradient + sqrt(h) normals in a block's columns, in place."""
    if isinstance(columns, slice):
        langevin_step(particles, columns.start, gradient, normals, steps)
    else:
        particles[:, columns] += 0.5 * steps * gradient + np.sqrt(steps) * normals


def terms_of(before: PMFVBState, particles: Array, pulls: Sequence[tuple[slice | list[int], Array, Array]]) -> Terms:
    """By how much each particle was moved by the gradients, by noise, and where its block was redrawn, (m, d) each."""
    drift, noise, redrawn = np.zeros((3, *particles.shape))
    redrawn += particles - before.particles
    for columns, halves, gradient in pulls:
        drift[:, columns] = halves * gradient
        noise[:, columns] = redrawn[:, columns] - drift[:, columns]
        redrawn[:, columns] = 0.0
    return {"drift": drift, "noise": noise} | ({"redrawn": redrawn} if redrawn.any() else {})


def lower_bound(target: Target, particles: Array, batch: Array) -> float:
    """Mean log p(theta, X) over the particles + log m, in nats: for stopping only, since log m is not the entropy."""
    return float(checked_log_density(target, particles, batch, 1.0).mean() + np.log(len(particles)))


def others_of(rng: Rng, particles: Array, block: Block, blocks: Sequence[Block], knobs: PMFVBKnobs) -> Array:
    """Rows of `particles` (m, d) that a gradient of the block is averaged over; one where no other block has any."""
    if all(other.closed for other in blocks if other is not block):
        return particles[:1]
    return particles[rng.choice(len(particles), min(knobs.num_others, len(particles)), replace=False)]


def recorded(state: PMFVBState, particles: Array, closed: Mapping[str, Array], bound: float | None) -> PMFVBState:
    """The next state, with the lower bound, where it is known, among the last ones and their highest mean so far."""
    t, bounds, best, best_at = state.iteration + 1, state.bounds, state.best, state.best_at
    if bound is not None:
        bounds = np.append(bounds, bound)[-(WINDOW // BOUND_EVERY) :]
    if bound is not None and len(bounds) == WINDOW // BOUND_EVERY and bounds.mean() > best:
        best, best_at = float(bounds.mean()), t
    return PMFVBState(particles, state.log_weights, MappingProxyType(dict(closed)), t, bounds, best, best_at)


def checked(gradient: Array, target: Target, batch: Array) -> Array:
    """The gradient (m, k) of a block. Raises TargetError where it is not finite."""
    if np.isfinite(gradient.sum()):  # no array of their size where all is well
        return gradient
    bad = ~np.isfinite(gradient).all(axis=1)
    if not bad.any():
        return gradient
    words = f"the gradient of a block of target {target.name!r} is {gradient[bad][0]}, a mean over other blocks; "
    words += "it must be finite: use a smaller Langevin step h"
    raise TargetError(words, None, rows_in_words(batch))


# Particle mean-field VB for nets: every particle moves a random block of its weights, against the mean particle.

KEPT = 0.98  # of the running sum of squares, a step
SPREAD = 0.05  # sd of the particles around a common draw
VALIDATED_EVERY = 10  # steps
LEARNT, WARMED_UP = 0.1, 200  # nats by which a net must beat a constant, and steps before that is asked for


STARTS = {"common": "around one draw", "independent": "a draw each"}


class PMFVBNNKnobs(BatchKnobs, weighting.SmoothingKnobs):
    """The knobs of `pmfvb_nn`.

    num_particles: Number of particles M, each the weights of a net.
    start: Around one common draw of weights, or each at a draw of its own. The mean of nets whose hidden units are in
        different orders is meaningless: independent ones average to a flat line.
    step_size: Each particle moves by h/2 gradients and noise of variance h, with h = h₀/N: gradients are sums over N
        data.
    drift: The mean gradient is divided by the root of v, where v is their variance or standard deviation. Adam-SGLD has
        the variance; the paper prints the standard deviation, whose root is then taken.
    drift_scale: The adaptive drift is a times the mean gradient over the root of v. The paper has a = 100 for N =
        100,000; the defaults are ours.
    memory: Fraction of the running mean gradient that a step keeps.
    square_memory: Fraction of the running spread v of the particles' gradients that a step keeps.
    damping: Added to v under the root.
    block_share: Share of its weights, a new one for every particle and step, that a particle moves; at least one. With
        1 nothing is left to the mean particle, and each is an unadjusted Langevin chain.
    patience: End the run when the validation score of the mean particle, seen every 10 steps, has not fallen for so
        many steps; 0 never does.
    """

    num_particles = weighting.NUM_PARTICLES.at(20, softbounds=(5, 500), acts="copies")
    batch_size = BATCH_SIZE.at(100)
    start = Choice("common", STARTS, "Particles start", basic=True, acts="restart")
    step_size = Real(0.02, "(0, 1_000_000]", (1e-4, 1), "Langevin step h₀", "N w²", log=True, basic=True)
    drift = Choice("adam", {"adam": "over standard deviations", "paper": "over their square roots"}, "Adaptive drift")
    drift_scale = Real(0.6, (0, 1_000_000), (0, 10), "Drift scale a/N", default_by=("drift", {"paper": 0.1}))
    memory = Real(0.9, "[0, 1)", (0, 0.99), "Gradient memory β₁")
    square_memory = Real(0.99, "[0, 1)", (0.5, 0.999), "Spread memory β₂")
    damping = Real(1e-8, "(0, 1_000_000]", (1e-8, 10), "Drift damping λ", log=True)
    block_share = Real(0.1, "(0, 1]", (0.01, 1), "Block", "fraction of weights")
    patience = Whole(0, (0, 100_000), (0, 1000), "Stop when stalled", "steps")

    def work(self, num_data: int) -> Work:
        """Two gradients of a batch for each particle."""
        return Work(gradients=2 * self.num_particles * self.rows(num_data))


class PMFVBNNState(NamedTuple):
    """Particles of the weights with a draw of s2 each, the factors q(tau) and q(s2), and the drift's memories."""

    particles: Array  # (M, d)
    log_weights: Array  # (M,) equal, logsumexp 0
    scale_rates: Array  # (d_w,) of q(tau_j), inverse gamma
    first: Array  # (d_w,) m, running mean of the gradients
    second: Array  # (d_w,) v, running spread of them over the particles
    misfit: float  # running sum of squares over all N rows; of classes it is unused
    iteration: int
    score: float  # of the mean particle on validation rows, nats per row; NaN before it is known
    flat_score: float  # of a constant
    best: float
    best_at: int  # its iteration


class PMFVBNN(BatchMethod, weighting.SmoothedMethod):
    """Particle mean-field VB for nets.

    short_title: PMFVB-NN
    about: Particle mean-field VB for nets moves a random tenth of every particle's weights by Langevin steps, with the
        other weights at the mean of all particles, and pulls them along a common drift.
    formula: w_ι ← w_ι + (h/2) [∇_ι log π(w_ι, w̄_{-ι}) + a m/√(v + λ)] + N(0, h I)
    what_moves: Particles move a random part of their weights with noise, the rest taken from their mean.
    source: Tran, Tseng, Kohn 2023, Algorithm 2, with v as in Kim, Song, Liang 2022
    propagate: random start (around one common draw)
    move: Langevin + closed form (a tenth of the weights of each net, on a batch)
    adapt: preconditioner (of the common drift)

    prior: Towards 0, the more the smaller a weight's prior variance τ.
    likelihood: Uphill on this batch, with all weights outside the block at their mean.
    push: Onwards along the slopes of the steps before.
    noise: The noise that keeps the particles from coming to rest at the mode.
    redrawn: Of the noise variance: a fresh draw from its best density.

    Within the block, drawn at random, stand the particle's own weights, elsewhere the weights of the mean particle, and
    log pi = -1/2 sum_j E(1 / tau_j) w_j^2 + E log p(batch | w, s2) N/B. m and v are moved after all particles have
    been; q(tau_j) = IG(alpha_0 + 1/2, beta_0 + <w_j^2> / 2) and q(s2) = IG(a + N/2, b + SSE / 2) in closed form, SSE
    the running mean over particles and batches of N/B times a batch's. As printed the moments are moved within the
    loop, h = 0.001 whatever N is, and v is the root of the spread, the root of which is taken again: `drift`.
    """

    name = "pmfvb_nn"
    requires = frozenset({"reals", "latent_scales"})
    scalars = (optimisers.STEP_SIZE, Scalar("validation", "validation score of the mean particle", "nats per row"))
    usual_steps = 3000
    update = optimisers.move_update(
        Term("prior", "prior", "− h/2 E(1/τ) w"),
        Term("likelihood", "likelihood of the batch", "+ h/2 N/B Σ ∇ log p(x | w_ι, w̄)"),
        Term("push", "adaptive drift", "+ h/2 a m/√(v + λ)"),
        Term("noise", "noise", "+ √h ξ"),
        Term("redrawn", "closed form", "+ (s′ − s)"),
        formula="w′ − w",
        unit="units of w",
    )

    def init(self, rng: Rng, target: Target, knobs: PMFVBNNKnobs) -> PMFVBNNState:
        """A little noise around one common draw, or a draw each; s2 as if nothing were explained, that is 1."""
        m, d_w = knobs.num_particles, target.num_weights
        if knobs.start == "common":
            weights = target.first_weights(rng, 1) + SPREAD * rng.standard_normal((m, d_w))
        else:
            weights = target.first_weights(rng, m)
        particles, misfit = target.with_noise(weights, np.ones(m)), float(target.num_data)  # y has variance 1
        arrays = particles, weighting.equal(m), rates_of(weights, target), np.zeros(d_w), np.zeros(d_w)
        return PMFVBNNState(*arrays, misfit, 0, np.nan, target.flat_score, np.inf, 0)

    def step(self, rng: Rng, state: PMFVBNNState, target: Target, batch: Array, knobs: PMFVBNNKnobs) -> Stepped:
        """A block of every particle; then the moments, and the factors in closed form."""
        state, resize, rows = weighting.resized(rng, state, knobs.num_particles, target)  # the noise parts copies
        t, h, a = state.iteration + 1, knobs.step_size / target.num_data, knobs.drift_scale * target.num_data
        # ridge: E 1 / tau_j = (alpha_0 + 1/2) / rate, (d_w,)
        weights, ridge = state.particles[:, : target.num_weights], (target.scale_prior.shape + 0.5) / state.scale_rates
        chosen = blocks(rng, weights, knobs.block_share)
        own = np.take_along_axis(weights, chosen, axis=1)
        points = np.repeat(weights.mean(axis=0)[None], len(weights), axis=0)
        np.put_along_axis(points, chosen, own, axis=1)
        precision = noise_precision(state.misfit, target)
        likelihood, _ = target.weight_gradient(points, batch, precision)  # N/B times the batch's gradient
        push = a * state.first / np.sqrt(state.second + knobs.damping)
        slopes, pull = {"prior": -ridge * points, "likelihood": likelihood}, likelihood - ridge * points + push
        noise = np.sqrt(h) * rng.standard_normal(chosen.shape)
        moved = weights.copy()
        np.put_along_axis(moved, chosen, own + 0.5 * h * np.take_along_axis(pull, chosen, axis=1) + noise, axis=1)
        check_reach(moved, target, knobs.step_size, batch)
        # At each particle's own weights, as Algorithm 2 has its second gradient; N/B times the batch's squares, (M,).
        after_move, misfit = target.weight_gradient(moved, batch, precision)
        first, second = moments(state, after_move - ridge * moved, knobs)
        running = KEPT * state.misfit + (1 - KEPT) * float(misfit.mean())
        particles = target.with_noise(moved, noise_draws(rng, running, target, len(moved)))
        after = state._replace(particles=particles, scale_rates=rates_of(moved, target), first=first, second=second)
        after = validated(after._replace(misfit=running, iteration=t), target)
        slopes["push"] = np.broadcast_to(push, moved.shape)
        terms = ComputedTerms(lambda: net_terms(state.particles, particles, chosen, h, slopes, noise))
        numbers = {"h": h, "N/B": target.num_data / len(batch), "a": a}
        words = f"{resize}h {h:.3g} · batch of {len(batch):,} · {chosen.shape[1]} weights of each net · "
        words += f"validation score {after.score:.4g}"
        scalars, cost = {"step_size": h, "validation": after.score}, Cost(len(batch), 0, 2 * len(batch) * len(moved))
        return after, StepInfo(cost, words, scalars=scalars, parents=rows, terms=terms, numbers=numbers)

    def ended(self, state: PMFVBNNState, knobs: PMFVBNNKnobs, target: Target) -> str:
        """That the validation score has stalled, where that is to end a run."""
        if not knobs.patience or not state.best_at or state.iteration - state.best_at < knobs.patience:
            return ""
        return f"the validation score has not fallen for {knobs.patience:,} steps"

    def caveat(self, state: PMFVBNNState, knobs: PMFVBNNKnobs) -> str:
        """That the mean particle predicts no better than a constant."""
        if state.iteration < WARMED_UP or not state.score > state.flat_score - LEARNT:
            return super().caveat(state, knobs)
        words = "the mean particle predicts no better than a constant, like the mean of nets whose hidden units are in"
        return f"{words} different orders; start all nets around one draw, or use more steps"


def net_terms(before: Array, after: Array, chosen: Array, h: float, slopes: Mapping[str, Array], noise: Array) -> Terms:
    """What moved each particle (M, d): the slopes (M, d_w) and the noise (M, k) in its block, and redrawn values."""
    own = {name: 0.5 * h * np.take_along_axis(slope, chosen, axis=1) for name, slope in slopes.items()}
    terms = {}
    for name, values in {**own, "noise": noise}.items():
        terms[name] = np.zeros(before.shape)
        np.put_along_axis(terms[name], chosen, values, axis=1)
    redrawn = np.zeros(before.shape)
    weights = len(next(iter(slopes.values()))[0])
    redrawn[:, weights:] = (after - before)[:, weights:]
    return terms | ({"redrawn": redrawn} if redrawn.any() else {})


def blocks(rng: Rng, weights: Array, share: float) -> Array:
    """Numbers of a random share of the weights (M, d_w) for every particle, without repetition, (M, k)."""
    m, d = weights.shape
    count = min(max(1, round(share * d)), d)
    return np.argpartition(rng.random((m, d)), count - 1, axis=1)[:, :count]


def moments(state: PMFVBNNState, gradients: Array, knobs: PMFVBNNKnobs) -> tuple[Array, Array]:
    """The drift's memories (d_w,) after gradients (M, d_w): of their mean, and of their spread over the particles.

    A single particle has no spread: its squared gradient is used instead, as in Adam.
    """
    mean = gradients.mean(axis=0)
    spread = gradients.var(axis=0) if len(gradients) > 1 else mean**2
    if knobs.drift == "paper":
        spread = np.sqrt(spread)
    first = knobs.memory * state.first + (1 - knobs.memory) * mean
    return first, knobs.square_memory * state.second + (1 - knobs.square_memory) * spread


def rates_of(weights: Array, target: Target) -> Array:
    """beta_0 + <w_j^2> / 2, the rates (d_w,) of q(tau_j)."""
    return target.scale_prior.rate + 0.5 * (weights**2).mean(axis=0)


def noise_factor(misfit: float, target: Target) -> tuple[float, float]:
    """Shape a + N/2 and rate b + SSE / 2 of q(s2)."""
    shape, rate = target.noise_prior
    return shape + 0.5 * target.num_data, rate + 0.5 * misfit


def noise_precision(misfit: float, target: Target) -> float:
    """E 1 / s2; 1 for targets without noise."""
    if target.noise_prior is None:
        return 1.0
    shape, rate = noise_factor(misfit, target)
    return shape / rate


def noise_draws(rng: Rng, misfit: float, target: Target, n: int) -> Array:
    """n draws (n,) of q(s2); 1 for targets without noise."""
    if target.noise_prior is None:
        return np.ones(n)
    shape, rate = noise_factor(misfit, target)
    return rate / rng.standard_gamma(shape, n)


def validated(state: PMFVBNNState, target: Target) -> PMFVBNNState:
    """The state with the score of the mean particle and E s2 on the validation rows, where it is time for that."""
    if state.iteration % VALIDATED_EVERY and state.iteration > 1:
        return state
    variance = 1.0
    if target.noise_prior is not None:
        shape, rate = noise_factor(state.misfit, target)
        variance = rate / (shape - 1)
    score = target.validation_score(state.particles[:, : target.num_weights].mean(axis=0), variance)
    if not score < state.best:
        return state._replace(score=score)
    return state._replace(score=score, best=score, best_at=state.iteration)
