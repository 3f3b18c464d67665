"""The site as `pmdviz docs` builds it: no warning, every link leads somewhere, nothing comes from another server."""

import re
import subprocess
import sys
from collections import defaultdict
from html.parser import HTMLParser
from itertools import product
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import pmdviz
from pmdviz.cli import main
from pmdviz.methods import METHODS
from pmdviz.scenes.words import GLOSSARY
from pmdviz.targets import TARGETS
from tests.support.browser import painted
from tests.support.pages import DOCS
from tests.support.site import serious, watched_page
from tests.support.site import settings as conf

pytestmark = pytest.mark.ci  # Sphinx builds the site

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
    """The site, built once, with one player."""
    folder = tmp_path_factory.mktemp("docs") / "site"
    command = [sys.executable, "-m", "pmdviz", "docs", str(folder), "--gallery", "one_gaussian"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    assert done.stdout == f"the docs are in {folder}; open {folder / 'index.html'}\n"
    return folder


@pytest.fixture(scope="module")
def read(site):
    """Every page that Sphinx made, by its path."""
    made = [path for path in site.rglob("*.html") if path.parent.name not in ("players", "_static")]
    return {path: Page(path) for path in made}


def led(page, link):
    """The file that a link of a page names, and the place in it."""
    parts = urlsplit(link)
    return (page.parent / unquote(parts.path)).resolve() if parts.path else page, unquote(parts.fragment)


def test_every_page_public_name_command_and_term_is_there(site, read):
    pages = {path.relative_to(DOCS).with_suffix("").as_posix() for path in DOCS.rglob("*.md")}
    names = {f"{name}.html" for name in pages | {"readme", "changelog"}}
    assert names <= {path.relative_to(site).as_posix() for path in read}
    menu = {link.removesuffix("#") for link in read[site / "index.html"].links}
    assert names - menu == {"index.html"}  # which says "#" of itself
    for name in set(pmdviz.__all__) - {"__version__"}:
        place = conf().autosummary_filename_map.get(f"pmdviz.{name}", f"pmdviz.{name}")
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
    with watched_page(browser) as (page, asked):
        for name in READ:
            page.goto((site / f"{name}.html").as_uri())
            for (width, height), theme in product(SIZES.values(), ("light", "dark")):
                page.set_viewport_size({"width": width, "height": height})
                page.emulate_media(color_scheme=theme)
                painted(page)
                assert serious(page) == [], (name, width, theme)
                assert page.evaluate("document.documentElement.scrollWidth") <= width, name
        assert asked and all(url.startswith(site.as_uri()) for url in asked)
        page.goto((site / "search.html").as_uri() + "?q=bandwidth")
        page.wait_for_selector("#search-results li a")
        page.goto((site / "index.html").as_uri())
        page.get_by_role("link", name="Play it").first.click()
        page.get_by_role("button", name="Play", exact=True).click()
        page.locator(".pmdviz-status", has_text=re.compile("iteration [1-9]")).wait_for()
