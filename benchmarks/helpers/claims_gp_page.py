"""docs/claims-gp.md, of what `bench claims-gp` measured: `python -m benchmarks.helpers.claims_gp_page FILE > PAGE`.

The verdicts are those of the rules on the runs in FILE.csv beside it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

from benchmarks.claims_gp import PROBLEMS
from benchmarks.helpers.claims_rules import (
    NO,
    OPEN,
    YES,
    Answer,
    Measured,
    Rule,
    arrays_of,
    clear,
    higher,
    lowest,
    pooled,
    shown,
)
from benchmarks.helpers.claims_words import measured_line, print_page, seen, span, verdict_line

HEAD = """# The paper's claims about sparse Gaussian processes, measured

What the paper says of its method on sparse Gaussian processes, claim by claim, and whether it held here.

Written by `python -m benchmarks.helpers.claims_gp_page docs/measured/claims-gp.json`, from a file of
`python -m pmdviz bench claims-gp --json FILE`. Every run that judged is a few lines of
[measured/claims-gp.csv](measured/claims-gp.csv).

Dai, He, Dai, Song 2016 (section 6, appendix H.3) compare structured Particle Mirror Descent with stochastic variational
inference, one-pass SMC and a subset of the data on 463,715 songs, and report an RMSE of 0.027. **That figure is not
judged here**, since the songs are not: the order of the methods is, on {problems}.
Methods with step sizes run at the best of {tried} settings (data seeds {search}); the verdicts are on other data (data
seeds {held_out}, run seeds {runs}). Structured PMD has FITC, SVI-GP its own bound; with DTC and one particle the two
are the same method (a test holds them to it), so that between them FITC and the choice among particles are judged. The
subset has 128 data, as many as there are inducing inputs, or 512. RMSE is of the mean of q on held-out
rows, in units of y: of the function without noise, of the songs with it. Errors are over data sets; yes and no ask for
a difference of more than two standard errors, or the same sign in nearly all runs and on every data set. Everything
between is open.

## Verdicts

Two answers stand for {both}.

| claim | verdict | under each condition |
|---|---|---|
{verdicts}

## What was seen
"""
RMSE = "rmse × 1000"  # differences are of the order of 0.001
RIVALS = ("svi", "smc 16", "smc", "subset", "subset 512")


def falls(name: str) -> Rule:
    """yes: the RMSE at the end is clearly below that after each earlier look; no: clearly above one; else open."""

    def judge(measured: Measured) -> Answer:
        by_look = measured[name]["best"][RMSE].mean(axis=1)  # (data seeds, looks)
        drops = [pooled((by_look[:, k] - by_look[:, -1])[:, None]) for k in range(by_look.shape[1] - 1)]
        rose = any(clear((-mean, error)) for mean, error in drops)
        verdict = NO if rose else YES if all(clear(drop) for drop in drops) else OPEN
        said = f"{RMSE} at the end is lower than at the looks before by " + ", ".join(map(shown, drops))
        return Answer(verdict, said, {str(k): drop for k, drop in enumerate(drops)})

    return judge


SIXTEEN = "16 particles, as in the paper"
CLAIMS: tuple[tuple[str, dict[str, Rule]], ...] = (
    ("Structured PMD has the lowest RMSE", {SIXTEEN: lowest("pmd 16", RIVALS, RMSE)}),
    ("Structured PMD is better than SVI-GP", {SIXTEEN: higher("svi", "pmd 16", RMSE)}),
    ("Structured PMD is better than one-pass SMC", {SIXTEEN: lowest("pmd 16", ("smc 16", "smc"), RMSE)}),
    (
        "Structured PMD is better than a subset of the data",
        {
            "of as many data as inducing inputs": lowest("pmd 16", ("subset",), RMSE),
            "of four times as many": lowest("pmd 16", ("subset 512",), RMSE),
        },
    ),
    ("The posterior mean comes closer with every look (Figure 4)", {SIXTEEN: falls("pmd 16")}),
    ("Ours: 16 particles are better than one", {"at the best setting of each": higher("pmd 1", "pmd 16", RMSE)}),
    ("Ours: with one particle structured PMD is better than SVI-GP", {"one particle": higher("svi", "pmd 1", RMSE)}),
)


def in_thousandths(arrays: Mapping[str, Measured]) -> dict[str, Measured]:
    """The same runs with the RMSE in thousandths besides."""
    return {
        name: {
            key: {setting: {**runs, RMSE: 1000 * runs["rmse"]} for setting, runs in settings.items()}
            for key, settings in entrants.items()
        }
        for name, entrants in arrays.items()
    }


def page(result: Mapping[str, Any], rows: Iterable[Mapping[str, str]]) -> str:
    """The page of a result of `bench claims-gp` and its runs."""
    found, arrays = result["figures"], in_thousandths(arrays_of(rows))
    judged = [
        (words, {said: [rule(arrays[name]) for name in PROBLEMS] for said, rule in cases.items()})
        for words, cases in CLAIMS
    ]
    titles = [problem.words for problem in PROBLEMS.values()]
    first = next(iter(found["entrants"].values()))
    head = HEAD.format(
        problems=" and ".join(titles),
        tried=max(one["settings_tried"] for one in first.values()),
        search=span(found["search_data_seeds"]),
        held_out=span(found["data_seeds"]),
        runs=span(found["run_seeds"]),
        both=" / ".join(titles),
        verdicts="\n".join(verdict_line(words, answers) for words, answers in judged),
    )
    parts = [head, *(seen(words, answers, titles) for words, answers in judged), "\n## Settings and figures\n"]
    parts += [_figures(found["entrants"][name], name) for name in PROBLEMS]
    parts.append(f"{measured_line(result)}.\n")
    return "".join(parts)


def _figures(entrants: Mapping[str, Any], name: str) -> str:
    problem = PROBLEMS[name]
    title = f"{problem.words[0].upper()}{problem.words[1:]}"
    head = f"\n### {title}\n\nRMSE after so many batches of {problem.batch} data.\n\n"
    lines = [f"| method | setting | {' | '.join(map(str, problem.steps))} | ± | observations used | seconds |"]
    lines.append("|---" * (len(problem.steps) + 5) + "|")
    for one in entrants.values():
        knobs = ", ".join(f"`{knob}` {value:g}" for knob, value in one["knobs"].items()) or "defaults"
        values = " | ".join(f"{value:.4f}" for value in one["rmse"])
        rest = f"{one['standard_error'][-1]:.4f} | {one['visited']:,} | {one['seconds']:.2f} |"
        lines.append(f"| {one['title']} | {knobs} | {values} | {rest}")
    return head + "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(print_page(page, sys.argv[1]))
