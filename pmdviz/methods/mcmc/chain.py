"""What chains share: every draw is kept, and a KDE and a Gaussian fit of those after the burn-in are judged."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from pmdviz.densities.bandwidth import PRIOR_FLOOR, SPREAD_FLOOR, median
from pmdviz.densities.density import Density, KernelDensity
from pmdviz.errors import TargetError
from pmdviz.knobs import Whole
from pmdviz.methods.base import DEFAULT_BUDGET, Method, read_only, rows_in_words
from pmdviz.methods.cost import MethodKnobs
from pmdviz.targets import Target

BLOCK = 256  # new draws kept apart, so that a long chain is not copied at every step
KDE_SHARE = 0.1  # the kernel's sd as a share of the median distance between draws (Dai et al. 2016, Appendix H.1)
USUAL_DRAWS = 400  # that are judged at the end of a default budget
REACH = 1e6  # prior sds; a chain beyond that has run away


def burn_in(default: int) -> Whole:
    """The knob `burn_in`, for a method whose own default it is."""
    return Whole(
        default,
        bounds=(0, 1_000_000),
        softbounds=(0, 5000),
        label="Burn-in",
        unit="draws",
        acts="at once",
        doc="First draws that are not judged; until it is over, all draws so far are.",
    )


class ChainKnobs(MethodKnobs):
    """The knobs of every chain, besides its `burn_in`."""

    thinning = Whole(
        1,
        bounds=(1, 10_000),
        softbounds=(1, 100),
        log=True,
        label="Thinning",
        unit="draws",
        acts="at once",
        doc="After the burn-in every so many-th draw is judged.",
    )


class ChainState(Protocol):
    """What every chain's state has; a method may add to it."""

    older: np.ndarray  # (n, d) the first draws, the start among them
    newer: np.ndarray  # (k, d) the last ones, k < BLOCK
    iteration: int


def started(rng: np.random.Generator, target: Target) -> tuple[np.ndarray, np.ndarray]:
    """`older` and `newer` of a chain that stands at a draw from the prior."""
    older, newer = read_only(np.empty((0, target.dim)), target.sample_prior(rng, 1))
    return older, newer


def position(state: ChainState) -> np.ndarray:
    """Where the chain stands, (d,)."""
    return state.newer[-1] if len(state.newer) else state.older[-1]


def appended(state: Any, thetas: np.ndarray) -> Any:
    """The state some iterations later, with thetas (k, d) as the new draws."""
    older, newer = state.older, np.concatenate([state.newer, thetas])
    full = len(newer) // BLOCK * BLOCK
    if full:
        older, newer = np.concatenate([older, newer[:full]]), newer[full:].copy()
    older, newer = read_only(older, newer)
    return state._replace(older=older, newer=newer, iteration=state.iteration + len(thetas))


def check_reach(theta: np.ndarray, target: Target, step_size: float, batch: np.ndarray) -> None:
    """Raise TargetError where theta (d,) is a million prior sds away: the chain was not stable at its step size."""
    if (np.abs(theta) <= REACH * target.scale).all():
        return
    words = (
        f"the chain ran away on target {target.name!r}, to theta = {theta}: its step size {step_size:.3g} is too large"
    )
    raise TargetError(words, theta, rows_in_words(batch))


def judged_draws(state: ChainState, knobs: Any) -> np.ndarray:
    """The draws after the burn-in, thinned; before it is over all draws so far, the start among them. (n, d)."""
    draws = np.concatenate([state.older, state.newer])
    kept = draws[knobs.burn_in + 1 :: knobs.thinning]
    return kept if len(kept) else draws


class Chain(Method):
    """A method whose state is the draws of one Markov chain; the judgement is that of Dai et al. 2016, Appendix H.1."""

    family = "chain"
    budget_words = f"the burn-in and {USUAL_DRAWS} draws after it"

    def rows_per_draw(self, target: Target, knobs: Any) -> float:
        """Data that a draw visits on average."""
        raise NotImplementedError

    def default_budget(self, target: Target, knobs: Any) -> int:
        """Enough for the burn-in and 400 judged draws, to two digits; never less than other methods have."""
        rows = (knobs.burn_in + USUAL_DRAWS * knobs.thinning) * self.rows_per_draw(target, knobs)
        return max(DEFAULT_BUDGET, int(float(f"{rows:.1e}")))

    def densities(self, state: ChainState, knobs: Any, target: Target) -> dict[str, Density]:
        """Of the judged draws a KDE, and the Gaussian with their mean and covariance."""
        draws = judged_draws(state, knobs)
        return {"kde": kde_of(draws, target.scale), "gaussian": gaussian_of(draws, target.scale)}

    def caveat(self, state: ChainState, knobs: Any) -> str:
        """That the burn-in is not over."""
        if not 0 <= state.iteration <= knobs.burn_in or knobs.burn_in == 0:
            return ""
        return f"burn-in ({state.iteration:,} of {knobs.burn_in:,} draws): judged on all draws so far"


class FullDataChain(Chain):
    """A chain whose every step goes through all data."""

    def batches(self, state: ChainState, knobs: Any) -> str:
        """All rows."""
        return "whole"

    def batch_size(self, state: ChainState, knobs: Any, num_data: int) -> int:
        """N."""
        return num_data

    def rows_per_draw(self, target: Target, knobs: Any) -> float:
        """N, where a step goes through the data once."""
        return target.num_data


def kde_of(draws: np.ndarray, scale: np.ndarray) -> KernelDensity:
    """Equal round kernels at the draws (n, d), of sd 0.1 times the median distance between them.

    While all draws coincide (there is one, or every proposal was refused) the prior's `scale` (d,) stands for the
    distance.
    """
    n = len(draws)
    measured = draws if num_distinct(draws) > 1 else draws[:1]
    cholesky = median(measured, np.full(len(measured), 1 / len(measured)), KDE_SHARE, scale)
    return KernelDensity(draws, np.full(n, -np.log(n)), cholesky)


def gaussian_of(draws: np.ndarray, scale: np.ndarray) -> KernelDensity:
    """One Gaussian with the mean and covariance of the draws (n, d).

    With fewer than d + 2 distinct draws there is no covariance to speak of, and the prior's variances stand in.
    """
    n, d = draws.shape
    mean = draws.mean(axis=0)
    if num_distinct(draws) < d + 2:
        return KernelDensity(mean[None], np.zeros(1), np.diag(scale))
    centred = draws - mean
    covariance = np.einsum("ni,nj->ij", centred, centred) / (n - 1)  # not BLAS, whose bits hang on its threads
    smallest = SPREAD_FLOOR * draws.std(axis=0) + PRIOR_FLOOR * scale
    return KernelDensity(mean[None], np.zeros(1), np.linalg.cholesky(covariance + np.diag(smallest**2)))


def num_distinct(draws: np.ndarray) -> int:
    """How many of the draws (n, d) differ from the one before, the first counted: a refused proposal adds none."""
    return 1 + int((draws[1:] != draws[:-1]).any(axis=1).sum())
