"""A Gauss-Bernoulli restricted Boltzmann machine: a mixture of 2^k Gaussians that only enumeration can sum."""

from __future__ import annotations

import numpy as np

from pmdviz.knobs import Knobs, Real, Whole
from pmdviz.targets.reference.enumeration import states_of
from pmdviz.targets.reference.gaussian_mixture import GaussianMixtureExact
from pmdviz.targets.space import Discrete, numbered
from pmdviz.targets.without_data.base import WithoutData, q0_mean, q0_sd, target_seed

MAX_ENUMERATED = 14  # hidden units: 2^14 components
VIEW_SDS = 3.0  # of a component


class RbmOptions(Knobs):
    """Options of `rbm`."""

    kind_words = "option of target 'rbm':"

    dim = Whole(
        5, bounds=(1, 100), label="Dimension d", acts="restart", doc="Number of visible units, which are real numbers."
    )
    num_hidden = Whole(
        10,
        bounds=(1, 100),
        softbounds=(1, MAX_ENUMERATED),
        label="Hidden units",
        acts="restart",
        doc="Units that are -1 or +1 and summed out; 14 at most, as the exact answer visits all their states.",
    )
    weight = Real(
        0.5,
        bounds=(0, 2),
        label="Size of the weights",
        acts="restart",
        doc="Every weight between a visible and a hidden unit is plus or minus this, at random.",
    )
    q0_mean = q0_mean()
    q0_sd = q0_sd(2.0)
    target_seed = target_seed(0, "the weights and the biases")

    def check(self) -> None:
        """At most 14 hidden units."""
        if self.num_hidden > MAX_ENUMERATED:
            raise self.specs()["num_hidden"].refusal(
                f"is too large for enumeration: log Z is a sum over all 2^{self.num_hidden} states of the hidden "
                f"units; give at most {MAX_ENUMERATED}"
            )


class Rbm(WithoutData):
    """p(x) proportional to sum over h in {-1, 1}^k of exp(x'Bh + b'x + c'h - |x|^2 / 2).

    Summed over h, log p = b'x - |x|^2 / 2 + sum_j log 2 cosh(c_j + (B'x)_j). Completing the square for each h instead,
    p is a mixture of 2^k Gaussians N(b + Bh, I) and log Z = logsumexp_h[c'h + |b + Bh|^2 / 2] + (d / 2) log 2 pi.
    The entries of B are +-weight, b and c are N(0, 1), all from the target seed.
    """

    name = "rbm"
    title = "Gauss-Bernoulli RBM"
    about = "Real units pulled one way or the other by hidden signs: a mixture of a thousand Gaussians in disguise."
    source = "Han 2019 (thesis); the model: Welling, Rosen-Zvi, Hinton 2005"
    Options = RbmOptions
    kernel_groups = ("boltzmann", "gaussian_mixture")
    declared = frozenset({"gradient", "conditionals"})

    def build(self) -> None:
        """Draw B, b and c from `default_rng(target_seed)` alone."""
        o, self.dim = self.options, self.options.dim
        self.parameter_names = numbered("x", o.dim)
        rng = np.random.default_rng(o.target_seed)
        self.coupling = o.weight * (2.0 * rng.integers(2, size=(o.dim, o.num_hidden)) - 1.0)  # B
        self.visible_bias, self.hidden_bias = rng.standard_normal(o.dim), rng.standard_normal(o.num_hidden)
        reach = np.abs(self.coupling).sum(axis=1) + VIEW_SDS
        self.start_from(o.q0_mean, o.q0_sd, self.visible_bias - reach, self.visible_bias + reach)

    def make_exact(self) -> GaussianMixtureExact:
        """By a visit of every state of the hidden units."""
        k = self.options.num_hidden
        states = states_of(Discrete((-1, 1), k), np.arange(2**k))
        means = self.visible_bias + np.einsum("sk,dk->sd", states, self.coupling)
        heights = (states * self.hidden_bias).sum(axis=1) + 0.5 * (means**2).sum(axis=1)
        weights = np.exp(heights - heights.max())
        log_z = float(heights.max() + np.log(weights.sum()) + 0.5 * self.dim * np.log(2 * np.pi))
        return GaussianMixtureExact(weights, means, np.eye(self.dim), log_z, lambda x: self._log_p(x) - log_z)

    def _inputs(self, theta: np.ndarray) -> np.ndarray:
        """c + B'x, what the hidden units receive, (m, d) -> (m, k); not by BLAS, whose last bits depend on threads."""
        return self.hidden_bias + np.einsum("md,dk->mk", theta, self.coupling)

    def _log_p(self, theta: np.ndarray) -> np.ndarray:
        inputs = self._inputs(theta)
        visible = (theta * self.visible_bias).sum(axis=1) - 0.5 * (theta**2).sum(axis=1)
        return visible + np.logaddexp(inputs, -inputs).sum(axis=1)

    def _grad_log_p(self, theta: np.ndarray) -> np.ndarray:
        """b - x + B tanh(c + B'x)."""
        return self.visible_bias - theta + np.einsum("mk,dk->md", np.tanh(self._inputs(theta)), self.coupling)

    def _gibbs_sweep(self, rng: np.random.Generator, theta: np.ndarray, data: np.ndarray) -> np.ndarray:
        """P(h_j = 1 | x) = 1 / (1 + exp(-2 (c_j + (B'x)_j))), then x ~ N(b + Bh, I)."""
        inputs = self._inputs(theta[None])[0]
        hidden = np.where(rng.random(len(inputs)) < 0.5 * (1 + np.tanh(inputs)), 1.0, -1.0)
        return self.visible_bias + (self.coupling * hidden).sum(axis=1) + rng.standard_normal(self.dim)
