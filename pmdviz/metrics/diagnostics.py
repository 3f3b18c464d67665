"""Diagnostics of weights and chains without a reference: the shift by weights p/q, ESS, k-hat, R-hat."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from pmdviz.densities.bandwidth import spread
from pmdviz.densities.chains import autocovariances, bulk_ess, k_hat, largest_trusted, rhat
from pmdviz.densities.density import effective_sample_size, normalise, variances, weighted_sum
from pmdviz.kernels.checks import Array
from pmdviz.methods import Method
from pmdviz.metrics import DASHED, DOTTED, Look, has_reference, has_weights, metric, on_axis
from pmdviz.streams import stream
from pmdviz.targets import Target

if TYPE_CHECKING:
    from pmdviz.densities.density import Density
    from pmdviz.engine.frame import Frame

MOST_OF_NETS = 20  # weights of a net
DRAWS, FEWEST_DRAWS = 1000, 200  # of q; half as many around the modes besides
AGAIN = 4  # times as many where these do not settle it
MOST_ROWS = 6_000_000  # pairs of a draw and an observation at one look; above that draws are fewer
FEWEST_ESS = 50  # below it the weights do not tell where p is
ENOUGH_ESS = 300  # effective draws that find a frame right, whatever its own diagnostics say


class Shift(NamedTuple):
    """How far weights p/q move q; the worst values over the coordinates."""

    moved: float  # largest |E_p theta_k - E_q theta_k| / sd_p(theta_k)
    narrowest: float  # smallest sd_q(theta_k) / sd_p(theta_k)
    widest: float  # largest of these
    ess: float  # effective draws that E_p and sd_p are estimated from
    khat: float  # shape of the tail of the weights
    draws: int  # how many weights there are
    around_modes: bool  # whether draws around the modes are among them

    @property
    def settled(self) -> bool:
        """Whether the weights are so even that E_p and sd_p are known well."""
        return self.ess >= ENOUGH_ESS and self.khat < largest_trusted(self.draws)


def importance_shift(density: Density, target: Target) -> Shift | str:
    """Weights p / (2/3 q + 1/3 r) of 1,000 draws of q and 500 of r, the Gaussians around the target's modes.

    E_p and sd_p are weighted means over all of them (deterministic mixture sampling, Owen and Zhou 2000). Without modes
    the weights are p / q. Where 25 or more of the draws are effective and yet too few, or k-hat is too high, four times
    as many draws are taken. Without a check the reason, such as "q has no log density". The rule for the number of
    draws is ours.
    """
    if "reals" not in target.offers:
        return "the parameters are discrete"
    if not hasattr(density, "log_density"):
        return "q has no log density"
    if target.by_points and target.dim > MOST_OF_NETS:
        return f"more than {MOST_OF_NETS} weights of a net"
    if density.few:
        return "too few particles for a shape"
    n = num_draws(target)
    if n < FEWEST_DRAWS:
        return f"more than {MOST_ROWS / (1.5 * FEWEST_DRAWS):,.0f} observations"
    found = _weighed(density, target, n)
    more = num_draws(target, AGAIN * DRAWS)
    if isinstance(found, str) or found.settled or found.ess < FEWEST_ESS / 2 or more <= n:
        return found
    return _weighed(density, target, more)


def _weighed(density: Density, target: Target, n: int) -> Shift | str:
    rng, modes = stream("check"), target.modes
    points = density.sample(rng, n)
    if modes is not None:
        points = np.concatenate([points, modes.sample(rng, n // 2)])
    with np.errstate(all="ignore"):  # far away a density is 0
        log_q = density.log_density(points)
        if modes is not None:
            log_q = np.logaddexp(log_q + np.log(2 / 3), modes.log_density(points) - np.log(3))
        log_p = target.log_joint_on_support(points)
        log_weights = np.where(np.isfinite(log_q) & (log_p < np.inf), log_p - log_q, -np.inf)
    if not log_weights.max() > -np.inf:
        return "no draw of q has a posterior density above 0"
    return _of_weights(density, points, normalise(log_weights), modes is not None)


def num_draws(target: Target, most: int = DRAWS) -> int:
    """The number of draws of q; 0 for nets with many weights, whose weights p / q are never even."""
    if target.by_points and target.dim > MOST_OF_NETS:
        return 0
    return int(min(most, MOST_ROWS / (1.5 * target.num_data)))


def _of_weights(density: Density, points: Array, log_weights: Array, around_modes: bool) -> Shift:
    weights = np.exp(log_weights)
    mean = weighted_sum(weights, points)
    sd = np.maximum(spread(points, weights), 1e-150)
    ratios = np.sqrt(variances(density)) / sd
    moved = float((np.abs(mean - density.mean) / sd).max())
    ess, khat = effective_sample_size(log_weights), k_hat(log_weights)
    return Shift(moved, float(ratios.min()), float(ratios.max()), ess, khat, len(log_weights), around_modes)


def _work(frame: Frame) -> float:
    return 1.5 * num_draws(frame.target) * frame.target.num_data * (20 + 0.9 * frame.target.dim)


def _real(target: Target, method: Method) -> bool:
    return "reals" in target.offers


def _unmatched(target: Target, method: Method) -> bool:
    return not has_reference(target, method)


@metric("shift", "importance shift", "posterior sds", 19, _real, _unmatched, short="shift", work=_work)
@on_axis("shift", "Importance shift", colour="ink")
def _moved(frame: Frame) -> float | None:
    """how far importance weights of 1,500 draws of q and around modes move the mean of q; no reference is needed."""
    found = frame.shift
    return found.moved if isinstance(found, Shift) and found.ess >= FEWEST_ESS else None


# How much weights are to be trusted: the effective sample size, and the Pareto shape of the largest ones.


def _log_weights(frame: Frame) -> Array:
    """Of the particles, also where another density than theirs is the better q."""
    return next(iter(frame.densities.values())).log_weights


@metric("ess", "ESS", "particles", 5, has_weights, drawn=True, always=True, ranks=False)
@on_axis("ess", "ESS and ancestors", "ESS, ancestors (particles)", limits=(1.0, 1e5), colour="particles")
def _ess(frame: Frame) -> float:
    """effective sample size, a rough count of how many weights matter: 1 / sum w^2."""
    return effective_sample_size(_log_weights(frame))


@metric("ancestors", "ancestors", "particles", 6, lambda target, method: method.resamples, drawn=True, ranks=False)
@on_axis("ess", limits=(1.0, 1e5), colour="approximate", dash=(6, 3))
def _ancestors(frame: Frame) -> int | None:
    """how many of the first particles have descendants with any weight."""
    return None if frame.ancestry is None else frame.ancestry.number_alive(_log_weights(frame))


def _may_have_khat(target: Target, method: Method) -> bool:
    return method.family == "particles" or (method.family == "parametric" and "reals" in target.offers)


@metric("khat", "k-hat", "", 30, _may_have_khat, lambda target, method: method.family == "particles", ranks=False)
@on_axis("khat", "Pareto k-hat", log=False, limits=(-0.5, 2.0), colour="particles")
def _khat(frame: Frame) -> float | None:
    """Pareto shape of the largest of S weights; above min(1 - 1/log10 S, 0.7) a few decide (Vehtari et al. 2024).

    Of the particles' weights; of a parametric q of p/q at 1,000 draws of it (Yao et al. 2018).
    """
    if frame.method.family == "particles":
        found = k_hat(_log_weights(frame))
    else:
        draws = frame.draws
        found = k_hat(frame.target.log_joint(draws) - frame.density.log_density(draws))
    return float(found) if np.isfinite(found) else None


# Diagnostics of chains: R-hat and the bulk effective sample size, of the worst coordinate.


def worst(frame: Frame, measure: Callable[[Array], float | None], of: Callable[[list[float]], float]) -> float | None:
    """The worst (`of`: max or min) of what `measure` gives for each coordinate; None where it has none of one."""
    found = [measure(coordinate) for coordinate in np.moveaxis(frame.chains, 2, 0)]
    known = [value for value in found if value is not None]
    return of(known) if len(known) == len(found) else None


def work_of_draws(frame: Frame) -> float:
    """150 µs for every coordinate, and 60 ns for each of its draws."""
    return 1.5e5 * frame.target.dim + 60.0 * frame.particles.size


def is_chain(target: Target, method: Method) -> bool:
    """Whether there are draws of chains in real coordinates."""
    return method.family == "chain" and "reals" in target.offers


# R-hat: whether chains, and the halves of each, agree with one another.


@metric("rhat", "R-hat", "", 31, is_chain, ranks=False, work=work_of_draws)
@on_axis("rhat", "R-hat", log=False, limits=(0.9, 2.0), colour="particles")
def _rhat(frame: Frame) -> float | None:
    """rank-normalised split R-hat, the largest over the coordinates; above 1.01 chains, or their halves, disagree."""
    return worst(frame, rhat, max)


# Bulk ESS: how many independent draws the draws of chains are worth for the middle of the posterior.


@metric("bulk_ess", "bulk ESS", "draws", 32, is_chain, ranks=False, work=work_of_draws)
@on_axis("bulk_ess", "Bulk ESS", "bulk effective sample size (draws)", limits=(1.0, 1e5), colour="particles")
def _bulk_ess(frame: Frame) -> float | None:
    """independent draws that the chains' draws are worth (Vehtari et al. 2021), the fewest over the coordinates."""
    return worst(frame, bulk_ess, min)


# The trace of one coordinate, and how similar draws are that are a lag apart.

LAG_LOOK: dict[str, Look] = {"log": False, "limits": (-0.2, 1.0), "fixed": True, "colour": "particles"}
LAGS: dict[int, Look] = {1: "solid", 10: DASHED, 50: DOTTED}  # of the autocorrelation, and how each is drawn


@metric("theta_1", "θ₁", "", 33, is_chain, ranks=False, drawn=True)
@on_axis("theta_1", "Trace of θ₁", "θ₁, first chain", log=False, colour="particles")
def _theta_1(frame: Frame) -> float:
    """first coordinate of the first chain's present draw."""
    return float(frame.method.points(frame.state)[0, 0])


def autocorrelation(chains: Array, lag: int) -> float | None:
    """Correlation of draws `lag` apart, (C, n) -> the mean autocovariance over the mean variance of the chains.

    None with fewer than two draws more than the lag, or where no chain has moved.
    """
    if chains.shape[1] < lag + 2 or chains.min() == chains.max():
        return None
    covariances = autocovariances(chains).mean(axis=0)
    return float(covariances[lag] / covariances[0]) if covariances[0] > 0 else None


def _correlated(lag: int, frame: Frame) -> float | None:
    return worst(frame, partial(autocorrelation, lag=lag), max)


for _lag, _dash in LAGS.items():
    metric(
        *(f"autocorrelation_{_lag}", f"autocorrelation, lag {_lag}", "", 34, is_chain),
        about=f"correlation of draws {_lag} apart, the largest over the coordinates; 0 for independent draws.",
        ranks=False,
        work=work_of_draws,
    )(
        on_axis("autocorrelation", "Autocorrelation", "autocorrelation of the draws", **LAG_LOOK, dash=_dash)(
            partial(_correlated, _lag)
        )
    )
