"""The Ising model: spins on a square lattice, a target without data on discrete states."""

from __future__ import annotations

import numpy as np

from pmdviz.kernels.likelihoods.ising import ising_log_density, ising_sweep
from pmdviz.knobs import Knobs, Real, Whole
from pmdviz.targets.base import Target
from pmdviz.targets.reference.enumeration import Enumeration
from pmdviz.targets.space import Discrete

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
        doc="Spins along each side of the square lattice.",
    )
    coupling = Real(
        0.3,
        bounds=(-2, 2),
        label="Coupling b",
        acts="restart",
        doc="How strongly neighbours agree; on a large lattice they order above 0.44.",
    )
    field = Real(0.1, bounds=(-2, 2), label="Field h", acts="restart", doc="How strongly every spin is pulled up.")


class Ising(Target):
    """p(s) proportional to exp(b sum over neighbours s_i s_j + h sum s_i), s_i in {-1, +1}, on a lattice that closes.

    There are no data: a run starts from q0, independent fair spins.
    """

    name = "ising"
    title = "Ising model (discrete)"
    about = "Spins on a lattice, each up or down; neighbours like to agree, and a field pulls all of them up."
    source = "any textbook; up to 4 x 4 every state is visited for the exact answer"
    Options = IsingOptions
    declared = frozenset({"conditionals"})

    def build(self) -> None:
        """A lattice of spins; nothing is drawn."""
        size = self.options.size
        names = [f"s[{r + 1},{c + 1}]" for r in range(size) for c in range(size)]
        self.space = Discrete((-1, 1), (size, size), names)
        self.dim, self.data, self.parameter_names = self.space.dim, None, self.space.names
        self.scale, self.view_box = np.ones(self.dim), ((-1.5, 1.5),) * self.dim

    def make_exact(self) -> Enumeration | None:
        """By a visit of every state, up to 4 x 4."""
        return Enumeration(self.space, self.log_joint) if self.options.size <= MAX_ENUMERATED else None

    def sample_prior(self, rng: np.random.Generator, n: int) -> np.ndarray:
        """n draws (n, d) of independent fair spins."""
        return 2.0 * rng.integers(0, 2, size=(n, self.dim)) - 1.0

    def _log_prior(self, theta: np.ndarray) -> np.ndarray:
        return np.full(len(theta), -self.dim * np.log(2.0))

    def _log_likelihood(self, theta: np.ndarray, batch: np.ndarray) -> np.ndarray:
        """log p - log q0, for every row of the batch."""
        o = self.options
        return len(batch) * (ising_log_density(theta, o.size, o.coupling, o.field) - self._log_prior(theta))

    def _gibbs_sweep(self, rng: np.random.Generator, theta: np.ndarray, data: np.ndarray) -> np.ndarray:
        o = self.options
        return ising_sweep(theta, o.size, o.coupling, o.field, rng.random(self.dim))
