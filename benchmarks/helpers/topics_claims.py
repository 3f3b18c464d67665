"""The claims about topics, each with a rule for every condition under which it is judged."""

from __future__ import annotations

from typing import Any

from benchmarks.helpers.claims_rules import NO, OPEN, YES, Answer, Measured, Rule, clear, lowest, pooled, shown

BOTH = ("pmd 1", "pmd 16")
EARLY = 0  # the first pass
PARTICLES = {"pmd 1": "1 particle", "pmd 16": "16 particles"}


def at(measured: Measured, name: str, budget: int) -> Any:
    """Perplexities after a pass, runs averaged, (data seeds,)."""
    return measured[name]["best"]["perplexity"][:, :, budget].mean(axis=1)


def lower(one: tuple[str, int], other: tuple[str, int]) -> Rule:
    """yes: `one`, an entrant after a pass, has clearly lower perplexity than `other`; no: higher; else open."""

    def judge(measured: Measured) -> Answer:
        gap = pooled((at(measured, *other) - at(measured, *one))[:, None])
        verdict = YES if clear(gap) else NO if clear((-gap[0], gap[1])) else OPEN
        said = f"perplexity of {_when(other)} minus that of {_when(one)} {shown(gap)}"
        return Answer(verdict, said, {"gap": gap})

    return judge


def _when(one: tuple[str, int]) -> str:
    return f"{one[0]} after pass {one[1] + 1 if one[1] >= 0 else 5}"


CLAIMS: tuple[tuple[str, dict[str, Rule]], ...] = (
    (
        "PMD has the lowest perplexity, clearly below SGRLD and SVI",
        {PARTICLES[name]: lowest(name, ("online_vb", "sgrld"), "perplexity") for name in BOTH},
    ),
    (
        "One-pass SMC is ahead of PMD at the beginning (after one pass)",
        {PARTICLES[name]: lower((name.replace("pmd", "smc"), EARLY), (name, EARLY)) for name in BOTH},
    ),
    (
        "PMD, which may go on, ends below one-pass SMC",
        {PARTICLES[name]: lower((name, -1), (name.replace("pmd", "smc"), -1)) for name in BOTH},
    ),
    (
        "More passes refine PMD (five against one)",
        {PARTICLES[name]: lower((name, -1), (name, EARLY)) for name in BOTH},
    ),
    (
        "Ours: 16 particles are better than one",
        {name: lower((f"{name} 16", -1), (f"{name} 1", -1)) for name in ("pmd", "smc")},
    ),
)  # fmt: skip
