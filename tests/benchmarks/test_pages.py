"""Verdicts, tables and figures of the docs are what the measured files give."""

import json
import re
from pathlib import Path

import matplotlib

from benchmarks import charts, silence, verdicts
from benchmarks.measuring import read_rows

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MEASURED = DOCS / "measured"


def read(name):
    return json.loads((MEASURED / name).read_text(encoding="utf-8"))


def text(name):
    return (DOCS / name).read_text(encoding="utf-8")


def test_the_verdicts_are_those_of_what_was_measured():
    found, page = verdicts.judged(), text("replication/verdicts.md")
    assert text("measured/verdicts.csv") == verdicts.table(found), "run: python -m benchmarks.verdicts"
    assert verdicts.page(page, found) == page, "run: python -m benchmarks.verdicts"


def test_tables_and_figures_are_what_was_measured():
    told = silence.table(read("silence-3.json")["figures"]).splitlines()[-2:]
    assert "\n".join(told) in text("explanation/diagnostics.md")
    figures, drawn = read("dimension.json")["figures"], (ROOT / "assets/dimension.svg").read_text(encoding="utf-8")
    assert all(f">{name}</text>" in drawn for name in figures)
    made_here = f"Matplotlib v{matplotlib.__version__}," in drawn  # another version draws another text
    assert not made_here or drawn == charts.dimension_chart(figures)


def test_every_figure_and_table_of_the_works_is_listed_with_claims_that_there_are_or_a_state():
    """The works' last numbers; an item without a claim says why it was not tried, or where it is."""
    claims = [row["claim"] for row in read_rows(MEASURED / "verdicts.csv")]
    works: dict[str, list] = {}
    for row in read_rows(MEASURED / "items.csv"):
        works.setdefault(row["work"], []).append(row)
        begun = [words for words in row["claims"].split("; ") if words]
        assert all(any(claim.startswith(words) for claim in claims) for words in begun), row
        assert begun or (row["state"] and not row["state"].endswith("not tried")), row
        assert all((ROOT / path).is_file() for path in re.findall(r"docs/[\w/-]+\.md", row["state"])), row
    for rows, figures, tables in zip(works.values(), (5, 34, 3), (1, 2, 3), strict=True):
        names = re.sub(r"\([^)]*\)", "", "; ".join(row["item"] for row in rows)).replace(", Table", "; Table")
        for kind, last in (("Figure", figures), ("Table", tables)):
            found = re.findall(rf"{kind}s? ([\d, ]+)", names)
            assert {int(n) for part in found for n in re.findall(r"\d+", part)} == {*range(1, last + 1)}, kind
