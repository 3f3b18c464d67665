"""GF-SVGD on an Ising lattice in plain NumPy: what our kernels are timed against, and agree with.

`python -m benchmarks.helpers.plain_discrete` prints the CPU seconds of both for 500 steps of 100 particles on 10 x 10
spins, and their ratio; what numbers come from is the same formula, with every pair of particles in a matrix.
"""

from __future__ import annotations

import time

import numpy as np

from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session

FIRST, SECOND, SMALLEST = 0.9, 0.99, 1e-8  # of Adam
STEPS, ROUNDS = 500, 5


class PlainDiscreteGFSVGD:
    """Latent points x (m, d) on a size x size torus with coupling b and field h; the surrogate is p0 ptilde(tanh x)."""

    def __init__(self, latent: np.ndarray, size: int, coupling: float, field: float, factor: float = 3.0) -> None:
        self.latent, self.size, self.coupling, self.field, self.factor = latent, size, coupling, field, factor
        self.first, self.second, self.iteration = np.zeros(latent.shape), np.zeros(latent.shape), 0

    def neighbours(self, spins: np.ndarray) -> np.ndarray:
        """The sum of the four neighbours of each spin, (m, d)."""
        lattice = spins.reshape(-1, self.size, self.size)
        shifts = [(1, 1), (-1, 1), (1, 2), (-1, 2)]
        return sum(np.roll(lattice, by, axis) for by, axis in shifts).reshape(spins.shape)

    def log_p(self, spins: np.ndarray) -> np.ndarray:
        """Of real spins too, (m,)."""
        return 0.5 * self.coupling * (spins * self.neighbours(spins)).sum(axis=1) + self.field * spins.sum(axis=1)

    def step(self, eta: float = 0.5, kappa: float = 0.5) -> None:
        """One step of Adam along the weighted force."""
        self.iteration += 1
        x, m, t = self.latent, len(self.latent), self.iteration
        soft = np.tanh(x)
        log_w = self.log_p(soft) - self.log_p(np.where(x < 0, -1.0, 1.0))
        w = np.exp(log_w - log_w.max())
        w /= w.sum()
        scores = -x + (1 - soft**2) * (self.coupling * self.neighbours(soft) + self.field)
        squares = (x**2).sum(axis=1)
        squares = np.maximum(squares[:, None] + squares - 2 * x @ x.T, 0.0)
        h = self.factor * np.median(squares[np.triu_indices(m, 1)]) / (2 * np.log(m + 1))
        k = np.exp(-squares / h) * w
        force = k @ (scores - 2 / h * x) + 2 / h * x * k.sum(axis=1, keepdims=True)
        self.first = FIRST * self.first + (1 - FIRST) * force
        self.second = SECOND * self.second + (1 - SECOND) * force**2
        root = np.sqrt(self.second / (1 - SECOND**t)) + SMALLEST
        self.latent = x + eta / t**kappa * self.first / (1 - FIRST**t) / root


def session(num_particles: int = 100, size: int = 10) -> Session:
    """Ours at its defaults, from N(-2, 1)."""
    options = {"size": size, "coupling": 0.1, "field": 0.0}
    recipe = Recipe(
        "ising", "discrete_gf_svgd", target_options=options, budget=None, num_particles=num_particles, start_mean=-2.0
    )
    return Session(recipe, metrics_every=10**9)


def plain(ours: Session) -> PlainDiscreteGFSVGD:
    """The plain form from where a session stands at its start."""
    o = ours.target.options
    return PlainDiscreteGFSVGD(ours.frame.state.latent, o.size, o.coupling, o.field)


def cpu_seconds() -> dict[str, float]:
    """The least of five rounds each, in turn."""
    session().advance(2)  # compiled before anything is timed
    times: dict[str, list[float]] = {"ours": [], "plain NumPy": []}
    for _ in range(ROUNDS):
        ours = session()
        other, start = plain(ours), time.process_time()
        ours.advance(STEPS)
        middle = time.process_time()
        for _ in range(STEPS):
            other.step()
        times["ours"].append(middle - start)
        times["plain NumPy"].append(time.process_time() - middle)
    return {name: min(found) for name, found in times.items()}


if __name__ == "__main__":
    found = cpu_seconds()
    print({**found, "ratio": found["ours"] / found["plain NumPy"]})
