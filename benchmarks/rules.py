"""Rules by which claims are judged: each takes runs and what a claim names, and answers yes, no or open.

Runs have three shapes. Of a contest: entrant -> setting -> number -> (data seeds, run seeds, budgets). Of rows: row ->
number -> one value per seed. Of `bench fit-and-aggregation`: configuration -> its summary, and means at each level.
`tables/claims.yaml` names rules by their functions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

YES, NO, OPEN = "yes", "no", "open"
ERRORS = 2.0  # standard errors by which a difference must stand out
NEARLY_ALL = 0.95  # of the runs
ONE_MODE = 0.02  # a run with less than this share of q in either mode is in the other
WITHIN = 0.01  # a TV, or an accuracy, that counts as alike
NATS = 0.05  # a KL, or an error of log Z, that counts as none
KEPT = 0.85  # of a variance
MOST_SIZE = 0.12  # of a test at the level 0.05
ALIKE, NEAR = 0.1, 0.25  # by which a ratio of sds may miss 1; exact sds by which a mean may miss
CONSTANT = 0.9  # of the variance of y: a mean square error above it is that of a constant
PAPERS_ACCURACY = 0.988

Pair = tuple[float, float]  # a mean and its standard error
Runs = Mapping[str, Any]


class Answer(NamedTuple):
    """Yes, no or open, and the figures in a sentence."""

    verdict: str
    said: str


def pooled(values: np.ndarray) -> Pair:
    """Mean over all, and its standard error over the first axis (data seeds), whose runs are averaged first."""
    by_data = values.reshape(len(values), -1).mean(axis=1)
    return float(by_data.mean()), float(by_data.std(ddof=1) / np.sqrt(len(by_data)))


def clear(difference: Pair) -> bool:
    """Whether a difference is above 0 by more than so many standard errors."""
    mean, error = difference
    return mean > 0 and mean > ERRORS * error


def sign(gap: Pair) -> str:
    """yes: clearly above 0; no: clearly below; else open."""
    return YES if clear(gap) else NO if clear((-gap[0], gap[1])) else OPEN


def at_most(excess: Pair) -> str:
    """yes: not above 0; no: clearly above; else open."""
    return YES if excess[0] <= 0 else NO if clear(excess) else OPEN


def all_clear(gaps: Iterable[Pair]) -> str:
    """yes: all are clearly above 0; no: one is clearly below; else open."""
    verdicts = [sign(gap) for gap in gaps]
    return NO if NO in verdicts else OPEN if OPEN in verdicts else YES


def shown(pair: Pair) -> str:
    """A mean and its standard error."""
    return f"{pair[0]:.3f} ± {pair[1]:.3f}"


def listed(leads: Mapping[str, Pair]) -> str:
    """Means by name."""
    return ", ".join(f"{name} {shown(pair)}" for name, pair in leads.items())


def against_all(runs: Runs, *rules: Sequence[Any]) -> Answer:
    """One condition from a rule for each rival. yes: all say yes; no: one says no; else open."""
    answers = [judge(runs, *rule) for rule in rules]
    found = {answer.verdict for answer in answers}
    verdict = NO if NO in found else OPEN if OPEN in found else YES
    return Answer(verdict, "; ".join(f"{answer.verdict}: {answer.said}" for answer in answers))


def judge(runs: Runs, rule: str, *arguments: Any) -> Answer:
    """The answer of a rule by its name."""
    return globals()[rule](runs, *arguments)


def verdict_of(answers: Sequence[Answer]) -> str:
    """The verdict on a claim from its answers, one for each condition (data, size, setting); rivals are not conditions.

    An open condition neither helps nor hurts: without a yes, one no refutes.
    """
    found = {answer.verdict for answer in answers}
    if YES in found:
        return "holds" if found == {YES} else "holds under some conditions"
    return "does not hold" if NO in found else "neither shown nor refuted"


def last(runs: Runs, name: str, what: str, setting: str = "best", budget: int = -1) -> np.ndarray:
    """Values at a budget, (data seeds, run seeds)."""
    return runs[name][setting][what][:, :, budget]


def gap_of(more: np.ndarray, less: np.ndarray) -> Pair:
    """By how much values (data seeds, run seeds) differ, data seed by data seed."""
    return pooled((more.mean(axis=1) - less.mean(axis=1))[:, None])


def lead(runs: Runs, one: str, other: str, what: str, setting: str = "best") -> Pair:
    """By how much `one` (at its best) is lower than `other`."""
    return gap_of(last(runs, other, what, setting), last(runs, one, what))


def lowest(runs: Runs, one: str, rivals: Sequence[str], what: str, setting: str = "best") -> Answer:
    """yes: `one` is clearly lower than every rival, or in nearly all runs and on every data set.

    A cross entropy's mean depends on a few runs with a heavy tail. no: a rival is clearly lower; else open.
    """
    known = [name for name in rivals if setting in runs.get(name, {})]
    leads = {name: lead(runs, one, name, what, setting) for name in known}
    won = []
    for name in known:
        a, b = last(runs, one, what), last(runs, name, what, setting)
        number = min(a.shape[1], b.shape[1])
        pairs = b[:, :number] - a[:, :number]
        always = (pairs > 0).mean() >= NEARLY_ALL and (pairs.mean(axis=1) > 0).all()
        won.append(clear(leads[name]) or always)
    verdict = NO if NO in map(sign, leads.values()) else YES if all(won) else OPEN
    return Answer(verdict, f"{what} {shown(pooled(last(runs, one, what)))}; higher by {listed(leads)}")


def higher(runs: Runs, one: str, other: str, what: str, setting: str = "best") -> Answer:
    """yes: `one` is clearly higher than `other`, both at `setting`; no: clearly lower; else open."""
    gap = gap_of(last(runs, one, what, setting), last(runs, other, what, setting))
    return Answer(sign(gap), f"{what} of {one} minus {other} {shown(gap)}")


def alike_early(runs: Runs, one: str, other: str, what: str = "tv") -> Answer:
    """yes: at the first budget they differ by at most two standard errors or 0.01; else no."""
    gap = pooled(runs[one]["best"][what][:, :, 0] - runs[other]["best"][what][:, :, 0])
    verdict = YES if abs(gap[0]) <= max(WITHIN, ERRORS * gap[1]) else NO
    return Answer(verdict, f"after one pass {what} of {one} minus {other} {shown(gap)}")


def one_mode(runs: Runs, name: str, setting: str = "best", one: bool = True) -> Answer:
    """yes: every run has nearly all of q in one mode (not `one`: no run has); else no."""
    mass = last(runs, name, "mode_mass", setting)
    hits = (np.minimum(mass, 1 - mass) < ONE_MODE) == one
    said = f"{int(hits.sum())} of {hits.size} runs of {name} {'sit in one mode' if one else 'have both modes'}"
    return Answer(YES if hits.all() else NO, said)


def varies_more(runs: Runs, one: str, other: str, setting: str = "best", what: str = "tv") -> Answer:
    """yes: the log ratio of the sds over runs of the same data is clearly above 0; no: clearly below; else open."""
    sds = [last(runs, name, what, at).std(axis=1, ddof=1) for name, at in ((one, setting), (other, "best"))]
    said = f"sd of {what} over runs {sds[0].mean():.4f} of {one}, {sds[1].mean():.4f} of {other}"
    return Answer(sign(pooled(np.log(sds[0] / sds[1])[:, None])), said)


def loses_a_mode_alone(runs: Runs, name: str, setting: str = "best") -> Answer:
    """yes: the reverse KL is that of the exact posterior cut to one mode, -log of its mass, to within 0.05 nats.

    no: it is clearly more; else open.
    """
    kl, mass, exact = (last(runs, name, what, setting) for what in ("kl_reverse", "mode_mass", "exact_mass"))
    excess = pooled(kl + np.log(np.where(mass > 0.5, exact, 1 - exact)))
    verdict = YES if abs(excess[0]) <= NATS else NO if clear((excess[0] - NATS, excess[1])) else OPEN
    return Answer(verdict, f"reverse KL of {name} beyond that of a lost mode {shown(excess)} nats")


def near_best(runs: Runs, one: str, rivals: Sequence[str], what: str = "tv") -> Answer:
    """yes: at every budget `one` is at most 0.01 above the lowest of the rivals' means; no: clearly more; else open."""
    mine = runs[one]["best"][what].mean(axis=1)  # (data seeds, budgets)
    budgets = mine.shape[1]  # the last ones, where it ran on fewer
    others = np.array([runs[name]["best"][what].mean(axis=1)[:, -budgets:] for name in rivals]).min(axis=0)
    behind = [pooled((mine - others)[:, k][:, None]) for k in range(budgets)]
    mean, error = max(behind)
    said = f"{what} of {one} minus the lowest, by budget: " + ", ".join(map(shown, behind))
    return Answer(at_most((mean - WITHIN, error)), said)


def falls_by_look(runs: Runs, name: str, what: str) -> Answer:
    """yes: the number at the end is clearly below that after each earlier look; no: clearly above one; else open."""
    by_look = runs[name]["best"][what]
    drops = [gap_of(by_look[:, :, k], by_look[:, :, -1]) for k in range(by_look.shape[2] - 1)]
    said = f"{what} at the end is lower than at the looks before by " + ", ".join(map(shown, drops))
    return Answer(all_clear(drops), said)


def lower_after(runs: Runs, one: str, at: int, other: str, other_at: int, what: str = "perplexity") -> Answer:
    """yes: `one` after a pass is clearly lower than `other` after one; no: higher; else open."""
    gap = gap_of(last(runs, other, what, budget=other_at), last(runs, one, what, budget=at))
    names = [f"{name} after pass {k + 1 if k >= 0 else 5}" for name, k in ((other, other_at), (one, at))]
    return Answer(sign(gap), f"{what} of {names[0]} minus that of {names[1]} {shown(gap)}")


def best_at_first(runs: Runs, one: str, rivals: Sequence[str]) -> Answer:
    """yes: after the first quarter of a pass the log loss is clearly below every rival's; no: one's is; else open."""
    first = {key: last(runs, key, "log_loss", budget=0) for key in (one, *rivals)}
    leads = {key: gap_of(first[key], first[one]) for key in rivals}
    return Answer(all_clear(leads.values()), f"log loss after a quarter of a pass higher by {listed(leads)}")


def comparable(runs: Runs, one: str, other: str) -> Answer:
    """yes: the accuracy after five passes is at most 0.01 below the other's; no: clearly more; else open."""
    gap = gap_of(last(runs, other, "accuracy"), last(runs, one, "accuracy"))
    return Answer(at_most((gap[0] - WITHIN, gap[1])), f"accuracy of {other} minus that of {one} {shown(gap)}")


def reaches(runs: Runs, one: str) -> Answer:
    """yes: the mean accuracy after five passes is at least 98.8 %; no: it is clearly below; else open."""
    found, best = (pooled(last(runs, key, "accuracy")) for key in (one, "reference"))
    verdict = at_most((PAPERS_ACCURACY - found[0], found[1]))
    return Answer(verdict, f"accuracy {shown(found)}; of the reference {shown(best)}")


def between(one: np.ndarray, other: np.ndarray) -> Pair:
    """The difference of two means over seeds."""
    (a, a_error), (b, b_error) = pooled(one), pooled(other)
    return a - b, float(np.hypot(a_error, b_error))


def _brief(gap: Pair) -> str:
    return f"{gap[0]:.2g} ± {gap[1]:.1g}"


def _small(words: str) -> str:
    return words if words[:2].isupper() or words.startswith("Stein") else words[0].lower() + words[1:]


OF: dict[str, Callable[[np.ndarray], np.ndarray]] = {"abs": np.abs, "asarray": np.asarray, "mistakes": lambda x: 1 - x}


def lower(runs: Runs, one: str, other: str, what: str, of: str = "asarray") -> Answer:
    """yes: `what` of `one` is clearly below that of `other`; no: clearly above; else open."""
    gap = between(*(OF[of](runs[name][what]) for name in (other, one)))
    return Answer(sign(gap), f"{what} of {_small(other)} minus that of {_small(one)}: {_brief(gap)}")


def as_good(runs: Runs, one: str, other: str, what: str) -> Answer:
    """yes: `what` of `one` is not clearly above that of `other`; else no."""
    gap = between(runs[one][what], runs[other][what])
    said = f"mean square error of {what}, less that of {_small(other)}: {_brief(gap)}"
    return Answer(NO if clear(gap) else YES, said)


def keeps_variance(runs: Runs, row: str) -> Answer:
    """yes: the variance ratio is at least 0.85; else no."""
    found = pooled(runs[row]["value"])
    return Answer(YES if found[0] >= KEPT else NO, f"variance ratio {shown(found)}")


def unbiased(runs: Runs, row: str, what: str = "log_z_error") -> Answer:
    """no: log Z is clearly off, by more than 0.05 nats; yes: it is within them; else open."""
    mean, error = pooled(runs[row][what])
    return Answer(at_most((abs(mean) - NATS, error)), f"log Z is off by {mean:.3g} ± {error:.2g} nats")


def falls(runs: Runs, rows: Sequence[str], what: str) -> Answer:
    """yes: it falls clearly from each row to the next; no: it rises clearly once; else open."""
    drops = [between(runs[a][what], runs[b][what]) for a, b in zip(rows[:-1], rows[1:], strict=True)]
    return Answer(all_clear(drops), f"{what} " + ", ".join(shown(pooled(runs[row][what])) for row in rows))


def inverse_in_number(runs: Runs, few: str, many: str, times: float, what: str) -> Answer:
    """yes: the mean square falls by the factor `times` within two standard errors of its log; else no."""
    ends = [pooled(runs[row][what]) for row in (few, many)]
    log_ratio, error = np.log(ends[0][0] / ends[1][0]), np.hypot(*(se / mean for mean, se in ends))
    said = f"{what} falls by a factor of {np.exp(log_ratio):.2g}, {times:g} times as many particles"
    return Answer(YES if abs(log_ratio - np.log(times)) <= ERRORS * error else NO, said)


def within(runs: Runs, row: str, what: str, most: float) -> Answer:
    """yes: the mean of `what` is at most so much; no: it is clearly more; else open."""
    mean, error = pooled(runs[row][what])
    return Answer(at_most((mean - most, error)), f"{what} {shown((mean, error))}, at most {most:g}")


def _near_one(ratios: Mapping[str, np.ndarray]) -> Answer:
    found = [pooled(values) for values in ratios.values()]
    verdicts = [at_most((abs(mean - 1) - ALIKE, error)) for mean, error in found]
    verdict = NO if NO in verdicts else OPEN if OPEN in verdicts else YES
    return Answer(verdict, "sd over exact sd " + ", ".join(map(shown, found)))


def alike(runs: Runs, row: str, ratios: Sequence[str]) -> Answer:
    """yes: every ratio of sds is within 0.1 of 1; no: one is clearly further off; else open."""
    return _near_one({name: runs[row][name] for name in ratios})


def same_mean(runs: Runs, row: str, exact: str, what: str) -> Answer:
    """yes: the mean of a parameter is within a quarter of its exact sd; no: clearly further off; else open."""
    truth, sd = (float(runs[exact][name].mean()) for name in (what, f"{what}_sd"))
    mean, error = pooled(runs[row][what])
    gap = abs(mean - truth) / sd, error / sd
    said = f"{what} {mean:.3g}, exact {truth:.3g}: off by {shown(gap)} sds"
    return Answer(at_most((gap[0] - NEAR, gap[1])), said)


def same_sd(runs: Runs, row: str, exact: str, what: str) -> Answer:
    """yes: its sd is within 10 % of the exact one; no: clearly further off; else open."""
    return _near_one({"ratio": runs[row][f"{what}_sd"] / runs[exact][f"{what}_sd"].mean()})


def too_narrow(runs: Runs, row: str, exact: str, what: str) -> Answer:
    """yes: its sd is clearly below the exact one; no: clearly above; else open."""
    mean, error = pooled(runs[row][f"{what}_sd"] / runs[exact][f"{what}_sd"].mean())
    return Answer(sign((1 - mean, error)), f"sd of {what} over exact sd {shown((mean, error))}")


def one_answer(runs: Runs, row: str, other: str, what: str) -> Answer:
    """no: runs that start on either side end clearly apart; else yes."""
    ends = [runs[name][what] for name in (row, other)]
    gap, error = between(*ends)
    said = f"{what} {shown(pooled(ends[0]))} and {shown(pooled(ends[1]))}"
    return Answer(NO if clear((abs(gap), error)) else YES, said)


def fits(runs: Runs, row: str) -> Answer:
    """yes: the mean square error is clearly below 0.9 of the variance of y; no: it is not."""
    mean, error = pooled(runs[row]["mse"] / runs[row]["var_y"])
    verdict = YES if clear((CONSTANT - mean, error)) else NO
    return Answer(verdict, f"mean square error over the variance of y {shown((mean, error))}")


def rates(runs: Runs, words: str, test: str) -> list[Mapping[str, Any]]:
    """A test's entries in the order of its curve."""
    mine = [entry for entry in runs[words]["summary"] if entry["test"] == test]
    return sorted(mine, key=lambda entry: (entry["perturbation"], entry["num_points"]))


def _powers(runs: Runs, words: str, test: str) -> list[Mapping[str, Any]]:
    return [entry for entry in rates(runs, words, test) if entry["perturbation"] > 0]


def no_less_power(runs: Runs, words: str, test: str, other: str, strictly: bool = False) -> Answer:
    """no: rejects clearly less often at some point of the curve (intervals apart), and nowhere clearly more often.

    yes: nowhere clearly less often, and (strictly) somewhere clearly more often; else open.
    """
    mine, theirs = _powers(runs, words, test), _powers(runs, words, other)
    less = any(a["high"] < b["low"] for a, b in zip(mine, theirs, strict=True))
    more = any(a["low"] > b["high"] for a, b in zip(mine, theirs, strict=True))
    verdict = OPEN if less and more else NO if less else YES if more or not strictly else OPEN
    along = [", ".join(f"{entry['rejected']:g}" for entry in entries) for entries in (mine, theirs)]
    return Answer(verdict, f"{test} rejects {along[0]}; {other} {along[1]}")


def keeps_level(runs: Runs, words: str, test: str) -> Answer:
    """yes: of right samples at most 0.12 are rejected; no: clearly more; else open."""
    (one,) = [entry for entry in rates(runs, words, test) if entry["perturbation"] == 0]
    verdict = YES if one["rejected"] <= MOST_SIZE else NO if one["low"] > MOST_SIZE else OPEN
    return Answer(verdict, f"{one['rejected']:g} [{one['low']:.2g}, {one['high']:.2g}] of right samples rejected")


def ever_rejects(runs: Runs, words: str, test: str) -> Answer:
    """yes: rejects the furthest of the wrong samples clearly more often than at 0.05; no: clearly less; else open."""
    one = _powers(runs, words, test)[-1]
    verdict = YES if one["low"] > 0.05 else NO if one["high"] < 0.05 else OPEN
    interval = f"[{one['low']:.2g}, {one['high']:.2g}]"
    return Answer(verdict, f"{one['rejected']:g} {interval} of the wrong samples furthest off rejected")


def slope_of(runs: Runs, words: str, combiner: str) -> Pair:
    """The slope of log error in log n, with its standard error."""
    from pmdviz.experiments.mixtures import COMBINERS

    wanted = f"{COMBINERS[combiner].title}: error against n"
    (one,) = [entry for entry in runs[words]["summary"] if entry["what"] == wanted and "slope" in entry]
    return one["slope"], one["standard_error"]


def slope_within(runs: Runs, words: str, combiner: str, low: float, high: float) -> Answer:
    """yes: the slope lies within; no: clearly outside; else open."""
    slope, error = slope_of(runs, words, combiner)
    return Answer(at_most((max(low - slope, slope - high), error)), f"slope {shown((slope, error))}")


def _level(runs: Runs, words: str, combiner: str, place: int = -1) -> Mapping[str, Any]:
    """Means over the repetitions at a value of what is varied."""
    return [entry for entry in runs[words]["levels"] if entry["combiner"] == combiner][place]


def power_of(runs: Runs, words: str, combiner: str, low: float, high: float) -> Answer:
    """yes: between the first value of what is varied and the last the error goes by a power within; no: clearly not."""
    ends = [_level(runs, words, combiner, place) for place in (0, -1)]
    span = np.log(ends[1]["level"] / ends[0]["level"])
    power = float(np.log(ends[1]["error"][0] / ends[0]["error"][0]) / span)
    error = float(np.hypot(*(entry["error"][1] / entry["error"][0] for entry in ends)) / span)
    return Answer(at_most((max(low - power, power - high), error)), f"power {shown((power, error))}")


def _against(a: Sequence[float], b: Sequence[float]) -> str:
    return " against ".join(f"{mean:.3g} ± {error:.1g}" for mean, error in (a, b))


def far_above(runs: Runs, words: str, one: str, other: str, factor: float) -> Answer:
    """yes: the error of `one` is clearly more than so many times that of `other`; no: clearly less; else open."""
    a, b = (_level(runs, words, name)["error"] for name in (one, other))
    gap = a[0] - factor * b[0], float(np.hypot(a[1], factor * b[1]))
    return Answer(sign(gap), f"squared error {_against(a, b)}")


def better_held_out(runs: Runs, words: str, one: str, other: str, place: int = -1) -> Answer:
    """yes: `one` loses clearly less held-out log likelihood, at the largest level; no: clearly more; else open."""
    a, b = (_level(runs, words, name, place)["gap"] for name in (one, other))
    said = f"nats a point below all data: {_against(a, b)}"
    return Answer(sign((b[0] - a[0], float(np.hypot(a[1], b[1])))), said)


def still_far(runs: Runs, words: str, combiner: str, least: float, direction: int = 1) -> Answer:
    """yes: at the largest K total variation is clearly above (-1: below); no: clearly below; else open."""
    one = [entry for entry in runs[words]["summary"] if entry["combiner"] == combiner][-1]
    tv = one["mean"], one["standard error"]
    return Answer(sign((direction * (tv[0] - least), tv[1])), f"TV {shown(tv)} at K = {one['K']}")
