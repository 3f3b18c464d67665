"""The exact distribution of a Bernoulli RBM's visible units, by a visit of every state of its hidden ones."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pmdviz.targets.reference.enumeration import states_of
from pmdviz.targets.space import Discrete


class HiddenEnumeration:
    """p(z) = sum_h p(h) prod_i p(z_i | h), all units -1 or 1, with p(h) proportional to e^(c'h) prod_i 2 cosh(a_i).

    a = b + W h are the fields that the d visible units feel, and E(z_i | h) = tanh(a_i): moments and draws are exact.
    W (d, M), b (d,), c (M,); log_p (m, d) -> (m,) gives the unnormalised log p of visible states.
    """

    def __init__(
        self, weights: np.ndarray, visible: np.ndarray, hidden: np.ndarray, log_p: Callable[[np.ndarray], np.ndarray]
    ) -> None:
        units = Discrete((-1, 1), len(hidden))
        states = states_of(units, np.arange(units.num_states))
        fields = visible + np.einsum("sk,ik->si", states, weights)
        flat = np.einsum("sk,k->s", states, hidden) + log_2_cosh(fields).sum(axis=1)
        peak = flat.max()
        mass = np.exp(flat - peak)
        self.log_z: float | None = float(peak + np.log(mass.sum()))
        self._probabilities, self._means, self._log_p = mass / mass.sum(), np.tanh(fields), log_p
        self.mean = np.einsum("s,si->i", self._probabilities, self._means)
        centred = self._means - self.mean
        between = np.einsum("si,sj->ij", centred * self._probabilities[:, None], centred)
        self.cov = between + np.diag(1 - np.einsum("s,si->i", self._probabilities, self._means**2))
        self.mean_error = np.zeros(len(visible))
        for array in (self.mean, self.cov, self.mean_error):
            array.flags.writeable = False

    def log_density(self, points: np.ndarray) -> np.ndarray:
        """log p(points), (n, d) -> (n,)."""
        return self._log_p(np.asarray(points, float)) - (self.log_z or 0.0)

    def sample(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n iid draws (n, d): hidden states, and visible ones given them."""
        means = self._means[rng.choice(len(self._probabilities), size=n, p=self._probabilities)]
        return np.where(rng.random(means.shape) < 0.5 * (1 + means), 1.0, -1.0)


def log_2_cosh(x: np.ndarray) -> np.ndarray:
    """log(2 cosh x) = log(e^x + e^-x), of any size."""
    return np.abs(x) + np.log1p(np.exp(-2 * np.abs(x)))
