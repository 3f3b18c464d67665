"""Particle mean-field VB for nets: every particle moves a random block of its weights, against the mean particle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from pmdviz.knobs import Choice, Real, Whole
from pmdviz.methods.base import read_only
from pmdviz.methods.grammar import Grammar, by
from pmdviz.methods.shared.batching import BatchKnobs, BatchMethod, batch_size_knob
from pmdviz.methods.shared.particles import check_reach, equal_log_weights, num_particles_knob
from pmdviz.methods.shared.pulls import move_update
from pmdviz.methods.shared.smoothing import SmoothedMethod, SmoothingKnobs
from pmdviz.methods.step import STEP_SIZE, ComputedTerms, Cost, Scalar, StepInfo, Term, Work
from pmdviz.targets import Target

USUAL_STEPS = 3000
KEPT = 0.98  # of the running sum of squares, a step
SPREAD = 0.05  # sd of the particles around a common draw
VALIDATED_EVERY = 10  # steps
LEARNT, WARMED_UP = 0.1, 200  # nats by which a net must beat a constant, and steps before that is asked for


class PMFVBNNKnobs(BatchKnobs, SmoothingKnobs):
    """The knobs of `pmfvb_nn`."""

    kind_words = "knob of method 'pmfvb_nn':"

    num_particles = num_particles_knob(20, "restart", "Number of particles M, each the weights of a net.", (5, 500))
    batch_size = batch_size_knob(100)
    start = Choice(
        "common",
        choices={"common": "around one draw", "independent": "a draw each"},
        label="Particles start",
        basic=True,
        acts="restart",
        doc="Around one common draw of weights, or each at a draw of its own. The mean of nets whose hidden units "
        "stand in different orders is no net: independent ones average to a flat line.",
    )
    step_size = Real(
        0.02,
        bounds=(0, 1_000_000),
        inclusive_bounds=(False, True),
        softbounds=(1e-4, 1),
        log=True,
        basic=True,
        label="Langevin step h₀",
        unit="N w²",
        doc="Each particle moves by h/2 gradients and noise of variance h, with h = h₀/N: gradients are sums over N "
        "data.",
    )
    drift = Choice(
        "adam",
        choices={"adam": "over standard deviations", "paper": "over their square roots"},
        label="Adaptive drift",
        doc="What the mean gradient is divided by: v as a variance of gradients, as Adam-SGLD has it; or as a standard "
        "deviation, whose root is then taken, as the paper prints it.",
    )
    drift_scale = Real(
        0.6,
        bounds=(0, 1_000_000),
        softbounds=(0, 10),
        label="Drift scale a/N",
        default_by=("drift", {"adam": 0.6, "paper": 0.1}),
        doc="The adaptive drift is a times the mean gradient over the root of v. The paper has a = 100 for "
        "N = 100,000.",
    )
    memory = Real(
        0.9,
        bounds=(0, 1),
        inclusive_bounds=(True, False),
        softbounds=(0, 0.99),
        label="Gradient memory β₁",
        doc="Fraction of the running mean gradient that a step keeps.",
    )
    square_memory = Real(
        0.99,
        bounds=(0, 1),
        inclusive_bounds=(True, False),
        softbounds=(0.5, 0.999),
        label="Spread memory β₂",
        doc="Fraction of the running spread v of the particles' gradients that a step keeps.",
    )
    damping = Real(
        1e-8,
        bounds=(0, 1_000_000),
        inclusive_bounds=(False, True),
        softbounds=(1e-8, 10),
        log=True,
        label="Drift damping λ",
        doc="Added to v under the root.",
    )
    block_share = Real(
        0.1,
        bounds=(0, 1),
        inclusive_bounds=(False, True),
        softbounds=(0.01, 1),
        label="Block",
        unit="fraction of weights",
        doc="Share of its weights, a new one for every particle and step, that a particle moves; at least one. With 1 "
        "nothing is left to the mean particle, and each is an unadjusted Langevin chain.",
    )
    patience = Whole(
        0,
        bounds=(0, 100_000),
        softbounds=(0, 1000),
        label="Stop when stalled",
        unit="steps",
        doc=f"End the run when the validation score of the mean particle, seen every {VALIDATED_EVERY} steps, has not "
        "fallen for so many steps; 0 never does.",
    )

    def work(self, num_data: int) -> Work:
        """Two gradients of a batch for each particle."""
        return Work(gradients=2 * self.num_particles * self.rows(num_data))


class PMFVBNNState(NamedTuple):
    """Particles of the weights with a draw of s2 each, the factors q(tau) and q(s2), and the drift's memories."""

    particles: np.ndarray  # (M, d)
    log_weights: np.ndarray  # (M,) equal, logsumexp 0
    scale_rates: np.ndarray  # (d_w,) of q(tau_j), inverse gamma
    first: np.ndarray  # (d_w,) m, running mean of the gradients
    second: np.ndarray  # (d_w,) v, running spread of them over the particles
    misfit: float  # running sum of squares over all N rows
    iteration: int
    score: float  # of the mean particle on validation rows, nats a row; NaN before it is known
    flat_score: float  # of a constant
    best: float
    best_at: int  # its iteration


class PMFVBNN(BatchMethod, SmoothedMethod):
    """w_i <- w_i + h/2 (grad log pi(w_i, w_mean) + a m / sqrt(v + lambda)) + N(0, h I) on a block  (Algorithm 2).

    Within the block, drawn at random, stand the particle's own weights, elsewhere those of the mean particle, and
    log pi = -1/2 sum_j E(1 / tau_j) w_j^2 + E log p(batch | w, s2) N/B. m and v are moved after all particles have
    been; q(tau_j) = IG(alpha_0 + 1/2, beta_0 + <w_j^2> / 2) and q(s2) = IG(a + N/2, b + SSE / 2) in closed form, SSE
    the running mean over particles and batches of N/B times a batch's. As printed the moments are moved within the
    loop, h = 0.001 whatever N is, and v is the root of the spread, the root of which is taken again: `drift`.
    """

    name = "pmfvb_nn"
    title = "Particle mean-field VB for nets"
    about = (
        "Particle mean-field VB for nets moves a random tenth of every particle's weights by Langevin steps, with the "
        "other weights at the mean of all particles, and pulls them along a common drift."
    )
    formula = "w_ι ← w_ι + (h/2) [∇_ι log π(w_ι, w̄_{-ι}) + a m/√(v + λ)] + N(0, h I)"
    what_moves = "Particles move a random part of their weights with noise, the rest taken from their mean."
    source = "Tran, Tseng, Kohn 2023, Algorithm 2, with v as in Kim, Song, Liang 2022"
    short_title = "PMFVB-NN"
    requires = frozenset({"reals", "latent_scales"})
    grammar = Grammar(
        propagate=by("random start", remark="around one common draw"),
        move=by("Langevin", "closed form", remark="a tenth of the weights of each net, on a batch"),
        adapt=by("pace", remark="of the common drift"),
    )
    Knobs = PMFVBNNKnobs
    scalars = (STEP_SIZE, Scalar("validation", "validation score of the mean particle", "nats a row"))
    budget_words = f"{USUAL_STEPS:,} steps"
    update = move_update(
        Term("prior", "prior", "− h/2 E(1/τ) w", "Towards 0, the more the smaller a weight's prior variance τ."),
        Term(
            "likelihood",
            "likelihood of the batch",
            "+ h/2 N/B Σ ∇ log p(x | w_ι, w̄)",
            "Uphill on this batch, with all weights outside the block at their mean.",
        ),
        Term("push", "adaptive drift", "+ h/2 a m/√(v + λ)", "Onwards along the slopes of the steps before."),
        Term("noise", "noise", "+ √h ξ", "The noise that keeps the particles from coming to rest at the mode."),
        Term("redrawn", "closed form", "+ (s′ − s)", "Of the noise variance: a fresh draw from its best density."),
        formula="w′ − w",
        unit="units of w",
    )

    def default_budget(self, target: Target, knobs: PMFVBNNKnobs) -> int:
        """Three thousand steps."""
        return USUAL_STEPS * min(knobs.batch_size, target.num_data)

    def init(self, rng: np.random.Generator, target: Target, knobs: PMFVBNNKnobs) -> PMFVBNNState:
        """A little noise around one common draw, or a draw each; s2 as if nothing were explained, that is 1."""
        m, d = knobs.num_particles, target.num_weights
        if knobs.start == "common":
            weights = target.first_weights(rng, 1) + SPREAD * rng.standard_normal((m, d))
        else:
            weights = target.first_weights(rng, m)
        particles, misfit = target.with_noise(weights, np.ones(m)), float(target.num_data)
        arrays = particles, equal_log_weights(m), rates_of(weights, target), np.zeros(d), np.zeros(d)
        return PMFVBNNState(*read_only(*arrays), misfit, 0, np.nan, target.flat_score, np.inf, 0)

    def step(
        self, rng: np.random.Generator, state: PMFVBNNState, target: Target, batch: np.ndarray, knobs: PMFVBNNKnobs
    ) -> tuple[PMFVBNNState, StepInfo]:
        """A block of every particle; then the moments, and the factors in closed form."""
        t, h, a = state.iteration + 1, knobs.step_size / target.num_data, knobs.drift_scale * target.num_data
        weights, ridge = state.particles[:, : target.num_weights], ridge_of(state, target)
        chosen = blocks(rng, weights, knobs.block_share)
        own = np.take_along_axis(weights, chosen, axis=1)
        points = np.repeat(weights.mean(axis=0)[None], len(weights), axis=0)
        np.put_along_axis(points, chosen, own, axis=1)
        precision = noise_precision(state.misfit, target)
        likelihood, _ = target.weight_gradient(points, batch, precision)
        push = a * state.first / np.sqrt(state.second + knobs.damping)
        slopes, pull = {"prior": -ridge * points, "likelihood": likelihood}, likelihood - ridge * points + push
        noise = np.sqrt(h) * rng.standard_normal(chosen.shape)
        moved = weights.copy()
        np.put_along_axis(moved, chosen, own + 0.5 * h * np.take_along_axis(pull, chosen, axis=1) + noise, axis=1)
        check_reach(moved, target, knobs.step_size, batch)
        likelihood, misfit = target.weight_gradient(moved, batch, precision)
        first, second = moments(state, likelihood - ridge * moved, knobs)
        running = KEPT * state.misfit + (1 - KEPT) * float(misfit.mean())
        particles = target.with_noise(moved, noise_draws(rng, running, target, len(moved)))
        arrays = read_only(particles, state.log_weights, rates_of(moved, target), first, second)
        after = validated(PMFVBNNState(*arrays, running, t, *state[7:]), target)
        slopes["push"] = np.broadcast_to(push, moved.shape)
        terms = ComputedTerms(lambda: terms_of(state.particles, particles, chosen, h, slopes, noise))
        numbers = {"h": h, "N/B": target.num_data / len(batch), "a": a}
        info = _info(h, len(batch), len(moved), chosen.shape[1], after)
        return after, info._replace(terms=terms, numbers=numbers)

    def ended(self, state: PMFVBNNState, knobs: PMFVBNNKnobs, target: Target) -> str:
        """That the validation score has stalled, where that is to end a run."""
        if not knobs.patience or not state.best_at or state.iteration - state.best_at < knobs.patience:
            return ""
        return f"the validation score has not fallen for {knobs.patience:,} steps"

    def caveat(self, state: PMFVBNNState, knobs: PMFVBNNKnobs) -> str:
        """That the mean particle predicts no better than a constant."""
        if state.iteration < WARMED_UP or not state.score > state.flat_score - LEARNT:
            return super().caveat(state, knobs)
        return (
            "the mean particle has learnt nothing: it predicts no better than a constant, as the mean of nets does "
            "whose hidden units stand in different orders"
        )


def terms_of(
    before: np.ndarray,
    after: np.ndarray,
    chosen: np.ndarray,
    h: float,
    slopes: Mapping[str, np.ndarray],
    noise: np.ndarray,
) -> dict[str, np.ndarray]:
    """What moved each particle (M, d): the slopes (M, d_w) and the noise (M, k) in its block, and what was redrawn."""
    own = {name: 0.5 * h * np.take_along_axis(slope, chosen, axis=1) for name, slope in slopes.items()}
    terms = {}
    for name, values in {**own, "noise": noise}.items():
        terms[name] = np.zeros(before.shape)
        np.put_along_axis(terms[name], chosen, values, axis=1)
    redrawn = np.zeros(before.shape)
    weights = len(next(iter(slopes.values()))[0])
    redrawn[:, weights:] = (after - before)[:, weights:]
    return terms | ({"redrawn": redrawn} if redrawn.any() else {})


def blocks(rng: np.random.Generator, weights: np.ndarray, share: float) -> np.ndarray:
    """Numbers of a random share of the weights (M, d_w) for every particle, without repetition, (M, k)."""
    m, d = weights.shape
    count = min(max(1, round(share * d)), d)
    return np.argpartition(rng.random((m, d)), count - 1, axis=1)[:, :count]


def moments(state: PMFVBNNState, gradients: np.ndarray, knobs: PMFVBNNKnobs) -> tuple[np.ndarray, np.ndarray]:
    """The drift's memories (d_w,) after gradients (M, d_w): of their mean, and of their spread over the particles.

    A single particle has no spread; its squared gradient stands for that, as in Adam.
    """
    mean = gradients.mean(axis=0)
    spread = gradients.var(axis=0) if len(gradients) > 1 else mean**2
    if knobs.drift == "paper":
        spread = np.sqrt(spread)
    first = knobs.memory * state.first + (1 - knobs.memory) * mean
    return first, knobs.square_memory * state.second + (1 - knobs.square_memory) * spread


def rates_of(weights: np.ndarray, target: Target) -> np.ndarray:
    """beta_0 + <w_j^2> / 2, the rates (d_w,) of q(tau_j)."""
    return target.scale_prior.rate + 0.5 * (weights**2).mean(axis=0)


def ridge_of(state: PMFVBNNState, target: Target) -> np.ndarray:
    """E 1 / tau_j = (alpha_0 + 1/2) / rate, (d_w,)."""
    return (target.scale_prior.shape + 0.5) / state.scale_rates


def noise_factor(misfit: float, target: Target) -> tuple[float, float]:
    """Shape a + N/2 and rate b + SSE / 2 of q(s2)."""
    shape, rate = target.noise_prior
    return shape + 0.5 * target.num_data, rate + 0.5 * misfit


def noise_precision(misfit: float, target: Target) -> float:
    """E 1 / s2; 1 where there is no noise."""
    if target.noise_prior is None:
        return 1.0
    shape, rate = noise_factor(misfit, target)
    return shape / rate


def noise_draws(rng: np.random.Generator, misfit: float, target: Target, n: int) -> np.ndarray:
    """n draws (n,) of q(s2); 1 where there is no noise."""
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


def _info(h: float, rows: int, count: int, block: int, state: PMFVBNNState) -> StepInfo:
    words = f"h {h:.3g} · batch of {rows:,} · {block} weights of each net · validation score {state.score:.4g}"
    scalars = {"step_size": h, "validation": state.score}
    return StepInfo(Cost(rows, 0, 2 * rows * count), words, scalars=scalars)
