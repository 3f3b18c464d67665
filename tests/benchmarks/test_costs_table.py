import json
from pathlib import Path

from benchmarks.helpers.costs_table import table

DOCS = Path(__file__).parents[2] / "docs"


def test_the_table_of_the_docs_is_what_was_measured():
    measured = json.loads((DOCS / "measured/costs.json").read_text(encoding="utf-8"))
    words = "put in what this prints: python -m benchmarks.helpers.costs_table docs/measured/costs.json"
    assert table(measured) in (DOCS / "theory.md").read_text(encoding="utf-8"), words
