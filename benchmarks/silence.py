"""Whether wrong runs carry a caveat and right ones none: every method at its defaults on generated problems."""

from __future__ import annotations

import os
import sys
import time
from argparse import Namespace
from collections import Counter
from typing import Any, NamedTuple

import joblib
import numpy as np

from benchmarks.measuring import figures
from benchmarks.problems import KINDS, Problem, problem
from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.errors import InputError, words_of
from pmdviz.experiments.goodness_of_fit import wilson
from pmdviz.kernels.compiling import compile_ahead
from pmdviz.methods import METHODS, find_method

OPTIONS = {"seed": 1, "count": 60, "jobs": 1, "methods": None, "only": None}
MOST_SECONDS = 20.0  # of CPU time; a run that takes longer is cut off and does not count
MOST_OFF, RATIOS = 0.3, (0.7, 1.4)  # of a mean in posterior sds, and of sds to the posterior's
RARELY = 10**6  # iterations between measured frames: the last one is always measured
COUNTS = ("wrong", "silent", "right", "false_alarms", "cut_off", "failed")
QUICK = 5


class Ending(NamedTuple):
    """How a run ended."""

    result: str  # "wrong", "right", "cut_off", "failed" or "does_not_apply"
    caveat: str = ""  # or why it failed or does not apply
    off: float = np.nan
    ratios: tuple[float, float] = (np.nan, np.nan)
    seconds: float = 0.0

    @property
    def counted(self) -> list[str]:
        """Names of COUNTS that it belongs to."""
        more = {("wrong", False): ["silent"], ("right", True): ["false_alarms"]}
        return [self.result, *more.get((self.result, bool(self.caveat)), [])]

    def __str__(self) -> str:
        low, high = self.ratios
        figure = f" off {self.off:.3g}, sd ratios {low:.3g} to {high:.3g}," if self.off >= 0 else ""
        return f"{self.counted[-1]}:{figure} {self.seconds:.1f} s" + (f": {self.caveat}" if self.caveat else "")


class Row(NamedTuple):
    """A problem, and how each method's run on it ended."""

    name: str
    kind: str
    endings: dict[str, Ending]


def run(options: Namespace) -> dict[str, Any]:
    """The `summary` of the problems; its table goes to standard error."""
    os.environ.setdefault("PMDVIZ_THREADS", "1")
    methods = [find_method(name).name for name in options.methods.split(",")] if options.methods else [*METHODS]
    numbers = _numbers(QUICK if options.quick else options.count, options.only)
    work = joblib.Parallel(n_jobs=options.jobs, return_as="generator_unordered")
    found: dict[int, Row] = {}
    for number, row in work(joblib.delayed(_row)(options.seed, number, methods) for number in numbers):
        found[number] = row
        print(f"{row.name}: {len(found)} of {len(numbers)} problems", file=sys.stderr, flush=True)
    told = summary([found[number] for number in numbers])
    print(table(told), file=sys.stderr)
    return told


def _numbers(count: int, only: str | None) -> range:
    """Of the problems. Raises InputError."""
    if only is None:
        return range(count)
    first, _, end = only.partition(":")
    if not (first.isdecimal() and end.isdecimal() and int(first) < int(end) <= count):
        raise InputError(f"--only must be FROM:TO with 0 <= FROM < TO <= {count}, such as 0:10; got {only!r}")
    return range(int(first), int(end))


def _row(seed: int, number: int, methods: list[str]) -> tuple[int, Row]:
    one = problem(seed, number)
    with np.errstate(all="ignore"):  # of runs that fly off
        return number, Row(one.name, one.kind, {method: ended(one, method, number) for method in methods})


def ended(one: Problem, method: str, seed: int) -> Ending:
    """The run of a method on a problem, with its default knobs and budget."""
    if missing := METHODS[method].missing_in(one.target):
        return Ending("does_not_apply", missing)
    began = time.process_time()
    try:
        recipe = Recipe(one.target, method, seed=seed)
        compile_ahead(recipe.kernel_groups)
        began = time.process_time()
        session = Session(recipe, RARELY)
        while not session.done:
            session.advance()
            if time.process_time() - began > MOST_SECONDS:
                return Ending("cut_off", seconds=MOST_SECONDS)
        mean, sd = session.run.mean(), np.sqrt(np.diag(np.atleast_2d(session.run.cov())))
        frame = session.frame  # a caveat that is not of means and sds, such as of a biased log Z, does not count
        of_q = frame.method.caveat_is_of_q or frame.caveat != frame.method.caveat(frame.state, frame.knobs)
        caveat = frame.caveat if of_q else ""
    except Exception as error:  # whatever it is, it is the method's failure and not the bench's
        words = f"{type(error).__name__}: {words_of(error)}"
        return Ending("failed", words, seconds=time.process_time() - began)
    return judged(one, mean, sd, caveat)._replace(seconds=time.process_time() - began)


def judged(one: Problem, mean: np.ndarray, sd: np.ndarray, caveat: str) -> Ending:
    """Wrong: a mean off by more than MOST_OFF posterior sds, or an sd outside RATIOS of the posterior's."""
    off, ratios = float((np.abs(mean - one.answer.mean) / one.answer.sd).max()), sd / one.answer.sd
    right = off <= MOST_OFF and RATIOS[0] <= ratios.min() and ratios.max() <= RATIOS[1]
    return Ending("right" if right else "wrong", caveat, off, (float(ratios.min()), float(ratios.max())))


def summary(rows: list[Row]) -> dict[str, Any]:
    """Counts by method, by kind and in all, the pairs that do not apply, and every run in words."""
    by_method: dict[str, Counter[str]] = {}
    by_kind: dict[str, Counter[str]] = {kind: Counter() for kind in KINDS}
    missing: dict[str, dict[str, Counter[str]]] = {}  # method -> what it needs -> kinds of problems
    for row in rows:
        for method, ending in row.endings.items():
            if ending.result == "does_not_apply":
                missing.setdefault(method, {}).setdefault(ending.caveat, Counter())[row.kind] += 1
                continue
            for counter in (by_method.setdefault(method, Counter()), by_kind[row.kind]):
                counter.update(ending.counted)
    every = sum(by_method.values(), Counter())

    def counts(counter: Counter[str]) -> dict[str, int]:
        return {name: counter[name] for name in COUNTS}

    return {
        "wrong_is": f"a mean off by more than {MOST_OFF} posterior sds, or a ratio of sds outside {RATIOS}",
        "all": {
            **counts(every),
            "silent_among_wrong": _share(every["silent"], every["wrong"]),
            "false_alarms_among_right": _share(every["false_alarms"], every["right"]),
        },
        "kinds": {kind: counts(counter) for kind, counter in by_kind.items()},
        "methods": {method: counts(by_method[method]) for method in sorted(by_method)},
        "do_not_apply": {
            method: {words: ", ".join(f"{kind} {n}" for kind, n in kinds.items()) for words, kinds in of.items()}
            for method, of in missing.items()
        },
        "runs": {
            row.name: {m: str(end) for m, end in row.endings.items() if end.result != "does_not_apply"} for row in rows
        },
    }


def _share(part: int, whole: int) -> dict[str, float] | None:
    """The share with Wilson's 95 % interval; None of nothing."""
    if not whole:
        return None
    low, high = wilson(part, whole)
    return {"share": figures(part / whole, 3), "low": figures(low, 3), "high": figures(high, 3)}


def table(told: dict[str, Any]) -> str:
    """Counts of a `summary` as lines of text."""
    lines = [f"{'':18}" + "".join(f"{name.replace('_', ' '):>14}" for name in COUNTS)]
    for method, counts in {**told["methods"], "all": told["all"]}.items():
        lines.append(f"{method:18}" + "".join(f"{counts[name]:14}" for name in COUNTS))
    for name in ("silent_among_wrong", "false_alarms_among_right"):
        if (share := told["all"][name]) is not None:
            lines.append(f"{name.replace('_', ' ')}: {share['share']:.1%} ({share['low']:.1%} to {share['high']:.1%})")
    return "\n".join(lines)
