"""Rows of `bench stein` on discrete states: the mean of lattices, and how draws of a Boltzmann machine compare.

LATTICES is E7 of the specification (the thesis' figure 19): the squared error of the mean of every spin against the
exact one, a mean over the spins, after 500 steps from N(-2, 1), beside draws from the target itself and a Gibbs chain.
MACHINES is its figure 22, with d = 100 and M = 25: MMD with the exponentiated Hamming kernel. The page's own settings
are the tanh surrogate with 3 times the thesis' squared width; the thesis' are the base alone with 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.metrics.distances import differing, reference_draws
from pmdviz.targets import Target, make_target

Measured = dict[str, float]
STEPS, BURN_IN, THINNING = 500, 50, 5
START = {"start_mean": -2.0}
SETTINGS: dict[str, dict[str, Any]] = {
    "base, width 1": {"surrogate": "base", "length_scale_factor": 1.0},
    "base, width 3": {"surrogate": "base", "length_scale_factor": 3.0},
    "tanh": {},
}
COUPLINGS = (0.0, 0.05, 0.1, 0.15)
MACHINE = {"visible": 100, "hidden": 25, "weight_sd": 0.05, "bias_ratio": 20.0}  # biases of N(0, 1)


class Row(NamedTuple):
    """A method at one setting on one target, or with `method` "" as many draws of the target itself."""

    name: str
    method: str
    target: str
    options: Mapping[str, Any]
    count: int  # particles or draws
    knobs: Mapping[str, Any] = {}

    def measure(self, seed: int) -> Measured:
        """The statistic of the run of this seed."""
        target = make_target(self.target, **self.options)
        if not self.method:
            draws = target.reference().sample(np.random.default_rng([seed, 1]), self.count)
            return measured(target, draws, np.full(self.count, 1 / self.count))
        options = dict(self.options)
        recipe = Recipe(self.target, self.method, target_options=options, seed=seed, budget=None, **self.knobs)
        session = Session(recipe, metrics_every=10**9)
        session.advance(10**6 if self.method == "ais" else self._steps)
        frame = session.frame
        found = measured(target, frame.particles, frame.weights)
        if self.method == "discrete_gf_svgd":
            found["ess"] = frame.info.scalars["ess_of_ratios"] / self.count
        return found

    @property
    def _steps(self) -> int:
        return BURN_IN + THINNING * self.count if self.method == "gibbs" else STEPS


def measured(target: Target, points: np.ndarray, weights: np.ndarray) -> Measured:
    """Of weighted points (m, d): squared error of the mean, a mean over the coordinates, and squared MMD.

    Of lattices also that of the products of neighbours, a mean over all pairs, whose truth is that of 1,000 draws.
    """
    error = ((weights[:, None] * points).sum(axis=0) - target.reference().mean) ** 2
    found = {"mean": float(error.mean()), "mmd2": mmd2(target, points, weights)}
    if target.name == "ising":
        draws = reference_draws(target)
        exact = products(draws).mean(axis=0)
        found["neighbours"] = float((((weights[:, None] * products(points)).sum(axis=0) - exact) ** 2).mean())
    return found


def products(points: np.ndarray) -> np.ndarray:
    """z_i z_j (m, 2 d) of the neighbours on a torus, each pair once, for spins (m, d)."""
    side = round(points.shape[1] ** 0.5)
    lattices = points.reshape(-1, side, side)
    return np.concatenate([(lattices * np.roll(lattices, 1, axis)).reshape(len(points), -1) for axis in (1, 2)], axis=1)


def mmd2(target: Target, points: np.ndarray, weights: np.ndarray) -> float:
    """Squared MMD of the weighted points themselves to p, by 1,000 draws of it: 1/n of (1 - E k) for n draws of p."""
    y, values = reference_draws(target), target.space.values
    xx, xy, yy = (np.exp(-differing(a, b, values)) for a, b in ((points, points), (points, y), (y, y)))
    among = (yy.sum() - len(y)) / (len(y) * (len(y) - 1))
    return float((weights[:, None] * weights * xx).sum() - 2 * (weights * xy.mean(axis=1)).sum() + among)


def lattice(size: int, coupling: float, **more: Any) -> dict[str, Any]:
    """Options of a lattice without a field, the same coupling everywhere."""
    return {"size": size, "coupling": coupling, "field": 0.0, **more}


def lattice_rows(size: int, coupling: float, count: int, settings: tuple[str, ...], **more: Any) -> list[Row]:
    """Every setting of the method, a Gibbs chain, and draws of the target."""
    make = partial(Row, target="ising", options=lattice(size, coupling, **more), count=count)
    words = f"{size} x {size}, J = {coupling:g}, n = {count}"
    knobs = {"num_particles": count, **START}
    return [
        *(make(f"{name}, {words}", "discrete_gf_svgd", knobs={**knobs, **SETTINGS[name]}) for name in settings),
        make(f"Gibbs, {words}", "gibbs", knobs={"burn_in": BURN_IN, "thinning": THINNING}),
        make(f"Direct draws, {words}", ""),
    ]


ALL = tuple(SETTINGS)
LATTICES = [
    *(row for size in (3, 4) for coupling in (0.0, 0.1, 0.3) for row in lattice_rows(size, coupling, 100, ALL)),
    *(row for count in (20, 100) for coupling in COUPLINGS for row in lattice_rows(10, coupling, count, ALL)),
]


def machine_rows(count: int) -> list[Row]:
    """With so many particles each."""
    make = partial(Row, target="bernoulli_rbm", options=MACHINE, count=count)
    m, moved = {"num_particles": count}, partial(make, method="discrete_gf_svgd")
    return [
        *(moved(f"{name}, RBM, n = {count}", knobs={**m, **setting}) for name, setting in SETTINGS.items()),
        make(f"Gibbs, RBM, n = {count}", "gibbs", knobs={"burn_in": BURN_IN, "thinning": THINNING}),
        make(f"AIS, RBM, n = {count}", "ais", knobs=m),
        make(f"Direct draws, RBM, n = {count}", ""),
    ]


MACHINES = [row for count in (20, 100) for row in machine_rows(count)]
ROWS = [*LATTICES, *MACHINES]


def _known(
    words: str, size: int, count: int, *means: float, couplings: tuple[float, ...] = COUPLINGS
) -> dict[str, Any]:
    """Of unknown numbers of runs: a quarter of the mean stands for its standard error."""
    names = (f"{words}, {size} x {size}, J = {coupling:g}, n = {count}" for coupling in couplings)
    return {name: {"mean": (mean, 0.25 * mean)} for name, mean in zip(names, means, strict=True)}


FEW = (0.0, 0.1, 0.3)
SPECIFIED = {  # E7; which edges the lattices had is not said, nor the width of the small ones
    **_known("base, width 1", 10, 100, 0.071, 0.044, 0.016, 0.049),
    **_known("base, width 3", 10, 100, 0.007, 0.011, 0.016, 0.020),
    **_known("tanh", 10, 100, 0.007, 0.007, 0.006, 0.005),
    **_known("tanh", 10, 20, 0.052, 0.024, 0.022, 0.022),
    **_known("base, width 3", 3, 100, 2.2e-3, 3.4e-3, 9.7e-3, couplings=FEW),
    **_known("base, width 3", 4, 100, 3.1e-3, 8.7e-3, 2.2e-2, couplings=FEW),
    **_known("tanh", 4, 100, 6.1e-3, couplings=(0.3,)),
}
