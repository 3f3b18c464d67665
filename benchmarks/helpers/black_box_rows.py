"""The rows of `bench stein` on black-box importance sampling and on annealing without gradients.

E9b: means of x and x^2 of N(0, I) in the plane from points of N(0, 2 I) or of N(1/2, 2 I), weighed in five ways. E6:
AIS without gradients on a mixture of ten Gaussians, N(mu_k, I) with mu_k in a cube of side 2, from N(0, 4 I).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from benchmarks.helpers.stein_rows import Measured, Row, squared_errors
from pmdviz.engine.session import Session
from pmdviz.methods.stein.black_box_is import discrepancy_matrix

COUNTS, MEANS = (50, 100, 200), (0.0, 0.5)
WALKERS, TEMPERATURES, DIMS = 200, 1000, (2, 25)
DRAWS, PAIRS = 2000, 500  # exact ones; of these so many for their median distance


def weighed(session: Session, seed: int) -> Measured:
    """Squared errors of the weighted means, and the ESS as a share."""
    frame = session.frame
    share = 1 / float((frame.weights**2).sum()) / len(frame.weights)
    return {**squared_errors(frame.particles, frame.weights, frame.target, seed), "ess": share}


def control_variates(session: Session, seed: int) -> Measured:
    """The same by weights K^-1 1 / (1'K^-1 1), which may be below 0 (Oates, Girolami, Chopin 2017, eq. 8).

    They integrate exactly the constant and the kernel functions kappa(., x_i): control functionals as a quadrature. A
    method's particles have no such weights; hence they are here alone.
    """
    frame = session.frame
    rows, K = discrepancy_matrix(frame.state, frame.target, frame.knobs)
    found = np.zeros(len(frame.particles))
    found[rows] = control_weights(K)
    return squared_errors(frame.particles, found, frame.target, seed)


def control_weights(K: np.ndarray) -> np.ndarray:
    """argmin u'Ku over sum u = 1 alone, (n,)."""
    scale = 1 / np.sqrt(np.diag(K))
    solved = scale * np.linalg.solve(scale[:, None] * K * scale, scale)
    return solved / solved.sum()


def discrepancy(session: Session, seed: int) -> Measured:
    """MMD^2 of the weighted particles to 2,000 exact draws, k = exp(-|x-y|^2 / med^2) with their median distance."""
    frame = session.frame
    draws = frame.target.reference().sample(np.random.default_rng([seed, 3]), DRAWS)
    some = draws[:PAIRS]
    h = float(np.median(_squares(some, some)[np.triu_indices(PAIRS, 1)]))
    x, w = frame.particles, frame.weights
    own = w @ np.exp(-_squares(x, x) / h) @ w
    across = w @ np.exp(-_squares(x, draws) / h).mean(axis=1)
    mmd2 = float(own - 2 * across + np.exp(-_squares(draws, draws) / h).mean())
    log_z = float(frame.method.log_z(frame.state, frame.knobs, frame.target))
    return {"mmd2": mmd2, "ess": 1 / float((w**2).sum()) / len(w), "log_z_error": log_z}


def _squares(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.maximum((x**2).sum(axis=1)[:, None] + (y**2).sum(axis=1) - 2 * x @ y.T, 0.0)


def _black_box(mean: float, count: int) -> list[Row]:
    options = {"num_components": 1, "spread": 0.0, "variance": 1.0, "q0_mean": mean, "q0_sd": 2**0.5}
    words, m = f"points of N({mean:g}, 2 I), m = {count}", {"num_particles": count}
    by_target = {**m, "score": "gradient"}
    make = partial(Row, method="black_box_is", target="gmm", options=options, statistic=weighed)
    return [
        Row(f"Importance sampling, {words}", "importance", "gmm", options, m, weighed),
        make(f"Gradient-free black-box IS, {words}", knobs=m),
        make(f"Gradient-free black-box IS without scaling, {words}", knobs={**m, "scaling": "none"}),
        make(f"Black-box IS, {words}", knobs=by_target),
        Row(f"Control variates, {words}", "black_box_is", "gmm", options, by_target, control_variates, 1),
    ]


def _walk(dim: int, words: str, proposals: str) -> Row:
    options = {"dim": dim, "spread": 1.0, "variance": 1.0, "q0_sd": 2.0}
    knobs = {"num_particles": WALKERS, "num_temperatures": TEMPERATURES, "proposals": proposals}
    return Row(f"{words}, d = {dim}", "gf_ais", "gmm", options, knobs, discrepancy)


BLACK_BOX = [row for mean in MEANS for count in COUNTS for row in _black_box(mean, count)]
PROPOSALS = {"GF-AIS": "pilots", "GF-AIS as printed": "printed", "GF-AIS, random walk": "walk"}
WALKS = [_walk(dim, *one) for dim in DIMS for one in PROPOSALS.items()]
_REPORTED: Mapping[str, Mapping[float, tuple[tuple[float, ...], ...]]] = {  # x and x^2 at 50, 100, 200 points
    "Importance sampling": {0.0: ((2.1e-2, 2.8e-2), (8e-3, 1.2e-2), (4.7e-3, 7.6e-3))},
    "Gradient-free black-box IS": {
        0.0: ((3.1e-3, 1.8e-2), (9e-4, 4.3e-3), (3.6e-4, 1.3e-3)),
        0.5: ((7e-3,), (2.3e-3,), (1.6e-2,)),
    },
    "Black-box IS": {0.0: ((2.2e-3, 5e-3), (2.8e-4, 1e-3), (1.8e-5, 2.5e-4))},
}
RELATIVE = 0.4  # standard error of a mean square over 20 runs with a few large ones, as measured here
SPECIFIED: dict[str, dict[str, tuple[float, float]]] = {
    f"{name}, points of N({mean:g}, 2 I), m = {count}": {
        key: (value, RELATIVE * value) for key, value in zip(("x", "x2"), values, strict=False)
    }
    for name, by_mean in _REPORTED.items()
    for mean, found in by_mean.items()
    for count, values in zip(COUNTS, found, strict=True)
}
SPECIFIED["GF-AIS, random walk, d = 2"] = {"mmd2": (4.4e-3, 1e-3)}
SPECIFIED["GF-AIS, random walk, d = 25"] = {"mmd2": (0.021, 0.005), "ess": (0.16, 0.03)}
