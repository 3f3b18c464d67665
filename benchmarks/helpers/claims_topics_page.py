"""docs/claims-topics.md, of `bench claims-topics`: `python -m benchmarks.helpers.claims_topics_page FILE.json`.

The verdicts are those of the rules on the runs in FILE.csv beside it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

from benchmarks.claims_topics import TITLES
from benchmarks.helpers.claims_rules import (
    NO,
    OPEN,
    YES,
    Answer,
    Measured,
    Rule,
    arrays_of,
    clear,
    lowest,
    pooled,
    shown,
)
from benchmarks.helpers.claims_words import measured_line, print_page, seen, span, verdict_line

HEAD = """# The paper's claims about topics, measured

What the paper says of its method on topics of documents, claim by claim, and whether it held here.

Written by `python -m benchmarks.helpers.claims_topics_page docs/measured/claims-topics.json`, from a file of
`python -m pmdviz bench claims-topics --json FILE`. Every run that judged is five lines of
[measured/claims-topics.csv](measured/claims-topics.csv).

Dai, He, Dai, Song 2016 (section 6, appendix H.4) compare structured Particle Mirror Descent with stochastic variational
inference, stochastic gradient Riemannian Langevin dynamics and a one-pass particle filter on Wikipedia: 150,000
documents, 8,000 words, 100 topics. **That run is not judged here.** The same methods run on {corpora}: batches of
{batch} documents, {passes} passes (one for the particle filter), each at the best setting of a small search (data seed
{search}); the verdicts are on other data (data seeds {held_out}, run seeds {runs}). Perplexity is that of
[topics.md](topics.md). Errors are over data sets; yes and no ask for a difference of more than two standard errors, and
everything between is open.

## Verdicts

The answers stand for {both}.

| claim | verdict | under each condition |
|---|---|---|
{verdicts}

## What was seen
"""
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


def page(result: Mapping[str, Any], rows: Iterable[Mapping[str, str]]) -> str:
    """The page of a result of `bench claims-topics` and its runs."""
    found, arrays = result["figures"], arrays_of(rows)
    problems = [name for name in TITLES if name in arrays]
    titles = [TITLES[name] for name in problems]
    judged = [(words, {said: [rule(arrays[name]) for name in problems] for said, rule in cases.items()})
              for words, cases in CLAIMS]  # fmt: skip
    head = HEAD.format(
        corpora=", ".join(titles),
        batch=found["batch_size"],
        passes=found["passes"],
        search=span(found["search_data_seeds"]),
        held_out=span(found["data_seeds"]),
        runs=span(found["run_seeds"]),
        both=" / ".join(titles),
        verdicts="\n".join(verdict_line(words, answers) for words, answers in judged),
    )
    parts = [head, *(seen(words, answers, titles) for words, answers in judged), "\n## Settings and figures\n"]
    parts += [_figures(found["entrants"][name], TITLES[name]) for name in problems]
    parts.append(f"{measured_line(result)}.\n")
    return "".join(parts)


def _figures(entrants: Mapping[str, Any], title: str) -> str:
    first = next(iter(entrants.values()))
    unigram = first["unigram_nats"]
    head = f"\n### {title[0].upper()}{title[1:]}\n\nUnigram entropy {unigram:.3f} nats a word; perplexity by pass.\n\n"
    passes = range(1, len(first["perplexity"]) + 1)
    lines = [f"| method | setting | {' | '.join(map(str, passes))} | ± | nats | evaluations | seconds |"]
    lines.append("|---" * (len(passes) + 6) + "|")
    for one in entrants.values():
        knobs = ", ".join(f"`{name}` {value:g}" for name, value in one["knobs"].items()) or "defaults"
        values = " | ".join(f"{value:.2f}" for value in one["perplexity"])
        rest = f"{one['standard_error'][-1]:.2f} | {one['nats']:.3f} | {one['evaluations']:,} | {one['seconds']:.2f} |"
        lines.append(f"| {one['title']} | {knobs} | {values} | {rest}")
    return head + "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(print_page(page, sys.argv[1]))
