"""Rules that judge claims about Stein methods on the runs of `bench stein` and `bench annealing`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from benchmarks.helpers.claims_rules import NO, OPEN, YES, Answer, clear, shown

Runs = Mapping[str, Mapping[str, np.ndarray]]  # by row, and by the number's name: a value a seed
Rule = Callable[[Runs], Answer]
UNBIASED = 0.05  # nats of log Z that count as none
KEPT = 0.85  # of the variance


def mean_of(values: np.ndarray) -> tuple[float, float]:
    """Mean and its standard error over the runs."""
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def lower(one: str, other: str, what: str, of: Callable[[np.ndarray], np.ndarray] = np.asarray) -> Rule:
    """yes: `what` of `one` is clearly below that of `other`; no: clearly above; else open."""

    def judge(runs: Runs) -> Answer:
        gap = _gap(of(runs[other][what]), of(runs[one][what]))
        verdict = YES if clear(gap) else NO if clear((-gap[0], gap[1])) else OPEN
        return Answer(verdict, f"{what} of {_small(other)} minus that of {_small(one)}: {_brief(gap)}", {what: gap})

    return judge


def as_good(one: str, other: str, what: str) -> Rule:
    """yes: `what` of `one` is not clearly above that of `other`; else no."""

    def judge(runs: Runs) -> Answer:
        gap = _gap(runs[one][what], runs[other][what])
        said = f"mean square error of {what}, less that of {_small(other)}: {_brief(gap)}"
        return Answer(NO if clear(gap) else YES, said, {what: gap})

    return judge


def keeps_variance(row: str) -> Rule:
    """yes: the variance ratio is at least 0.85; else no."""

    def judge(runs: Runs) -> Answer:
        found = mean_of(runs[row]["value"])
        return Answer(YES if found[0] >= KEPT else NO, f"variance ratio {shown(found)}", {"ratio": found})

    return judge


def unbiased(row: str, what: str = "log_z_error") -> Rule:
    """no: log Z is clearly off, by more than 0.05 nats; yes: it is within them; else open."""

    def judge(runs: Runs) -> Answer:
        mean, error = mean_of(runs[row][what])
        verdict = NO if clear((abs(mean) - UNBIASED, error)) else YES if abs(mean) <= UNBIASED else OPEN
        return Answer(verdict, f"log Z is off by {mean:.3g} ± {error:.2g} nats", {what: (mean, error)})

    return judge


def falls(rows: Sequence[str], what: str) -> Rule:
    """yes: it falls clearly from each row to the next; no: it rises clearly once; else open."""

    def judge(runs: Runs) -> Answer:
        drops = [_gap(runs[a][what], runs[b][what]) for a, b in zip(rows[:-1], rows[1:], strict=True)]
        rose = any(clear((-mean, error)) for mean, error in drops)
        verdict = NO if rose else YES if all(map(clear, drops)) else OPEN
        values = ", ".join(shown(mean_of(runs[row][what])) for row in rows)
        return Answer(verdict, f"{what} {values}", dict(zip(rows[1:], drops, strict=True)))

    return judge


def inverse_in_number(few: str, many: str, times: float, what: str) -> Rule:
    """yes: the mean square falls by the factor `times` within two standard errors of its log; else no."""

    def judge(runs: Runs) -> Answer:
        ends = [mean_of(runs[row][what]) for row in (few, many)]
        log_ratio = float(np.log(ends[0][0] / ends[1][0]))
        error = float(np.hypot(*(se / mean for mean, se in ends)))
        said = f"{what} falls by a factor of {np.exp(log_ratio):.2g}, {times:g} times as many particles"
        return Answer(YES if abs(log_ratio - np.log(times)) <= 2 * error else NO, said, {what: (log_ratio, error)})

    return judge


def _gap(more: np.ndarray, less: np.ndarray) -> tuple[float, float]:
    (a, a_error), (b, b_error) = mean_of(more), mean_of(less)
    return a - b, float(np.hypot(a_error, b_error))


def _brief(gap: tuple[float, float]) -> str:
    return f"{gap[0]:.2g} ± {gap[1]:.1g}"


def _small(words: str) -> str:
    return words if words[:2].isupper() or words.startswith("Stein") else words[0].lower() + words[1:]
