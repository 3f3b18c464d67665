"""What the papers claim of methods beside one another, at the best of a small search and at the paper's setting."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Mapping, Sequence
from functools import partial
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import yaml
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from benchmarks.charts import logistic_chart
from benchmarks.measuring import Row, arrays_of, csv_beside, figures, read_rows, write_rows
from benchmarks.rules import ONE_MODE, pooled
from pmdviz.engine.frame import Frame
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.errors import TargetError
from pmdviz.targets import make_target

# Who takes part in `bench claims`, `claims-logistic`, `claims-gp` and `claims-topics`: tables/contests.yaml.
GIVEN = yaml.safe_load((Path(__file__).parent / "tables" / "contests.yaml").read_text(encoding="utf-8"))
Settings = Sequence[dict[str, Any]]
FIGURE = Path("assets/logistic.svg")
REFERENCE, ABLATION = "reference", "ablation"  # entrants of their own
BATCHED = ("structured_pmd", "svi_gp")  # their batch is the problem's, where it has one
DRAWS = 1000  # of the reference that predict


class Entrant(NamedTuple):
    """A method, and the settings among which its best is sought: the first is our default."""

    title: str
    method: str
    tried: Settings = ({},)
    more: Settings = ({},)  # what may be added to the best of these where evaluations are counted
    paper: dict[str, Any] | None = None  # the paper's setting
    paper_passes: int = 0  # over the data, where the paper's setting has another budget than the last
    slow: Sequence[str] = ()  # clocks on which it has fewer run seeds and the last budget alone; "paper": its setting
    clocks: Sequence[str] = ("data", "evaluations")  # of the budgets on which it runs
    passes: float = float("inf")  # after which it stays where it is


class Problem(NamedTuple):
    """A target, a clock, and budgets in its unit; claims are judged at the last one."""

    words: str
    target: str
    options: dict[str, Any]
    budgets: Sequence[int]
    unit: str = "data"
    data: range = range(1011, 1016)
    runs: range = range(200, 202)
    batch: int = 0  # observations, where it is the problem's
    base: str = ""  # the problem on the other clock, whose best settings are where this one's search begins


class Contest(NamedTuple):
    """Problems, entrants, the seeds that choose (none of them judges), and the number by which they choose."""

    problems: dict[str, Problem]
    entrants: dict[str, Entrant]
    numbers: Sequence[str]  # metrics and fields of a frame, functions of benchmarks/contests.py
    chosen_by: str
    search_data: range = range(1001, 1002)
    search_runs: range = range(100, 101)


def settings(given: list[dict[str, Any]] | dict[str, Any]) -> list[dict[str, Any]]:
    """Those of a list; or the `first`, where there is one, and every combination of `each`, with `all` beside it."""
    if isinstance(given, list):
        return given
    fixed, each = given.get("first", given.get("all", {})), given["each"]
    made = ({**fixed, **dict(zip(each, values, strict=True))} for values in product(*each.values()))
    return [fixed] * ("first" in given) + [*made]


def _contest(given: dict[str, Any]) -> Contest:
    def changed(fields: dict[str, Any], make: Any, *names: str) -> dict[str, Any]:
        return {**fields, **{name: make(fields[name]) for name in names if name in fields}}

    def seeds(ends: list[int]) -> range:
        return range(*ends)

    entrants = {name: Entrant(**changed(each, settings, "tried", "more")) for name, each in given["entrants"].items()}
    problems = {name: Problem(**changed(each, seeds, "data", "runs")) for name, each in given["problems"].items()}
    fields = changed(given, seeds, "search_data", "search_runs")
    return Contest(**{**fields, "problems": problems, "entrants": entrants})


CONTESTS = {name: _contest(given) for name, given in GIVEN["contests"].items()}
PASSES: Sequence[float] = GIVEN["passes"]
MIXTURE, LOGISTIC = CONTESTS["claims"], CONTESTS["claims-logistic"]


def run(options: Namespace) -> dict[str, Any]:
    """Every entrant on every problem; runs are lines of a CSV beside the JSON, and are not made again."""
    contest, path = CONTESTS[options.name], csv_beside(options)
    problems = {name: one for name, one in contest.problems.items() if name != "reuters" or find_spec("lda")}
    entrants = contest.entrants
    if options.quick:
        problems = {
            name: one._replace(data=one.data[:2], runs=one.runs[:1], budgets=one.budgets[:2])
            for name, one in [*problems.items()][:2]
        }
        fewer = {key: {"tried": one.tried[:2], "more": one.more[:1], "paper": None} for key, one in entrants.items()}
        entrants = {key: one._replace(**fewer[key]) for key, one in entrants.items()}
    rows = [row for row in read_rows(path) if row["problem"] in problems]
    for name, problem in problems.items():
        done = {row["entrant"] for row in rows if row["problem"] == name}
        for key, entrant in entrants.items():
            if problem.unit in entrant.clocks and key not in done:
                rows += _measured(contest, name, key, problem, entrant, rows)
                write_rows(path, rows)
        if contest is MIXTURE and not problem.base and ABLATION not in done:
            rows += _ablation(contest, name, problem)
            write_rows(path, rows)
    arrays = arrays_of(rows)
    if contest is LOGISTIC and not options.quick:
        words = {name: one.words for name, one in problems.items()}
        titles = {key: one.title for key, one in entrants.items()}
        FIGURE.write_text(logistic_chart(arrays, words, titles, PASSES), encoding="utf-8")
    return {
        "problems": {
            name: one._asdict() | {"data": [one.data[0], one.data[-1]], "runs": [one.runs[0], one.runs[-1]]}
            for name, one in problems.items()
        },
        "search": {"data_seeds": list(contest.search_data), "run_seeds": list(contest.search_runs)},
        "entrants": {name: _described(contest, name, arrays[name], rows) for name in problems},
    }


def _lines(name: str, key: str, setting: str, knobs: dict[str, Any], ends: list[Row]) -> list[Row]:
    """Lines of the table from where runs were at the end of each budget."""
    whose = {"problem": name, "entrant": key, "setting": setting, "knobs": json.dumps(knobs)}
    return [{**whose, **row} for row in ends]


def _measured(contest: Contest, name: str, key: str, problem: Problem, entrant: Entrant, rows: list[Row]) -> list[Row]:
    """An entrant's runs on held-out seeds: at the best setting that the search's seeds find, and at the paper's."""
    if key == REFERENCE:
        return _lines(name, key, "best", {}, _reference(problem))
    slow, last, tried = problem.unit in entrant.slow, problem.budgets[-1:], entrant.tried
    if problem.base:  # the best where observations are counted, with what may be added to it
        which = (problem.base, key, "best")
        best = next(row["knobs"] for row in rows if (row["problem"], row["entrant"], row["setting"]) == which)
        tried = [{**json.loads(best), **more} for more in entrant.more]
    elif contest is LOGISTIC and entrant.paper:
        tried = [*tried, entrant.paper]
    asked = {"best": (_best(contest, problem, entrant, tried), last if slow else problem.budgets, slow)}
    if entrant.paper is not None and not problem.base:
        passes = entrant.paper_passes
        budgets = [passes * problem.options["num_data"]] if passes else problem.budgets if contest is LOGISTIC else last
        asked["paper"] = entrant.paper, budgets, slow or "paper" in entrant.slow
    found = []
    for setting, (knobs, budgets, fewer) in asked.items():
        seeds = problem.runs[:2] if fewer else problem.runs
        (ends,) = _ends_of(contest, problem._replace(budgets=budgets), entrant, [knobs], problem.data, seeds)
        found += _lines(name, key, setting, knobs, ends)
    return found


def _ablation(contest: Contest, name: str, problem: Problem) -> list[Row]:
    """From Algorithm 1 as printed to our default, one change at a time, where observations are counted."""
    knobs, rows, at_the_end = {}, [], problem._replace(budgets=problem.budgets[-1:])
    for words, change in GIVEN["ablation"].items():
        knobs = {**knobs, **change}
        (ends,) = _ends_of(contest, at_the_end, contest.entrants["pmd"], [knobs], problem.data, problem.runs)
        rows += _lines(name, ABLATION, words, change, ends)
    return rows


def _best(contest: Contest, problem: Problem, entrant: Entrant, tried: Settings) -> dict[str, Any]:
    """The setting with the lowest mean at the last budget; one under which runs fail has no mean."""
    if len(tried) == 1:
        return tried[0]
    at_the_end = problem._replace(budgets=problem.budgets[-1:])
    ends = _ends_of(contest, at_the_end, entrant, tried, contest.search_data, contest.search_runs)
    return tried[int(np.nanargmin([np.mean([row[contest.chosen_by] for row in rows]) for rows in ends]))]


def _ends_of(
    contest: Contest, problem: Problem, entrant: Entrant, settings: Settings, data: range, seeds: range
) -> list[list[Row]]:
    """For each setting where its runs were at the end of each budget."""
    job, each = partial(run_of, contest, problem, entrant), len(data) * len(seeds)
    done = Parallel(n_jobs=-1)(delayed(job)(*one) for one in product(settings, data, seeds))
    return [[row for one in done[k : k + each] for row in one] for k in range(0, len(done), each)]


def run_of(
    contest: Contest, problem: Problem, entrant: Entrant, knobs: dict[str, Any], data_seed: int, seed: int
) -> list[Row]:
    """One run, and where it was at the end of each budget; a run that fails has no figures there."""
    options = {**problem.options, "data_seed": data_seed}
    if problem.batch and entrant.method in BATCHED:
        knobs = {"batch_size": problem.batch, **knobs}
    asked = {"budget": problem.budgets[0], "budget_unit": problem.unit, "seed": seed}
    with threadpool_limits(1):
        session = Session(Recipe(problem.target, entrant.method, target_options=options, **asked, **knobs), 10**9)
        rows = []
        for budget in problem.budgets:
            row = {"data_seed": data_seed, "seed": seed, "budget": budget}
            try:
                if session.frame.spent < budget <= entrant.passes * problem.options.get("num_data", np.inf):
                    session.limit(budget)
                    while not session.done:
                        session.advance(10**9)
                row |= {what: _number(session.frame, what) for what in (*contest.numbers, "visited", "seconds")}
            except TargetError:  # a step size that is too large
                row |= dict.fromkeys((*contest.numbers, "visited", "seconds"), np.nan)
            rows.append(row)
    return rows


def _number(frame: Frame, what: str) -> float:
    """A function of this module, a metric, or a field of the frame."""
    if what in globals():
        return globals()[what](frame)
    return getattr(frame, what) if hasattr(frame, what) else frame.metrics[what]


def mode_mass(frame: Frame) -> float:
    """Share of q in the mode with theta_2 > 0; of particles by their weights.

    Of a chain by the later half of its draws: the first ones may still be on their way from the prior to a mode.
    """
    if frame.method.family == "parametric":
        return float(frame.grid.q[frame.grid.grid.axes[1] > 0].sum() / frame.grid.q.sum())
    above = frame.particles[:, 1] > 0
    if frame.method.family == "chain":
        return float(above[len(above) // 2 :].mean())
    return float(frame.weights[above].sum())


def exact_mass(frame: Frame) -> float:
    """Share of the exact posterior in the mode with theta_2 > 0."""
    return float(frame.grid.p[frame.grid.grid.axes[1] > 0].sum() / frame.grid.p.sum())


def rmse(frame: Frame) -> float:
    """Root mean squared error of E(y | x) at held-out rows, at the mean of q."""
    target = frame.target
    found = target.row_mean(frame.density.mean[None], target.test_data)[0]
    return float(np.sqrt(((found - target.outcomes(target.test_data)) ** 2).mean()))


def _reference(problem: Problem) -> list[Row]:
    """The same figures of the reference's draws, at every budget alike."""
    rows = []
    for data_seed in problem.data:
        target = make_target(problem.target, **problem.options, data_seed=data_seed)
        draws, test = target.reference().sample(np.random.default_rng(0), DRAWS), target.test_data
        hits = (target.row_mean(draws, test).mean(axis=0) > 0.5) == (test[:, -1] > 0.5)
        loss = -np.log(np.exp(target.row_log_likelihood(draws, test)).mean(axis=0)).mean()
        found = {"accuracy": float(hits.mean()), "log_loss": float(loss), "mean_error": 0.0}
        seen = {"data_seed": data_seed, "seed": 0, "visited": 0, "seconds": 0.0, **found}
        rows += [{**seen, "budget": budget} for budget in problem.budgets]
    return rows


def _described(contest: Contest, name: str, arrays: Mapping[str, Any], rows: list[Row]) -> dict[str, Any]:
    """Of each entrant and setting the knobs, and by budget each number's mean and standard error over data seeds."""
    knobs = {(row["entrant"], row["setting"]): row["knobs"] for row in rows if row["problem"] == name}
    found: dict[str, Any] = {}
    for key, settings in arrays.items():
        entrant = contest.entrants.get(key)
        found[key] = {"title": entrant.title, "settings_tried": len(entrant.tried)} if entrant else {}
        for setting, ends in settings.items():
            told = {"knobs": json.loads(knobs[key, setting]), "runs": int(ends["visited"][:, :, -1].size)}
            for what in (*contest.numbers, "visited", "seconds"):
                by_budget = [pooled(ends[what][:, :, k]) for k in range(ends[what].shape[2])]
                told[what] = [[figures(mean), figures(error, 2)] for mean, error in by_budget]
            if "mode_mass" in ends:
                mass = ends["mode_mass"][:, :, -1]
                told["runs_in_one_mode"] = round(float((np.minimum(mass, 1 - mass) < ONE_MODE).mean()), 3)
            found[key][setting] = told
    return found
