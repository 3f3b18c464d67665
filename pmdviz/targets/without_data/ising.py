"""The Ising model: spins on a square lattice, a target without data on discrete states."""

from __future__ import annotations

import numpy as np

from pmdviz.kernels.likelihoods.ising import ising_log_density, ising_relaxed, ising_sweep
from pmdviz.knobs import Choice, Knobs, Real, Whole
from pmdviz.targets.base import Target
from pmdviz.targets.reference.enumeration import MAX_SIDE, Enumeration, TransferMatrix
from pmdviz.targets.space import Discrete
from pmdviz.targets.without_data.base import target_seed

MAX_ENUMERATED = 4  # 2^16 states


class IsingOptions(Knobs):
    """Options of `ising`."""

    kind_words = "option of target 'ising':"

    size = Whole(
        4,
        bounds=(2, 32),
        label="Side of the lattice",
        unit="spins",
        acts="restart",
        doc=f"Spins along each side of the square lattice. Up to {MAX_SIDE} the exact answer is known; a wider lattice "
        "has too many states in a column.",
    )
    coupling = Real(
        0.3,
        bounds=(-2, 2),
        label="Coupling b",
        acts="restart",
        doc="How strongly neighbours agree; on a large lattice they order above 0.44.",
    )
    field = Real(0.1, bounds=(-2, 2), label="Field h", acts="restart", doc="How strongly every spin is pulled up.")
    field_sd = Real(
        0.0,
        bounds=(0, 2),
        label="Sd of the field",
        acts="restart",
        doc="Standard deviation of the field from spin to spin, around h, by the target seed; 0: the same everywhere.",
    )
    target_seed = target_seed(0, "the field, where it is random")
    boundary = Choice(
        "closed",
        choices={"closed": "closed (a torus)", "open": "open edges"},
        label="Edges",
        acts="restart",
        doc="Closed: the last row and column are neighbours of the first, and every spin has four neighbours. Open: "
        "spins at an edge have fewer.",
    )


class Ising(Target):
    """p(s) proportional to exp(b sum over neighbours s_i s_j + sum_i h_i s_i), s_i in {-1, +1}, h_i ~ N(h, field_sd^2).

    On a lattice that closes on itself, or is open. There are no data: a run starts from q0, independent fair spins.
    Between the states the log density is the same quadratic form.
    """

    name = "ising"
    title = "Ising model (discrete)"
    about = "Spins on a lattice, each up or down; neighbours like to agree, and a field pulls all of them up."
    source = (
        "any textbook; for the exact answer every state is visited up to 4 x 4, and every state of a column up to "
        f"{MAX_SIDE} x {MAX_SIDE} (transfer matrix, Kramers & Wannier 1941)"
    )
    Options = IsingOptions
    kernel_groups = ("ising", "transfer")
    declared = frozenset({"conditionals", "relaxation"})

    def build(self) -> None:
        """A lattice of spins; of its field, what is random is drawn from `default_rng(target_seed)` alone."""
        o, size = self.options, self.options.size
        self.offsets = o.field_sd * np.random.default_rng(o.target_seed).standard_normal(size * size)
        # `param` takes its time over each look at an option, and a run asks at every step
        self._model = size, o.coupling, o.field, self.offsets, o.boundary == "closed"
        names = [f"s[{r + 1},{c + 1}]" for r in range(size) for c in range(size)]
        self.space = Discrete((-1, 1), (size, size), names)
        self.dim, self.data, self.parameter_names = self.space.dim, None, self.space.names
        self.scale, self.view_box = np.ones(self.dim), ((-1.5, 1.5),) * self.dim

    @property
    def no_reference(self) -> str:
        """That a lattice is too wide."""
        size = self.options.size
        if size <= MAX_SIDE:
            return ""
        return (
            f"A lattice of {size} × {size} spins is too wide for the transfer matrix, which visits all 2^{size} states "
            f"of a column: no exact answer tells how far off a run is; up to {MAX_SIDE} × {MAX_SIDE} there is one."
        )

    def make_exact(self) -> Enumeration | TransferMatrix | None:
        """By a visit of every state up to 4 x 4, and of every state of a column up to 10 x 10; None beyond."""
        o = self.options
        if o.size <= MAX_ENUMERATED:
            return Enumeration(self.space, self.log_joint)
        fields = (o.field + self.offsets).reshape(o.size, o.size)
        closed = o.boundary == "closed"
        return None if self.no_reference else TransferMatrix(o.coupling, fields, closed, self.log_joint)

    def sample_prior(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n draws (n, d) of independent fair spins."""
        return 2.0 * rng.integers(0, 2, size=(n, self.dim)) - 1.0

    def log_relaxed_and_gradient(
        self, points: np.ndarray, batch: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Both from one visit of every spin."""
        return ising_relaxed(points, *self._model)

    def _log_prior(self, theta: np.ndarray) -> np.ndarray:
        return np.full(len(theta), -self.dim * np.log(2.0))

    def _log_likelihood(self, theta: np.ndarray, batch: np.ndarray) -> np.ndarray:
        """log p - log q0, for every row of the batch."""
        return len(batch) * (ising_log_density(theta, *self._model) - self._log_prior(theta))

    def _log_relaxed(self, points: np.ndarray, batch: np.ndarray) -> np.ndarray:
        return ising_log_density(points, *self._model)

    def _grad_log_relaxed(self, points: np.ndarray, batch: np.ndarray) -> np.ndarray:
        return ising_relaxed(points, *self._model)[1]

    def _gibbs_sweep(self, rng: np.random.Generator, theta: np.ndarray, data: np.ndarray) -> np.ndarray:
        size, coupling, field, *rest = self._model
        return ising_sweep(theta, size, coupling, field, rng.random(self.dim), *rest)
