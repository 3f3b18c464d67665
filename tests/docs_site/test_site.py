"""The site as `pmdviz docs` builds it: no warning, every link leads somewhere, nothing comes from another server."""

import re
import runpy
import subprocess
import sys
import tomllib
from argparse import Namespace
from collections import defaultdict
from html.parser import HTMLParser
from itertools import product
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import pmdviz
from pmdviz.cli import lists, main
from pmdviz.cli import tools as building
from pmdviz.cli.tools import MARKER, make_room
from pmdviz.methods import METHODS
from pmdviz.scenes.words import GLOSSARY
from pmdviz.targets import TARGETS
from tests.support.browser import axe, painted
from tests.support.tables import refused

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}  # by a page, by itself
NO_FILE = {"canonical", "search", "next", "prev", "index", "author"}
SIZES = {"desktop": (1440, 900), "phone": (390, 844)}
READ = ("index", "explanation/diagnostics", "reference/api/pmdviz.run")  # those that axe looks at


class Page(HTMLParser):
    """The links of a page, the ids that others may lead to, and what it loads."""

    def __init__(self, path: Path):
        super().__init__()
        self.ids, self.links, self.loads = set(), [], []
        self.text = path.read_text(encoding="utf-8")
        self.feed(self.text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids |= {given[name] for name in ("id", "name") if given.get(name)}
        self.links += [given["href"]] if tag == "a" and "href" in given else []
        if (where := given.get(LOADED.get(tag, ""))) and given.get("rel") not in NO_FILE:
            self.loads.append(where)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("docs") / "site"
    command = [sys.executable, "-m", "pmdviz", "docs", str(folder), "--gallery", "one_gaussian"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert done.stdout == f"the docs are in {folder}; open {folder / 'index.html'}\n"
    return folder


@pytest.fixture(scope="module")
def read(site):
    made = [path for path in site.rglob("*.html") if path.parent.name not in ("players", "_static")]
    return {path: Page(path) for path in made}


def led(page, link):
    """The file that a link of a page names, and the place in it."""
    parts = urlsplit(link)
    return (page.parent / unquote(parts.path)).resolve() if parts.path else page, unquote(parts.fragment)


@pytest.mark.ci  # Sphinx builds the site
def test_every_page_public_name_command_and_term_is_there(site, read):
    pages = {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")}
    names = {f"{name}.html" for name in pages | {"readme", "changelog"}}
    assert names <= {path.relative_to(site).as_posix() for path in read}
    menu = {link.removesuffix("#") for link in read[site / "index.html"].links}
    assert names - menu == {"index.html"}  # which says "#" of itself
    places = runpy.run_path(DOCS / "conf.py")["autosummary_filename_map"]
    for name in set(pmdviz.__all__) - {"__version__"}:
        place = places.get(f"pmdviz.{name}", f"pmdviz.{name}")
        assert f'id="pmdviz.{name}"' in read[site / "reference" / "api" / f"{place}.html"].text, name
    assert len({str(path).casefold() for path in read}) == len(read), "macOS has one file for names that differ in case"
    assert "Parameters" in read[site / "reference/api/pmdviz.custom_target.html"].text  # and not: alias of CustomTarget
    commands, glossary = (read[site / f"reference/{name}.html"].text for name in ("cli", "glossary"))
    assert all(f'id="pmdviz-{name}"' in commands for name in main.COMMANDS)
    assert all(term.title in glossary for term in GLOSSARY.values())
    assert {f"players/one_gaussian-{theme}.png" for theme in ("light", "dark")} <= {*read[site / "index.html"].loads}
    assert "kernels" in (site / "players/one_gaussian.html").read_text("utf-8")  # it is live
    methods = read[site / "reference/methods.html"].text
    settings = "".join(page.text for path, page in read.items() if path.parent.name == "settings")
    assert all(f'<span class="pre">{name}</span>' in methods for name in METHODS)
    assert all(f'id="{name.replace("_", "-")}-' in settings for name in [*METHODS, *TARGETS])


@pytest.mark.ci  # Sphinx builds the site
def test_every_link_and_anchor_leads_somewhere(read):
    wrong = defaultdict(list)
    for path, page in read.items():
        for link in page.links + page.loads:
            if urlsplit(link).scheme or link == "#":
                continue
            file, anchor = led(path, link)
            if not file.is_file() or (anchor and file in read and anchor not in read[file].ids):
                wrong[path.name].append(link)
    assert not wrong


@pytest.mark.browser
@pytest.mark.nightly
def test_it_is_read_searched_and_played_from_the_disk(site, browser):
    """axe, on a desktop and a phone and in both themes; no page is wider than the window or asks for anything else."""
    with browser.new_page() as page:
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        for name in READ:
            page.goto((site / f"{name}.html").as_uri())
            for (width, height), theme in product(SIZES.values(), ("light", "dark")):
                page.set_viewport_size({"width": width, "height": height})
                page.emulate_media(color_scheme=theme)
                painted(page)
                assert axe(page) == [], (name, width, theme)
                assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        assert asked and all(url.startswith(site.as_uri()) for url in asked)
        page.goto((site / "search.html").as_uri() + "?q=bandwidth")
        page.wait_for_selector("#search-results li a")
        page.goto((site / "index.html").as_uri())
        page.get_by_role("link", name="Play it").first.click()
        page.get_by_role("button", name="Play", exact=True).click()
        page.locator(".pmdviz-status", has_text=re.compile("iteration [1-9]")).wait_for()


def test_a_folder_of_others_is_not_touched_and_without_the_extra_it_says_what_to_install(tmp_path, monkeypatch):
    mine = tmp_path / "thesis.txt"
    mine.write_text("mine")
    refused("name another folder", make_room, str(tmp_path))
    refused("cannot write to", make_room, str(mine))
    assert mine.read_text() == "mine"
    make_room(str(tmp_path / "site"))
    (tmp_path / "site/old").mkdir()
    (tmp_path / "site/old/page.html").touch()
    make_room(str(tmp_path / "site"))
    assert [path.name for path in (tmp_path / "site").iterdir()] == [MARKER]
    monkeypatch.setattr(building, "find_spec", lambda name: None if name == "furo" else object())
    asked = Namespace(folder=str(tmp_path / "none"), gallery="none", builder="html")
    refused(r"needs furo: pip install 'pmdviz\[docs\]'", building.docs, asked)
    assert not (tmp_path / "none").exists()


MOST_WORDS, MOST_PAGES = 45_000, 45


def test_every_page_keeps_to_its_budget():
    budgets = tomllib.loads((DOCS / "pages.toml").read_text(encoding="utf-8"))
    most = {name: value for name, value in budgets.items() if not isinstance(value, dict)}
    most |= {name: value for pages in budgets.values() if isinstance(pages, dict) for name, value in pages.items()}
    found = {path.relative_to(DOCS).with_suffix("").as_posix(): path for path in DOCS.rglob("*.md")}
    counts = {name: len(path.read_text(encoding="utf-8").split()) for name, path in found.items()}
    counts |= {"README": len((ROOT / "README.md").read_text(encoding="utf-8").split())}
    tables = f"{lists.settings_markdown()} {lists.grammar_markdown()}"
    counts |= {"tables": len(re.findall(r"\S*\w\S*", tables))}  # the bars and dashes of a table are not words
    print("\n".join(["", *(f"{counts[name]:7,} of {most.get(name, 0):6,}  {name}" for name in counts)]))
    print(f"{sum(counts.values()):7,} of {sum(most.values()):6,}  in all, {len(counts) - 1} pages")
    assert counts.keys() == most.keys()
    assert not [name for name, count in counts.items() if count > most[name]]
    assert sum(most.values()) <= MOST_WORDS and len(counts) - 1 <= MOST_PAGES
