"""Stochastic gradient Langevin dynamics (Welling, Teh 2011): plain, with RMSprop, with Adam's drift, and of topics."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np

from pmdviz.kernels.chains import langevin
from pmdviz.kernels.checks import Array, Rng
from pmdviz.kernels.topics import mean_counts
from pmdviz.knobs import Real, Whole
from pmdviz.methods import optimisers
from pmdviz.methods.base import REACH, BatchMethod, Stepped, check_reach, checked_gradient
from pmdviz.methods.mcmc import Chain, ChainKnobs, Pool, appended, position, started, states_of
from pmdviz.methods.step import BATCH_SIZE, BatchKnobs, ComputedTerms, Cost, StepBlock, StepInfo, Term, Work
from pmdviz.targets import Target
from pmdviz.targets.topics import seeds_of

LEAP_ROWS = 2**18  # of data that one compiled call visits at most: half a megabyte of numbers a dimension, a few ms


NOISE = Term("noise", "noise", "+ √ε ξ", "The noise that keeps the chain from coming to rest at the mode.")
DRIFT = Term("drift", "drift", "ε/2 ∇ log p(θ | batch)", "Uphill on the log posterior of this batch.")
LANGEVIN = optimisers.move_update(DRIFT, NOISE)


class SGLDKnobs(BatchKnobs, ChainKnobs):
    """The knobs of `sgld`.

    a: Numerator of the Langevin step ε = a (b + t)^-g.
    b: Makes the first steps smaller: ε = a (b + t)^-g.
    g: How fast ε = a (b + t)^-g decays; 0 keeps it constant.
    """

    a = Real(0.06, "(0, 1_000_000]", (1e-4, 1), "Step size a", "θ²", log=True, basic=True)
    b = Real(100.0, (0, 1_000_000), (0, 1000), "Delay b", "steps")
    g = Real(0.55, (0, 1), (0, 1), "Decay exponent g")
    batch_size = BATCH_SIZE.at(10)

    def work(self, num_data: int) -> Work:
        """One gradient of the batch of each chain."""
        return Work(gradients=self.num_chains * self.rows(num_data))


A, B, G = (SGLDKnobs.specs()[name] for name in "abg")


class SGLDState(NamedTuple):
    """The draws so far, and running means of the gradient and of its square where the method takes them, else 0."""

    older: Array  # (n, d)
    newer: Array  # (k, d)
    iteration: int
    mean: Array  # (d,) m of `adam_sgld`
    mean_square: Array  # (d,) v of `adam_sgld`; V of `psgld`, of the gradient divided by N


Adapted = tuple[SGLDState, Array | float, Array | float]


class SGLD(BatchMethod, Chain):
    """Stochastic gradient Langevin dynamics.

    short_title: SGLD
    about: Stochastic gradient Langevin dynamics takes gradient steps on batches and adds just enough noise to sample
        instead of optimise.
    formula: θ ← θ + ε/2 [∇ log p(θ) + (N/B) Σ ∇ log p(x | θ)] + N(0, ε I)
    what_moves: One point drifts uphill on batches, with noise; the dots are the draws that it leaves behind.
    source: Welling, Teh 2011, Eq. 4; step size a (b + t)^-g: their section 5
    propagate: prior
    move: Langevin (on a batch)

    No proposal is rejected. With it the file has its relatives: θ <- θ + G/2 (∇ + a) + √G ξ, ∇ = ∇ log p(θ | batch),
    where G is the step size ε of every coordinate, or fitted to the gradients so far, and a is 0 or a push along them.
    """

    name = "sgld"
    requires = frozenset({"reals", "gradient"})
    chain_kernels = "Langevin steps"
    scalars = (optimisers.STEP_SIZE,)
    update = LANGEVIN

    def batch_size(self, state: SGLDState | Pool, knobs: SGLDKnobs, num_data: int) -> int:
        """B for each chain."""
        return len(states_of(state)) * super().batch_size(state, knobs, num_data)

    def start(self, rng: Rng, target: Target, knobs: SGLDKnobs) -> SGLDState:
        """A draw from the prior, and no gradients to remember."""
        return SGLDState(*started(rng, target), 0, np.zeros(target.dim), np.zeros(target.dim))

    def adapted(self, state: SGLDState, gradient: Array, eps: float, num_data: int, knobs: SGLDKnobs) -> Adapted:
        """The state that remembers the gradient (d,); and of this step G and a, each (d,) or a number."""
        return state, eps, 0.0

    def move(self, rng: Rng, state: SGLDState, target: Target, batch: Array, knobs: SGLDKnobs) -> Stepped:
        """One Langevin step along the gradient of a batch."""
        theta, step_size = position(state), langevin_step(state.iteration + 1, knobs)
        noise = rng.standard_normal(target.dim)
        if self.chain_kernels and target.model is not None:
            _, gradient, _ = _compiled(state, target, batch[None], noise[None], knobs)
        else:
            gradient = checked_gradient(target, theta[None], batch)[0]
        state, steps, push = self.adapted(state, gradient, step_size, target.num_data, knobs)
        noise = np.sqrt(steps) * noise
        moved = theta + 0.5 * steps * (gradient + push) + noise
        check_reach(moved[None], target, step_size, batch, "the chain")
        info = info_of(step_size, len(batch), 0.5 * steps * gradient, noise, 0.5 * step_size * push)
        return appended(state, moved[None]), info

    def max_block(self, state: SGLDState, knobs: SGLDKnobs, target: Target, rows: int) -> int:
        """As many steps as the rows are enough for; one of a pool, and where steps or gradients are not compiled."""
        if isinstance(state, Pool) or not self.chain_kernels or target.model is None:
            return 1
        size = self.batch_size(state, knobs, target.num_data)
        return max(1, min(-(-rows // size), LEAP_ROWS // size))

    def step_many(
        self, rng: Rng, state: SGLDState, target: Target, data: Array, count: int, knobs: SGLDKnobs, rows: int
    ) -> StepBlock | None:
        """Langevin steps along the gradients of the batches, in one compiled call."""
        before, size = rng.bit_generator.state, data.shape[1]
        noise = rng.standard_normal((count, target.dim))
        draws, gradient, made = _compiled(state, target, data, noise, knobs)
        if made < count:
            rng.bit_generator.state = before
            rng.standard_normal((made, target.dim))
        if made == 0:
            return None
        if made < count:  # the last gradient is of the step that failed
            _, gradient, _ = _compiled(state, target, data[:made], noise[:made], knobs)
        step_size = langevin_step(state.iteration + made, knobs)
        info = info_of(step_size, size, 0.5 * step_size * gradient, np.sqrt(step_size) * noise[made - 1])
        return StepBlock(appended(state, draws[:made]), info, made, Cost(made * size, 0, made * size))


def _compiled(
    state: SGLDState, target: Target, batches: Array, noise: Array, knobs: SGLDKnobs
) -> tuple[Array, Array, int]:
    """Draws, the last gradient and how many steps were made, from the target's compiled model."""
    schedule = state.iteration + 1, knobs.a, knobs.b, knobs.g
    return langevin(target.model or (), position(state), batches, schedule, noise, REACH * target.scale)


def langevin_step(t: int, knobs: SGLDKnobs | SGRLDKnobs) -> float:
    """ε_t = a (b + t)^-g, t from 1."""
    return float(knobs.a * (knobs.b + t) ** -knobs.g)


def info_of(step_size: float, batch: int, drift: Array, noise: Array, push: Array | float = 0.0) -> StepInfo:
    """The result of a Langevin step that moved by `drift` and `noise` (d,), and where it is an array by a `push`."""
    lengths = f"drift {np.linalg.norm(drift + push):.3g}, noise {np.linalg.norm(noise):.3g}"
    words = f"ε = {step_size:.3g} · batch of {batch:,} · {lengths} · no accept step"
    parts = {"drift": drift, **({"push": push} if isinstance(push, Array) else {}), "noise": noise}
    terms, scalars = {name: part[None] for name, part in parts.items()}, {"step_size": step_size}
    return StepInfo(Cost(batch, 0, batch), words, scalars=scalars, terms=terms, numbers={"ε": step_size})


# SGLD with an RMSprop preconditioner (Li, Chen, Carlson, Carin 2016): each coordinate has a step size of its own.


class PSGLDKnobs(SGLDKnobs):
    """The knobs of `psgld`: the knobs of `sgld`, and the preconditioner's two.

    memory: Fraction of the running mean of squared gradients that a step keeps. With 1 it stays 0, and the steps are
        SGLD's with ε/λ.
    damping: Added to the root mean square gradient of a data point; limits the steps along flat coordinates.
    """

    memory = Real(0.99, (0, 1), (0.5, 1), "Preconditioner memory α")
    damping = Real(1e-5, "(0, 1_000_000]", (1e-8, 10), "Preconditioner damping λ", "1/θ", log=True)
    a = A.at(0.01, unit="θ")


class PSGLD(SGLD):
    """Preconditioned SGLD.

    short_title: pSGLD
    about: Preconditioned SGLD takes noisy gradient steps on batches, scaled in each coordinate by the size of recent
        gradients.
    formula: θ ← θ + ε/2 G ∇ log p(θ | batch) + N(0, ε G)
    what_moves: One point drifts uphill on batches, in steps fitted to the slopes so far; the dots are its draws.
    source: Li, Chen, Carlson, Carin 2016, Algorithm 1, without the term Γ
    propagate: prior
    move: Langevin (on a batch)
    adapt: preconditioner (of drift and noise)

    drift: Uphill on the log posterior of this batch; G is small where slopes have been steep.

    G = 1 / (λ + √V),  V <- α V + (1 - α) (∇/N)²  (Algorithm 1).

    ∇ is the batch's estimate of ∇ log p(θ, X). ∇/N stands where the paper has the batch's mean gradient: the prior's
    share, one observation's worth, is in it. V starts at 0, so the first steps are up to 1/√(1 - α) times as long. The
    term Γ_k = ∂G_k/∂θ_k is left out, as in the paper's experiments (its section 3.4 bounds the bias): it needs second
    derivatives, and is small for α near 1.
    """

    name = "psgld"
    chain_kernels = ""
    update = LANGEVIN._replace(
        terms=(Term("drift", "drift", "ε/2 G ∇ log p(θ | batch)"), NOISE._replace(formula="+ √(ε G) ξ"))
    )

    def adapted(self, state: SGLDState, gradient: Array, eps: float, num_data: int, knobs: PSGLDKnobs) -> Adapted:
        """V with this gradient, and ε G by it."""
        square = knobs.memory * state.mean_square + (1 - knobs.memory) * (gradient / num_data) ** 2
        return state._replace(mean_square=square), eps / (knobs.damping + np.sqrt(square)), 0.0


# SGLD with an adaptive drift (Kim, Song, Liang 2022): a push along the gradients so far, in units of their size.


class AdamSGLDKnobs(SGLDKnobs):
    """The knobs of `adam_sgld`: the knobs of `sgld`, and the drift's four.

    drift: Strength of the push m/√(v + λ), which has a length of about 1 in every coordinate. With 0 the method is
        SGLD; the more of it, the sooner a far start is left, and the narrower the draws.
    gradient_memory: Fraction of the running mean of gradients, m, that a step keeps.
    square_memory: Fraction of the running mean of squared gradients, v, that a step keeps.
    damping: Added to the mean square of the gradient: nothing is then divided by 0.
    """

    drift = Real(1.0, (0, 1_000_000), (0, 100), "Adaptive drift", "1/θ", basic=True)
    gradient_memory = Real(0.9, "[0, 1)", (0, 0.99), "Gradient memory β₁")
    square_memory = Real(0.99, "[0, 1)", (0.5, 0.999), "Square memory β₂")
    damping = Real(1e-8, "(0, 1_000_000]", (1e-8, 1), "Drift damping λ", "1/θ²", log=True)


class AdamSGLD(SGLD):
    """SGLD with Adam's drift.

    short_title: Adam-SGLD
    about: Adaptive-drift SGLD takes Langevin steps on batches and adds a push along the recent gradients, scaled in
        each coordinate by their size.
    formula: θ ← θ + ε/2 [∇ log p(θ | batch) + a m/√(v + λ)] + N(0, ε I)
    what_moves: One point drifts uphill on batches, pushed on by the slopes so far; the dots are its draws.
    source: Kim, Song, Liang 2022, Algorithm 2 (Adam SGLD)
    propagate: prior
    move: Langevin (on a batch, pushed on by earlier gradients)
    adapt: preconditioner (of the push)

    push: Onwards along the slopes of the steps before, about as far in every coordinate.

    After the step m <- β₁ m + (1 - β₁) ∇  and  v <- β₂ v + (1 - β₂) ∇².

    ∇ is the batch's estimate of ∇ log p(θ, X), a the knob `drift`, m and v of the steps before (Algorithm 2; they start
    at 0 and are not corrected for it, as in the paper).

    It is biased: as ε goes to 0 with β₁ and β₂ as they are, what it settles to is the posterior only for a = 0. m
    is then close to the gradient itself, and the drift adds to the force. On a Gaussian posterior of sd s, with all
    data in a batch, √v = (sd of the draws)/s², and so (ours) their sd is r s with r² + a s r = 1: r = 0.95 at a s
    = 0.1, 0.78 at 0.5 and 0.62 at 1. Batches make v larger and the push smaller. A push so strong that the chain
    moves on within the ten steps that m remembers makes it swing past the mode instead, and the draws wider; tests
    compare the variance with the variance of the linear chain of (θ, m).
    """

    name = "adam_sgld"
    chain_kernels = ""
    update = LANGEVIN._replace(terms=(LANGEVIN.terms[0], Term("push", "adaptive drift", "+ ε/2 a m/√(v + λ)"), NOISE))

    def adapted(self, state: SGLDState, gradient: Array, eps: float, num_data: int, knobs: AdamSGLDKnobs) -> Adapted:
        """m and v with this gradient, and the push of those before it."""
        push = knobs.drift * state.mean / np.sqrt(state.mean_square + knobs.damping)
        mean = knobs.gradient_memory * state.mean + (1 - knobs.gradient_memory) * gradient
        square = knobs.square_memory * state.mean_square + (1 - knobs.square_memory) * gradient**2
        return state._replace(mean=mean, mean_square=square), eps, push

    def move(self, rng: Rng, state: SGLDState, target: Target, batch: Array, knobs: AdamSGLDKnobs) -> Stepped:
        """With the drift's strength among the numbers."""
        state, info = super().move(rng, state, target, batch, knobs)
        return state, info._replace(numbers={**info.numbers, "a": knobs.drift})


# Stochastic gradient Riemannian Langevin dynamics: noisy steps of topics that stay on the simplex by themselves.

SMALLEST = 1e-300  # of a topic's unnormalised probability


class SGRLDKnobs(BatchKnobs, ChainKnobs):
    """The knobs of `sgrld`.

    sweeps: Sweeps over a document's topics that its expected counts are a mean of, after half as many that are not.
    """

    a = A.at(1.0, unit="")
    b = B.at(1000.0, softbounds=(0, 5000))
    g = G.at(0.6)
    sweeps = Whole(10, (1, 1000), (1, 100), "Gibbs sweeps", log=True)


class SGRLDState(NamedTuple):
    """The draws so far, and where the chain stands before topics are normalised."""

    older: Array  # (n, K W)
    newer: Array  # (k, K W)
    expanded: Array  # (W, K) positive; φ_k = expanded[:, k] / its sum
    iteration: int


class SGRLD(BatchMethod, Chain):
    """Stochastic gradient Riemannian Langevin dynamics (LDA).

    short_title: SGRLD
    about: Langevin dynamics on the topics takes noisy steps whose size grows with each word's probability.
    formula: θ ← |θ + ε/2 [β - θ + (N/B) Σ E(n_{kw} - φ_{kw} n_k)] + N(0, ε θ)|
    what_moves: One set of topics wanders, with noise; the picture shows a mean over its draws.
    source: Patterson, Teh 2013, Eq. 11, expanded mean
    propagate: random start
    move: Langevin (on a batch, in longer steps where a word is probable)

    prior: Towards the prior's mean β.
    likelihood: Words that the topic has more often than it expects gain.
    mirrored: What would be negative changes its sign.

    φ_k = θ_k / sum θ_k.

    θ_kw ~ Gamma(β, 1) in the prior, which makes φ_k Dirichlet; the metric is diag(θ)^-1: a step is as large as
    the probability allows. E n, given φ, is a mean over Gibbs sweeps.
    """

    name = "sgrld"
    requires = frozenset({"documents"})
    scalars = (optimisers.STEP_SIZE,)
    update = optimisers.move_update(
        Term("prior", "prior", "ε/2 (β − θ)"),
        Term("likelihood", "words of the batch", "+ ε/2 N/B Σ E(n_{kw} − φ_{kw} n_k)"),
        NOISE._replace(formula="+ √(ε θ) ξ"),
        Term("mirrored", "mirrored at 0", "+ (|θ′| − θ′)"),
        unit="units of θ, before topics are normalised",
    )

    def batch_size(self, state: SGRLDState, knobs: SGRLDKnobs, num_data: int) -> int:
        """B for each chain."""
        return len(states_of(state)) * super().batch_size(state, knobs, num_data)

    def start(self, rng: Rng, target: Target, knobs: SGRLDKnobs) -> SGRLDState:
        """Gamma(1, 1): topics that differ, but by no more than words of equal rank would."""
        expanded = np.maximum(rng.gamma(1.0, size=target.documents(target.data_rows[:0]).shape), SMALLEST)
        return SGRLDState(np.empty((0, target.dim)), _point(expanded), expanded, 0)

    def move(self, rng: Rng, state: SGRLDState, target: Target, batch: Array, knobs: SGRLDKnobs) -> Stepped:
        """One Langevin step along the gradient of a batch."""
        documents, theta = target.documents(batch), state.expanded
        step_size, noise = langevin_step(state.iteration + 1, knobs), rng.standard_normal(theta.shape)
        burn_in, seeds = knobs.sweeps // 2, seeds_of(rng, len(batch))
        counts = mean_counts(theta, documents.sparse, seeds, documents.alpha, burn_in, knobs.sweeps)
        share = target.num_data / len(batch)
        drift = documents.beta - theta + share * (counts - _shares(theta) * counts.sum(axis=0))
        moved = np.abs(theta + 0.5 * step_size * drift + np.sqrt(step_size * theta) * noise)
        moved = np.maximum(moved, SMALLEST)
        state = appended(state, _point(moved))._replace(expanded=moved)
        words = f"ε = {step_size:.3g} · batch of {len(batch):,} documents · no accept step"
        terms = ComputedTerms(partial(terms_of, theta, moved, documents.beta, step_size, drift, noise))
        cost, numbers = Cost(len(batch), len(batch)), {"ε": step_size, "N/B": share}
        return state, StepInfo(cost, words, {}, {"step_size": step_size}, terms, numbers=numbers)

    def points(self, state: SGRLDState) -> Array:
        """Where each chain stands before topics are normalised, topic by topic, (C, K W)."""
        return np.concatenate([_row(chain.expanded) for chain in states_of(state)])


def terms_of(theta: Array, moved: Array, beta: float, step_size: float, drift: Array, noise: Array) -> dict[str, Array]:
    """What moved theta (W, K), by a drift and noise (W, K): (1, K W) each; nothing mirrored where all is positive."""
    prior, push = 0.5 * step_size * (beta - theta), np.sqrt(step_size * theta) * noise
    mirrored = moved - (theta + 0.5 * step_size * drift + push)
    parts = {"prior": prior, "likelihood": 0.5 * step_size * drift - prior, "noise": push}
    parts |= {"mirrored": mirrored} if mirrored.any() else {}
    return {name: _row(part) for name, part in parts.items()}


def _shares(theta: Array) -> Array:
    """φ, (W, K)."""
    return theta / theta.sum(axis=0)


def _point(theta: Array) -> Array:
    """The topics as one point (1, K W)."""
    return _row(_shares(theta))


def _row(theta: Array) -> Array:
    """(W, K) as (1, K W)."""
    return np.ascontiguousarray(theta.T).reshape(1, -1)
