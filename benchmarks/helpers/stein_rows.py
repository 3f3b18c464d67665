"""The rows of `bench stein` on Stein importance sampling: who takes part, at which settings, and how each errs.

A row measures one run by its seed. Tables: MOMENTS on the plane of ten Gaussians (the thesis' figure 6), WARPED on the
bent mixture, MACHINE on Gauss-Bernoulli machines of 5 and 20 units. The thesis' settings are width factor 1, a step
that does not fall, and the last step kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.targets import Target, make_target

Measured = dict[str, float]
Statistic = Callable[[Session, int], Measured]
THESIS = {"length_scale_factor": 1.0, "kappa": 0.0, "stop": "last"}
DEFAULT_STEPS, THESIS_STEPS, MACHINE_STEPS = None, 800, 300


class Row(NamedTuple):
    """A method at one setting on one target, or with `method` "" direct draws from the target itself."""

    name: str
    method: str
    target: str
    options: Mapping[str, Any]
    knobs: Mapping[str, Any]
    statistic: Statistic
    steps: int | None = None  # None: the method's own budget
    draws: int = 0  # of the target, where there is no method

    def recipe(self, seed: int) -> Recipe:
        """What is run."""
        endless = {} if self.steps is None else {"budget": None}
        return Recipe(self.target, self.method, target_options=dict(self.options), seed=seed, **endless, **self.knobs)

    def measure(self, seed: int) -> Measured:
        """The statistic of the run of this seed."""
        if not self.method:
            return direct(make_target(self.target, **self.options), self.draws, seed)
        session = Session(self.recipe(seed), metrics_every=10**9)
        session.advance(10**6 if self.steps is None else self.steps)
        return {**self.statistic(session, seed), "evaluations": float(session.frame.evaluations)}


def cosine_at(seed: int, dim: int) -> tuple[np.ndarray, float]:
    """w (d,) ~ N(0, I) and b ~ U(0, 1) of cos(w'x + b)."""
    rng = np.random.default_rng([seed, 2019])
    return rng.standard_normal(dim), float(rng.random())


def truths(target: Target, seed: int) -> tuple[np.ndarray, np.ndarray, float]:
    """E x (d,), E x^2 (d,) and E cos(w'x + b) = e^(-v |w|^2 / 2) sum_k w_k cos(w'mu_k + b) of `gmm`."""
    exact, (w, b) = target.reference(), cosine_at(seed, target.dim)
    shrunk = np.exp(-0.5 * target.options.variance * (w**2).sum())
    cosine = shrunk * (target.weights * np.cos(target.means @ w + b)).sum()
    return exact.mean, np.diag(exact.cov) + exact.mean**2, float(cosine)


def squared_errors(points: np.ndarray, weights: np.ndarray, target: Target, seed: int) -> Measured:
    """Squared errors of self-normalised means of x and x^2, a mean over the coordinates, and of cos(w'x + b)."""
    (w, b), (first, second, cosine) = cosine_at(seed, target.dim), truths(target, seed)
    means = (weights[:, None] * points).sum(axis=0), (weights[:, None] * points**2).sum(axis=0)
    found = float((weights * np.cos(points @ w + b)).sum())
    return {
        "x": float(((means[0] - first) ** 2).mean()),
        "x2": float(((means[1] - second) ** 2).mean()),
        "cos": (found - cosine) ** 2,
    }


def direct(target: Target, num: int, seed: int) -> Measured:
    """Independent draws of the target: what importance sampling would be with exact weights."""
    points = target.reference().sample(np.random.default_rng([seed, 1]), num)
    return squared_errors(points, np.full(num, 1 / num), target, seed)


def evidence(session: Session, seed: int) -> Measured:
    """Error of log Z in nats, squared relative error of Z, and the ESS as a share of the particles."""
    frame = session.frame
    error = _log_z_error(session)
    share = 1 / float((frame.weights**2).sum()) / len(frame.weights)
    return {"log_z_error": error, "z": float(np.expm1(error)) ** 2, "ess": share}


def _log_z_error(session: Session) -> float:
    frame = session.frame
    return float(frame.method.log_z(frame.state, frame.knobs, frame.target) - frame.target.reference().log_z)


def moments(session: Session, seed: int) -> Measured:
    """Those of `evidence`, and squared errors of means."""
    frame = session.frame
    return {**squared_errors(frame.particles, frame.weights, frame.target, seed), **evidence(session, seed)}


def divergence(session: Session, seed: int) -> Measured:
    """Those of `evidence`, and KL(q, p) = mean over the particles of log q - log p, for particles that q was drawn to.

    With log w = log p - log q of weights that were never resampled it is log Z - mean of log w, in nats.
    """
    known, state = evidence(session, seed), session.frame.state
    log_mean_w = known["log_z_error"]  # relative to Z
    log_w = state.log_weights + np.log(len(state.log_weights)) + log_mean_w
    return {**known, "kl": -float(log_w.mean())}


_gmm = partial(Row, target="gmm", options={}, statistic=moments)


def moment_rows(count: int = 200) -> list[Row]:
    """E2: means, cosines and Z of the ten Gaussians in the plane with so many particles each (the thesis' figure 6)."""
    m = {"num_particles": count}
    return [
        _gmm(f"SteinIS, {count} followers", "steinis", knobs=m),
        _gmm(f"SteinIS as in the thesis, {count} followers", "steinis", knobs={**m, **THESIS}, steps=THESIS_STEPS),
        _gmm(f"Importance sampling, {count} draws", "importance", knobs=m),
        _gmm(f"AIS, {count} particles", "ais", knobs=m),
        _gmm(f"HAIS, {count} particles", "hais", knobs=m),
        _gmm(f"Direct draws, {count}", "", knobs={}, draws=count),
    ]


MOMENTS = [row for count in (50, 200, 800) for row in moment_rows(count)]
_warped = partial(Row, method="steinis", target="warped_gmm", statistic=divergence)
NARROW = {"q0_sd": 1.0}
WARPED = [
    _warped("SteinIS, q0 as it is, 200 leaders", options={}, knobs={"num_leaders": 200}),
    _warped(
        "SteinIS, q0 of variance 1, 200 leaders, width factor 8",
        options=NARROW,
        knobs={"num_leaders": 200, "length_scale_factor": 8.0, "eta": 1.0},
    ),
    _warped("SteinIS, q0 of variance 1, 500 leaders", options=NARROW, knobs={"num_leaders": 500, "eta": 1.0}),
    Row("Importance sampling", "importance", "warped_gmm", {}, {"num_particles": 200}, evidence),
]

_thesis = partial(_gmm, method="steinis", statistic=divergence)
_area = partial(_gmm, method="path_integration", statistic=lambda session, seed: {"log_z_error": _log_z_error(session)})
PATH = [  # the thesis' figures 4 and 5: KL by step, and log Z by the area under it
    *(
        _thesis(f"SteinIS as in the thesis, step {steps}", knobs={"num_particles": 200, **THESIS}, steps=steps)
        for steps in (10, 25, 100, 400)
    ),
    _area("Path integration, V-statistic", knobs={}),
    _area("Path integration, U-statistic", knobs={"statistic": "u"}),
]


def machine_rows(dim: int) -> list[Row]:
    """E4: log Z of a Gauss-Bernoulli machine of ten hidden units with 100 particles."""
    make, m = partial(Row, target="rbm", options={"dim": dim}, statistic=evidence), {"num_particles": 100}
    stein = partial(make, method="steinis", steps=MACHINE_STEPS)
    return [
        *(
            stein(f"SteinIS, width factor {factor:g}, d = {dim}", knobs={**m, "length_scale_factor": factor})
            for factor in (1.0, 4.0, 9.0)
        ),
        make(f"AIS, 300 temperatures, d = {dim}", "ais", knobs={**m, "num_temperatures": 300}),
        make(f"AIS, 1500 temperatures, d = {dim}", "ais", knobs={**m, "num_temperatures": 1500}),
        make(f"HAIS, 300 temperatures, d = {dim}", "hais", knobs={**m, "num_temperatures": 300}),
        make(f"Importance sampling, d = {dim}", "importance", knobs=m),
    ]


MACHINE = [row for dim in (5, 20) for row in machine_rows(dim)]


def _squares(**means: float) -> dict[str, tuple[float, float]]:
    """Mean squares over 30 runs, whose relative standard error is about sqrt(2 / 30)."""
    return {name: (mean, 0.26 * mean) for name, mean in means.items()}


def _of_four(mean: float, sd: float) -> dict[str, tuple[float, float]]:
    return {"log_z_error": (mean, sd / 2)}


SPECIFIED = {  # what the specification's section 5 has for a row, with its standard error as far as it is known
    "SteinIS, 50 followers": _squares(z=4.3e-3),
    "SteinIS, 200 followers": _squares(x=0.026, x2=0.075, cos=1.8e-3, z=1.6e-3),
    "SteinIS, 800 followers": _squares(z=5.1e-4),
    "SteinIS as in the thesis, 200 followers": _squares(x=0.238, x2=1.58, cos=0.0185, z=0.052),
    "Importance sampling, 50 draws": _squares(z=9.8e-3),
    "Importance sampling, 200 draws": _squares(x=0.029, x2=0.149, cos=2.0e-3, z=2.6e-3),
    "Importance sampling, 800 draws": _squares(z=1.0e-3),
    "Direct draws, 200": _squares(x=0.017, x2=0.080, cos=1.4e-3),
    "SteinIS, width factor 1, d = 5": _of_four(-0.62, 0.54),
    "SteinIS, width factor 9, d = 5": _of_four(-0.07, 0.13),
    "AIS, 300 temperatures, d = 5": _of_four(0.16, 0.37),
    "AIS, 1500 temperatures, d = 5": _of_four(0.04, 0.10),
    "HAIS, 300 temperatures, d = 5": _of_four(0.02, 0.01),
    "SteinIS, width factor 1, d = 20": _of_four(-22.0, 2.4),
    "SteinIS, width factor 4, d = 20": _of_four(-2.1, 0.7),
    "SteinIS, width factor 9, d = 20": _of_four(-0.77, 0.40),
    "AIS, 1500 temperatures, d = 20": _of_four(-0.05, 0.12),
    "HAIS, 300 temperatures, d = 20": _of_four(0.03, 0.06),
}
