"""SVI and NPV against the optima of their own objectives: how much of their TV is the family's, how much the run's."""

from __future__ import annotations

from argparse import Namespace
from typing import Any, NamedTuple

import numpy as np

from benchmarks.helpers.claims_rules import pooled
from benchmarks.helpers.contest import figures, needed
from benchmarks.search import BUDGET, DATA_SEEDS, SEEDS, TARGET
from pmdviz.densities.density import Density, GaussianMixture, KernelDensity
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.methods import METHODS
from pmdviz.methods.vi.mixture import NARROWEST, WIDEST, Tempered, entropy_bound, maximised
from pmdviz.metrics.divergences import measure, picture
from pmdviz.targets import Target, make_target

NODES = 24  # Gauss-Hermite nodes a dimension: the ELBO to 1e-6 nats
STARTS = 12
ROUNDS = 60  # of L-BFGS on means and on widths, each until it stands
SETTINGS: dict[str, tuple[dict[str, Any], ...]] = {
    "svi": ({}, {"optimiser": "natural", "eta": 2.0, "n0": 40.0}),
    "npv": ({}, {"eta": 4.0, "n0": 20.0, "annealing": 3000}),
}


class Optimum(NamedTuple):
    """A member of the family that no small change makes better."""

    elbo: float  # nats, without the constant log p(X)
    density: Density
    tv: float
    upper: bool | None  # whether its mean has theta_2 > 0; None for a family that can hold both modes


def run(options: Namespace) -> dict[str, Any]:
    """The optima of each data seed, and by how much the runs' TV is above them."""
    data_seeds, seeds = DATA_SEEDS[: 2 if options.quick else None], SEEDS[: 2 if options.quick else None]
    starts = 4 if options.quick else STARTS
    optima = {
        "svi": [gaussian_optima(_target(data), starts) for data in data_seeds],
        "npv": [mixture_optima(_target(data), starts) for data in data_seeds],
    }
    return {
        "target": TARGET,
        "budget": BUDGET,
        "runs": len(data_seeds) * len(seeds),
        **{name: _compared(name, found, data_seeds, seeds) for name, found in optima.items()},
    }


def _compared(name: str, optima: list[list[Optimum]], data_seeds: range, seeds: range) -> dict[str, Any]:
    """Optima by data seed, and for each setting the runs' mean TV minus that of an optimum."""
    tried = []
    for knobs in SETTINGS[name]:
        ends = [[_end(name, knobs, data, seed) for seed in seeds] for data in data_seeds]
        tried.append({"knobs": knobs, **_above(ends, optima)})
    return {"optima": [_described(found) for found in optima], "runs": tried}


def _above(ends: list[list[tuple[float, bool]]], optima: list[list[Optimum]]) -> dict[str, Any]:
    """TV of the runs, and the same minus that of the best optimum, and of the best of those in the run's own mode."""
    tv = np.array([[end[0] for end in runs] for runs in ends])
    best = np.array([found[0].tv for found in optima])[:, None]
    own = np.array([[_own(found, upper).tv for _, upper in runs] for runs, found in zip(ends, optima, strict=True)])
    of = {"tv": tv, "above_the_best_optimum": tv - best, "above_the_optimum_of_its_mode": tv - own}
    result = {name: figures(float(values.mean()), 3) for name, values in of.items()}
    errors = {f"{name}_standard_error": figures(pooled(values)[1], 2) for name, values in of.items()}
    return {**result, **errors, "largest_above_the_optimum_of_its_mode": figures(float((tv - own).max()), 3)}


def _own(found: list[Optimum], upper: bool) -> Optimum:
    """The best optimum on the run's side; the best of all where a member holds both modes or no start led there."""
    return next((optimum for optimum in found if optimum.upper in (upper, None)), found[0])


def _end(name: str, knobs: dict[str, Any], data_seed: int, seed: int) -> tuple[float, bool]:
    """TV of a run at the budget, and whether the mean of q has theta_2 > 0."""
    options = {**TARGET, "data_seed": data_seed}
    session = Session(Recipe("mixture", name, target_options=options, seed=seed, budget=BUDGET, **knobs), 10**9)
    frame = session.advance(10**9)
    return float(frame.metrics["tv"]), bool(frame.density.mean[1] > 0)


def _described(found: list[Optimum]) -> dict[str, Any]:
    """The best optimum, the best on the other side, and how they scatter over starts."""
    best, other = found[0], _own(found, not found[0].upper)
    return {
        "elbo": figures(best.elbo, 8),
        "tv": figures(best.tv, 3),
        "elbo_of_the_other_mode": figures(other.elbo, 8),
        "tv_of_the_other_mode": figures(other.tv, 3),
        "starts": len(found),
        "tv_over_starts": [figures(optimum.tv, 3) for optimum in found],
    }


def _target(data_seed: int) -> Target:
    return make_target("mixture", **TARGET, data_seed=data_seed)


def _tv(density: Density, target: Target) -> float:
    return float(measure(density, target.exact, picture(density, target.exact, target.view_box))["tv"])


def gaussian_optima(target: Target, starts: int) -> list[Optimum]:
    """Optima of the exact ELBO over N(mu, L L'), by L-BFGS on quadrature from draws of the prior, best first."""
    (optimize,) = needed("scipy.optimize")
    rng, found = np.random.default_rng(0), []
    for mean in target.sample_prior(rng, starts):
        start = np.concatenate([mean, np.log(0.3 * target.scale), [0.0]])
        best = optimize.minimize(negative_elbo, start, (target, *nodes()), jac=True, method="L-BFGS-B",
                                 options={"maxiter": 2000, "ftol": 1e-13, "gtol": 1e-7})  # fmt: skip
        mu, factor = unpacked(best.x)
        density = KernelDensity(mu[None], np.zeros(1), factor)
        found.append(Optimum(-float(best.fun), density, _tv(density, target), bool(mu[1] > 0)))
    return sorted(found, key=lambda optimum: -optimum.elbo)


def nodes() -> tuple[np.ndarray, np.ndarray]:
    """Points (n, 2) and weights (n,) of an expectation over N(0, I)."""
    places, shares = np.polynomial.hermite_e.hermegauss(NODES)
    points = np.stack(np.meshgrid(places, places), axis=-1).reshape(-1, 2)
    return points, np.outer(shares, shares).ravel() / shares.sum() ** 2


def unpacked(flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean (2,) and factor (2, 2) from (mu_1, mu_2, log L_11, log L_22, L_21)."""
    return flat[:2], np.array([[np.exp(flat[2]), 0.0], [flat[4], np.exp(flat[3])]])


def negative_elbo(
    flat: np.ndarray, target: Target, points: np.ndarray, weights: np.ndarray
) -> tuple[float, np.ndarray]:
    """-(E_q log p(theta, X) + log|L|), q = N(mu, L L'), without the entropy's constant, and its gradient (5,)."""
    mean, factor = unpacked(flat)
    theta = mean + points @ factor.T
    slopes = target.grad_log_joint(theta) * weights[:, None]
    value = float(weights @ target.log_joint(theta)) + flat[2] + flat[3]
    in_factor = slopes.T @ points
    diagonal = np.diag(in_factor) * np.diag(factor) + 1.0
    return -value, -np.concatenate([slopes.sum(axis=0), diagonal, [in_factor[1, 0]]])


def mixture_optima(target: Target, starts: int) -> list[Optimum]:
    """Optima of NPV's own objective, all data in it, by its L-BFGS from the method's two kinds of start."""
    return sorted((_climbed(target, seed) for seed in range(starts)), key=lambda optimum: -optimum.elbo)


def _climbed(target: Target, seed: int) -> Optimum:
    method, start = METHODS["npv"], "spread" if seed % 2 == 0 else "prior"
    state = method.init(np.random.default_rng(seed), target, method.Knobs.checked({"start": start}))
    near = Tempered(target, target.data, 1.0, state.origin)
    z, log_widths = state.means / target.scale, np.log(state.widths)
    for _ in range(ROUNDS):
        z, log_widths = maximised(z, log_widths, near, 200, (NARROWEST, WIDEST))
    widths, K = np.exp(log_widths), len(z)
    _, traces = near.slopes_and_traces(z)
    value = float((near.values(z) + 0.5 * widths**2 * traces).mean()) + entropy_bound(z, widths)[0]
    means, factors = z * target.scale, widths[:, None, None] * np.diag(target.scale)
    density = GaussianMixture(means, np.full(K, -np.log(K)), factors)
    return Optimum(value, density, _tv(density, target), None)
