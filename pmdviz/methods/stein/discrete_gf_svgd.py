"""Stein variational gradient descent on discrete states, without a gradient of the target (Han 2019, Algorithm 8)."""

from collections.abc import Callable
from functools import cached_property, lru_cache, partial
from typing import NamedTuple

import numpy as np

from pmdviz.densities.density import Points, effective_sample_size, normalise
from pmdviz.errors import InputError, TargetError
from pmdviz.kernels.chains import uniforms_of
from pmdviz.kernels.checks import Array, Rng
from pmdviz.kernels.stein import matched_force, smooth_step, stein_force
from pmdviz.knobs import Choice, Real, Whole
from pmdviz.methods import optimisers, weighting
from pmdviz.methods.base import BatchMethod, Stepped, checked_log_density, rows_in_words
from pmdviz.methods.stein import APART, WIDTH_FACTOR, leaders_width, move_scalar, parts_of_force, width_scalar
from pmdviz.methods.step import BATCH_SIZE, BatchKnobs, ComputedTerms, Cost, Scalar, StepBlock, StepInfo, Term, Work
from pmdviz.targets import Target

NUM_CENTRES = 5  # of a base that is a mixture
HALVINGS = 200  # of a bracket around a quantile: far below the last bit of its end


class Base:
    """p0 of every latent coordinate: N(0, 1), or a mixture of five N(mu, 1) of equal weight; cut off beyond `clip`.

    The centres of a mixture lie evenly between -spread and spread. Any base that is positive where x may go will do:
    the bins hold equal shares of whatever it is.
    """

    def __init__(self, spread: float = 0.0, clip: float = np.inf) -> None:
        self.centres = np.linspace(-spread, spread, NUM_CENTRES) if spread > 0 else np.zeros(1)
        self.clip = clip

    def log_density(self, x: Array) -> Array:
        """log p0 of each entry of x, of any shape and in [-clip, clip], in nats."""
        mass = self._ends[1] - self._ends[0]
        exponents = self._exponents(x)
        top = exponents.max(axis=-1)
        total = top + np.log(np.exp(exponents - top[..., None]).sum(axis=-1))
        return total - np.log(len(self.centres) * np.sqrt(2 * np.pi) * mass)

    def score(self, x: Array) -> Array:
        """The derivative of log p0 at each entry of x: sum_c r_c(x) (mu_c - x), r the share of each component."""
        if len(self.centres) == 1:
            return -x
        exponents = self._exponents(x)
        shares = np.exp(exponents - exponents.max(axis=-1, keepdims=True))
        return (shares * self.centres).sum(axis=-1) / shares.sum(axis=-1) - x

    def share_below(self, x: Array) -> Array:
        """The distribution function at each entry of x, where it is cut off too."""
        low, high = self._ends
        return np.clip((self._whole_below(x) - low) / (high - low), 0.0, 1.0)

    def quantiles(self, shares: Array) -> Array:
        """x at which `share_below` has these values in (0, 1), by bisection."""
        reach = min(self.clip, float(self.centres[-1]) + 40.0)
        low, high = np.full(len(shares), -reach), np.full(len(shares), reach)
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            below = self.share_below(middle) < shares
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return 0.5 * (low + high)

    @cached_property
    def _ends(self) -> Array:
        """Shares of the whole base below -clip and below clip."""
        return self._whole_below(np.array([-self.clip, self.clip]))

    def _whole_below(self, x: Array) -> Array:
        shares = [uniforms_of(np.ravel(x) - mu).reshape(np.shape(x)) for mu in self.centres]
        return np.mean(shares, axis=0)

    def _exponents(self, x: Array) -> Array:
        return -0.5 * (np.asarray(x)[..., None] - self.centres) ** 2


class QuantileBins:
    """Gamma: bin b of the base, of Q that hold 1/Q of it each, means value b mod K (Han 2019, Definition 11).

    With Q = K, the usual case, values ascend with x; with a multiple of K every value has several bins. Then p0 gives
    all values the same probability, and p_c(x) proportional to p0(x) p(Gamma(x)) has Gamma(x) ~ p.

    Attributes
    ----------
    base : Base
    values : array (K,), ascending
    edges : array (Q - 1,), the quantiles between the bins

    Raises InputError unless Q is K or a multiple of it: with fewer bins a value has none, and others unequal mass.
    """

    def __init__(self, values: tuple[float, ...], base: Base, num_bins: int = 0) -> None:
        self.base, self.values, self.num_bins = base, np.sort(np.array(values, float)), num_bins or len(values)
        if self.num_bins < len(values) or self.num_bins % len(values):
            words = f"quantile bins must be a multiple of the number of values, {len(values)}, at least one each"
            raise InputError(f"{words}: all values must have the same mass; got {num_bins}")
        edges = base.quantiles(np.arange(1, self.num_bins) / self.num_bins)
        edges[np.abs(edges) < 1e-12] = 0.0  # of two values: the sign
        self.edges = edges

    def __call__(self, latent: Array) -> Array:
        """z = Gamma(x) for each entry of x, in the values: one at an edge belongs to the bin above it."""
        if len(self.edges) == 1:
            return np.where(latent >= self.edges[0], self.values[1], self.values[0])
        return self.values[np.searchsorted(self.edges, latent, side="right") % len(self.values)]


@lru_cache(maxsize=64)
def bins_of(values: tuple[float, ...], spread: float, clip: float, each: int) -> QuantileBins:
    """`each` bins of a base per value; kept, because every step needs them."""
    return QuantileBins(values, Base(spread, clip), each * len(values))


FIRST_STEPS = {"adam": 0.5, "adagrad": 0.5, "plain": 0.5}
DECAYS = {"adam": 0.5, "adagrad": 0.0, "plain": 0.0}  # AdaGrad's own steps fall, and so does a force by itself
FACTORS = {"automatic": 3.0, "tanh": 3.0, "base": 1.0}  # of automatic: where there is a smooth one
COUNTED = {"ratios": "ratios ρ/p", "ranks": "ranks of the ratios", "none": "equal (plain SVGD)"}
SURROGATES = {"automatic": "smooth where the target is", "tanh": "smooth, by tanh", "base": "the base density alone"}
LEAST_CLIP = 0.01  # between narrower ones the base has almost no mass to be cut into bins


class DiscreteGFSVGDKnobs(BatchKnobs):
    """The knobs of `discrete_gf_svgd`.

    num_particles: Number of latent points x that move together, each standing for a state z; a step costs m² kernel
        values.
    weighting: How much each particle counts. Ratios: surrogate over target, which makes up for the force being the
        surrogate's. Ranks: one over the share of particles whose ratio is at least as large; no single one takes all.
        Equal: plain SVGD on the surrogate, which never hears of the target but through it.
    surrogate: The density whose gradient drives the particles. Smooth: the base times the target's density at a tanh of
        x, for targets that have one between their states. Base: the gradient of the base density, without the target.
        Automatic: smooth where the target offers that, else the base.
    steepness: The smooth map is tanh(τx/2), stretched to the lowest and highest value; a steeper one is closer to a
        step, and its gradient is 0 except near it.
    optimiser: How the force becomes a step. Adam: exponential moving average. AdaGrad: accumulated squares. None: the
        force itself.
    eta: The step size is η/t^κ at step t.
    start_mean: The latent points start from N(mean, sd²) in every coordinate; the base is N(0, 1).
    start_sd: Standard deviation of the latent points at the start.
    base_spread: 0: the base is N(0, 1). Otherwise five normals of sd 1 with equal weights, their means evenly between
        minus and plus this.
    bins_per_value: How many bins of equal mass under the base belong to each value. The values take turns, from the
        lowest on: with more bins the way from any value to any other is shorter.
    clip: Keeps x between minus and plus this in every coordinate, with the base cut off there; 0: nowhere.
    """

    num_particles = weighting.NUM_PARTICLES.at(100, softbounds=(10, 2_000))
    batch_size = BATCH_SIZE.at(100)
    weighting = Choice("ratios", COUNTED, "Weights in the force", basic=True)
    surrogate = Choice("automatic", SURROGATES, "Surrogate ρ", basic=True)
    steepness = Real(2.0, "(0, 1000]", (0.5, 20), "Steepness τ", log=True, only_if=("surrogate", ("automatic", "tanh")))
    optimiser = Choice("adam", {"adam": "Adam", "adagrad": "AdaGrad", "plain": "none"}, "Optimiser")
    eta = optimisers.ETA.at(0.5, default_by=("optimiser", FIRST_STEPS))
    kappa = optimisers.STEP_DECAY.at(0.5, default_by=("optimiser", DECAYS))
    length_scale_factor = WIDTH_FACTOR.at(3.0, default_by=("surrogate", FACTORS))
    start_mean = Real(0.0, (-20, 20), (-4, 4), "Mean at the start", acts="restart")
    start_sd = Real(1.0, "(0, 20]", (0.1, 4), "Sd at the start", log=True, acts="restart")
    base_spread = Real(0.0, (0, 30), label="Spread of the base", acts="restart")
    bins_per_value = Whole(1, (1, 1000), (1, 5), "Quantile bins a value", acts="restart")
    clip = Real(0.0, (0, 20), (0, 4), "Clip x at ±", acts="restart", default_by=("weighting", {"ranks": 1.0}))

    def check(self) -> None:
        """A clip leaves the base some mass."""
        if 0 < self.clip < LEAST_CLIP:
            raise self.specs()["clip"].refusal(f"must be 0, for none, or at least {LEAST_CLIP:g}; got {self.clip:g}")

    def work(self, num_data: int) -> Work:
        """m^2 kernels, and m likelihoods and gradients of the batch."""
        m, rows = self.num_particles, self.rows(num_data)
        smooth = self.surrogate != "base"
        return Work(kernels=m**2, likelihoods=m * rows * (1 + smooth), gradients=m * rows * smooth)


# The surrogates of GF-SVGD on discrete states: the base alone, or with the target's smooth log density.


def is_smooth(knobs: DiscreteGFSVGDKnobs, target: Target) -> bool:
    """Whether the surrogate is the smooth one: by choice, or because the target offers a relaxation."""
    return knobs.surrogate == "tanh" or (knobs.surrogate == "automatic" and "relaxation" in target.offers)


def evaluations(knobs: DiscreteGFSVGDKnobs, target: Target) -> int:
    """A particle and row: of the target, and of the smooth log density with its gradient."""
    return 3 if is_smooth(knobs, target) else 1


def quantile_bins(target: Target, knobs: DiscreteGFSVGDKnobs) -> QuantileBins:
    """Gamma of the target's values."""
    return bins_of(target.space.values, knobs.base_spread, knobs.clip or np.inf, knobs.bins_per_value)


def surrogate(target: Target, x: Array, states: Array, batch: Array, knobs: DiscreteGFSVGDKnobs) -> tuple[Array, Array]:
    """log rho - log p_c (m,) in nats up to a constant, and grad log rho (m, d), at latent points x and their states."""
    log_p, scores = log_target(target, states, batch), quantile_bins(target, knobs).base.score(x)
    if not is_smooth(knobs, target):
        return -log_p, scores
    # sigma(x) = tanh(tau x / 2), stretched from the lowest value to the highest, and its derivative
    z, slope = smooth_step(x, knobs.steepness, min(target.space.values), max(target.space.values))
    log_relaxed, gradient = target.log_relaxed_and_gradient(z, batch)
    scores += np.multiply(slope, gradient, out=slope)
    return log_relaxed - log_p, scores


def log_target(target: Target, particles: Array, batch: Array) -> Array:
    """log p of states (m,), batch scaled by N/B. Raises TargetError where it is 0: the ratio rho/p is infinite."""
    log_p = checked_log_density(target, particles, batch, target.num_data / len(batch), may_vanish=True)
    if log_p.min() > -np.inf:
        return log_p
    at, rows = particles[log_p == -np.inf][0], rows_in_words(batch)
    words = f"target {target.name!r} has probability 0 at state {target.space.words(at)}, for {rows}"
    cause = "the weight rho/p of a particle there is infinite; gradient-free SVGD needs every state to be possible"
    raise TargetError(f"{words}: {cause}", at, rows)


def ranked(log_ratio: Array) -> Array:
    """log of 1 / H(mu_j), normalised, H(t) the share of all mu >= t: the largest counts m times the smallest."""
    above = len(log_ratio) - np.searchsorted(np.sort(log_ratio), log_ratio, side="left")
    return normalise(-np.log(above))


# (m,) log rho - log p_c -> log-weights (m,) with logsumexp 0
WEIGHTINGS: dict[str, Callable[[Array], Array]] = {
    "ratios": normalise,
    "ranks": ranked,
    "none": lambda log_ratio: weighting.equal(len(log_ratio)),
}


STEPS = 500  # that the default budget is enough for
MOST_IN_A_MATRIX = 1_000  # particles whose distances from one another are held all at once
LEAP_STEPS, LEAP_PAIRS = 64, 10**8  # steps at most in one call, and pairs of particles in them times coordinates
FEW = 0.05  # of the particles: an ESS of the weights below it


class State(NamedTuple):
    """Latent points, their states, and the optimiser's memory."""

    particles: Array  # (m, d) z = Gamma(x), in the target's values
    log_weights: Array  # (m,) equal, logsumexp 0
    latent: Array  # (m, d) x
    first: Array  # (m, d)
    second: Array  # (m, d)
    ess: float  # of the weights in the last step's force, in [1, m]; m at the start
    iteration: int


class DiscreteGFSVGD(BatchMethod):
    """Gradient-free SVGD on discrete states.

    short_title: Discrete GF-SVGD
    about: Gradient-free SVGD on discrete states moves real numbers whose quantile bins are the states, by the
        force of a smooth surrogate with weights that correct for it.
    formula: x_i ← x_i + ε · Σ_j w_j [k(x_j, x_i) ∇ log ρ(x_j) + ∇_j k(x_j, x_i)],  w ∝ ρ/p_c,  z = Γ(x)
    what_moves: Particles move on a hidden real axis; a state changes where one crosses into another quantile bin.
    source: Han 2019 (thesis), Algorithms 8 and 9; Han, Ding, Liu, Torresani, Peng, Liu 2020
    propagate: random start (on the latent axis)
    move: Stein force (of a surrogate, on the latent axis)
    adapt: preconditioner + kernel width (Adam; the width by the points)

    clip: Back to where the base has its mass.

    Gamma gives every value a bin of the base p0 with the same mass: then p_c(x) proportional to p0(x) p(Gamma(x))
    has Gamma(x) ~ p. p_c is flat in steps but for p0: its gradient does not depend on p. So the force comes from a
    smooth surrogate rho, with weights w_j proportional to rho(x_j) / p_c(x_j), which make p_c what it leaves at rest:

    base:  rho = p0, log w = -log p(Gamma(x)), grad log rho = -x
    tanh:  rho = p0 ptilde(sigma(x)), log w = log ptilde(sigma(x)) - log p(Gamma(x)), grad log rho = -x + sigma' grad
           log ptilde, with sigma(x) = tanh(tau x / 2) between the lowest value and the highest

    `ranks` are Algorithm 9's weights, 1 / H(mu_j) with mu_j = log rho - log p_c and H(t) the share of all mu >= t.
    With `clip` x stays where the truncated base has its mass. As printed, Algorithm 8 has grad rho for grad log rho,
    and does not divide by the sum of w.
    """

    name = "discrete_gf_svgd"
    requires = frozenset({"discrete"})
    needs = (("surrogate", "tanh", "relaxation", "base"),)
    varies_less = APART
    kernel_groups = ("few_points", "smooth_steps", "svgd")
    scalars = (
        optimisers.STEP_SIZE,
        width_scalar("units of x"),
        move_scalar("units of x"),
        Scalar("ess_of_ratios", "ESS of the weights in the force", "particles", True),
        Scalar("distinct_states", "distinct states", "states", True),
    )
    budget_words = f"{STEPS} steps"
    update = optimisers.flow_update(
        "Σ_j w_j k(x_j, x) ∇ log ρ(x_j)",
        "Σ_j w_j ∇_j k(x_j, x)",
        "the surrogate ρ, weighted by w ∝ ρ/p_c",
        optimisers.momentum(),
        Term("clip", "clipped", "+ (clip(x′) − x′)"),
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

    def default_budget(self, target: Target, knobs: DiscreteGFSVGDKnobs) -> int:
        """For 500 steps, in data or without any in evaluations per particle."""
        rows = self.batch_size(None, knobs, target.num_data)
        return STEPS * rows * (1 if target.data is not None else evaluations(knobs, target))

    def init(self, rng: Rng, target: Target, knobs: DiscreteGFSVGDKnobs) -> State:
        """m draws from N(start_mean, start_sd^2), clipped."""
        m = knobs.num_particles
        latent = kept_inside(knobs.start_mean + knobs.start_sd * rng.standard_normal((m, target.dim)), knobs)
        zeros = np.zeros(latent.shape)
        arrays = quantile_bins(target, knobs)(latent), weighting.equal(m), latent, zeros, zeros.copy()
        return State(*arrays, float(m), 0)

    def step(self, rng: Rng, state: State, target: Target, batch: Array, knobs: DiscreteGFSVGDKnobs) -> Stepped:
        """One step along the weighted force of the surrogate."""
        moved = _moved(state, target, batch, knobs)
        return moved.state, step_info(state, moved, target, len(batch), knobs)

    def max_block(self, state: State, knobs: DiscreteGFSVGDKnobs, target: Target, rows: int) -> int:
        """As many steps as the budget is enough for in evaluations, and as take no longer than a moment."""
        m, size = len(state.particles), self.batch_size(state, knobs, target.num_data)
        affordable = rows // (evaluations(knobs, target) * m * size)
        return max(1, min(affordable, LEAP_STEPS, LEAP_PAIRS // (m * max(m, size) * target.dim)))

    def step_many(
        self, rng: Rng, state: State, target: Target, batches: Array, count: int, knobs: DiscreteGFSVGDKnobs, rows: int
    ) -> StepBlock | None:
        """Steps of which only the last one tells anything; fewer where the target fails."""
        before, moved, made = state, None, 0
        for batch in batches:
            now = state if moved is None else moved.state
            try:
                before, moved = now, _moved(now, target, batch, knobs)
            except TargetError:
                break
            made += 1
        if moved is None:
            return None
        info = step_info(before, moved, target, batches.shape[1], knobs)
        return StepBlock(moved.state, info, made, Cost(*(made * part for part in info.cost)))

    def density(self, state: State, knobs: DiscreteGFSVGDKnobs, target: Target) -> Points:
        """The states themselves."""
        return Points(state.particles, state.log_weights)

    def points(self, state: State) -> Array:
        """Where the points are, (m, d): what moves."""
        return state.latent

    def caveat(self, state: State, knobs: DiscreteGFSVGDKnobs) -> str:
        """That all particles are in one state, or that few of them have all the weight in the force."""
        m = len(state.particles)
        if state.iteration == 0 or m == 1:
            return ""
        if (state.particles == state.particles[0]).all():
            cure = "use more particles, a larger RBF width factor, or a wider start"
            return f"all {m:,} particles are in the same state: q has no mass elsewhere; {cure}"
        if state.ess < max(1.5, FEW * m):
            few = f"few of {m:,} particles decide where all go; a smoother surrogate or ranks spread the weight"
            return f"ESS {state.ess:.1f} of the weights in the force: {few}"
        return ""


class Moved(NamedTuple):
    """A step, with what it may be asked about."""

    state: State
    step_size: float
    leaders_width: float
    terms: ComputedTerms


def _moved(state: State, target: Target, batch: Array, knobs: DiscreteGFSVGDKnobs) -> Moved:
    """A step along the weighted force."""
    t, x = state.iteration + 1, state.latent
    log_ratio, scores = surrogate(target, x, state.particles, batch, knobs)
    log_w = WEIGHTINGS[knobs.weighting](log_ratio)
    weights = np.exp(log_w)
    force, h = weighted_force(x, scores, weights, knobs.length_scale_factor)
    direction, first, second = optimisers.OPTIMISERS[knobs.optimiser](force, state.first, state.second, t)
    eps = optimisers.step_size(t, knobs.eta, knobs.kappa)
    free = x + eps * direction
    latent = kept_inside(free, knobs)
    arrays = quantile_bins(target, knobs)(latent), state.log_weights, latent, first, second
    forces = partial(parts_of_force, x, scores, h, weights=weights)
    parts = optimisers.paced(knobs.optimiser, (state.first, second, t), eps, 1.0, forces)
    return Moved(State(*arrays, effective_sample_size(log_w), t), eps, h, optimisers.clipped(parts, free, latent))


def step_info(before: State, moved: Moved, target: Target, rows: int, knobs: DiscreteGFSVGDKnobs) -> StepInfo:
    """The result of a step on `rows` rows."""
    now, width, eps = moved.state, float(np.sqrt(moved.leaders_width)), moved.step_size
    move = float(np.sqrt(((now.latent - before.latent) ** 2).sum(axis=1).mean()))
    scalars = {"step_size": eps, "length_scale": width, "typical_move": move}
    scalars |= {"ess_of_ratios": now.ess, "distinct_states": distinct(now.particles)}
    flips, pairs = np.count_nonzero(now.particles != before.particles), rows * len(now.particles)
    words = f"step {eps:.3g} · kernel width {width:.3g} · ESS of the weights {now.ess:.3g} · {flips:,} values changed"
    smooth = is_smooth(knobs, target)
    cost = Cost(rows, pairs * (1 + smooth), pairs * smooth)
    return StepInfo(cost, words, scalars=scalars, terms=moved.terms, numbers={"ε": eps})


def kept_inside(latent: Array, knobs: DiscreteGFSVGDKnobs) -> Array:
    """The points kept in [-clip, clip]."""
    return np.clip(latent, -knobs.clip, knobs.clip) if knobs.clip else latent


def weighted_force(x: Array, scores: Array, weights: Array, factor: float) -> tuple[Array, float]:
    """sum_j w_j [k(x_j, x_i) s_j + grad_j k(x_j, x_i)], (m, d), and h = factor med^2 / (2 log(m + 1))."""
    if 1 < len(x) <= MOST_IN_A_MATRIX:
        return matched_force(x, scores, weights, factor)
    h = leaders_width(x, factor)
    return stein_force(x, scores, h, weights), h


def distinct(particles: Array) -> int:
    """How many different states there are among particles (m, d), by a fixed random projection of them."""
    return len(np.unique(np.einsum("ij,j->i", particles, _direction(particles.shape[1]))))


@lru_cache(maxsize=64)
def _direction(dim: int) -> Array:
    return np.random.default_rng(0).standard_normal(dim)
