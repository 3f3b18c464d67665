"""The page where all claims meet says what their pages say."""

from pathlib import Path

import pytest

from benchmarks.helpers.claims_overview import PAGES, overview, verdicts

DOCS = Path(__file__).parents[2] / "docs"


def test_the_page_in_the_docs_is_of_the_pages_of_claims():
    assert (DOCS / "verdicts.md").read_text(encoding="utf-8") == overview(DOCS)


def test_every_page_of_claims_is_there():
    named = {path.name for path in DOCS.glob("*.md") if "| claim | verdict |" in path.read_text(encoding="utf-8")}
    assert named == {*PAGES, "verdicts.md"}


def test_verdicts_are_those_of_the_first_table():
    table = "| claim | verdict | under |\n|---|---|---|\n| {} | **holds** | x: yes |\n"
    page = "# A\n\n" + table.format("a") + "\n" + table.format("b")
    assert list(verdicts(page)) == [("a", "**holds**")]


def test_a_page_without_verdicts_is_refused():
    with pytest.raises(ValueError, match="no table begins"):
        list(verdicts("# Nothing\n"))
