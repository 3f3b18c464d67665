"""What the paper's claims about the mixture are judged by: all methods on two kinds of data and two clocks."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.helpers.claims_entrants import ABLATION, ENTRANTS, Entrant, Settings
from benchmarks.helpers.claims_problems import (
    BY_EVALUATIONS,
    HELD_OUT,
    PROBLEMS,
    RUNS,
    SEARCH_DATA,
    SEARCH_RUNS,
    SLOW_RUNS,
    Problem,
)
from benchmarks.helpers.claims_rules import ONE_MODE, Runs, arrays_of, pooled
from benchmarks.helpers.claims_runs import by_setting, write_rows
from benchmarks.helpers.contest import figures
from pmdviz.engine.frame import Frame
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.errors import TargetError

METRICS = ("tv", "cross_entropy", "kl_reverse")
KEPT = (*METRICS, "mode_mass", "exact_mass", "visited", "density_evaluations", "gradient_evaluations")
Budgets = tuple[int, ...]
Row = dict[str, Any]  # where a run stood at the end of a budget


class Plan(NamedTuple):
    """Which seeds choose, which judge, and how many settings are tried (None: all)."""

    search_data: range = SEARCH_DATA
    data: range = HELD_OUT
    runs: range = RUNS
    slow_runs: range = SLOW_RUNS
    tried: int | None = None


QUICK = Plan(SEARCH_DATA[:1], HELD_OUT[:2], RUNS[:2], SLOW_RUNS, 2)


class Measured(NamedTuple):
    """Everything that was measured: the chosen knobs by problem, entrant and setting, and a row for each run's end."""

    knobs: dict[str, dict[str, dict[str, dict[str, Any]]]]
    rows: list[dict[str, Any]]


def run(options: Namespace) -> dict[str, Any]:
    """Every entrant at its best and at the paper's setting on each problem, and the ablation; runs as CSV beside."""
    plan = QUICK if options.quick else Plan()
    measured = Measured({}, [])
    for name, problem in PROBLEMS.items():
        _measure_problem(measured, name, problem, plan)
    for name in BY_EVALUATIONS:
        _measure_ablation(measured, name, PROBLEMS[name], plan)
    arrays = arrays_of(measured.rows)
    if options.json and options.json != "-":
        write_rows(Path(options.json).with_suffix(".csv"), measured.rows)
    return {
        "problems": {name: problem._asdict() for name, problem in PROBLEMS.items()},
        "search_data_seeds": list(plan.search_data),
        "data_seeds": list(plan.data),
        "run_seeds": list(plan.runs),
        "run_seeds_of_slow_methods": list(plan.slow_runs),
        "ablation": {name: _ablation(arrays[name]["ablation"]) for name in BY_EVALUATIONS},
        "entrants": {name: _described(arrays[name], measured.knobs[name], name) for name in PROBLEMS},
    }


def mode_mass(frame: Frame) -> float:
    """Share of q in the mode with theta_2 > 0; of particles by their weights.

    Of a chain by the later half of its draws: the first ones may still be on their way from the prior to a mode.
    """
    if frame.method.family == "parametric":
        grid = frame.grid
        above = grid.grid.axes[1] > 0
        return float(grid.q[above].sum() / grid.q.sum())
    above = frame.particles[:, 1] > 0
    if frame.method.family == "chain":
        return float(above[len(above) // 2 :].mean())
    return float(frame.weights[above].sum())


def exact_mass(frame: Frame) -> float:
    """Share of the exact posterior in the mode with theta_2 > 0."""
    grid = frame.grid
    return float(grid.p[grid.grid.axes[1] > 0].sum() / grid.p.sum())


def _measure_problem(measured: Measured, name: str, problem: Problem, plan: Plan) -> None:
    measured.knobs[name] = {}
    for key, entrant in ENTRANTS.items():
        if problem.unit in entrant.clocks:
            _measure(measured, name, key, entrant, plan)


def _measure(measured: Measured, name: str, key: str, entrant: Entrant, plan: Plan) -> None:
    """One entrant on one problem, on held-out seeds: the best setting that the search's seeds find, and the paper's."""
    problem = PROBLEMS[name]
    seeds = plan.slow_runs if problem.unit in entrant.slow else plan.runs
    best = _best(entrant, _tried(measured, name, key, entrant, plan), problem, plan)
    budgets = problem.budgets[-1:] if problem.unit in entrant.slow else problem.budgets
    settings = {"best": (best, budgets)}
    if entrant.paper is not None and problem.unit == "data":
        passes = entrant.paper_passes
        settings["paper"] = entrant.paper, (passes * problem.options["num_data"] if passes else problem.budgets[-1],)
    measured.knobs[name][key] = {setting: knobs for setting, (knobs, _) in settings.items()}
    for setting, (knobs, asked) in settings.items():
        fewer = setting == "paper" and entrant.paper_slow
        (rows,) = _ends(entrant.method, (knobs,), problem, plan.data, plan.slow_runs if fewer else seeds, asked)
        measured.rows.extend({"problem": name, "entrant": key, "setting": setting, **row} for row in rows)


def _tried(measured: Measured, name: str, key: str, entrant: Entrant, plan: Plan) -> Settings:
    """All settings where data are counted; where evaluations are, the best of these with what may be added to it."""
    if PROBLEMS[name].unit == "data":
        return entrant.tried[: plan.tried]
    base = next(data for data, other in BY_EVALUATIONS.items() if other == name)
    best = measured.knobs[base][key]["best"]
    return tuple({**best, **more} for more in entrant.more[: plan.tried])


def _best(entrant: Entrant, tried: Settings, problem: Problem, plan: Plan) -> dict[str, Any]:
    """The setting with the lowest mean TV at the last budget; one under which runs fail has no mean."""
    if len(tried) == 1:
        return tried[0]
    ends = _ends(entrant.method, tried, problem, plan.search_data, SEARCH_RUNS, problem.budgets[-1:])
    return tried[int(np.nanargmin([np.mean([row["tv"] for row in rows]) for rows in ends]))]


def _ends(
    method: str, settings: Settings, problem: Problem, data: range, seeds: range, budgets: Budgets
) -> list[list[Row]]:
    """For each setting where its runs stood at the end of each budget."""
    return by_setting(partial(_run, method, problem=problem, budgets=budgets), settings, data, seeds)


def _run(
    method: str, knobs: dict[str, Any], data_seed: int, seed: int, problem: Problem, budgets: Budgets
) -> list[Row]:
    """One run, and where it stood at the end of each budget; a run that fails has no figures there."""
    options = {**problem.options, "data_seed": data_seed}
    asked = {"budget": budgets[0], "budget_unit": problem.unit, "seed": seed}
    session = Session(Recipe("mixture", method, target_options=options, **asked, **knobs), 10**9)
    rows = []
    for budget in budgets:
        if session.frame.spent < budget:
            session.limit(budget)
        at = {"data_seed": data_seed, "seed": seed, "budget": budget}
        try:
            frame = session.advance(10**9)
        except TargetError:  # a step size that is too large
            rows.append({**dict.fromkeys(KEPT, np.nan), **at})
            continue
        found = {name: frame.metrics[name] for name in METRICS}
        found |= {"mode_mass": mode_mass(frame), "exact_mass": exact_mass(frame), "visited": frame.visited}
        found |= {name: getattr(frame, name) for name in ("density_evaluations", "gradient_evaluations", "seconds")}
        rows.append({**at, **found})
    return rows


def _measure_ablation(measured: Measured, name: str, problem: Problem, plan: Plan) -> None:
    """From Algorithm 1 as printed to our default, one change at a time."""
    knobs: dict[str, Any] = {}
    for words, change in ABLATION:
        knobs = {**knobs, **change}
        (rows,) = _ends("pmd", (knobs,), problem, plan.data, plan.runs, problem.budgets[-1:])
        measured.rows.extend({"problem": name, "entrant": "ablation", "setting": words, **row} for row in rows)


def _ablation(ends: Mapping[str, Runs]) -> list[dict[str, Any]]:
    """The figures of each step of the ablation for the file."""
    return [{"step": words, "change": change, **_end_figures(ends[words])} for words, change in ABLATION]


def _described(
    arrays: Mapping[str, Mapping[str, Runs]], knobs: Mapping[str, Mapping[str, dict[str, Any]]], name: str
) -> dict[str, Any]:
    """The entrants' figures on one problem for the file."""
    found = {}
    for key, settings in knobs.items():
        entrant, ends = ENTRANTS[key], arrays[key]
        found[key] = {"title": entrant.title, "in_paper": entrant.in_paper, "settings_tried": len(entrant.tried)}
        for setting, chosen in settings.items():
            found[key][setting] = {"knobs": chosen, **_end_figures(ends[setting])}
        by_budget = ends["best"]["tv"].mean(axis=(0, 1))
        budgets = PROBLEMS[name].budgets[-len(by_budget) :]
        found[key]["tv_by_budget"] = {str(b): figures(float(v)) for b, v in zip(budgets, by_budget, strict=True)}
    return found


def _end_figures(ends: Runs) -> dict[str, Any]:
    last = {name: values[:, :, -1] for name, values in ends.items()}
    mean, error = pooled(last["tv"])
    entropy, entropy_error = pooled(last["cross_entropy"])
    counts = {name: float(last[name].mean()) for name in ("visited", "density_evaluations", "gradient_evaluations")}
    return {
        "tv": figures(mean, 3),
        "tv_standard_error": figures(error, 2),
        "tv_sd_over_runs": figures(float(last["tv"].std(axis=1, ddof=1).mean()), 2),
        "cross_entropy": figures(entropy, 4),
        "cross_entropy_standard_error": figures(entropy_error, 2),
        "runs_in_one_mode": round(float((np.minimum(last["mode_mass"], 1 - last["mode_mass"]) < ONE_MODE).mean()), 3),
        **{name: round(count) for name, count in counts.items()},
        "density_evaluations_per_row": figures(counts["density_evaluations"] / counts["visited"], 3),
        "gradient_evaluations_per_row": figures(counts["gradient_evaluations"] / counts["visited"], 3),
        "runs": int(last["tv"].size),
    }
