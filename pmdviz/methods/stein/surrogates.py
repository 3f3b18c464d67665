"""Surrogates of gradient-free Stein methods: densities rho whose gradient is known, in place of the target's.

Only ratios of rho count, so none is normalised but the prior.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from pmdviz.densities.density import normalise
from pmdviz.errors import TargetError
from pmdviz.kernels.factors import precision
from pmdviz.kernels.stein.responsibilities import soft_means
from pmdviz.kernels.stein.svgd import sampled_median_distance
from pmdviz.knobs import Choice, Real
from pmdviz.methods.shared.particles import covariance
from pmdviz.methods.stein.kernels import CLOSEST, DIVISORS
from pmdviz.targets import Target

PRIOR, GAUSSIAN, FLAT, MOMENTS, KERNELS, DENSITY = "prior", "gaussian", "flat", "moments", "kernels", "density"


class Surrogate(Protocol):
    """log rho up to a constant, and its gradient."""

    def log_density(self, points: np.ndarray) -> np.ndarray:
        """log rho + constant, (n, d) -> (n,), in nats."""

    def score(self, points: np.ndarray) -> np.ndarray:
        """grad log rho, (n, d) -> (n, d)."""

    def marginal(self, coordinates: Sequence[int]) -> Surrogate | None:
        """Some of its coordinates; None where they are not known."""


class FlatSurrogate(NamedTuple):
    """rho = 1: no drive, and a repulsion weighted by 1/p."""

    def log_density(self, points: np.ndarray) -> np.ndarray:
        """0."""
        return np.zeros(len(points))

    def score(self, points: np.ndarray) -> np.ndarray:
        """0."""
        return np.zeros(points.shape)

    def marginal(self, coordinates: Sequence[int]) -> None:
        """It has no mass to speak of."""


class GaussianSurrogate(NamedTuple):
    """rho = N(mean, cov)."""

    mean: np.ndarray  # (d,)
    cov: np.ndarray  # (d, d)

    def log_density(self, points: np.ndarray) -> np.ndarray:
        """-(x - mean)' cov^-1 (x - mean) / 2."""
        return 0.5 * (self.score(points) * (points - self.mean)).sum(axis=1)

    def score(self, points: np.ndarray) -> np.ndarray:
        """-cov^-1 (x - mean)."""
        return -np.einsum("ni,ij->nj", points - self.mean, precision(self.cov))

    def marginal(self, coordinates: Sequence[int]) -> GaussianSurrogate:
        """Its own entries."""
        chosen = list(coordinates)
        return GaussianSurrogate(self.mean[chosen], self.cov[np.ix_(chosen, chosen)])


class KernelSurrogate(NamedTuple):
    """rho(x) = sum_j c_j exp(-|x - x_j|^2 / h)  (Han 2019, Algorithm 7)."""

    centres: np.ndarray  # (m, d)
    log_masses: np.ndarray  # (m,) log c_j
    h: float

    def log_density(self, points: np.ndarray) -> np.ndarray:
        """By the largest term, so that none underflows."""
        return soft_means(points, self.centres, self.log_masses, self.h)[0]

    def score(self, points: np.ndarray) -> np.ndarray:
        """(2/h) (sum_j r_j x_j - x), r_j the share of kernel j in rho(x)."""
        return self.both(points)[1]

    def both(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """In one pass over the kernels."""
        logs, means = soft_means(points, self.centres, self.log_masses, self.h)
        return logs, 2.0 / self.h * (means - points)

    def marginal(self, coordinates: Sequence[int]) -> KernelSurrogate:
        """The same kernels in fewer dimensions."""
        return self._replace(centres=np.ascontiguousarray(self.centres[:, list(coordinates)]))


class PriorSurrogate(NamedTuple):
    """rho = the prior, or the q0 of a target without data."""

    target: Target

    def log_density(self, points: np.ndarray) -> np.ndarray:
        """log p0."""
        return self.target.log_prior(points)

    def score(self, points: np.ndarray) -> np.ndarray:
        """grad log p0."""
        return self.target.grad_log_prior(points)

    def marginal(self, coordinates: Sequence[int]) -> None:
        """Known by draws alone."""


def log_density_and_score(rho: Surrogate, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """log rho (n,) and grad log rho (n, d), at the price of one where both come from one pass."""
    if isinstance(rho, KernelSurrogate):
        return rho.both(points)
    return rho.log_density(points), rho.score(points)


def _of_density(x: np.ndarray, log_p: np.ndarray, knobs: Any, target: Target) -> KernelSurrogate:
    return KernelSurrogate(x, log_p - log_p.max(), surrogate_width(x, knobs.surrogate_width, target))


def _of_kernels(x: np.ndarray, log_p: np.ndarray, knobs: Any, target: Target) -> KernelSurrogate:
    return KernelSurrogate(x, np.zeros(len(x)), surrogate_width(x, knobs.surrogate_width, target))


def _of_moments(x: np.ndarray, log_p: np.ndarray, knobs: Any, target: Target) -> GaussianSurrogate:
    equal = np.full(len(x), 1 / len(x))
    spread = covariance(x, equal, target.scale) if len(x) > x.shape[1] else np.diag(x.var(axis=0) + CLOSEST)
    return GaussianSurrogate(x.mean(axis=0), knobs.surrogate_ratio * spread)


def _gaussian(x: np.ndarray, log_p: np.ndarray, knobs: Any, target: Target) -> GaussianSurrogate:
    return GaussianSurrogate(
        np.full(target.dim, knobs.surrogate_mean), np.diag((knobs.surrogate_sd * target.scale) ** 2)
    )


# name -> (particles (m, d), log p there (m,), knobs, target) -> rho
SURROGATES: dict[str, Callable[[np.ndarray, np.ndarray, Any, Target], Surrogate]] = {
    MOMENTS: _of_moments,
    GAUSSIAN: _gaussian,
    PRIOR: lambda x, log_p, knobs, target: PriorSurrogate(target),
    KERNELS: _of_kernels,
    DENSITY: _of_density,
    FLAT: lambda x, log_p, knobs, target: FlatSurrogate(),
}


def surrogate_width(x: np.ndarray, factor: float, target: Target) -> float:
    """h of the surrogate's kernels: `factor` times med^2 / (2 log(m + 1)), the thesis' rule, in squared units of theta.

    With as many as 200 particles a factor of about 11 is med^2.
    """
    sd = float(target.scale.mean())
    distance = sampled_median_distance(x) if len(x) > 1 else sd
    return factor * max(distance, CLOSEST * sd) ** 2 / DIVISORS["thesis"](len(x))


def log_ratios(log_rho: np.ndarray, log_p: np.ndarray, points: np.ndarray, inverted: bool = False) -> np.ndarray:
    """log w (m,), logsumexp 0, of w = rho/p at points (m, d); of p/rho where `inverted`.

    Raises TargetError where either density is 0 or has no value: w would be 0 or infinite whatever the others are.
    """
    for values, words in (
        (log_p, "the target has density 0 there and no weight ρ/p: particles went where it has no mass"),
        (log_rho, "the surrogate has density 0 there, where the target has mass; choose one positive everywhere"),
    ):
        bad = ~np.isfinite(values)
        if bad.any():
            at = points[bad][0]
            shown = ", ".join(f"{v:.6g}" for v in at[:6]) + ", …" * (len(at) > 6)
            raise TargetError(f"at theta = ({shown}): {words}", at)
    return normalise(log_p - log_rho if inverted else log_rho - log_p)


def surrogate_knob(default: str) -> Choice:
    """The knob `surrogate`."""
    return Choice(
        default,
        choices={
            MOMENTS: "Gaussian by moments",
            GAUSSIAN: "fixed Gaussian",
            PRIOR: "prior (or q₀)",
            KERNELS: "kernels at particles",
            DENSITY: "kernels, times p",
            FLAT: "none (ρ = 1)",
        },
        label="Surrogate ρ",
        basic=True,
        doc="The density whose gradient takes the place of the target's. By the particles' moments: the Gaussian of "
        "their mean and, times the variance ratio, their covariance. Fixed Gaussian: the given mean and sd. Prior: "
        "needs a gradient of the prior. Kernels: Σ c exp(-|x-x′|²/h) over the particles x′, with c = 1, or with "
        "c = p(x′) as in Han's Algorithm 7. None: the particles push one another apart, most where p is small.",
    )


def surrogate_mean() -> Real:
    """The knob `surrogate_mean`."""
    return Real(
        0.0,
        bounds=(-1_000_000, 1_000_000),
        softbounds=(-10, 10),
        label="Surrogate mean",
        unit="units of θ",
        only_if=("surrogate", GAUSSIAN),
        doc="The mean of the fixed Gaussian in every coordinate.",
    )


def surrogate_sd() -> Real:
    """The knob `surrogate_sd`."""
    return Real(
        1.0,
        bounds=(1e-6, 1_000_000),
        softbounds=(0.1, 10),
        log=True,
        label="Surrogate sd",
        unit="prior sds",
        only_if=("surrogate", GAUSSIAN),
        doc="Standard deviation of the fixed Gaussian, in each coordinate in units of the prior's; its variance should "
        "be about three times the posterior's.",
    )


def surrogate_ratio() -> Real:
    """The knob `surrogate_ratio`."""
    return Real(
        3.0,
        bounds=(0.01, 1_000),
        softbounds=(0.5, 10),
        log=True,
        label="Variance ratio",
        unit="× the particles'",
        only_if=("surrogate", MOMENTS),
        doc="How many times the particles' covariance the surrogate's is.",
    )


def width_knob() -> Real:
    """The knob `surrogate_width`."""
    return Real(
        12.0,
        bounds=(1e-3, 100_000),
        softbounds=(0.5, 50),
        log=True,
        label="Surrogate width",
        unit="× med²/(2 log(m+1))",
        only_if=("surrogate", (KERNELS, DENSITY)),
        doc="h of the surrogate's kernels. 1 is the thesis' rule, under which the surrogate is narrower than the "
        "target; about 11 for 200 particles is the squared median distance.",
    )
