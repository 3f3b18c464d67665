"""Rules that judge claims about tests and about combined models on the summaries of `bench fit-and-aggregation`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.helpers.claims_rules import NO, OPEN, YES, Answer, clear, shown
from pmdviz.experiments.aggregation.combine import COMBINERS

Entry = Mapping[str, Any]
Measured = Mapping[str, Mapping[str, Any]]  # by the words of a configuration: its summary, and means at each level
Rule = Callable[[Measured], Answer]
MOST_SIZE = 0.12  # at the level 0.05


def rates(found: Measured, words: str, test: str) -> list[Entry]:
    """A test's entries in the order of its curve."""
    mine = [entry for entry in found[words]["summary"] if entry["test"] == test]
    return sorted(mine, key=lambda entry: (entry["perturbation"], entry["num_points"]))


def powers(found: Measured, words: str, test: str) -> list[Entry]:
    """Those with a perturbation."""
    return [entry for entry in rates(found, words, test) if entry["perturbation"] > 0]


def _along(entries: Sequence[Entry]) -> str:
    return ", ".join(f"{entry['rejected']:g}" for entry in entries)


def _figures(one: Entry) -> dict[str, tuple[float, float]]:
    return {"rejected": (one["rejected"], (one["high"] - one["low"]) / 4)}


def no_less_power(words: str, test: str, other: str, strictly: bool = False) -> Rule:
    """no: rejects clearly less often at some point of the curve (intervals apart), and nowhere clearly more often.

    yes: nowhere clearly less often, and (strictly) somewhere clearly more often; else open.
    """

    def judge(found: Measured) -> Answer:
        mine, theirs = powers(found, words, test), powers(found, words, other)
        pairs = list(zip(mine, theirs, strict=True))
        less = any(a["high"] < b["low"] for a, b in pairs)
        more = any(a["low"] > b["high"] for a, b in pairs)
        verdict = OPEN if less and more else NO if less else YES if more or not strictly else OPEN
        said = f"{test} rejects {_along(mine)}; {other} {_along(theirs)}"
        return Answer(verdict, said, _figures(mine[-1]))

    return judge


def keeps_level(words: str, test: str) -> Rule:
    """yes: of right samples at most 0.12 are rejected; no: clearly more; else open."""

    def judge(found: Measured) -> Answer:
        (one,) = [entry for entry in rates(found, words, test) if entry["perturbation"] == 0]
        verdict = YES if one["rejected"] <= MOST_SIZE else NO if one["low"] > MOST_SIZE else OPEN
        said = f"{one['rejected']:g} [{one['low']:.2g}, {one['high']:.2g}] of right samples rejected"
        return Answer(verdict, said, _figures(one))

    return judge


def ever_rejects(words: str, test: str) -> Rule:
    """yes: rejects the furthest of the wrong samples clearly more often than at 0.05; no: clearly less; else open."""

    def judge(found: Measured) -> Answer:
        one = powers(found, words, test)[-1]
        verdict = YES if one["low"] > 0.05 else NO if one["high"] < 0.05 else OPEN
        said = f"{one['rejected']:g} [{one['low']:.2g}, {one['high']:.2g}] of the wrong samples furthest off rejected"
        return Answer(verdict, said, _figures(one))

    return judge


def slope_of(found: Measured, words: str, combiner: str) -> tuple[float, float]:
    """The slope of log error in log n, with its standard error."""
    wanted = f"{COMBINERS[combiner].title}: error against n"
    (one,) = [entry for entry in found[words]["summary"] if entry["what"] == wanted and "slope" in entry]
    return one["slope"], one["standard_error"]


def slope_within(words: str, combiner: str, low: float, high: float) -> Rule:
    """yes: the slope lies within; no: clearly outside; else open."""

    def judge(found: Measured) -> Answer:
        slope, error = slope_of(found, words, combiner)
        outside = max(low - slope, slope - high)
        verdict = YES if outside <= 0 else NO if clear((outside, error)) else OPEN
        return Answer(verdict, f"slope {shown((slope, error))}", {"slope": (slope, error)})

    return judge


def level_of(found: Measured, words: str, combiner: str, place: int = -1) -> Entry:
    """Means over the repetitions at a value of what is varied: the last one, or that of a combiner without draws."""
    return [entry for entry in found[words]["levels"] if entry["combiner"] == combiner][place]


def power_of(words: str, combiner: str, low: float, high: float) -> Rule:
    """yes: between the first value of what is varied and the last the error goes by a power within; no: clearly not."""

    def judge(found: Measured) -> Answer:
        first, last = (level_of(found, words, combiner, place) for place in (0, -1))
        span = np.log(last["level"] / first["level"])
        power = float(np.log(last["error"][0] / first["error"][0]) / span)
        error = float(np.hypot(*(entry["error"][1] / entry["error"][0] for entry in (first, last))) / span)
        outside = max(low - power, power - high)
        verdict = YES if outside <= 0 else NO if clear((outside, error)) else OPEN
        return Answer(verdict, f"power {shown((power, error))}", {"power": (power, error)})

    return judge


def far_above(words: str, one: str, other: str, factor: float) -> Rule:
    """yes: the error of `one` is clearly more than so many times that of `other`; no: clearly less; else open."""

    def judge(found: Measured) -> Answer:
        (a, da), (b, db) = (level_of(found, words, name)["error"] for name in (one, other))
        gap = a - factor * b, float(np.hypot(da, factor * db))
        said = f"squared error {small(a, da)} against {small(b, db)}"
        return Answer(_sign(gap), said, {"error": (a, da)})

    return judge


def better_held_out(words: str, one: str, other: str, place: int = -1) -> Rule:
    """yes: `one` loses clearly less held-out log likelihood, at the largest level; no: clearly more; else open."""

    def judge(found: Measured) -> Answer:
        (a, da), (b, db) = (level_of(found, words, name, place)["gap"] for name in (one, other))
        said = f"nats a point below all data: {small(a, da)} against {small(b, db)}"
        return Answer(_sign((b - a, float(np.hypot(da, db)))), said, {"gap": (a, da)})

    return judge


def still_far(words: str, combiner: str, least: float, sign: int = 1) -> Rule:
    """yes: at the largest K total variation is clearly above (sign -1: below); no: clearly below; else open."""

    def judge(found: Measured) -> Answer:
        one = [entry for entry in found[words]["summary"] if entry["combiner"] == combiner][-1]
        tv = one["mean"], one["standard error"]
        return Answer(_sign((sign * (tv[0] - least), tv[1])), f"TV {shown(tv)} at K = {one['K']}", {"tv": tv})

    return judge


def comes_near(words: str, combiner: str, most: float) -> Rule:
    """yes: at the largest K total variation is clearly below; no: clearly above; else open."""
    return still_far(words, combiner, most, sign=-1)


def small(mean: float, error: float) -> str:
    """A mean and its standard error, of whatever size."""
    return f"{mean:.3g} ± {error:.1g}"


def _sign(gap: tuple[float, float]) -> str:
    return YES if clear(gap) else NO if clear((-gap[0], gap[1])) else OPEN
