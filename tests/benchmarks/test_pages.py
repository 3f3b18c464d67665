"""Every page, table and figure of measured claims is what the measured files give."""

import json
import re
from pathlib import Path

import pytest

from benchmarks import outside, silence
from benchmarks.helpers import (
    claims_gp_page,
    claims_page,
    claims_topics_page,
    costs_table,
    dimension_figure,
    fit_page,
    pmfvb_page,
    regression_page,
    stein_page,
)
from benchmarks.helpers.claims_overview import ITEMS, PAGES, items_of, overview, verdicts
from benchmarks.helpers.claims_runs import read_rows

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
MEASURED = DOCS / "measured"


def read(name):
    return json.loads((MEASURED / name).read_text(encoding="utf-8"))


def rows(name):
    return read_rows(MEASURED / name)


WRITTEN = {
    "claims.md": lambda: claims_page.page(read("claims.json"), rows("claims.csv")),
    "claims-fit.md": lambda: fit_page.page(MEASURED / "fit-and-aggregation.json"),
    "claims-gp.md": lambda: claims_gp_page.page(read("claims-gp.json"), rows("claims-gp.csv")),
    "claims-pmfvb.md": lambda: pmfvb_page.page(MEASURED / "pmfvb.json"),
    "claims-stein.md": lambda: stein_page.page(MEASURED),
    "claims-topics.md": lambda: claims_topics_page.page(read("claims-topics.json"), rows("claims-topics.csv")),
    "logistic.md": lambda: regression_page.page(
        read("claims-logistic.json"), rows("claims-logistic.csv"), read("streamed.json")
    ),
    "verdicts.md": lambda: overview(DOCS),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_a_page_is_what_was_measured(name):
    assert (DOCS / name).read_text(encoding="utf-8") == WRITTEN[name](), "write it again, as its first lines say"


def test_tables_and_figures_are_what_was_measured():
    assert costs_table.table(read("costs.json")) in (DOCS / "theory.md").read_text(encoding="utf-8")
    assert outside.table(read("outside.json")["figures"]) in (DOCS / "baselines.md").read_text(encoding="utf-8")
    for seed in (1, 2, 3):
        told = silence.table(read(f"silence-{seed}.json")["figures"]).splitlines()[-3:]
        assert "\n".join(told) in (DOCS / "metrics.md").read_text(encoding="utf-8"), seed
    drawn = dimension_figure.drawn(read("dimension.json")["figures"])
    assert (ROOT / "assets/dimension.svg").read_text(encoding="utf-8") == drawn


def test_the_overview_has_every_page_of_claims_and_the_verdicts_of_its_first_table():
    named = {path.name for path in DOCS.glob("*.md") if "| claim | verdict |" in path.read_text(encoding="utf-8")}
    assert named == {*PAGES, "verdicts.md"}
    table = "| claim | verdict | under |\n|---|---|---|\n| {} | **holds** | x: yes |\n"
    assert list(verdicts("# A\n\n" + table.format("a") + "\n" + table.format("b"))) == [("a", "**holds**")]
    with pytest.raises(ValueError, match="no table begins"):
        list(verdicts("# Nothing\n"))


def test_the_overview_has_every_figure_and_table_with_a_state():
    """The works' last numbers; whatever is not tried, or has no claim, says why or where."""
    for items, figures, tables in zip(ITEMS.values(), (5, 34, 3), (1, 2, 3), strict=True):
        names = re.sub(r"\([^)]*\)", "", "; ".join(item.name for item in items)).replace(", Table", "; Table")
        for kind, last in (("Figure", figures), ("Table", tables)):
            found = re.findall(rf"{kind}s? ([\d, ]+)", names)
            assert {int(n) for part in found for n in re.findall(r"\d+", part)} == {*range(1, last + 1)}, kind
        assert all(item.claims or item.rest for item in items)
        assert not any(
            "not tried" in item.rest and item.rest.endswith("not tried") for item in items if not item.claims
        )
    with pytest.raises(ValueError, match="no claim begins with"):
        list(items_of([("another", "**holds**")]))
