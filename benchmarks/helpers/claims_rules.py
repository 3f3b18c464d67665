"""The rules by which claims are judged: each a function of measured runs, by means and standard errors.

A rule answers yes, no or open, with the figures that it saw in one sentence. What it is asked of stands in
`claims_verdicts`; no sentence of a verdict is written anywhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

YES, NO, OPEN = "yes", "no", "open"
ERRORS = 2.0  # standard errors by which a difference must stand out
NEARLY_ALL = 0.95  # of the runs
ONE_MODE = 0.02  # a run with less than this share of q in either mode sits in the other
WITHIN = 0.01  # TV that counts as alike
NATS = 0.05  # a KL that counts as none

Runs = Mapping[str, np.ndarray]  # (data seeds, run seeds, budgets) each
Measured = Mapping[str, Mapping[str, Runs]]  # by entrant and setting
Rule = Callable[[Measured], "Answer"]


class Answer(NamedTuple):
    """What a rule found: yes, no or open, the figures in a sentence, and the figures (mean, standard error)."""

    verdict: str
    said: str
    figures: dict[str, tuple[float, float]]


def pooled(values: np.ndarray) -> tuple[float, float]:
    """Mean over all, and its standard error over data seeds (first axis), whose runs are averaged first."""
    by_data = values.reshape(len(values), -1).mean(axis=1)
    return float(by_data.mean()), float(by_data.std(ddof=1) / np.sqrt(len(by_data)))


def clear(difference: tuple[float, float]) -> bool:
    """Whether a difference is above 0 by more than so many standard errors."""
    mean, error = difference
    return mean > 0 and mean > ERRORS * error


def last(measured: Measured, name: str, what: str, setting: str = "best") -> np.ndarray:
    """Values at the last budget, (data seeds, run seeds)."""
    return measured[name][setting][what][:, :, -1]


def lead(measured: Measured, one: str, other: str, what: str, setting: str = "best") -> tuple[float, float]:
    """By how much `one` (at its best) is lower than `other`, data seed by data seed."""
    difference = last(measured, other, what, setting).mean(axis=1) - last(measured, one, what).mean(axis=1)
    return pooled(difference[:, None])


def _always_lower(measured: Measured, one: str, other: str, what: str, setting: str) -> bool:
    """In nearly all runs and on every data set: a cross entropy's mean depends on a few runs with a heavy tail."""
    a, b = last(measured, one, what), last(measured, other, what, setting)
    runs = min(a.shape[1], b.shape[1])
    pairs = b[:, :runs] - a[:, :runs]
    return bool((pairs > 0).mean() >= NEARLY_ALL and (pairs.mean(axis=1) > 0).all())


def lowest(one: str, rivals: Sequence[str], what: str, setting: str = "best") -> Rule:
    """yes: `one` is clearly lower than every rival, or in nearly all runs and on every data set.

    no: a rival is clearly lower; else open.
    """

    def judge(measured: Measured) -> Answer:
        known = [name for name in rivals if setting in measured.get(name, {})]
        leads = {name: lead(measured, one, name, what, setting) for name in known}
        ahead = [name for name, (mean, error) in leads.items() if clear((-mean, error))]
        won = [n for n in known if clear(leads[n]) or _always_lower(measured, one, n, what, setting)]
        said = f"{what} {shown(pooled(last(measured, one, what)))}; higher by " + _listed(leads)
        return Answer(NO if ahead else YES if len(won) == len(known) else OPEN, said, leads)

    return judge


def higher(one: str, other: str, what: str, setting: str = "best") -> Rule:
    """yes: `one` is clearly higher than `other`, both at `setting`; no: clearly lower; else open."""

    def judge(measured: Measured) -> Answer:
        values = [last(measured, name, what, setting).mean(axis=1) for name in (one, other)]
        gap = pooled((values[0] - values[1])[:, None])
        verdict = YES if clear(gap) else NO if clear((-gap[0], gap[1])) else OPEN
        return Answer(verdict, f"{what} of {one} minus {other} {shown(gap)}", {"gap": gap})

    return judge


def alike_early(one: str, other: str, what: str = "tv") -> Rule:
    """yes: at the first budget they differ by at most two standard errors or 0.01; else no."""

    def judge(measured: Measured) -> Answer:
        gap = pooled(measured[one]["best"][what][:, :, 0] - measured[other]["best"][what][:, :, 0])
        alike = abs(gap[0]) <= max(WITHIN, ERRORS * gap[1])
        return Answer(YES if alike else NO, f"after one pass {what} of {one} minus {other} {shown(gap)}", {"gap": gap})

    return judge


def one_mode(name: str, setting: str = "best") -> Rule:
    """yes: every run has nearly all of q in one mode; else no."""
    return _share(name, setting, True, "sit in one mode")


def both_modes(name: str, setting: str = "best") -> Rule:
    """yes: no run has nearly all of q in one mode; else no."""
    return _share(name, setting, False, "have both modes")


def _share(name: str, setting: str, one: bool, words: str) -> Rule:
    def judge(measured: Measured) -> Answer:
        mass = last(measured, name, "mode_mass", setting)
        hits = (np.minimum(mass, 1 - mass) < ONE_MODE) == one
        said = f"{int(hits.sum())} of {hits.size} runs of {name} {words}"
        return Answer(YES if hits.all() else NO, said, {"share": pooled(hits.astype(float))})

    return judge


def varies_more(one: str, other: str, setting: str = "best", what: str = "tv") -> Rule:
    """yes: the log ratio of the sds over runs of the same data is clearly above 0; no: clearly below; else open."""

    def judge(measured: Measured) -> Answer:
        sds = [last(measured, name, what, at).std(axis=1, ddof=1) for name, at in ((one, setting), (other, "best"))]
        ratio = pooled(np.log(sds[0] / sds[1])[:, None])
        verdict = YES if clear(ratio) else NO if clear((-ratio[0], ratio[1])) else OPEN
        said = f"sd of {what} over runs {sds[0].mean():.4f} of {one}, {sds[1].mean():.4f} of {other}"
        return Answer(verdict, said, {"log_ratio": ratio})

    return judge


def loses_a_mode_alone(name: str, setting: str = "best") -> Rule:
    """yes: the reverse KL is that of the exact posterior cut to one mode, -log of its mass, to within 0.05 nats.

    no: it is clearly more; else open.
    """

    def judge(measured: Measured) -> Answer:
        kl, mass = last(measured, name, "kl_reverse", setting), last(measured, name, "mode_mass", setting)
        exact = last(measured, name, "exact_mass", setting)
        excess = pooled(kl + np.log(np.where(mass > 0.5, exact, 1 - exact)))
        verdict = YES if abs(excess[0]) <= NATS else NO if clear((excess[0] - NATS, excess[1])) else OPEN
        return Answer(
            verdict, f"reverse KL of {name} beyond that of a lost mode {shown(excess)} nats", {"excess": excess}
        )

    return judge


def near_best(one: str, rivals: Sequence[str], what: str = "tv") -> Rule:
    """yes: at every budget `one` is at most 0.01 above the lowest of the rivals' means; no: clearly more; else open."""

    def judge(measured: Measured) -> Answer:
        mine = measured[one]["best"][what].mean(axis=1)  # (data seeds, budgets)
        budgets = mine.shape[1]  # the last ones, where it ran on fewer
        others = np.array([measured[name]["best"][what].mean(axis=1)[:, -budgets:] for name in rivals]).min(axis=0)
        behind = [pooled((mine - others)[:, k][:, None]) for k in range(budgets)]
        worst = max(behind)
        verdict = YES if worst[0] <= WITHIN else NO if clear((worst[0] - WITHIN, worst[1])) else OPEN
        return Answer(
            verdict, f"{what} of {one} minus the lowest, by budget: " + ", ".join(map(shown, behind)), {"worst": worst}
        )

    return judge


def shown(pair: tuple[float, float]) -> str:
    """A mean and its standard error."""
    return f"{pair[0]:.3f} ± {pair[1]:.3f}"


def _listed(leads: Mapping[str, tuple[float, float]]) -> str:
    return ", ".join(f"{name} {shown(pair)}" for name, pair in leads.items())


def against_all(*rules: Callable[[Any], Answer]) -> Callable[[Any], Answer]:
    """One condition from a rule for each rival. yes: all say yes; no: one says no; else open."""

    def judge(measured: Any) -> Answer:
        answers = [rule(measured) for rule in rules]
        found = {answer.verdict for answer in answers}
        verdict = NO if NO in found else OPEN if OPEN in found else YES
        said = "; ".join(f"{answer.verdict}: {answer.said}" for answer in answers)
        figures = {f"{name} {k}": pair for k, answer in enumerate(answers) for name, pair in answer.figures.items()}
        return Answer(verdict, said, figures)

    return judge


def verdict_of(answers: Sequence[Answer]) -> str:
    """The verdict on a claim from its answers, one for each condition (data, size, setting); rivals are not conditions.

    An open condition neither helps nor hurts: without a yes, one no refutes.
    """
    found = {answer.verdict for answer in answers}
    if YES in found:
        return "holds" if found == {YES} else "holds under some conditions"
    return "does not hold" if NO in found else "neither shown nor refuted"


def arrays_of(rows: Iterable[Mapping[str, str]]) -> dict[str, dict[str, dict[str, Runs]]]:
    """The runs in a table as arrays (data seeds, run seeds, budgets), by problem, entrant and setting."""
    found: dict[tuple[str, str, str], list[Mapping[str, str]]] = {}
    for row in rows:
        found.setdefault((row["problem"], row["entrant"], row["setting"]), []).append(row)
    arrays: dict[str, dict[str, dict[str, Runs]]] = {}
    for (problem, entrant, setting), runs in found.items():
        arrays.setdefault(problem, {}).setdefault(entrant, {})[setting] = _arrays(runs)
    return arrays


def _arrays(runs: Sequence[Mapping[str, str]]) -> Runs:
    names = [name for name in runs[0] if name not in ("problem", "entrant", "setting")]
    columns = {name: np.array([float(row[name]) for row in runs]) for name in names}
    keys = [columns[name] for name in ("budget", "seed", "data_seed")]
    shape = [len(np.unique(key)) for key in reversed(keys)]
    order = np.lexsort(keys)
    return {name: column[order].reshape(shape) for name, column in columns.items()}
