"""docs/claims.md, of what `bench claims` measured: `python -m benchmarks.helpers.claims_page FILE.json > FILE`.

The verdicts are those of the rules on the runs in FILE.csv beside it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

from benchmarks.helpers.claims_problems import PROBLEMS
from benchmarks.helpers.claims_rules import ERRORS, NEARLY_ALL, WITHIN, arrays_of
from benchmarks.helpers.claims_verdicts import CLAIMS, Judged, judged
from benchmarks.helpers.claims_words import measured_line, print_page, span

HEAD = """# The paper's claims, measured

What the paper says of its method beside five others, claim by claim, and whether it held here: yes, no, or open.

Written by `python -m benchmarks.helpers.claims_page docs/measured/claims.json`, from a file of
`python -m pmdviz bench claims --json FILE`. Every run behind a verdict is a line of
[measured/claims.csv](measured/claims.csv).

Dai, He, Dai, Song 2016 compare Particle Mirror Descent with five methods on a mixture with two modes (section 6,
appendix H.1). Here the comparison is made on two kinds of data: {data}. It is made on two clocks: {clocks}.
Every method runs at the best setting of a small search (data seeds {search}), and at the paper's; all
verdicts are on other data (data seeds {held_out}, run seeds {runs}; {slow} for the slow ones). Errors are over data
sets. Yes and no ask for a difference of more than {errors:g} standard errors, or the same sign in at least
{nearly_all:.0%} of the runs and on every data set; TVs within {within:g} count as alike. Everything between is open.

**What an observation costs.** Observations used do not count particles: for PMD each is one likelihood for each of
its particles. Likelihood evaluations count pairs of a parameter and a row, a gradient as one:

{costs}

## From Algorithm 1 to our default, one change at a time

TV at {budget:,} observations used with 1,500 particles, mean ± standard error; each line keeps the changes above it.

{ablation}

## Verdicts

Two answers stand for {both}.

| claim | verdict | under each condition |
|---|---|---|
{verdicts}
"""
FIGURES = """
### {data}, {budget:,} {clock}

TV and cross entropy (nats) at the end, mean ± standard error over data sets; `sd` is that of TV over runs of the same
data. "One mode": the share of runs with less than 2 % of q in the other mode; of a chain with less than 2 % of the
later half of its draws there. Knobs that are not named are at their defaults ([knobs.md](knobs.md)).

| method | setting | TV | sd | cross entropy | one mode | visited | evaluations, millions | runs |
|---|---|---|---|---|---|---|---|---|
"""


def page(result: Mapping[str, Any], rows: Iterable[Mapping[str, str]]) -> str:
    """The page of a result of `bench claims` and its runs."""
    found, arrays = result["figures"], arrays_of(rows)
    verdicts = [judged(claim, arrays) for claim in CLAIMS]
    parts = [_head(found, verdicts), "\n## What was seen\n", *map(_claim, verdicts), "\n## Settings and figures\n"]
    parts += [_figures(found, name) for name in found["problems"]]
    parts.append(_by_budget(found))
    when = measured_line(result)
    parts.append(f"{when}.\n")
    return "".join(parts)


def _head(found: Mapping[str, Any], verdicts: list[Judged]) -> str:
    problems = found["problems"].values()
    data = {one["data"]: ", ".join(f"{k} = {v:,}" for k, v in one["options"].items()) for one in problems}
    clocks = {f"{max(one['budgets']):,} {_clock(one)}": None for one in problems}
    return HEAD.format(
        data=" and ".join(f"{words} ({options})" for words, options in data.items()),
        clocks=" and ".join(clocks),
        search=span(found["search_data_seeds"]),
        held_out=span(found["data_seeds"]),
        runs=span(found["run_seeds"]),
        slow=span(found["run_seeds_of_slow_methods"]),
        errors=ERRORS,
        nearly_all=NEARLY_ALL,
        within=WITHIN,
        costs=_costs(found["entrants"]["separated"]),
        budget=max(found["problems"]["separated"]["budgets"]),
        ablation=_ablation(found),
        both=" / ".join(data),
        verdicts="\n".join(f"| {one.claim.words} | **{one.verdict}** | {_answers(one)} |" for one in verdicts),
    )


def _clock(problem: Mapping[str, Any]) -> str:
    return "observations used" if problem["unit"] == "data" else "likelihood evaluations"


def _costs(entrants: Mapping[str, Any]) -> str:
    lines = ["| method | densities a row | gradients a row |", "|---|---|---|"]
    for entrant in entrants.values():
        best = entrant["best"]
        each = (best[f"{kind}_evaluations_per_row"] for kind in ("density", "gradient"))
        lines.append(f"| {entrant['title']} | " + " | ".join(f"{value:,.4g}" for value in each) + " |")
    return "\n".join(lines)


def _ablation(found: Mapping[str, Any]) -> str:
    names = list(found["ablation"])
    titles = [found["problems"][name]["data"] for name in names]
    lines = [f"| what changes | {' | '.join(titles)} | evaluations, millions |", "|---" * (len(names) + 2) + "|"]
    for steps in zip(*found["ablation"].values(), strict=True):
        changes = ", ".join(f"`{k}` {_value(v)}" for k, v in steps[0]["change"].items())
        cells = [f"{steps[0]['step']} ({changes})", *(_with_error(step, "tv") for step in steps)]
        lines.append("| " + " | ".join([*cells, _millions(steps[0])]) + " |")
    return "\n".join(lines)


def _answers(one: Judged) -> str:
    """The answers by condition, those on both kinds of data side by side."""
    grouped: dict[str, list[str]] = {}
    for case, answer in one.answers:
        grouped.setdefault(case.condition, []).append(answer.verdict)
    return "; ".join(f"{words}: {' / '.join(said)}".removeprefix(": ") for words, said in grouped.items())


def _claim(one: Judged) -> str:
    lines = [f"\n**{one.claim.words}: {one.verdict}.**\n\n"]
    for case, answer in one.answers:
        where = ", ".join(filter(None, [case.condition, PROBLEMS[case.problem].data]))
        lines.append(f"- {where}: {answer.verdict} ({answer.said})\n")
    return "".join(lines)


def _figures(found: Mapping[str, Any], name: str) -> str:
    problem = found["problems"][name]
    head = FIGURES.format(data=problem["data"].capitalize(), budget=max(problem["budgets"]), clock=_clock(problem))
    rows = [row for entrant in found["entrants"][name].values() for row in _rows(entrant)]
    return head + "\n".join(rows) + "\n"


def _rows(entrant: Mapping[str, Any]) -> list[str]:
    tried = entrant["settings_tried"]
    words = {"best": f"best of {tried}" if tried > 1 else "as it is", "paper": "paper's"}
    return [
        _row(entrant["title"], f"{said}: {_knobs(entrant[setting]['knobs'])}", entrant[setting])
        for setting, said in words.items()
        if setting in entrant
    ]


def _row(title: str, setting: str, ends: Mapping[str, Any]) -> str:
    tv, entropy = (_with_error(ends, name) for name in ("tv", "cross_entropy"))
    cells = (title, setting, tv, f"{ends['tv_sd_over_runs']:.3f}", entropy, f"{ends['runs_in_one_mode']:.0%}")
    return "| " + " | ".join(map(str, (*cells, f"{ends['visited']:,}", _millions(ends), ends["runs"]))) + " |"


def _millions(ends: Mapping[str, Any]) -> str:
    return f"{(ends['density_evaluations'] + ends['gradient_evaluations']) / 1e6:.3g}"


def _with_error(ends: Mapping[str, Any], name: str) -> str:
    return f"{ends[name]:.3f} ± {ends[f'{name}_standard_error']:.3f}"


def _value(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _knobs(knobs: Mapping[str, Any]) -> str:
    return ", ".join(f"`{name}` {_value(value)}" for name, value in knobs.items()) or "defaults"


def _by_budget(found: Mapping[str, Any]) -> str:
    lines = []
    for name, problem in found["problems"].items():
        entrants = [e for e in found["entrants"][name].values() if len(e["tv_by_budget"]) > 1]
        if entrants:
            lines += ["", f"### TV by {_clock(problem)}, {problem['data']}, at the best settings", ""]
            lines += [f"| method | {' | '.join(f'{b:,}' for b in problem['budgets'])} |"]
            lines += ["|---" * (len(problem["budgets"]) + 1) + "|"]
            for entrant in entrants:
                values = entrant["tv_by_budget"].values()
                lines.append(f"| {entrant['title']} | " + " | ".join(f"{v:.3f}" for v in values) + " |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    sys.exit(print_page(page, sys.argv[1]))
