"""What Sphinx is given: links as the site has them, parts put in, menus in the order of pages.toml."""

import re
import tomllib
from argparse import Namespace

import pytest

from pmdviz.cli import lists
from pmdviz.cli import tools as building
from pmdviz.cli.tools import MARKER, make_room
from pmdviz.errors import InputError
from tests.support.pages import DOCS, ROOT
from tests.support.site import settings

MENU = "index = 9\n[How-to]\none = 9\n\n[Empty]\n\n[More]\ntwo = 9\n"
INDEX = "# Docs\n\n[one.md](one.md)\n"
ONE = """# One

[two.md](two.md#a-b), [the second](two.md), [table](measured/t.csv), [measured](measured), [gone.md](gone.md),
[project](../README.md), [notebook](../notebooks/n.ipynb), [text](../notes/n.md), [net](https://example.org/x),
![there](measured/p.svg) ![gone](measured/q.svg).

```text
[two.md](two.md)
```
"""


@pytest.fixture
def docs(tmp_path):
    """A small checkout."""
    texts = {
        "docs/index.md": INDEX,
        "docs/pages.toml": MENU,
        "docs/one.md": ONE,
        "docs/two.md": "# Two\n\n## A b\n\n[one.md](one.md)\n",
        "docs/measured/note.md": "# Note\n\n[one.md](../one.md), [the docs](../index.md)\n",
        "docs/measured/t.csv": "a\n1\n",
        "docs/measured/p.svg": "<svg/>",
        "README.md": "# Project\n\n[docs](docs/one.md)\n",
        "CHANGELOG.md": "# Changes\n",
        "notebooks/n.ipynb": "{}",
        "notes/n.md": "# Notes\n",
    }
    for name, text in texts.items():
        path = tmp_path / "checkout" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return tmp_path / "checkout" / "docs"


@pytest.fixture
def sources(docs, tmp_path):
    settings().write_sources(docs, tmp_path / "sources", {})
    return tmp_path / "sources"


@pytest.mark.ci  # `docs/conf.py` asks for Sphinx
def test_pages_are_linked_by_their_titles_and_the_menu_is_that_of_pages_toml(docs, sources):
    text = (sources / "one.md").read_text(encoding="utf-8")
    assert text.replace("\n", " ").startswith(
        "# One  [](two.md#a-b), [the second](two.md), [table](measured/t.csv), `measured`, `gone.md`, "
        "[project](readme.md), [notebook](files/notebooks/n.ipynb), [text](files/notes/n.md.txt), "
        "[net](https://example.org/x), ![there](measured/p.svg) ."
    )
    for name in ("measured/t.csv", "measured/p.svg", "files/notebooks/n.ipynb", "files/notes/n.md.txt"):
        assert (sources / name).is_file()
    note = (sources / "measured/note.md").read_text(encoding="utf-8")
    assert note == "---\norphan: true\n---\n\n# Note\n\n[](../one.md), [the docs](../index.md)\n"
    assert "[docs](one.md)" in (sources / "readme.md").read_text(encoding="utf-8")
    menu = settings().contents(settings().sections(docs))
    assert (
        menu.split()
        == (
            "```{toctree} :hidden: :caption: How-to one ``` ```{toctree} :hidden: :caption: More two ``` "
            "```{toctree} :hidden: :caption: Project readme changelog ```"
        ).split()
    )
    assert (sources / "index.md").read_text(encoding="utf-8").endswith(menu)


def test_a_folder_of_others_is_not_touched_and_without_the_extra_it_says_what_to_install(tmp_path, monkeypatch):
    mine = tmp_path / "thesis.txt"
    mine.write_text("mine")
    with pytest.raises(InputError, match="name another folder"):
        make_room(tmp_path)
    with pytest.raises(InputError, match="is a file"):
        make_room(mine)
    assert mine.read_text() == "mine"
    make_room(tmp_path / "site")
    (tmp_path / "site/old").mkdir()
    (tmp_path / "site/old/page.html").touch()
    make_room(tmp_path / "site")
    assert [path.name for path in (tmp_path / "site").iterdir()] == [MARKER]
    monkeypatch.setattr(building, "find_spec", lambda name: None if name == "furo" else object())
    with pytest.raises(InputError, match=r"needs furo: pip install 'pmdviz\[docs\]'"):
        building.docs(Namespace(folder=str(tmp_path / "none"), gallery="none", builder="html"))
    assert not (tmp_path / "none").exists()


# Every page of the docs is in pages.toml, within its budget of words; `pytest -s` prints the table.


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
