"""What the paper's claims about logistic regression are judged by: test accuracy and log loss in five passes."""

from __future__ import annotations

import json
from argparse import Namespace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.helpers.claims_entrants import Entrant
from benchmarks.helpers.claims_rules import Runs, arrays_of, pooled
from benchmarks.helpers.claims_runs import by_setting, read_rows, write_rows
from benchmarks.helpers.contest import figures
from benchmarks.helpers.regression_figure import drawn
from benchmarks.helpers.regression_problems import (
    ENTRANTS,
    PASSES,
    PROBLEMS,
    REFERENCE,
    SEARCH_DATA,
    SEARCH_RUNS,
    TITLES,
    Problem,
    target_of,
)
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.errors import TargetError

OPTIONS = {"inputs": len(PROBLEMS)}  # of the data sets, the first so many
FIGURE = Path("assets/logistic.svg")
MEASURED = ("accuracy", "log_loss", "mean_error")
DRAWS = 1000  # of the reference that predict
Row = dict[str, Any]


class Plan(NamedTuple):
    """Which problems, how many data seeds judge, how many settings are tried (None: all)."""

    problems: tuple[str, ...] = tuple(PROBLEMS)
    data: int | None = None
    tried: int | None = None


QUICK = Plan(("digits",), 2, 2)


def run(options: Namespace) -> dict[str, Any]:
    """Every entrant at its best and at the paper's setting on each problem; the runs as CSV beside, and the figure.

    Entrants whose runs are in the CSV already are not run again: an interrupted bench goes on where it was.
    """
    plan = QUICK if options.quick else Plan(tuple(PROBLEMS)[: options.inputs])
    path = Path(options.json).with_suffix(".csv") if options.json and options.json != "-" else None
    rows: list[Row] = [dict(row) for row in read_rows(path)] if path is not None and path.exists() else []
    for name in plan.problems:
        for key in TITLES:
            if not any((row["problem"], row["entrant"]) == (name, key) for row in rows):
                rows += _reference(name, plan) if key == REFERENCE else _measure(name, key, ENTRANTS[key], plan)
                if path is not None:
                    write_rows(path, rows)
    rows = [row for row in rows if row["problem"] in plan.problems]
    arrays = arrays_of([{k: v for k, v in row.items() if k != "knobs"} for row in rows])
    if not options.quick:
        FIGURE.write_text(drawn(arrays), encoding="utf-8")
    return {
        "passes": list(PASSES),
        "problems": {name: _problem(PROBLEMS[name], plan) for name in plan.problems},
        "search": {"data_seeds": list(SEARCH_DATA), "run_seeds": list(SEARCH_RUNS)},
        "entrants": {name: _described(arrays[name], _knobs(rows, name)) for name in plan.problems},
    }


def _knobs(rows: list[Row], name: str) -> dict[tuple[str, str], dict[str, Any]]:
    """The knobs of every entrant's settings on one problem."""
    return {(row["entrant"], row["setting"]): json.loads(row["knobs"]) for row in rows if row["problem"] == name}


def _problem(problem: Problem, plan: Plan) -> dict[str, Any]:
    data_seeds = list(problem.data_seeds[: plan.data])
    return {
        "words": problem.words,
        "options": problem.options,
        "data_seeds": data_seeds,
        "run_seeds": list(problem.run_seeds),
        "budgets": problem.budgets,
    }


def _measure(name: str, key: str, entrant: Entrant, plan: Plan) -> list[Row]:
    """An entrant's runs on held-out seeds."""
    rows: list[Row] = []
    settings = {"best": _best(name, entrant, plan)}
    if entrant.paper is not None:
        settings["paper"] = entrant.paper
    for setting, chosen in settings.items():
        (ends,) = _ends(name, entrant.method, (chosen,), PROBLEMS[name].data_seeds[: plan.data])
        whose = {"problem": name, "entrant": key, "setting": setting, "knobs": json.dumps(chosen)}
        rows += [{**whose, **row} for row in ends]
    return rows


def _best(name: str, entrant: Entrant, plan: Plan) -> dict[str, Any]:
    """The setting with the lowest mean log loss after five passes; one under which runs fail has no mean."""
    tried = (*entrant.tried[: plan.tried], *filter(None, [entrant.paper]))
    if len(tried) == 1:
        return tried[0]
    ends = _ends(name, entrant.method, tried, SEARCH_DATA, SEARCH_RUNS)
    last = PROBLEMS[name].budgets[-1]
    return tried[int(np.nanargmin([np.mean([r["log_loss"] for r in one if r["budget"] == last]) for one in ends]))]


def _ends(name: str, method: str, settings: tuple, data: range, seeds: range | None = None) -> list[list[Row]]:
    """For each setting where its runs stood at the end of each budget."""
    return by_setting(partial(_run, name, method), settings, data, seeds or PROBLEMS[name].run_seeds)


def _run(name: str, method: str, knobs: dict[str, Any], data_seed: int, seed: int) -> list[Row]:
    """One run, and where it stood at the end of each budget; a run that fails has no figures there."""
    problem, target = PROBLEMS[name], target_of(name, data_seed)
    options = {**problem.options, "data_seed": data_seed}
    recipe = Recipe("logistic", method, target_options=options, budget=problem.budgets[0], seed=seed, **knobs)
    session = Session(recipe, 10**9)
    session.target, session.frame = target, session.frame.replaced(target=target)  # jittered images are in no recipe
    rows = []
    for budget in problem.budgets:
        at = {"data_seed": data_seed, "seed": seed, "budget": budget}
        try:
            if session.frame.spent < budget:
                session.limit(budget)
                session.advance(10**9)
            frame = session.frame
            found = {what: frame.metrics[what] for what in MEASURED}
        except TargetError:  # a step size that is too large
            rows.append({**at, **dict.fromkeys((*MEASURED, "visited", "seconds"), np.nan)})
            continue
        rows.append({**at, **found, "visited": frame.visited, "seconds": frame.seconds})
    return rows


def _reference(name: str, plan: Plan) -> list[Row]:
    """The same figures of the reference's draws, at every budget alike."""
    rows = []
    for data_seed in PROBLEMS[name].data_seeds[: plan.data]:
        target = target_of(name, data_seed)
        draws = target.reference().sample(np.random.default_rng(0), DRAWS)
        log_p = target.row_log_likelihood(draws, target.test_data)
        hits = (target.row_mean(draws, target.test_data).mean(axis=0) > 0.5) == (target.test_data[:, -1] > 0.5)
        loss = -np.log(np.exp(log_p).mean(axis=0)).mean()
        whose = {"problem": name, "entrant": REFERENCE, "setting": "best", "knobs": "{}", "data_seed": data_seed}
        found = dict(zip(MEASURED, (float(hits.mean()), float(loss), 0.0), strict=True))
        for budget in PROBLEMS[name].budgets:
            rows.append({**whose, "seed": 0, "budget": budget, **found, "visited": 0, "seconds": 0.0})
    return rows


def _described(arrays: dict[str, dict[str, Runs]], knobs: dict[tuple[str, str], dict[str, Any]]) -> dict[str, Any]:
    """The entrants' figures on one problem for the file."""
    found: dict[str, Any] = {}
    for key, title in TITLES.items():
        tried = len(ENTRANTS[key].tried) if key in ENTRANTS else 1
        found[key] = {"title": title, "settings_tried": tried}
        for setting, ends in arrays[key].items():
            found[key][setting] = {"knobs": knobs[key, setting], **_figures(ends)}
    return found


def _figures(ends: Runs) -> dict[str, Any]:
    """By budget the mean over data and run seeds, and its standard error over data seeds; the seconds at the end."""
    found: dict[str, Any] = {}
    for what in MEASURED:
        by_budget = [pooled(ends[what][:, :, k]) for k in range(ends[what].shape[2])]
        found[what] = [figures(mean, 4) for mean, _ in by_budget]
        found[f"{what}_standard_error"] = [figures(error, 2) for _, error in by_budget]
    last = ends["visited"][:, :, -1]
    seconds = figures(float(ends["seconds"][:, :, -1].mean()), 3)
    return {**found, "visited": round(float(np.nanmean(last))), "seconds": seconds, "runs": int(last.size)}
