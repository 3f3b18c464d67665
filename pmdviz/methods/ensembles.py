"""Straight-through estimation (Hinton 2012): discrete weights forward, their gradient to real ones behind them."""

from importlib.util import find_spec
from typing import NamedTuple

import numpy as np

from pmdviz.densities.density import Points
from pmdviz.errors import TargetError
from pmdviz.kernels.checks import Array, Rng
from pmdviz.knobs import Flag
from pmdviz.methods import optimisers, weighting
from pmdviz.methods.base import BatchMethod, Stepped, rows_in_words
from pmdviz.methods.step import BATCH_SIZE, Cost, MethodKnobs, Scalar, StepInfo, Term, Work
from pmdviz.targets import Target
from pmdviz.targets.space import Discrete

STEPS = 300  # that the default budget is enough for


class StraightThroughKnobs(MethodKnobs):
    """The knobs of `straight_through`.

    num_particles: Number of points, such as nets, that are trained apart from one another.
    bootstrap: Each point learns from a bootstrap sample of its own: N rows drawn with replacement. Off: each draws its
        batches from all rows, and the points differ by where they start and by their batches alone.
    eta: The step size of Adam is η/t^κ at step t.
    """

    num_particles = weighting.NUM_PARTICLES.at(5, softbounds=(1, 50))
    batch_size = BATCH_SIZE.at(100)
    bootstrap = Flag(True, "Bagging", acts="restart")
    eta = optimisers.ETA.at(0.05)
    kappa = optimisers.STEP_DECAY.at(0.0)

    def work(self, num_data: int) -> Work:
        """The gradient of a batch for each point."""
        return Work(gradients=self.num_particles * self.rows(num_data))


class TrainedState(NamedTuple):
    """Real points, the states nearest to them, each one's rows, and the optimiser's memory."""

    particles: Array  # (m, d) states
    log_weights: Array  # (m,) equal, logsumexp 0
    latent: Array  # (m, d) real, between the lowest value and the highest
    rows: Array  # (m, N) the numbers of the rows that each learns from, one for each time
    first: Array  # (m, d)
    second: Array  # (m, d)
    iteration: int


UPHILL, CLIPPED = Term("gradient", "uphill", "ε D ∇_z log p(z, X_i)"), Term("clip", "clipped", "+ (clip(w′) − w′)")


class StraightThrough(BatchMethod):
    """Straight-through estimation (bagged).

    short_title: Straight-through
    about: Straight-through estimation rounds real weights to discrete ones, and moves them by the gradient at those; an
        ensemble of such points learns from bootstrap samples of the data.
    formula: w ← clip(w + ε · Adam(∇_z log p(z, X_i))),  z = round(w),  X_i a bootstrap sample
    what_moves: Particles climb apart from one another: real weights move, and a state changes where one is rounded.
    source: Hinton 2012; Bengio, Léonard, Courville 2013; Hubara et al. 2016, Algorithm 1; bagging: Breiman 1996
    propagate: random start
    move: gradient (at the rounded point, on a bootstrap batch of its own)
    adapt: preconditioner (Adam)

    gradient: Uphill on a batch of its own; D is the optimiser's preconditioner.
    clip: Back between the lowest value and the highest.

    The gradient is taken at the state z, as if z were w, and inside the target through signs as through clipped
    identities (`Target.grad_straight_through`). Together the points are an ensemble, of equal weight; it does not
    approximate the posterior, because each is on its way to a mode.
    """

    name = "straight_through" if find_spec("sklearn") else ""  # with the digits goes its only target
    requires = frozenset({"discrete", "relaxation"})
    scalars = (optimisers.STEP_SIZE, Scalar("changes", "states changed", "coordinates per particle", True))
    budget_words = f"{STEPS} steps of every point"
    update = optimisers.move_update(UPHILL, optimisers.momentum(), CLIPPED, formula="w′ − w", unit="units of w")

    def missing_in(self, target: Target) -> str:
        """Data besides: without any there is nothing to draw batches and bootstrap samples from."""
        lacking = [super().missing_in(target), "" if target.data is not None else "data"]
        return " and ".join(filter(None, lacking))

    def default_budget(self, target: Target, knobs: StraightThroughKnobs) -> int:
        """For 300 steps, each of which visits a batch for every point."""
        return STEPS * knobs.num_particles * min(knobs.batch_size, target.num_data)

    def batch_size(self, state: TrainedState, knobs: StraightThroughKnobs, num_data: int) -> int:
        """All data are at hand, and each point takes its own rows."""
        return num_data

    def batches(self, state: TrainedState, knobs: StraightThroughKnobs) -> str:
        """The points draw their own."""
        return "whole"

    def init(self, rng: Rng, target: Target, knobs: StraightThroughKnobs) -> TrainedState:
        """Uniform between the lowest value and the highest."""
        m, n = knobs.num_particles, target.num_data
        low, high = _ends(target)
        latent = rng.uniform(low, high, (m, target.dim))
        rows = rng.integers(n, size=(m, n)) if knobs.bootstrap else np.tile(np.arange(n), (m, 1))
        zeros = np.zeros(latent.shape)
        arrays = nearest(latent, target.states), weighting.equal(m), latent, rows, zeros, zeros.copy()
        return TrainedState(*arrays, 0)

    def step(self, rng: Rng, state: TrainedState, target: Target, batch: Array, knobs: StraightThroughKnobs) -> Stepped:
        """One step of Adam for every point, along the gradient of a batch of its own."""
        t, size = state.iteration + 1, min(knobs.batch_size, target.num_data)
        m, n = state.rows.shape
        chosen = np.take_along_axis(state.rows, rng.integers(n, size=(m, size)), axis=1)
        gradients = [_gradient(target, state.particles[i : i + 1], batch[chosen[i]]) for i in range(m)]
        eps = optimisers.step_size(t, knobs.eta, knobs.kappa)
        gradient = np.concatenate(gradients)
        direction, first, second = optimisers.adam(gradient, state.first, state.second, t)
        free = state.latent + eps * direction
        latent = np.clip(free, *_ends(target))
        particles = nearest(latent, target.states)
        changes = float((particles != state.particles).sum() / m)
        words = f"step {eps:.3g} · {m} batch{'es' * (m > 1)} of {size:,} · {changes:.3g} coordinates changed a particle"
        arrays = particles, state.log_weights, latent, state.rows, first, second
        scalars = {"step_size": eps, "changes": changes}
        parts = optimisers.paced("adam", (state.first, second, t), eps, 1.0, lambda: {"gradient": gradient})
        terms = optimisers.clipped(parts, free, latent)
        info = StepInfo(Cost(m * size, 0, m * size), words, scalars=scalars, terms=terms, numbers={"ε": eps})
        return TrainedState(*arrays, t), info

    def points(self, state: TrainedState) -> Array:
        """The real points, (m, d)."""
        return state.latent

    def density(self, state: TrainedState, knobs: StraightThroughKnobs, target: Target) -> Points:
        """The states."""
        return Points(state.particles, state.log_weights)

    caveat_is_of_q = False

    def caveat(self, state: TrainedState, knobs: StraightThroughKnobs) -> str:
        """That the spread of the points does not measure the uncertainty of the posterior."""
        if state.iteration == 0:
            return ""
        return "points on their way to modes: their spread says how they were trained, not how sure the posterior is"


def nearest(latent: Array, space: Discrete) -> Array:
    """The value nearest to each entry (m, d), of two as near the higher one."""
    values = np.sort(np.array(space.values))
    return values[np.searchsorted(0.5 * (values[1:] + values[:-1]), latent, side="right")]


def _ends(target: Target) -> tuple[float, float]:
    return min(target.space.values), max(target.space.values)


def _gradient(target: Target, state: Array, batch: Array) -> Array:
    """Of one state (1, d), as (1, d). Raises TargetError where it is not finite."""
    values = target.grad_straight_through(state, batch)
    if np.isfinite(values).all():
        return values
    at, rows = state[0], rows_in_words(batch)
    where = f"not finite at state {target.space.words(at)}, for {rows}"
    raise TargetError(f"the gradient of target {target.name!r} is {where}; use a smaller step size", at, rows)
