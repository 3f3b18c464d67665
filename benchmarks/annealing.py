"""Annealed importance sampling: the error of log Z on Boltzmann machines, digits, and with batches that ruin it."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.helpers.claims_runs import read_rows, write_rows
from benchmarks.helpers.contest import figures
from pmdviz.densities.chains import k_hat
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session

SEEDS = range(300, 304)  # of the target's parameters or data, and of the run
MOST = 10**12  # evaluations: the ladder ends by itself
HUNDRED = {"num_particles": 100}


class Case(NamedTuple):
    """A method on a target, and log Z's error by the specification, mean and sd of four runs, where it gives one."""

    words: str
    target: str
    options: dict[str, Any]
    method: str
    knobs: dict[str, Any]
    seed_option: str = "target_seed"  # the target's own seed, or its image
    first_seed: int = 0  # of that option, minus the run's
    specified: tuple[float, float] | None = None


def machine(d: int, method: str, T: int, specified: tuple[float, float] | None, **knobs: Any) -> Case:
    """A Gauss-Bernoulli machine of 10 hidden units, 100 particles."""
    words = f"{method}, T = {T:,}, machine of d = {d}"
    return Case(words, "rbm", {"dim": d}, method, {**HUNDRED, "num_temperatures": T, **knobs}, specified=specified)


def batches(B: int, T: int, power: float, specified: tuple[float, float] | None = None) -> Case:
    """A conjugate Gaussian mean, N = 200."""
    words = f"batches of {B}, N = 200, T = {T}, exponent {power:g}"
    knobs = {"num_particles": 200, "num_temperatures": T, "power": power, "batch_size": B}
    options = {"num_data": 200, "dim": 1, "sigma_x": 1.0}
    return Case(words, "gaussian", options, "stochastic_ais", knobs, "data_seed", specified=specified)


def digit(method: str) -> Case:
    """Latent coordinates of a digit that the decoder has not seen, at the page's defaults."""
    return Case(f"{method}, a digit of 64 pixels", "ppca", {}, method, {}, "image", 300)


CASES = {
    "rbm5 ais 300": machine(5, "ais", 300, (0.16, 0.37), sandwich=True),
    "rbm5 ais 1500": machine(5, "ais", 1500, (0.04, 0.10)),
    "rbm5 hais 300": machine(5, "hais", 300, (0.02, 0.01), sandwich=True),
    "rbm20 ais 300": machine(20, "ais", 300, None, sandwich=True),
    "rbm20 ais 1500": machine(20, "ais", 1500, (-0.05, 0.12)),
    "rbm20 hais 300": machine(20, "hais", 300, (0.03, 0.06), sandwich=True),
    "rbm20 hais 300 whole": machine(20, "hais", 300, None, refreshment=1.0),
    "rbm20 prior": Case("draws of q0, d = 20", "rbm", {"dim": 20}, "importance", {**HUNDRED, "batch_size": 1}),
    "digit ais": digit("ais"),
    "digit hais": digit("hais"),
    "batch 200": batches(200, 200, 3.0, (0.01, 0.0)),
    "batch 100": batches(100, 200, 3.0, (-6.6, 5.2)),
    "batch 40": batches(40, 200, 3.0, (-42.0, 16.0)),
    "batch 10": batches(10, 200, 3.0, (-103.0, 29.0)),
    "batch 40, T 50": batches(40, 50, 3.0),
    "batch 40, T 800": batches(40, 800, 3.0),
    "batch 40, linear": batches(40, 200, 1.0),
}


def run(options: Namespace) -> dict[str, Any]:
    """Every case over the seeds; each run is a line of a CSV beside the JSON, and is not made again if it is there."""
    path = Path(options.json).with_suffix(".csv") if options.json and options.json != "-" else None
    rows: list[dict[str, Any]] = [*read_rows(path)] if path is not None and path.exists() else []
    seeds = SEEDS[:2] if options.quick else SEEDS
    done = {(row["case"], int(float(row["seed"]))) for row in rows}
    for name, seed in ((name, seed) for seed in seeds for name in CASES):
        if (name, seed) not in done:
            rows.append({"case": name, "seed": seed, **measured(CASES[name], seed)})
            if path is not None:
                write_rows(path, map(_plain, rows))
    return {
        "seeds": list(seeds),
        "cases": {name: described(case, [r for r in rows if r["case"] == name]) for name, case in CASES.items()},
    }


def measured(case: Case, seed: int) -> dict[str, float]:
    """One run to its end."""
    options = {**case.options, case.seed_option: seed - case.first_seed}
    recipe = Recipe(case.target, case.method, target_options=options, budget=MOST, seed=seed, **case.knobs)
    session = Session(recipe, metrics_every=10**9)
    session.advance(10**9)
    frame, reference = session.frame, session.target.reference()
    above = frame.method.log_z_above(frame.state, frame.knobs, frame.target)
    error = frame.method.log_z(frame.state, frame.knobs, frame.target) - reference.log_z
    log_weights, points = frame.state.log_weights, frame.state.particles
    weights = np.exp(log_weights)
    variance = (weights[:, None] * (points - weights @ points) ** 2).sum(axis=0)
    return {
        "error": error,
        "above": np.nan if above is None else above - reference.log_z,
        "ess": 1 / (weights**2).sum(),
        "khat": k_hat(log_weights),
        "sd_ratio": float(np.sqrt(variance / np.diag(reference.cov)).mean()),
        "evaluations": frame.evaluations,
        "seconds": frame.seconds,
    }


def described(case: Case, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Mean and sd of the errors of log Z in nats, and the rest as means; whether the specification's row is met."""
    names = [name for name in rows[0] if name not in ("case", "seed")]
    columns = {name: np.array([float(row[name]) for row in rows]) for name in names}
    error, found = columns["error"], {"words": case.words, "method": case.method, "knobs": case.knobs}
    found |= {"mean_error": figures(error.mean(), 3), "sd": figures(error.std(ddof=1), 2), "runs": len(error)}
    found |= {name: figures(float(columns[name].mean()), 3) for name in ("ess", "sd_ratio", "evaluations", "seconds")}
    if np.isfinite(columns["above"]).all():
        found["mean_error_above"] = figures(columns["above"].mean(), 3)
        found["held_between"] = int(((error <= 0) & (columns["above"] >= 0)).sum())
    if case.specified is not None:
        mean, sd = case.specified
        standard_error = np.sqrt((error.var(ddof=1) + sd**2) / len(error))
        found["specified"] = {"mean_error": mean, "sd": sd}
        found["within_two_standard_errors"] = bool(abs(error.mean() - mean) <= 2 * standard_error)
    return found


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value if name == "case" else float(value) for name, value in row.items()}
