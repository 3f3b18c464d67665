"""Rules that judge claims about mean-field particles on the runs of `bench pmfvb`, beside those of `stein_rules`."""

from __future__ import annotations

import numpy as np

from benchmarks.helpers.claims_rules import NO, OPEN, YES, Answer, clear, shown
from benchmarks.helpers.stein_rules import Rule, Runs, mean_of

ALIKE = 0.1  # by which a ratio of sds may miss 1
NEAR = 0.25  # exact sds by which a mean may miss
CONSTANT = 0.9  # of the variance of y: a mean square error above it is that of a constant


def within(row: str, what: str, most: float) -> Rule:
    """yes: the mean of `what` is at most so much; no: it is clearly more; else open."""

    def judge(runs: Runs) -> Answer:
        mean, error = mean_of(runs[row][what])
        verdict = YES if mean <= most else NO if clear((mean - most, error)) else OPEN
        return Answer(verdict, f"{what} {shown((mean, error))}, at most {most:g}", {what: (mean, error)})

    return judge


def alike(row: str, ratios: tuple[str, ...]) -> Rule:
    """yes: every ratio of sds is within 0.1 of 1; no: one is clearly further off; else open."""

    def judge(runs: Runs) -> Answer:
        found = {name: mean_of(runs[row][name]) for name in ratios}
        off = [(abs(mean - 1) - ALIKE, error) for mean, error in found.values()]
        verdict = NO if any(map(clear, off)) else YES if all(excess <= 0 for excess, _ in off) else OPEN
        return Answer(verdict, "sd over exact sd " + ", ".join(map(shown, found.values())), found)

    return judge


def same_mean(row: str, exact: str, what: str) -> Rule:
    """yes: the mean of a parameter is within a quarter of its exact sd; no: clearly further off; else open."""

    def judge(runs: Runs) -> Answer:
        truth, sd = (float(runs[exact][name].mean()) for name in (what, f"{what}_sd"))
        mean, error = mean_of(runs[row][what])
        gap = abs(mean - truth) / sd, error / sd
        verdict = YES if gap[0] <= NEAR else NO if clear((gap[0] - NEAR, gap[1])) else OPEN
        return Answer(verdict, f"{what} {mean:.3g}, exact {truth:.3g}: off by {shown(gap)} sds", {what: gap})

    return judge


def same_sd(row: str, exact: str, what: str) -> Rule:
    """yes: its sd is within 10 % of the exact one; no: clearly further off; else open."""

    def judge(runs: Runs) -> Answer:
        ratios = runs[row][f"{what}_sd"] / runs[exact][f"{what}_sd"].mean()
        return alike("only", ("ratio",))({"only": {"ratio": ratios}})

    return judge


def too_narrow(row: str, exact: str, what: str) -> Rule:
    """yes: its sd is clearly below the exact one; no: clearly above; else open."""

    def judge(runs: Runs) -> Answer:
        mean, error = mean_of(runs[row][f"{what}_sd"] / runs[exact][f"{what}_sd"].mean())
        verdict = YES if clear((1 - mean, error)) else NO if clear((mean - 1, error)) else OPEN
        return Answer(verdict, f"sd of {what} over exact sd {shown((mean, error))}", {what: (mean, error)})

    return judge


def one_answer(row: str, other: str, what: str) -> Rule:
    """no: runs that start on either side end clearly apart; else yes."""

    def judge(runs: Runs) -> Answer:
        ends = [mean_of(runs[name][what]) for name in (row, other)]
        gap = abs(ends[0][0] - ends[1][0]), float(np.hypot(ends[0][1], ends[1][1]))
        said = f"{what} {shown(ends[0])} and {shown(ends[1])}"
        return Answer(NO if clear(gap) else YES, said, {what: gap})

    return judge


def fits(row: str) -> Rule:
    """yes: the mean square error is clearly below 0.9 of the variance of y; no: it is not."""

    def judge(runs: Runs) -> Answer:
        shares = runs[row]["mse"] / runs[row]["var_y"]
        mean, error = mean_of(shares)
        verdict = YES if clear((CONSTANT - mean, error)) else NO
        return Answer(
            verdict, f"mean square error over the variance of y {shown((mean, error))}", {"share": (mean, error)}
        )

    return judge
