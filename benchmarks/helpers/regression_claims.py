"""The claims about logistic regression, each with a rule for every condition under which it is judged."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from benchmarks.helpers.claims_rules import NO, OPEN, YES, Answer, Measured, Rule, clear, pooled, shown

PAPERS_ACCURACY = 0.988
ALIKE = 0.01  # accuracies this near are comparable
FIRST, LAST = 0, -1  # of the budgets
SVI, PMD = "jaakkola_jordan", ("pmd", "pmd, paper's steps", "pmd as printed")
RIVALS = (*PMD, "sgld", "smc", "npv")


def _at(measured: Measured, key: str, what: str, budget: int) -> Any:
    return measured[key]["best"][what][:, :, budget]


def _difference(measured: Measured, one: str, other: str, what: str, budget: int) -> tuple[float, float]:
    """Mean and standard error of one minus the other, data seed by data seed."""
    a, b = (_at(measured, key, what, budget).mean(axis=1) for key in (one, other))
    return pooled((a - b)[:, None])


def best_at_first(one: str, rivals: Iterable[str]) -> Rule:
    """yes: after the first quarter of a pass the log loss is clearly below every rival's; no: one's is; else open."""

    def judge(measured: Measured) -> Answer:
        leads = {key: _difference(measured, key, one, "log_loss", FIRST) for key in rivals}
        behind = [key for key, (mean, error) in leads.items() if clear((-mean, error))]
        verdict = NO if behind else YES if all(clear(lead) for lead in leads.values()) else OPEN
        said = ", ".join(f"{key} {shown(lead)}" for key, lead in leads.items())
        return Answer(verdict, f"log loss after a quarter of a pass higher by {said}", leads)

    return judge


def comparable(one: str, other: str) -> Rule:
    """yes: the accuracy after five passes is at most 0.01 below the other's; no: clearly more; else open."""

    def judge(measured: Measured) -> Answer:
        mean, error = _difference(measured, other, one, "accuracy", LAST)
        verdict = YES if mean <= ALIKE else NO if clear((mean - ALIKE, error)) else OPEN
        return Answer(verdict, f"accuracy of {other} minus that of {one} {shown((mean, error))}", {"by": (mean, error)})

    return judge


def reaches(one: str) -> Rule:
    """yes: the mean accuracy after five passes is at least 98.8 %; no: it is clearly below; else open."""

    def judge(measured: Measured) -> Answer:
        found, best = (pooled(_at(measured, key, "accuracy", LAST)) for key in (one, "reference"))
        short = PAPERS_ACCURACY - found[0]
        verdict = YES if short <= 0 else NO if clear((short, found[1])) else OPEN
        return Answer(verdict, f"accuracy {shown(found)}; of the reference {shown(best)}", {"accuracy": found})

    return judge


CLAIMS: tuple[tuple[str, dict[str, Rule]], ...] = (
    ("SVI performs best at first", {"": best_at_first(SVI, RIVALS)}),
    ("PMD is comparable to SVI after enough data", {key: comparable(key, SVI) for key in PMD}),
    ("PMD reaches 98.8 % test accuracy", {key: reaches(key) for key in PMD}),
    ("NPV performs comparable to PMD with fewer components", {"": comparable("npv", "pmd")}),
)
