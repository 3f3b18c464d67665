"""The Bernoulli restricted Boltzmann machine: visible units of two values that agree by way of hidden ones."""

from __future__ import annotations

import numpy as np

from pmdviz.knobs import Knobs, Real, Whole
from pmdviz.targets.base import Target
from pmdviz.targets.reference.chains import chains_disagree, gibbs_chains
from pmdviz.targets.reference.enumeration import Enumeration, HiddenEnumeration, log_2_cosh
from pmdviz.targets.reference.exact import DrawsReference
from pmdviz.targets.space import Discrete, numbered

MAX_VISIBLE, MAX_HIDDEN = 16, 14  # units whose states are all visited: 2^16 and 2^14


class BernoulliRBMOptions(Knobs):
    """Options of `bernoulli_rbm`."""

    kind_words = "option of target 'bernoulli_rbm':"

    visible = Whole(
        12,
        bounds=(1, 400),
        softbounds=(4, 100),
        log=True,
        label="Visible units d",
        acts="restart",
        doc=f"Units of -1 and 1 that are drawn. The exact answer is known, by a visit of every state, with at most "
        f"{MAX_VISIBLE} of them or at most {MAX_HIDDEN} hidden ones; of larger machines by 500 long Gibbs chains.",
    )
    hidden = Whole(
        8,
        bounds=(1, 200),
        softbounds=(1, 50),
        log=True,
        label="Hidden units M",
        acts="restart",
        doc="Units of -1 and 1 that are summed over; they couple the visible ones.",
    )
    weight_sd = Real(
        0.3,
        bounds=(0, 5),
        softbounds=(0, 1),
        label="Sd of weights",
        acts="restart",
        doc="Standard deviation of the random weights and biases; the larger it is, the more the units agree, and the "
        "harder it is to go from one group of states to another.",
    )
    bias_ratio = Real(
        1.0,
        bounds=(0, 1000),
        softbounds=(0, 20),
        label="Biases over weights",
        acts="restart",
        doc="Sd of the random biases over that of the weights; the larger it is, the more each unit goes its own way.",
    )
    target_seed = Whole(
        0,
        bounds=(0, 2**32 - 1),
        label="Target seed",
        acts="restart",
        doc="Seed of the random weights and biases.",
    )


class BernoulliRBM(Target):
    """p(z) proportional to sum_h exp(z'W h + b'z + c'h), z in {-1, 1}^d and h in {-1, 1}^M.

    So log p(z) = b'z + sum_k log(2 cosh(W_k'z + c_k)) - log Z, W_k the k-th column of W: log(1 + e^x) would belong to
    units of 0 and 1. W is drawn of N(0, weight_sd^2), b and c of N(0, (bias_ratio weight_sd)^2). There are no data: a
    run starts from q0, independent fair units. Between the states log p is the same formula at real z.
    """

    name = "bernoulli_rbm"
    title = "Bernoulli RBM (discrete)"
    about = "Units of two values, coupled by hidden units of two values that all of them are joined to."
    source = (
        "Smolensky 1986; the exact answer by a visit of every state of the smaller layer, or draws of long Gibbs chains"
    )
    Options = BernoulliRBMOptions
    kernel_groups = ("boltzmann",)
    declared = frozenset({"conditionals", "relaxation"})

    def build(self) -> None:
        """Draw weights and biases from `default_rng(target_seed)` alone."""
        o = self.options
        rng = np.random.default_rng(o.target_seed)
        self.weights = o.weight_sd * rng.standard_normal((o.visible, o.hidden))
        bias_sd = o.bias_ratio * o.weight_sd
        self.visible_bias, self.hidden_bias = (bias_sd * rng.standard_normal(n) for n in (o.visible, o.hidden))
        self.space = Discrete((-1, 1), _folded(o.visible), numbered("z", o.visible))
        self.dim, self.data, self.parameter_names = self.space.dim, None, self.space.names
        self.scale, self.view_box = np.ones(self.dim), ((-1.5, 1.5),) * self.dim

    @property
    def no_reference(self) -> str:
        """That long chains do not agree with one another."""
        if min(self.options.visible - MAX_VISIBLE, self.options.hidden - MAX_HIDDEN) <= 0 or self.reference():
            return ""
        return (
            "Long Gibbs chains from different starts disagree about this machine, and neither layer is small enough to "
            "visit all its states: nothing tells how far off a run is; smaller weights would help."
        )

    def make_exact(self) -> Enumeration | HiddenEnumeration | None:
        """By a visit of every visible state, or of every hidden one; None where both are too many."""
        o = self.options
        if o.visible <= MAX_VISIBLE:
            return Enumeration(self.space, self.log_joint)
        if o.hidden <= MAX_HIDDEN:
            return HiddenEnumeration(self.weights, self.visible_bias, self.hidden_bias, self.log_joint)
        return None

    def make_reference(self) -> Enumeration | HiddenEnumeration | DrawsReference | None:
        """The exact one, or draws of 500 long Gibbs chains; None where these disagree with one another."""
        if (exact := self.make_exact()) is not None:
            return exact
        chains = gibbs_chains(self.weights, self.visible_bias, self.hidden_bias)
        return None if chains_disagree(chains) else DrawsReference(chains)

    def sample_prior(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n draws (n, d) of independent fair units."""
        return 2.0 * rng.integers(0, 2, size=(n, self.dim)) - 1.0

    def _log_prior(self, theta: np.ndarray) -> np.ndarray:
        return np.full(len(theta), -self.dim * np.log(2.0))

    def _log_likelihood(self, theta: np.ndarray, batch: np.ndarray) -> np.ndarray:
        """log p - log q0, for every row of the batch."""
        return len(batch) * (self._log_relaxed(theta, batch) - self._log_prior(theta))

    def _log_relaxed(self, points: np.ndarray, batch: np.ndarray) -> np.ndarray:
        fields = self.hidden_bias + np.einsum("mi,ik->mk", points, self.weights)
        return np.einsum("mi,i->m", points, self.visible_bias) + log_2_cosh(fields).sum(axis=1)

    def _grad_log_relaxed(self, points: np.ndarray, batch: np.ndarray) -> np.ndarray:
        """b + W tanh(c + W'z)."""
        fields = self.hidden_bias + np.einsum("mi,ik->mk", points, self.weights)
        return self.visible_bias + np.einsum("mk,ik->mi", np.tanh(fields), self.weights)

    def _gibbs_sweep(self, rng: np.random.Generator, theta: np.ndarray, data: np.ndarray) -> np.ndarray:
        """All hidden units given the visible ones, and all visible ones given those: P(1) = 1 / (1 + e^(-2 field))."""
        hidden = _drawn(rng, self.hidden_bias + np.einsum("i,ik->k", theta, self.weights))
        return _drawn(rng, self.visible_bias + np.einsum("ik,k->i", self.weights, hidden))


def _drawn(rng: np.random.Generator, fields: np.ndarray) -> np.ndarray:
    """Units of -1 and 1 in their fields (n,), independent of one another."""
    return np.where(rng.random(len(fields)) < 0.5 * (1 + np.tanh(fields)), 1.0, -1.0)


def _folded(count: int) -> tuple[int, int]:
    """Rows and columns that a picture shows the units in, as square as they divide; they have no places."""
    rows = max(rows for rows in range(1, int(np.sqrt(count)) + 1) if count % rows == 0)
    return rows, count // rows
