"""The verdict on every claim of the papers, of what was measured: `python -m benchmarks.helpers.verdicts`.

It writes docs/measured/verdicts.csv (a row for each condition and data set of a claim, with the figures that judged
it) and the tables of docs/replication/verdicts.md.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.claims_gp import PROBLEMS as GP_PROBLEMS
from benchmarks.claims_topics import TITLES
from benchmarks.helpers import (
    fit_claims,
    gp_claims,
    pmfvb_claims,
    regression_claims,
    stein_claims,
    topics_claims,
)
from benchmarks.helpers.claims_problems import PROBLEMS
from benchmarks.helpers.claims_rules import Answer, arrays_of, verdict_of
from benchmarks.helpers.claims_runs import arrays_by_row, read_rows
from benchmarks.helpers.claims_verdicts import CLAIMS as MIXTURE

DOCS = Path(__file__).parents[2] / "docs"
MEASURED = DOCS / "measured"
BEGIN, END = "<!-- verdicts -->\n", "<!-- end of verdicts -->\n"


class Row(NamedTuple):
    """An answer to a claim under one condition, on one data set; the verdict is that on the claim as a whole."""

    topic: str
    claim: str
    verdict: str
    condition: str
    data: str
    answer: str
    seen: str


def judged(measured: Path = MEASURED) -> list[Row]:
    """Every answer, in the order of the topics."""
    asked = {
        "A mixture with two modes": _mixture(measured),
        "Logistic regression": _regression(measured),
        "Sparse Gaussian processes": _each(
            gp_claims.CLAIMS,
            gp_claims.in_thousandths(arrays_of(read_rows(measured / "claims-gp.csv"))),
            {name: problem.words for name, problem in GP_PROBLEMS.items()},
        ),
        "Topics": _each(topics_claims.CLAIMS, arrays_of(read_rows(measured / "claims-topics.csv")), TITLES),
        "Stein methods and annealing": _each(stein_claims.CLAIMS, {"": stein_runs(measured)}, {"": ""}),
        "Tests of samples, and combined models": _each(fit_claims.CLAIMS, {"": _fit(measured)}, {"": ""}),
        "Particle mean-field variational Bayes": _each(
            pmfvb_claims.CLAIMS, {"": arrays_by_row(read_rows(measured / "pmfvb.csv"))}, {"": ""}
        ),
    }
    return [row for topic, claims in asked.items() for row in _rows(topic, claims)]


Claims = Iterator[tuple[str, list[tuple[str, str, Answer]]]]  # words; condition, data and answer


def _rows(topic: str, claims: Claims) -> Iterator[Row]:
    for words, answers in claims:
        verdict = verdict_of([answer for *_, answer in answers])
        for condition, data, answer in answers:
            yield Row(topic, words, verdict, condition, data, answer.verdict, answer.said)


def _each(
    claims: Iterable[tuple[str, Mapping[str, Any]]], runs: Mapping[str, Any], titles: Mapping[str, str]
) -> Claims:
    """Each claim by its rules, on every problem that was run."""
    for words, cases in claims:
        yield words, [(said, titles[name], rule(runs[name])) for said, rule in cases.items() for name in titles]


def _mixture(measured: Path) -> Claims:
    arrays = arrays_of(read_rows(measured / "claims.csv"))
    for claim in MIXTURE:
        yield (
            claim.words,
            [(case.condition, PROBLEMS[case.problem].data, case.rule(arrays[case.problem])) for case in claim.cases],
        )


def _regression(measured: Path) -> Claims:
    rows = read_rows(measured / "claims-logistic.csv")
    problems = _figures(measured / "claims-logistic.json")["problems"]
    arrays = arrays_of([{name: value for name, value in row.items() if name != "knobs"} for row in rows])
    return _each(regression_claims.CLAIMS, arrays, {name: one["words"] for name, one in problems.items()})


def _fit(measured: Path) -> Any:
    return _figures(measured / "fit-and-aggregation.json")["measured"]


def _figures(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))["figures"]


def stein_runs(measured: Path) -> dict[str, Any]:
    """The runs of `bench stein` and `bench annealing` as arrays, by row."""
    stein, annealing = (read_rows(measured / f"{name}.csv") for name in ("stein", "annealing"))
    numbers = [(line, name) for line in annealing for name in set(line) - {"case", "seed"}]
    arrays = arrays_by_row(
        [*stein, *({"row": line["case"], "name": name, "value": line[name]} for line, name in numbers)]
    )
    for found in arrays.values():
        if "kl_reverse" in found:  # of q from p, as that of SteinIS
            found["kl"] = found["kl_reverse"]
    return arrays


def table(rows: Iterable[Row]) -> str:
    """The text of verdicts.csv."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(Row._fields)
    writer.writerows(rows)
    return text.getvalue()


def tables(rows: Iterable[Row]) -> str:
    """The tables of the page: how many verdicts of each kind, and each topic's claims."""
    verdicts = {(row.topic, row.claim): row.verdict for row in rows}
    lines = ["| verdict | claims |", "|---|---|"]
    lines += [f"| {verdict} | {count} |" for verdict, count in Counter(verdicts.values()).most_common()]
    for topic in dict.fromkeys(topic for topic, _ in verdicts):
        lines += ["", f"## {topic}", "", "| claim | verdict |", "|---|---|"]
        lines += [f"| {claim} | {verdict} |" for (about, claim), verdict in verdicts.items() if about == topic]
    return "\n".join([*lines, ""])


def page(text: str, rows: Iterable[Row]) -> str:
    """The page with its tables written anew."""
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}{tables(rows)}{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    found, path = judged(), DOCS / "replication" / "verdicts.md"
    (MEASURED / "verdicts.csv").write_text(table(found), encoding="utf-8")
    path.write_text(page(path.read_text(encoding="utf-8"), found), encoding="utf-8")
