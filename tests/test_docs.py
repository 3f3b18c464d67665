"""The docs say what the code says."""

import re
from pathlib import Path

import pytest

from pmdviz.cli import main
from pmdviz.engine.recipe import recipe
from pmdviz.engine.recipe.link import SHORT
from pmdviz.experiments.race import recipe as race_recipe

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


def test_the_formats_have_every_key_that_is_read():
    first, race, link = (DOCS / "recipes.md").read_text(encoding="utf-8").split("\n## ")[1:]
    assert rows(first) == [*recipe.KEYS]
    assert rows(race) == [*race_recipe.KEYS]
    pairs = [row.split("|")[1:3] for row in link.splitlines() if row.startswith("| `")]
    named = [dict(zip(*(re.findall(r"`(\w+)`", cell) for cell in pair), strict=True)) for pair in pairs]
    assert {key: short for each in named for key, short in each.items()} == SHORT


def rows(section):
    """The keys in the first column of a table, in their order."""
    cells = [row.split("|")[1] for row in section.splitlines() if row.startswith("| `")]
    return re.findall(r"`(\w+)`", " ".join(cells))
