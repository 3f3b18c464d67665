"""docs/claims-pmfvb.md, of what `bench claims-pmfvb` measured: `python -m benchmarks.helpers.pmfvb_page FILE > PAGE`.

The verdicts are those of the rules on the runs in FILE.csv beside it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchmarks.helpers.claims_runs import read_rows
from benchmarks.helpers.claims_words import measured_line, seen, verdict_line
from benchmarks.helpers.pmfvb_claims import CLAIMS
from benchmarks.helpers.rows_page import arrays_by_row, every_row

HEAD = """# Claims about particle mean-field variational Bayes, measured

What a paper says of particle mean-field variational Bayes, claim by claim, and whether it held here.

Written by `python -m benchmarks.helpers.pmfvb_page docs/measured/pmfvb.json`, from a file of
`python -m pmdviz bench claims-pmfvb --json docs/measured/pmfvb.json` (`bench pmfvb` measures the same rows). Every
number of every run is a line of [measured/pmfvb.csv](measured/pmfvb.csv).

M.-N. Tran, P. Tseng and R. Kohn (*Particle Mean Field Variational Bayes*, 2023) claim this of their method on a
logistic regression, a stochastic volatility model and neural nets. Data are simulated as they say, and where theirs
are unavailable, of the same kind: statsmodels' tables of visits to doctors and of affairs in the place of HILDA (**not
available**: its owner gives it to registered users only) and of the census; nets are small, 5,000 rows instead of
100,000. Yes and no ask for a difference of more than two standard errors; everything between is open. What the paper
compares stochastic volatility with is sequential Monte Carlo, which took half an hour there; here exact Markov chain
Monte Carlo takes seconds, so that it is the reference.

{remarks}

## Verdicts

| claim | verdict | under each condition |
|---|---|---|
{verdicts}

## What was seen
"""
REMARKS = """**Where the prototype is missed** (bold in the last table). Its rows of stochastic volatility and of nets
are one to three runs, so that their errors are rounding and our own runs' sds. With long steps h our volatilities are a
few per cent nearer to the truth, and at two other series a few per cent further off; its step in phi is not told, ours
is a quarter of that of the path. Nets: as printed, with a root of a root, PMFVB-NN is no worse than with Adam's drift
here; particles from a draw each do learn the simulation study, if badly (on the curve of preset *nets_in_any_order*
they do not); chains are better than told. PMFVB-NN is behind pSGLD and Adam-SGLD on the simulation study, and on the
three tables the test rows do not tell any of the five apart. The paper's Table 1 has 20 times more rows and 15 times
more particles; at that size the claim is not tried. The sd of Gaussian VB is held against
1 % of the exact one, as a bar."""


def page(path: Path) -> str:
    """The page of a measured file."""
    result = json.loads(path.read_text(encoding="utf-8"))
    runs, found = arrays_by_row(read_rows(path.with_suffix(".csv"))), result["figures"]
    judged = [(words, {said: [rule(runs)] for said, rule in cases.items()}) for words, cases in CLAIMS]
    verdicts = "\n".join(verdict_line(words, answers) for words, answers in judged)
    parts = [
        HEAD.format(verdicts=verdicts, remarks=REMARKS),
        *(seen(words, answers, [""]) for words, answers in judged),
    ]
    parts += [_bars(found["bars"]), _cpu(found["cpu"]), every_row(found["rows"]), f"\n{measured_line(result)}.\n"]
    return "".join(parts).replace(", : ", ": ")


def _bars(bars: Mapping[str, Any]) -> str:
    lines = (f"| {words} | {one['found']:g} | {'yes' if one['met'] else '**no**'} |" for words, one in bars.items())
    return "\n".join(["\n## Bars\n", "| bar | found | met |", "|---|---|---|", *lines, ""])


def _cpu(contests: Mapping[str, Mapping[str, float]]) -> str:
    head = (
        "\n## CPU\n\nLeast CPU seconds of five rounds of 400 steps, in turn with plain NumPy in the same minutes, one"
    )
    head += " thread of BLAS.\n\n| model | CPU |\n|---|---|\n"
    return head + "".join(
        f"| {model} | {', '.join(f'{name} {value:g}' for name, value in found.items())} |\n"
        for model, found in contests.items()
    )


if __name__ == "__main__":
    print(page(Path(sys.argv[1])), end="")
