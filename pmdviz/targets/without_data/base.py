"""What targets without data share: q0 = N(q0_mean, q0_sd^2 I), and a likelihood that is log p - log q0."""

from __future__ import annotations

import numpy as np

from pmdviz.knobs import Real, Whole
from pmdviz.targets.base import GaussianPrior, Target

Q0_SDS = 3.5  # of q0 that the view box holds, to either side


def q0_mean() -> Real:
    """The mean of q0 in every coordinate."""
    return Real(
        0.0,
        bounds=(-50, 50),
        softbounds=(-10, 10),
        label="Mean of q₀",
        unit="units of x",
        acts="restart",
        doc="Where a run starts from: the mean of the Gaussian q₀ in every coordinate.",
    )


def q0_sd(default: float) -> Real:
    """The sd of q0 in every coordinate."""
    return Real(
        default,
        bounds=(0.05, 100),
        softbounds=(0.5, 10),
        log=True,
        label="Sd of q₀",
        unit="units of x",
        acts="restart",
        doc="Standard deviation of the Gaussian q₀; weights against a q₀ narrower than the target have a variance "
        "without bound.",
    )


def target_seed(default: int, what: str) -> Whole:
    """The seed that what is random of the density is drawn from."""
    return Whole(default, bounds=(0, 2**32 - 1), label="Target seed", acts="restart", doc=f"Seed of {what}.")


class WithoutData(GaussianPrior, Target):
    """p = exp(log_p) / Z on R^d; a run goes from q0 to p. Subclasses give `_log_p` and `_grad_log_p`.

    `build` sets `dim` and `parameter_names`, and then calls `start_from`.
    """

    q0_mean: float = 0.0

    def start_from(self, q0_mean: float, q0_sd: float, low: np.ndarray, high: np.ndarray) -> None:
        """Set q0, and a view box that holds it and the bulk of p, which lies between low (d,) and high (d,)."""
        self.data, self.q0_mean, self.prior_sd = None, q0_mean, q0_sd
        self.scale = np.full(self.dim, q0_sd)
        low = np.minimum(np.broadcast_to(low, self.dim), q0_mean - Q0_SDS * q0_sd)
        high = np.maximum(np.broadcast_to(high, self.dim), q0_mean + Q0_SDS * q0_sd)
        self.view_box = tuple((float(a), float(b)) for a, b in zip(low, high, strict=True))

    def sample_prior(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n draws (n, d) from q0."""
        return self.q0_mean + super().sample_prior(rng, n)

    def _log_prior(self, theta: np.ndarray) -> np.ndarray:
        return super()._log_prior(theta - self.q0_mean)

    def _grad_log_prior(self, theta: np.ndarray) -> np.ndarray:
        return super()._grad_log_prior(theta - self.q0_mean)

    def _log_likelihood(self, theta: np.ndarray, batch: np.ndarray) -> np.ndarray:
        """log p - log q0, for every row of the batch."""
        return len(batch) * (self._log_p(theta) - self._log_prior(theta))

    def _grad_log_likelihood(self, theta: np.ndarray, batch: np.ndarray) -> np.ndarray:
        return len(batch) * (self._grad_log_p(theta) - self._grad_log_prior(theta))

    def _log_p(self, theta: np.ndarray) -> np.ndarray:
        """Log of the unnormalised density, (m, d) -> (m,), in nats."""
        raise NotImplementedError

    def _grad_log_p(self, theta: np.ndarray) -> np.ndarray:
        """Its gradient, (m, d) -> (m, d)."""
        raise NotImplementedError
