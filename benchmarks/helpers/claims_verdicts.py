"""What the paper claims about the mixture, and under which conditions each claim is asked of which rule."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from benchmarks.helpers.claims_problems import PROBLEMS
from benchmarks.helpers.claims_rules import (
    Answer,
    Measured,
    Rule,
    alike_early,
    both_modes,
    higher,
    loses_a_mode_alone,
    lowest,
    near_best,
    one_mode,
    varies_more,
    verdict_of,
)

PAPERS = ("smc", "gibbs", "sgld", "svi", "npv")  # what the paper compares with
OURS = (
    "importance",
    "smc_mcmc",
    "svgd",
    "psgld",
    "hmc",
    "mala",
    "hmc, one pass",
    "mala, one pass",
)  # what we compare with besides
DATA = ("separated", "paper's")


class Case(NamedTuple):
    """A condition in words (but for the data), the problem it is measured on, and the rule that judges."""

    condition: str
    problem: str
    rule: Rule


class Claim(NamedTuple):
    """A sentence of the paper (or ours), and the conditions under which it is asked."""

    words: str
    cases: tuple[Case, ...]


def _each(rule: Rule, words: str = "", evaluations: bool = False) -> tuple[Case, ...]:
    """The rule on each data at equal observations used, and where evaluations are asked for at these too."""
    clocks = ("", ", evaluations") if evaluations else ("",)
    problems = [f"{data}{clock}" for clock in clocks for data in DATA]
    named = [f"equal {PROBLEMS[problem].clock}" if evaluations else "" for problem in problems]
    conditions = [", ".join(filter(None, [words, clock])) for clock in named]
    return tuple(Case(*pair, rule) for pair in zip(conditions, problems, strict=True))


def _lowest(what: str, words: str) -> tuple[Claim, Claim]:
    printed = _each(lowest("pmd as printed", PAPERS, what))
    ours = _each(lowest("pmd", (*PAPERS, *OURS), what), evaluations=True)
    return (
        Claim(f"PMD, Algorithm 1 as printed, has the lowest {words}", printed),
        Claim(f"Ours: our variant of PMD has the lowest {words} of all methods here", ours),
    )


def _settings(make: Any, words: str = "") -> tuple[Case, ...]:
    """A rule at the best setting and at the paper's, on each data."""
    named = {"best": "at its best", "paper": "at the paper's setting"}
    cases = (_each(make(setting), f"{words} {said}".strip()) for setting, said in named.items())
    return tuple(case for some in cases for case in some)


CLAIMS = (
    *_lowest("tv", "total variation"),
    *_lowest("cross_entropy", "cross entropy"),
    Claim(
        "One-pass SMC is alike at the beginning",
        (*_each(alike_early("smc", "pmd"), "our variant"), *_each(alike_early("smc", "pmd warm"), "with warm start")),
    ),
    Claim("One-pass SMC stops with a higher error", _each(higher("smc", "pmd", "tv"), evaluations=True)),
    Claim("Gibbs sits in one mode in every run", _settings(lambda setting: one_mode("gibbs", setting))),
    Claim("SGLD sits in one mode in every run", _settings(lambda setting: one_mode("sgld", setting))),
    Claim("Gibbs fits better than SGLD", _settings(lambda setting: higher("sgld", "gibbs", "tv", setting))),
    Claim("SVI sits in one mode", _settings(lambda setting: one_mode("svi", setting))),
    Claim(
        "SVI with a full covariance misses nothing but that mode (the paper: strong dependence too)",
        _settings(lambda setting: loses_a_mode_alone("svi", setting)),
    ),
    Claim("NPV finds both modes", _settings(lambda setting: both_modes("npv", setting))),
    Claim("NPV varies more from run to run than PMD", _settings(lambda setting: varies_more("npv", "pmd", setting))),
    Claim(
        "Algorithm 1 with a kernel shrunk as appendix H says recovers the posterior as well as our variant",
        _each(near_best("pmd as printed", ("pmd",))),
    ),
    Claim(
        "Ours: with a warm start PMD is within 0.01 TV of the best at every budget from one pass on",
        _each(near_best("pmd warm", ("pmd", "smc", "gibbs", "sgld", "svi", "importance"))),
    ),
)


class Judged(NamedTuple):
    """A claim with its verdict, and the answer to each of its cases."""

    claim: Claim
    verdict: str
    answers: tuple[tuple[Case, Answer], ...]


def judged(claim: Claim, measured: Mapping[str, Measured]) -> Judged:
    """A claim, judged by what was measured, by problem."""
    answers = tuple((case, case.rule(measured[case.problem])) for case in claim.cases)
    return Judged(claim, verdict_of([answer for _, answer in answers]), answers)
