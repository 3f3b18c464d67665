"""The real line cut into bins of equal mass, one for each value of a discrete coordinate: the map x -> Gamma(x)."""

from __future__ import annotations

from functools import cached_property, lru_cache

import numpy as np

from pmdviz.errors import InputError
from pmdviz.kernels.chains import uniforms_of

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

    def log_density(self, x: np.ndarray) -> np.ndarray:
        """log p0 of each entry of x, of any shape and in [-clip, clip], in nats."""
        mass = self._ends[1] - self._ends[0]
        return _log_sum(self._exponents(x)) - np.log(len(self.centres) * np.sqrt(2 * np.pi) * mass)

    def score(self, x: np.ndarray) -> np.ndarray:
        """The derivative of log p0 at each entry of x: sum_c r_c(x) (mu_c - x), r the share of each component."""
        if len(self.centres) == 1:
            return -x
        exponents = self._exponents(x)
        shares = np.exp(exponents - exponents.max(axis=-1, keepdims=True))
        return (shares * self.centres).sum(axis=-1) / shares.sum(axis=-1) - x

    def share_below(self, x: np.ndarray) -> np.ndarray:
        """The distribution function at each entry of x, where it is cut off too."""
        low, high = self._ends
        return np.clip((self._whole_below(x) - low) / (high - low), 0.0, 1.0)

    def quantiles(self, shares: np.ndarray) -> np.ndarray:
        """x at which `share_below` has these values in (0, 1), by bisection."""
        reach = min(self.clip, float(self.centres[-1]) + 40.0)
        low, high = np.full(len(shares), -reach), np.full(len(shares), reach)
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            below = self.share_below(middle) < shares
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return 0.5 * (low + high)

    @cached_property
    def _ends(self) -> np.ndarray:
        """Shares of the whole base below -clip and below clip."""
        return self._whole_below(np.array([-self.clip, self.clip]))

    def _whole_below(self, x: np.ndarray) -> np.ndarray:
        shares = [uniforms_of(np.ravel(x) - mu).reshape(np.shape(x)) for mu in self.centres]
        return np.mean(shares, axis=0)

    def _exponents(self, x: np.ndarray) -> np.ndarray:
        return -0.5 * (np.asarray(x)[..., None] - self.centres) ** 2


class QuantileBins:
    """Gamma: bin b of the base, of Q that hold 1/Q of it each, stands for value b mod K (Han 2019, Definition 11).

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
            raise InputError(
                f"quantile bins must be a multiple of the number of values, {len(values)}, at least one each, so that "
                f"all values have the same mass; given: {num_bins}"
            )
        edges = base.quantiles(np.arange(1, self.num_bins) / self.num_bins)
        edges[np.abs(edges) < 1e-12] = 0.0  # of two values: the sign
        self.edges = edges

    def __call__(self, latent: np.ndarray) -> np.ndarray:
        """z = Gamma(x) for each entry of x, in the values: one at an edge belongs to the bin above it."""
        if len(self.edges) == 1:
            return np.where(latent >= self.edges[0], self.values[1], self.values[0])
        return self.values[np.searchsorted(self.edges, latent, side="right") % len(self.values)]


@lru_cache(maxsize=64)
def bins_of(values: tuple[float, ...], spread: float, clip: float, each: int) -> QuantileBins:
    """`each` bins of a base a value; kept, as every step asks for them."""
    return QuantileBins(values, Base(spread, clip), each * len(values))


def _log_sum(exponents: np.ndarray) -> np.ndarray:
    top = exponents.max(axis=-1)
    return top + np.log(np.exp(exponents - top[..., None]).sum(axis=-1))
