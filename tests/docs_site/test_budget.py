"""Every page of the docs is in pages.toml, within its budget of words; `pytest -s` prints the table."""

import re
import tomllib

from pmdviz.cli import lists
from tests.support.pages import DOCS, ROOT

MOST_WORDS, MOST_PAGES = 45_000, 45


def words(text):
    return len(text.split())


def test_every_page_keeps_to_its_budget():
    budgets = tomllib.loads((DOCS / "pages.toml").read_text(encoding="utf-8"))
    most = {name: value for name, value in budgets.items() if not isinstance(value, dict)}
    most |= {name: value for pages in budgets.values() if isinstance(pages, dict) for name, value in pages.items()}
    found = {path.relative_to(DOCS).with_suffix("").as_posix(): path for path in DOCS.rglob("*.md")}
    counts = {name: words(path.read_text(encoding="utf-8")) for name, path in found.items()}
    counts |= {"README": words((ROOT / "README.md").read_text(encoding="utf-8"))}
    tables = f"{lists.settings_markdown()} {lists.grammar_markdown()}"
    counts |= {"tables": len(re.findall(r"\S*\w\S*", tables))}  # the bars and dashes of a table are not words
    print("\n".join(["", *(f"{counts[name]:7,} of {most.get(name, 0):6,}  {name}" for name in counts)]))
    print(f"{sum(counts.values()):7,} of {sum(most.values()):6,}  in all, {len(counts) - 1} pages")
    assert counts.keys() == most.keys()
    assert not [name for name, count in counts.items() if count > most[name]]
    assert sum(most.values()) <= MOST_WORDS and len(counts) - 1 <= MOST_PAGES
