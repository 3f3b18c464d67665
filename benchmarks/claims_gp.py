"""What the paper claims about sparse Gaussian processes: RMSE of every method on a function and on synthetic songs."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.helpers.claims_rules import arrays_of, pooled
from benchmarks.helpers.claims_runs import by_setting, write_rows
from benchmarks.helpers.contest import figures
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.targets import Target

SEARCH_DATA, SEARCH_RUNS = range(1001, 1003), range(100, 101)  # no seed of these judges
HELD_OUT, RUNS = range(1011, 1016), range(200, 202)

Settings = tuple[dict[str, Any], ...]


class Problem(NamedTuple):
    """A target, the batch, and the steps after which a run is looked at; the last one is where claims are judged."""

    words: str
    target: str
    options: dict[str, Any]
    batch: int
    steps: tuple[int, ...]


class Entrant(NamedTuple):
    """A method, and the settings among which its best is sought; the first is our default."""

    words: str
    method: str
    tried: Settings = ({},)
    fixed: Mapping[str, Any] = {}
    batched: bool = True  # whether its batch is the problem's: one-pass methods have their own


PROBLEMS = {
    "function": Problem("the function of appendix H.3.1", "sparse_gp", {}, 128, (1, 5, 10, 20, 50, 80)),
    "songs": Problem("10,000 synthetic songs", "song_years", {"num_data": 10_000, "dim": 128}, 512, (1, 5, 10, 20, 40)),
}
DECAYS: Settings = ({}, {"eta": 0.5}, {"eta": 2.0, "n0": 2.0}, {"n0": 5.0}, {"eta": 1.0, "n0": 0.0, "kappa": 1.0})
ENTRANTS = {
    "pmd 16": Entrant("structured PMD, 16 particles", "structured_pmd", DECAYS),
    "pmd 1": Entrant("structured PMD, 1 particle", "structured_pmd", DECAYS, {"num_particles": 1}),
    "svi": Entrant("SVI-GP", "svi_gp", DECAYS),
    "subset": Entrant("subset of data, 128", "subset_gp", fixed={"subset_size": 128}, batched=False),
    "subset 512": Entrant("subset of data, 512", "subset_gp", fixed={"subset_size": 512}, batched=False),
    "smc 16": Entrant("one-pass SMC, 16 particles", "smc", fixed={"num_particles": 16}, batched=False),
    "smc": Entrant("one-pass SMC, 1,500 particles", "smc", batched=False),
}


def run(options: Namespace) -> dict[str, Any]:
    """Every entrant at its best of a small search, on each problem; every run as lines of a CSV beside."""
    data, runs = (HELD_OUT[:2], RUNS[:1]) if options.quick else (HELD_OUT, RUNS)
    rows, knobs = [], {}
    for name in PROBLEMS:
        knobs[name] = {key: _best(entrant, name, options.quick) for key, entrant in ENTRANTS.items()}
        for key, entrant in ENTRANTS.items():
            found = _ends(entrant, (knobs[name][key],), name, data, runs)[0]
            rows += [{"problem": name, "entrant": key, "setting": "best", **row} for row in found]
    if options.json and options.json != "-":
        write_rows(Path(options.json).with_suffix(".csv"), rows)
    arrays = arrays_of([{name: str(value) for name, value in row.items()} for row in rows])
    return {
        "problems": {name: problem._asdict() for name, problem in PROBLEMS.items()},
        "search_data_seeds": list(SEARCH_DATA),
        "data_seeds": list(data),
        "run_seeds": list(runs),
        "entrants": {
            name: {key: _described(key, arrays[name][key]["best"], knobs[name][key]) for key in ENTRANTS}
            for name in PROBLEMS
        },
    }


def _best(entrant: Entrant, name: str, quick: bool) -> dict[str, Any]:
    """The setting with the lowest mean RMSE at the end."""
    tried = entrant.tried[:2] if quick else entrant.tried
    if len(tried) == 1:
        return tried[0]
    ends = _ends(entrant, tried, name, SEARCH_DATA, SEARCH_RUNS)
    last = max(PROBLEMS[name].steps)
    return tried[int(np.argmin([np.mean([row["rmse"] for row in rows if row["step"] == last]) for rows in ends]))]


def _ends(entrant: Entrant, settings: Settings, name: str, data: range, seeds: range) -> list[list[dict[str, Any]]]:
    """For each setting the rows of its runs."""
    return by_setting(partial(measured, entrant, name), settings, data, seeds)


def measured(entrant: Entrant, name: str, knobs: Mapping[str, Any], data_seed: int, seed: int) -> list[dict[str, Any]]:
    """Where one run stood after each number of batches; a method that has ended stays where it is."""
    problem = PROBLEMS[name]
    given = {**({"batch_size": problem.batch} if entrant.batched else {}), **entrant.fixed, **knobs}
    options, rows = {**problem.options, "data_seed": data_seed}, []
    with threadpool_limits(1):
        recipe = Recipe(problem.target, entrant.method, target_options=options, budget=None, seed=seed, **given)
        session = Session(recipe, 10**9)
        for step in problem.steps:
            budget = step * problem.batch
            while session.frame.visited < budget and not session.done:
                session.advance()
            frame = session.frame
            found = {"rmse": truth_error(frame.target, frame.density.mean), "visited": frame.visited}
            at = {"data_seed": data_seed, "seed": seed, "budget": budget, "step": step}
            rows.append({**at, **found, "evaluations": frame.evaluations, "seconds": frame.seconds})
    return rows


def _described(key: str, ends: Mapping[str, np.ndarray], knobs: Mapping[str, Any]) -> dict[str, Any]:
    by_step = [pooled(ends["rmse"][:, :, k]) for k in range(ends["rmse"].shape[2])]
    return {
        "title": ENTRANTS[key].words,
        "settings_tried": len(ENTRANTS[key].tried),
        "knobs": dict(knobs),
        "rmse": [figures(mean) for mean, _ in by_step],
        "standard_error": [figures(error, 2) for _, error in by_step],
        "visited": round(float(ends["visited"][:, :, -1].mean())),
        "seconds": figures(float(ends["seconds"][:, :, -1].mean()), 3),
        "runs": int(ends["rmse"][:, :, -1].size),
    }


def truth_error(target: Target, mean: np.ndarray) -> float:
    """Root mean squared error of E(y | x) at held-out rows, for a mean of theta (d,)."""
    found = target.row_mean(mean[None], target.test_data)[0]
    return float(np.sqrt(((found - target.outcomes(target.test_data)) ** 2).mean()))
