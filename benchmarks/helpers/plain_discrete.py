"""GF-SVGD on an Ising lattice in plain NumPy: what our kernels are timed against, and agree with.

`python -m benchmarks.helpers.plain_discrete` prints the CPU seconds of both for 500 steps of 100 particles on 10 x 10
spins, and ours over each: the formula with an array (m, m, d) of all differences, and with matrix products by BLAS.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session

FIRST, SECOND, SMALLEST = 0.9, 0.99, 1e-8  # of Adam
STEPS, ROUNDS = 500, 3


class PlainDiscreteGFSVGD:
    """Latent points x (m, d) on a size x size torus with coupling b and field h; the surrogate is p0 ptilde(tanh x)."""

    def __init__(self, latent: np.ndarray, size: int, coupling: float, field: float, products: bool = True) -> None:
        self.latent, self.size, self.coupling, self.field, self.factor = latent, size, coupling, field, 3.0
        self.products = products  # else all differences
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
        differences = None if self.products else x[:, None] - x
        squares = _squared(x) if differences is None else (differences**2).sum(axis=2)
        h = self.factor * np.median(squares[np.triu_indices(m, 1)]) / (2 * np.log(m + 1))
        k = np.exp(-squares / h) * w
        if differences is None:
            force = k @ (scores - 2 / h * x) + 2 / h * x * k.sum(axis=1, keepdims=True)
        else:
            force = k @ scores + 2 / h * (k[:, :, None] * differences).sum(axis=1)
        self.first = FIRST * self.first + (1 - FIRST) * force
        self.second = SECOND * self.second + (1 - SECOND) * force**2
        root = np.sqrt(self.second / (1 - SECOND**t)) + SMALLEST
        self.latent = x + eta / t**kappa * self.first / (1 - FIRST**t) / root


def _squared(x: np.ndarray) -> np.ndarray:
    """|x_i - x_j|^2, (m, m), by a matrix product."""
    squares = (x**2).sum(axis=1)
    return np.maximum(squares[:, None] + squares - 2 * x @ x.T, 0.0)


def session(num_particles: int = 100, size: int = 10) -> Session:
    """Ours at its defaults, from N(-2, 1)."""
    options = {"size": size, "coupling": 0.1, "field": 0.0}
    recipe = Recipe(
        "ising", "discrete_gf_svgd", target_options=options, budget=None, num_particles=num_particles, start_mean=-2.0
    )
    return Session(recipe, metrics_every=10**9)


def plain(ours: Session, products: bool = True) -> PlainDiscreteGFSVGD:
    """The plain form from where a session stands at its start."""
    o = ours.target.options
    return PlainDiscreteGFSVGD(ours.frame.state.latent, o.size, o.coupling, o.field, products)


def cpu_seconds(rounds: int = ROUNDS) -> dict[str, float]:
    """The least of some rounds each, in turn."""
    session().advance(2)  # compiled before anything is timed
    times: dict[str, list[float]] = {}
    for _ in range(rounds):
        ours = session()
        forms = {"matrix products": plain(ours), "all differences": plain(ours, products=False)}
        calls: dict[str, Callable[[], object]] = {"ours": lambda ours=ours: ours.advance(STEPS)}
        calls |= {name: lambda form=form: [form.step() for _ in range(STEPS)] for name, form in forms.items()}
        for name, call in calls.items():
            start = time.process_time()
            call()
            times.setdefault(name, []).append(time.process_time() - start)
    return {name: min(found) for name, found in times.items()}


if __name__ == "__main__":
    found = cpu_seconds()
    print(found, {f"ours / {name}": found["ours"] / seconds for name, seconds in found.items()})
