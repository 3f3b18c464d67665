"""Targets on discrete states without data: a few values, the Ising model, and the Bernoulli Boltzmann machine.

A handful of values with given probabilities: the smallest target there is, for methods on discrete states.
"""

import numpy as np

from pmdviz.kernels.checks import Array, Rng
from pmdviz.kernels.spins import ising_relaxed, ising_sweep
from pmdviz.knobs import Choice, KnobSpec, Real, Whole
from pmdviz.targets import enumeration
from pmdviz.targets.base import FairSigns, Target
from pmdviz.targets.exact import DrawsReference, Reference
from pmdviz.targets.options import TargetOptions, target_seed
from pmdviz.targets.space import Discrete, numbered

TABLES: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {  # name -> values and their probabilities
    "five": ((-2, -1, 0, 1, 2), (0.1, 0.2, 0.25, 0.15, 0.3)),
    "three": ((-1, 0, 1), (0.25, 0.45, 0.3)),
    "halves": ((-1, -0.5, 0, 0.5, 1), (0.1, 0.2, 0.3, 0.1, 0.3)),
}
IN_WORDS = {
    "five": "five values, -2 to 2",
    "three": "three values, -1 to 1",
    "halves": "five values, -1 to 1",
    "own": "weights of your own",
}
MARGIN = 0.3  # of the values' extent, to either side of a picture


def _weight(value: int) -> KnobSpec[float]:
    doc = f"Probability of the value {value}, up to a factor; 0 leaves it out."
    return Real(1.0, (0, 1000), (0, 10), f"Weight of {value}", only_if=("table", "own"), doc=doc)


class CategoricalOptions(TargetOptions):
    """Options of `categorical`.

    table: Five values: 0.1, 0.2, 0.25, 0.15, 0.3. Three values: 0.25, 0.45, 0.3. Five values from -1 to 1: 0.1, 0.2,
        0.3, 0.1, 0.3. Weights of your own: five values from 1 to 5.
    """

    table = Choice("five", IN_WORDS, "Probabilities")
    weight_1 = _weight(1)
    weight_2 = _weight(2)
    weight_3 = _weight(3)
    weight_4 = _weight(4)
    weight_5 = _weight(5)

    def table_of(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Values, and their probabilities: all above 0."""
        if self.table != "own":
            return TABLES[self.table]
        weights = {k: getattr(self, f"weight_{k}") for k in range(1, 6)}
        total, kept = sum(weights.values()), {k: w for k, w in weights.items() if w > 0}
        return tuple(map(float, kept)), tuple(w / total for w in kept.values())

    def check(self) -> None:
        """At least two values are possible."""
        if len(self.table_of()[0]) < 2:
            words = "must be above 0 for at least two of the values, or there is nothing to be in doubt about"
            raise self.specs()["weight_1"].refusal(f"to weight_5 {words}")


class Categorical(Target[CategoricalOptions]):
    """p(z = a_k) = p_k, one coordinate, K values. A run starts from q0, which is uniform; log Z = 0.

    title: Categorical (a few values)
    about: One unknown of three to five values whose probabilities are given: the draws can be counted.
    source: Han 2019 (thesis), the categorical examples of its discrete chapter
    """

    name = "categorical"

    def build(self) -> None:
        """Nothing is drawn."""
        values, probabilities = self.options.table_of()
        self.space = Discrete(values, 1, ("z",))
        self.dim, self.data, self.parameter_names = 1, None, self.space.names
        self.probabilities = np.array(probabilities)
        self._values, self._log_p = np.array(values, float), np.log(self.probabilities)
        low, high, margin = self._values[0], self._values[-1], MARGIN * np.ptp(self._values)
        self.scale, self.view_box = np.array([self._values.std()]), ((float(low - margin), float(high + margin)),)

    def make_reference(self) -> enumeration.Enumeration:
        """By a visit of every value."""
        return enumeration.Enumeration(self.states, self.log_joint)

    def sample_prior(self, rng: Rng, n: int) -> Array:
        """n draws (n, 1), all values alike."""
        return self._values[rng.integers(len(self._values), size=(n, 1))]

    def _log_prior(self, theta: Array) -> Array:
        return np.full(len(theta), -np.log(len(self._values)))

    def _log_likelihood(self, theta: Array, batch: Array) -> Array:
        """log p - log q0, for every row of the batch."""
        log_p = self._log_p[np.searchsorted(self._values, theta[:, 0])]
        return len(batch) * (log_p - self._log_prior(theta))

    def _gibbs_sweep(self, rng: Rng, theta: Array, data: Array) -> Array:
        """A draw: there is nothing to be conditional on."""
        return self._values[[rng.choice(len(self._values), p=self.probabilities)]]


# The Ising model: spins on a square lattice, a target without data on discrete states.

MAX_ENUMERATED = 4  # 2^16 states


class IsingOptions(TargetOptions):
    """Options of `ising`.

    size: Spins along each side of the square lattice. Up to 10 the exact answer is known; a wider lattice has too many
        states in a column.
    coupling: How strongly neighbours agree; on a large lattice they order above 0.44.
    field: How strongly every spin is pulled up.
    field_sd: Standard deviation of the field from spin to spin, around h, by the target seed; 0: the same everywhere.
    boundary: Closed: the last row and column are neighbours of the first, and every spin has four neighbours. Open:
        spins at an edge have fewer neighbours.
    """

    size = Whole(4, (2, 32), label="Side of the lattice", unit="spins")
    coupling = Real(0.3, (-2, 2), label="Coupling b")
    field = Real(0.1, (-2, 2), label="Field h")
    field_sd = Real(0.0, (0, 2), label="Sd of the field")
    target_seed = target_seed(0, "the field, where it is random")
    boundary = Choice("closed", {"closed": "closed (a torus)", "open": "open edges"}, "Edges")


class Ising(FairSigns[IsingOptions]):
    """p(s) proportional to exp(b sum over neighbours s_i s_j + sum_i h_i s_i), s_i in {-1, +1}, h_i ~ N(h, field_sd^2).

    On a lattice that closes on itself, or is open. It has no data: a run starts from q0, independent fair spins.
    Between the states the log density is the same quadratic form.

    title: Ising model (discrete)
    about: Spins on a lattice, each up or down; neighbours like to agree, and a field pulls all of them up.
    source: any textbook; for the exact answer every state is visited up to 4 x 4, and every state of a column up to 10
        x 10 (transfer matrix, Kramers & Wannier 1941)
    """

    name = "ising"
    kernel_groups = ("ising", "transfer")

    def build(self) -> None:
        """A lattice of spins; the random part of its field is drawn from `default_rng(target_seed)` alone."""
        o, size = self.options, self.options.size
        self.offsets = o.field_sd * np.random.default_rng(o.target_seed).standard_normal(size * size)
        # `param` takes its time over each look at an option, and a run asks at every step
        self._model = size, o.coupling, o.field, self.offsets, o.boundary == "closed"
        self.in_space((size, size), [f"s[{r + 1},{c + 1}]" for r in range(size) for c in range(size)])

    @property
    def no_reference(self) -> str:
        """That a lattice is too wide."""
        size, most = self.options.size, enumeration.MAX_SIDE
        if size <= most:
            return ""
        visits = f"the transfer matrix, which visits all 2^{size} states of a column"
        none = f"no exact answer tells how far off a run is; up to {most} × {most} there is one."
        return f"A lattice of {size} × {size} spins is too wide for {visits}: {none}"

    def make_reference(self) -> enumeration.Enumeration | enumeration.TransferMatrix | None:
        """By a visit of every state up to 4 x 4, and of every state of a column up to 10 x 10; None beyond."""
        o = self.options
        if o.size <= MAX_ENUMERATED:
            return enumeration.Enumeration(self.states, self.log_joint)
        fields = (o.field + self.offsets).reshape(o.size, o.size)
        closed = o.boundary == "closed"
        return None if self.no_reference else enumeration.TransferMatrix(o.coupling, fields, closed, self.log_joint)

    def log_relaxed_and_gradient(self, points: Array, batch: Array | None = None) -> tuple[Array, Array]:
        """Both from one visit of every spin."""
        return ising_relaxed(points, *self._model)

    def _log_relaxed(self, points: Array, batch: Array) -> Array:
        return ising_relaxed(points, *self._model)[0]

    def _grad_log_relaxed(self, points: Array, batch: Array) -> Array:
        return ising_relaxed(points, *self._model)[1]

    def _gibbs_sweep(self, rng: Rng, theta: Array, data: Array) -> Array:
        size, coupling, field, *rest = self._model
        return ising_sweep(theta, size, coupling, field, rng.random(self.dim), *rest)


# The Bernoulli restricted Boltzmann machine: visible units of two values that agree by way of hidden ones.

MAX_VISIBLE, MAX_HIDDEN = 16, 14  # units whose states are all visited: 2^16 and 2^14


class BernoulliRBMOptions(TargetOptions):
    """Options of `bernoulli_rbm`.

    visible: Units of -1 and 1 that are drawn. The exact answer is known, by a visit of every state, with at most 16 of
        them or at most 14 hidden ones; of larger machines by 500 long Gibbs chains.
    hidden: Units of -1 and 1 that are summed over; they couple the visible ones.
    weight_sd: Standard deviation of the random weights and biases; the larger it is, the more the units agree, and
        the harder it is to go from one group of states to another.
    bias_ratio: Sd of the random biases over the weights' sd; the larger it is, the more each unit goes its own
        way.
    target_seed: Seed of the random weights and biases.
    """

    visible = Whole(12, (1, 400), (4, 100), "Visible units d", log=True)
    hidden = Whole(8, (1, 200), (1, 50), "Hidden units M", log=True)
    weight_sd = Real(0.3, (0, 5), (0, 1), "Sd of weights")
    bias_ratio = Real(1.0, (0, 1000), (0, 20), "Biases over weights")
    target_seed = Whole(0, (0, 2**32 - 1), label="Target seed")


class BernoulliRBM(FairSigns[BernoulliRBMOptions]):
    """p(z) proportional to sum_h exp(z'W h + b'z + c'h), z in {-1, 1}^d and h in {-1, 1}^M.

    So log p(z) = b'z + sum_k log(2 cosh(W_k'z + c_k)) - log Z, W_k the k-th column of W: log(1 + e^x) would belong to
    units of 0 and 1. W is drawn from N(0, weight_sd^2), b and c of N(0, (bias_ratio weight_sd)^2). It has no data: a
    run starts from q0, independent fair units. Between the states log p is the same formula at real z.

    title: Bernoulli RBM (discrete)
    about: Units of two values, coupled by hidden units of two values that all of them are joined to.
    source: Smolensky 1986; the exact answer by a visit of every state of the smaller layer, or draws of long Gibbs
        chains
    """

    name = "bernoulli_rbm"
    kernel_groups = ("boltzmann",)

    def build(self) -> None:
        """Draw weights and biases from `default_rng(target_seed)` alone."""
        o = self.options
        rng = np.random.default_rng(o.target_seed)
        self.weights = o.weight_sd * rng.standard_normal((o.visible, o.hidden))
        bias_sd = o.bias_ratio * o.weight_sd
        self.visible_bias, self.hidden_bias = (bias_sd * rng.standard_normal(n) for n in (o.visible, o.hidden))
        self.in_space(_folded(o.visible), numbered("z", o.visible))

    @property
    def no_reference(self) -> str:
        """That long chains do not agree with one another."""
        if min(self.options.visible - MAX_VISIBLE, self.options.hidden - MAX_HIDDEN) <= 0 or self.reference():
            return ""
        disagree = "Long Gibbs chains from different starts disagree about this machine"
        states = "neither layer is small enough to visit all its states"
        return f"{disagree}, and {states}: nothing tells how far off a run is; smaller weights would help."

    def make_reference(self) -> Reference | None:
        """By a visit of every visible or every hidden state, or 500 long Gibbs chains; None where these disagree."""
        o = self.options
        if o.visible <= MAX_VISIBLE:
            return enumeration.Enumeration(self.states, self.log_joint)
        if o.hidden <= MAX_HIDDEN:
            return enumeration.HiddenEnumeration(self.weights, self.visible_bias, self.hidden_bias, self.log_joint)
        chains = enumeration.gibbs_chains(self.weights, self.visible_bias, self.hidden_bias)
        return None if enumeration.chains_disagree(chains) else DrawsReference(chains)

    def _log_relaxed(self, points: Array, batch: Array) -> Array:
        fields = self.hidden_bias + np.einsum("mi,ik->mk", points, self.weights)
        return np.einsum("mi,i->m", points, self.visible_bias) + enumeration.log_2_cosh(fields).sum(axis=1)

    def _grad_log_relaxed(self, points: Array, batch: Array) -> Array:
        """b + W tanh(c + W'z)."""
        fields = self.hidden_bias + np.einsum("mi,ik->mk", points, self.weights)
        return self.visible_bias + np.einsum("mk,ik->mi", np.tanh(fields), self.weights)

    def _gibbs_sweep(self, rng: Rng, theta: Array, data: Array) -> Array:
        """All hidden units given the visible ones, and all visible ones given those: P(1) = 1 / (1 + e^(-2 field))."""
        hidden = _drawn(rng, self.hidden_bias + np.einsum("i,ik->k", theta, self.weights))
        return _drawn(rng, self.visible_bias + np.einsum("ik,k->i", self.weights, hidden))


def _drawn(rng: Rng, fields: Array) -> Array:
    """Units of -1 and 1 in their fields (n,), independent of one another."""
    return np.where(rng.random(len(fields)) < 0.5 * (1 + np.tanh(fields)), 1.0, -1.0)


def _folded(count: int) -> tuple[int, int]:
    """Rows and columns that a picture shows the units in, as square as they divide; they have no places."""
    rows = max(rows for rows in range(1, int(np.sqrt(count)) + 1) if count % rows == 0)
    return rows, count // rows
