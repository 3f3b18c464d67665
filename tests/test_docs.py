"""The docs say what the code says."""

import re
from pathlib import Path

import pytest

from pmdviz.cli import main

DOCS = Path(__file__).parent.parent / "docs"


def test_the_table_of_knobs_is_the_declarations(capsys):
    assert main.main(["list", "--markdown"]) == 0
    assert capsys.readouterr().out == (DOCS / "knobs.md").read_text(encoding="utf-8"), (
        "write it again: python -m pmdviz list --markdown > docs/knobs.md"
    )


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8"))
    assert [link for link in links if "://" not in link and not (page.parent / link).exists()] == []


def test_the_python_of_the_docs_runs():
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "python.md").read_text(encoding="utf-8"), flags=re.S)
    scope: dict = {}
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), scope)
    assert scope["again"].history["tv"][-1] < 0.3
    assert scope["run"].target is scope["mine"] and scope["run"].final.metrics["tv"] < 0.2
