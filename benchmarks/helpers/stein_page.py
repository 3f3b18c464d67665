"""docs/claims-stein.md, of `bench stein` and `bench annealing`: `python -m benchmarks.helpers.stein_page FOLDER`.

The verdicts are those of the rules on the runs in FOLDER/stein.csv and FOLDER/annealing.csv.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.annealing import CASES
from benchmarks.helpers.claims_runs import read_rows
from benchmarks.helpers.claims_words import measured_line, seen, verdict_line
from benchmarks.helpers.rows_page import arrays_by_row, every_row
from benchmarks.helpers.stein_claims import CLAIMS
from benchmarks.helpers.stein_rules import Runs

HEAD = """# Claims about Stein methods and annealing, measured

What a thesis says of Stein methods and of annealing, claim by claim, and whether it held here.

Written by `python -m benchmarks.helpers.stein_page docs/measured`, from files of
`python -m pmdviz bench stein --json docs/measured/stein.json` and
`python -m pmdviz bench annealing --json docs/measured/annealing.json`. Every number of every run is a line of
[measured/stein.csv](measured/stein.csv) or [measured/annealing.csv](measured/annealing.csv).

J. Han's thesis (*Scalable Approximate Inference and Some Applications*, Dartmouth College 2019) makes
these claims: in its first part about Stein variational gradient descent, Stein importance sampling, log Z by the path
of SVGD, and annealed importance sampling on batches; in its second about the same without gradients, and on discrete
states. Its data were not published; ours are of the same kind, with exact answers, and digits of 8 x 8 pixels in the
place of photographs. Yes and no ask for a difference of more than two standard errors; everything between is open. The
mixtures of the thesis are "unspecified", so the last table has figures of a prototype of our own beside ours.

What is not built, and why: [verdicts.md](verdicts.md#han-2019).

**Where the prototype is missed** (bold in the last tables): SVGD with h = med² keeps more variance in five and 25
dimensions, for no reason that we found (its force agrees with blackjax' and numpyro's to 5e-15: `python -m
benchmarks.helpers.svgd_rows`). Adaptive importance sampling comes closer: our smallest variance follows that of the
draws. AIS on batches is further off, as the formula in [stein.md](stein.md) has it. Means of few particles vary by a
quarter from one set of 30 runs to the next. Without gradients: with kernels as a surrogate and 12 times the thesis'
width particles are driven apart in ten dimensions, and the run ends with a sentence; the prototype's did not. Weights
of least discrepancy at 200 points are far better: the prototype's solver failed on an ill-conditioned matrix. On
10 x 10 spins with the thesis' settings single runs differ by factors, as the weights collapse (ESS of a few per cent).

## Verdicts

| claim | verdict | under each condition |
|---|---|---|
{verdicts}

## What was seen
"""


def runs_of(stein: Iterable[Mapping[str, str]], annealing: Iterable[Mapping[str, str]]) -> Runs:
    """Both tables as arrays."""
    names = [(line, name) for line in annealing for name in set(line) - {"case", "seed"}]
    arrays = arrays_by_row(
        [*stein, *({"row": line["case"], "name": name, "value": line[name]} for line, name in names)]
    )
    for numbers in arrays.values():
        if "kl_reverse" in numbers:  # of q from p, as that of SteinIS
            numbers["kl"] = numbers["kl_reverse"]
    return arrays


def page(folder: Path) -> str:
    """The page of the measured files in a folder."""
    stein, annealing = (json.loads((folder / f"{name}.json").read_text()) for name in ("stein", "annealing"))
    runs = runs_of(*(read_rows(folder / f"{name}.csv") for name in ("stein", "annealing")))
    judged = [(words, {said: [rule(runs)] for said, rule in cases.items()}) for words, cases in CLAIMS]
    verdicts = "\n".join(verdict_line(words, answers) for words, answers in judged)
    parts = [HEAD.format(verdicts=verdicts), *(seen(words, answers, [""]) for words, answers in judged)]
    parts += [every_row(stein["figures"]["rows"]), _annealed(annealing["figures"]["cases"])]
    parts += [f"{measured_line(stein)} (`stein`)", f"{measured_line(annealing)} (`annealing`).\n"]
    return "".join(parts).replace(", : ", ": ")


def _annealed(cases: Mapping[str, Any]) -> str:
    head = "\n## Annealed importance sampling\n\nError of log Z in nats: mean and sd over runs, with the prototype's in"
    head += " brackets; then the mean error of the way back, which is above.\n\n"
    lines = ["| case | runs | error | sd | above | ESS | evaluations |", "|---|---|---|---|---|---|---|"]
    for name, one in cases.items():
        known = one.get("specified")
        said = f" ({known['mean_error']:g}, {known['sd']:g})" if known else ""
        above = f"{one['mean_error_above']:.3g}" if "mean_error_above" in one else ""
        lines.append(
            f"| {CASES[name].words} | {one['runs']} | {one['mean_error']:.3g}{said} | {one['sd']:.2g} | {above} "
            f"| {one['ess']:.3g} | {one['evaluations']:,.0f} |"
        )
    return head + "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(page(Path(sys.argv[1])), end="")
