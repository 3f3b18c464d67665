"""Markov chains: their draws, and how they are judged (Dai et al. 2016, Appendix H.1)."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from pmdviz.densities.bandwidth import PRIOR_FLOOR, SPREAD_FLOOR, median, typical_distance
from pmdviz.densities.density import Density, KernelDensity, Points
from pmdviz.densities.product import MANY, DiagonalDensity
from pmdviz.kernels.checks import Array, Rng
from pmdviz.kernels.factors import cholesky
from pmdviz.knobs import Real, Whole
from pmdviz.methods.base import DEFAULT_BUDGET, Method, Stepped
from pmdviz.methods.step import ComputedTerms, MethodKnobs, Scalar, StepInfo, total
from pmdviz.targets import Target

ACCEPTANCE = Scalar("acceptance", "accepted proposals", "share so far")
BLOCK = 256  # new draws kept apart: a long chain is not copied at every step
KDE_SHARE = 0.1  # the kernel's sd as a share of the median distance between draws (Dai et al. 2016, Appendix H.1)
USUAL_DRAWS = 400  # that are judged at the end of a default budget


class ChainKnobs(MethodKnobs):
    """The knobs of every chain.

    burn_in: Initial draws that are discarded. Below 1: a fraction of the draws made so far. From 1 on: a number of
        draws; until that many have been made, all are used.
    thinning: Keep every k-th draw after burn-in.
    num_chains: Number of chains. Each starts from its own draw from the prior and uses its own data points; they step
        together, and their draws are pooled. The cost of a step is proportional to their number.
    """

    burn_in = Real(0.2, (0, 1_000_000), (0, 0.95), "Burn-in", "fraction, or draws", basic=True, acts="at once")
    thinning = Whole(1, (1, 10_000), (1, 100), "Thinning k", "draws", log=True, acts="at once")
    num_chains = Whole(1, (1, 100), (1, 16), "Chains", basic=True, acts="restart")


class ChainState(Protocol):
    """What every chain's state has; a method may add to it."""

    @property
    def older(self) -> Array:
        """The first draws, the start among them, (n, d)."""

    @property
    def newer(self) -> Array:
        """The last ones, (k, d), k < BLOCK."""

    @property
    def iteration(self) -> int:
        """Draws so far."""

    def _replace(self, *, older: Array = ..., newer: Array = ..., iteration: int = ...) -> Self:
        """As of a NamedTuple."""


OneChain = TypeVar("OneChain", bound=ChainState)
OwnKnobs = TypeVar("OwnKnobs", bound=ChainKnobs)


class Pool(NamedTuple, Generic[OneChain]):
    """Several chains in lock step."""

    chains: tuple[OneChain, ...]

    @property
    def iteration(self) -> int:
        """Of each."""
        return self.chains[0].iteration


def states_of(state: OneChain | Pool[OneChain]) -> tuple[OneChain, ...]:
    """The state of each chain of a run."""
    return state.chains if isinstance(state, Pool) else (state,)


def started(rng: Rng, target: Target) -> tuple[Array, Array]:
    """`older` and `newer` of a chain that starts at a draw from the prior."""
    return np.empty((0, target.dim)), target.sample_prior(rng, 1)


def position(state: ChainState) -> Array:
    """Where the chain stands, (d,)."""
    return state.newer[-1] if len(state.newer) else state.older[-1]


def last_draws(state: ChainState, count: int) -> Array:
    """The last `count` draws of one chain, or all where there are fewer, (n, d)."""
    return np.concatenate([state.older[max(len(state.older) + len(state.newer) - count, 0) :], state.newer[-count:]])


def appended(state: OneChain, thetas: Array) -> OneChain:
    """The state some iterations later, with thetas (k, d) as the new draws."""
    older, newer = state.older, np.concatenate([state.newer, thetas])
    full = len(newer) // BLOCK * BLOCK
    if full:
        older, newer = np.concatenate([older, newer[:full]]), newer[full:].copy()
    return state._replace(older=older, newer=newer, iteration=state.iteration + len(thetas))


def num_left_out(iteration: int, knobs: ChainKnobs) -> int:
    """Draws of the burn-in after so many iterations: a share of them leaves the last one in at least."""
    if knobs.burn_in >= 1:
        return int(knobs.burn_in)
    return max(0, min(int(knobs.burn_in * iteration), iteration - 1))


def judged_draws(state: ChainState | Pool[ChainState], knobs: ChainKnobs) -> Array:
    """The judged draws of all chains, one chain after the other, (n, d)."""
    parts = [judged_draws_of(chain, knobs) for chain in states_of(state)]
    return np.ascontiguousarray(parts[0]) if len(parts) == 1 else np.concatenate(parts)


def judged_draws_of(state: ChainState, knobs: ChainKnobs) -> Array:
    """The draws after the burn-in, thinned; before it is over all draws so far, the start among them. (n, d)."""
    draws = np.concatenate([state.older, state.newer])
    kept = draws[num_left_out(state.iteration, knobs) + 1 :: knobs.thinning]
    return kept if len(kept) else draws


def scored_draws(state: ChainState, knobs: ChainKnobs, every: int) -> tuple[int, Array]:
    """The judged draws of one chain whose number is a multiple of `every` thinned ones, (n, d), and the first one's.

    Numbers count these draws: as the chain grows the same ones come again. Where the burn-in ends, up to a 64th
    of them is left out too: then sums over blocks of them come again too.
    """
    step, last = every * knobs.thinning, state.iteration
    left = num_left_out(last, knobs)
    first, end = (0 if left >= last else left // step + 1), last // step + 1
    if first >= end:
        return last, position(state)[None]
    block = 1 << max(0, ((end - first) // 64).bit_length() - 1)
    first = -(-first // block) * block
    at = np.arange(first, end) * step
    old = at < len(state.older)
    return first, np.concatenate([state.older[at[old]], state.newer[at[~old] - len(state.older)]])


class Chain(Method[OneChain | Pool, OwnKnobs]):
    """A method whose state is the draws of a Markov chain; the judgement follows Dai et al. 2016, Appendix H.1.

    Subclasses give `move`, the `step` of one chain, and `State`, the class of what it goes on from.
    """

    family = "chain"
    State: ClassVar[Callable[..., Any]]
    counted, noun = "num_chains", "point"
    budget_words = f"the burn-in and {USUAL_DRAWS} draws after it"

    def rows_per_draw(self, target: Target, knobs: OwnKnobs) -> float:
        """Data that a draw visits on average: the batch, or all."""
        return knobs.rows(target.num_data)

    def start(self, rng: Rng, target: Target, knobs: OwnKnobs) -> OneChain:
        """The state of one chain at iteration 0: a draw from the prior."""
        return self.State(*started(rng, target), 0)

    def move(self, rng: Rng, state: OneChain, target: Target, batch: Array, knobs: OwnKnobs) -> Stepped:
        """One iteration of one chain."""
        raise NotImplementedError

    def init(self, rng: Rng, target: Target, knobs: OwnKnobs) -> OneChain | Pool:
        """One chain, or a pool of them."""
        chains = tuple(self.start(rng, target, knobs) for _ in range(knobs.num_chains))
        return Pool(chains) if len(chains) > 1 else chains[0]

    def step(self, rng: Rng, state: OneChain | Pool, target: Target, batch: Array, knobs: OwnKnobs) -> Stepped:
        """One iteration of each chain, on rows of its own or on all."""
        if not isinstance(state, Pool):
            return self.move(rng, state, target, batch, knobs)
        count = len(state.chains)
        rows = [batch] * count if self.batches(state, knobs) == "whole" else np.split(batch, count)
        moved = [self.move(rng, *each, knobs) for each in zip(state.chains, [target] * count, rows, strict=True)]
        states, infos = zip(*moved, strict=True)
        return Pool(states), pooled(infos)

    def default_budget(self, target: Target, knobs: OwnKnobs) -> int:
        """Enough for the burn-in and 400 judged draws, to two digits; with data never less than others have."""
        judged, left_out = USUAL_DRAWS * knobs.thinning, knobs.burn_in
        share = 0 < left_out < 1
        draws = judged / (1 - left_out) if share else knobs.num_chains * left_out + judged
        rows = draws * self.rows_per_draw(target, knobs)
        return max(DEFAULT_BUDGET if target.data is not None else 1, int(float(f"{rows:.1e}")))

    def chains(self, state: OneChain | Pool, knobs: OwnKnobs) -> Array:
        """The judged draws of each chain, (C, n, d)."""
        return np.stack([judged_draws_of(chain, knobs) for chain in states_of(state)])

    def points(self, state: OneChain | Pool) -> Array:
        """Where each chain stands, (C, d)."""
        return np.stack([position(chain) for chain in states_of(state)])

    def trails(self, state: OneChain | Pool, count: int) -> list[Array]:
        """The last draws of each chain."""
        return [last_draws(chain, count) for chain in states_of(state)]

    def weighted(self, state: OneChain | Pool, knobs: OwnKnobs) -> Points:
        """The judged draws, which all count alike."""
        draws = judged_draws(state, knobs)
        return Points(draws, np.full(len(draws), -np.log(len(draws))))

    def densities(self, state: OneChain | Pool, knobs: OwnKnobs, target: Target) -> Mapping[str, Density]:
        """Of the judged draws a KDE, and the Gaussian with their mean and covariance; of states the draws alone."""
        if "reals" not in target.offers:
            return {"": self.weighted(state, knobs)}
        return Fits({name: partial(_fitted, fit, state, knobs, target.scale) for name, fit in FITS.items()})

    def caveat(self, state: OneChain | Pool, knobs: OwnKnobs) -> str:
        """That a burn-in of so many draws is not over."""
        if state.iteration > knobs.burn_in or knobs.burn_in < 1:
            return ""
        return f"burn-in ({state.iteration:,} of {int(knobs.burn_in):,} draws): scored on all draws so far"


def pooled(infos: tuple[StepInfo, ...]) -> StepInfo:
    """The result of a step of several chains: the sum of the costs, means of the scalars, all terms and paths."""
    first, count = infos[0], len(infos)
    events = {kind: f"of one chain or more: {words}" for info in infos for kind, words in info.events.items()}
    return StepInfo(
        total(*(info.cost for info in infos)),
        f"{count} chains, the first: {first.words}",
        events,
        {name: float(np.mean([info.scalars[name] for info in infos])) for name in first.scalars},
        ComputedTerms(partial(_pooled, tuple(info.terms for info in infos))) if first.terms else {},
        partial(_pooled, tuple(info.paths for info in infos)),
        numbers={s: v for s, v in first.numbers.items() if all(info.numbers[s] == v for info in infos)},
        update=first.update,
    )


def _pooled(each: tuple[Any, ...]) -> dict[str, Array]:
    """Terms of chains, or paths that are computed now, one chain after the other."""
    found = [one() if callable(one) else one for one in each]
    names = dict.fromkeys(name for one in found for name in one)
    return {name: np.concatenate([one[name] for one in found if name in one]) for name in names}


class Fits(Mapping[str, Density]):
    """Densities of a chain's draws, each made when it is asked for: beyond the plane few frames need them."""

    def __init__(self, makers: Mapping[str, Callable[[], Density]]) -> None:
        self._makers, self._made = makers, dict[str, Density]()

    def __getitem__(self, name: str) -> Density:
        if name not in self._made:
            self._made[name] = self._makers[name]()
        return self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._makers)

    def __len__(self) -> int:
        return len(self._makers)


def kde_of(draws: Array, scale: Array) -> KernelDensity | DiagonalDensity:
    """Equal round kernels at the draws (n, d), of sd 0.1 times the median distance between them.

    While all draws coincide (there is one, or every proposal was rejected) the prior's `scale` (d,) is used as the
    distance. Fewer than d + 2 distinct draws are `few`.
    """
    n, d = draws.shape
    measured = draws if num_distinct(draws) > 1 else draws[:1]
    equal, few = np.full(len(measured), 1 / len(measured)), num_distinct(draws) < d + 2
    if d > MANY:
        sds = np.full(d, KDE_SHARE * typical_distance(measured, equal, scale))
        return DiagonalDensity(draws, np.full(n, -np.log(n)), draws, sds, few)
    return KernelDensity(draws, np.full(n, -np.log(n)), median(measured, equal, KDE_SHARE, scale), few)


def gaussian_of(draws: Array, scale: Array) -> KernelDensity | DiagonalDensity:
    """One Gaussian with the mean and covariance of the draws (n, d).

    A little is added that makes the covariance of few or coincident draws solid; `scale` (d,) are the prior's sds.
    Beyond 100 coordinates fewer than d + 2 draws give their variances alone.
    """
    mean = draws.mean(axis=0)
    if draws.shape[1] > max(MANY, len(draws) - 2):
        sds = np.hypot(draws.std(axis=0), PRIOR_FLOOR * scale)
        return DiagonalDensity(mean[None], np.zeros(1), mean[None], sds)
    centred = draws - mean
    covariance = np.einsum("ni,nj->ij", centred, centred)  # not BLAS, whose bits depend on its threads
    covariance /= max(len(draws) - 1, 1)
    smallest = SPREAD_FLOOR * draws.std(axis=0) + PRIOR_FLOOR * scale
    return KernelDensity(mean[None], np.zeros(1), cholesky(covariance + np.diag(smallest**2)))


FITS: dict[str, Callable[[Array, Array], Density]] = {"kde": kde_of, "gaussian": gaussian_of}


def _fitted(fit: Callable[..., Density], state: ChainState | Pool, knobs: ChainKnobs, scale: Array) -> Density:
    return fit(judged_draws(state, knobs), scale)


def num_distinct(draws: Array) -> int:
    """How many of the draws (n, d) differ from the one before, the first counted: a rejected proposal adds none."""
    return 1 + int((draws[1:] != draws[:-1]).any(axis=1).sum())
