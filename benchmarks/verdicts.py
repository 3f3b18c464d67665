"""The verdict on every claim of the papers, of what was measured: `python -m benchmarks.verdicts`.

It writes docs/measured/verdicts.csv (a row for each condition and data set of a claim, with the figures that judged
it) and the tables of docs/replication/verdicts.md.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from benchmarks.measuring import arrays_by_row, arrays_of, read_rows
from benchmarks.rules import judge, verdict_of

ROOT = Path(__file__).parents[1]
MEASURED, PAGE = ROOT / "docs" / "measured", ROOT / "docs" / "replication" / "verdicts.md"
CLAIMS = Path(__file__).parent / "tables" / "claims.yaml"
BEGIN, END = "<!-- verdicts -->\n", "<!-- end of verdicts -->\n"


class Verdict(NamedTuple):
    """An answer to a claim under one condition, on one data set; the verdict is that on the claim as a whole."""

    topic: str
    claim: str
    verdict: str
    condition: str
    data: str
    answer: str
    seen: str


def judged(measured: Path = MEASURED) -> list[Verdict]:
    """Every answer, in the order of the topics."""
    found = []
    for topic, given in yaml.safe_load(CLAIMS.read_text(encoding="utf-8")).items():
        titles = given.get("data", {"": ""})
        runs = runs_of(measured, given["measured"], "" in titles)
        for claim, cases in given["claims"].items():
            answers = [
                (words, titles[name], judge(runs[name], *rule))
                for words, asked, *rule in cases
                for name in (titles if asked == "*" else [asked])
            ]
            verdict = verdict_of([answer for *_, answer in answers])
            found += [Verdict(topic, claim, verdict, words, data, *answer) for words, data, answer in answers]
    return found


def runs_of(measured: Path, names: list[str], whole: bool) -> dict[str, Any]:
    """The runs in the files of some benches, by data set; `whole`: of rows, or of experiments, without data sets."""
    if names == ["fit-and-aggregation"]:
        return {"": json.loads((measured / f"{names[0]}.json").read_text(encoding="utf-8"))["figures"]["measured"]}
    rows = [row for name in names for row in read_rows(measured / f"{name}.csv")]
    return {"": arrays_by_row(rows)} if whole else arrays_of(rows)


def table(rows: Iterable[Verdict]) -> str:
    """The text of verdicts.csv."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(("topic", "claim", "verdict", "condition", "data", "answer", "seen"))
    writer.writerows(rows)
    return text.getvalue()


def tables(rows: Iterable[Verdict]) -> str:
    """The tables of the page: how many verdicts of each kind, and each topic's claims."""
    verdicts = {(row.topic, row.claim): row.verdict for row in rows}
    lines = ["| verdict | claims |", "|---|---|"]
    lines += [f"| {verdict} | {count} |" for verdict, count in Counter(verdicts.values()).most_common()]
    for topic in dict.fromkeys(topic for topic, _ in verdicts):
        lines += ["", f"## {topic}", "", "| claim | verdict |", "|---|---|"]
        lines += [f"| {claim} | {verdict} |" for (about, claim), verdict in verdicts.items() if about == topic]
    return "\n".join([*lines, ""])


def page(text: str, rows: Iterable[Verdict]) -> str:
    """The page with its tables written again."""
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}{tables(rows)}{END}{rest.split(END)[1]}"


if __name__ == "__main__":
    found = judged()
    (MEASURED / "verdicts.csv").write_text(table(found), encoding="utf-8")
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")
