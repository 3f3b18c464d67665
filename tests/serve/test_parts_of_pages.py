"""What a served page does when a browser or a presenter asks for it, the essay and the docs beside it; no server."""

import gzip
from types import SimpleNamespace

import pytest

from pmdviz.cli.tools import MARKER
from pmdviz.engine.recipe import Recipe
from pmdviz.errors import InputError
from pmdviz.essay.build import page
from pmdviz.lab.links import Link
from pmdviz.serve import pages
from pmdviz.serve.pages import BARE, TabBar, lab_page
from pmdviz.serve.server_internals import set_from_browser
from tests.serve.answers import answers


async def test_a_value_from_a_browser_is_set_as_a_patch_of_its_own_connection():
    """Bokeh sends a change to every connection but that one."""
    seen = []

    async def locked(act):
        act()

    session = SimpleNamespace(with_document_locked=locked, _current_patch_connection=None)
    connection = SimpleNamespace(session=session)

    def set_from_json(name, value, setter):
        seen.append((name, value, setter, session._current_patch_connection))

    await set_from_browser(connection, SimpleNamespace(set_from_json=set_from_json), "drawn", 3)
    assert seen == [("drawn", 3, session, connection)]
    assert session._current_patch_connection is None


def test_a_link_opens_the_presenters_page_and_an_embedded_one_links_no_essay(monkeypatch):
    for routed, address in ((False, ""), (True, "essay")):
        monkeypatch.setattr(pages, "_routed", routed)
        assert pages.essay_address() == address
    links = Link(Recipe()), Link(Recipe(), presenter=True), Link(Recipe(), embed=True)
    usual, presented, embedded = shown = [lab_page(link) for link in links]
    assert not BARE.keys() & usual.sx.keys()
    assert BARE.items() <= presented.sx.items() and BARE.items() <= embedded.sx.items()
    linked = [[title for title, _ in bar.links] for one in shown for bar in one.select(TabBar)]
    assert linked == [["Essay"], ["Essay"], []]


def test_a_browser_that_unpacks_gets_it_packed():
    (whole,) = answers(pages.essay_routes(), "/essay", decompress_response=False)
    asked = {"Accept-Encoding": "gzip, deflate"}
    (packed,) = answers(pages.essay_routes(), "/essay", decompress_response=False, headers=asked)
    assert whole.code == packed.code == 200 and "Content-Encoding" not in whole.headers
    assert packed.headers["Content-Encoding"] == "gzip" and packed.headers["Vary"] == "Accept-Encoding"
    assert whole.body.decode() == gzip.decompress(packed.body).decode() == page(served=True)
    assert len(packed.body) < 200_000


@pytest.fixture
def built(tmp_path, monkeypatch):
    monkeypatch.setenv(pages.FOLDER, str(tmp_path / "site"))
    files = {MARKER: "", "index.html": "first", "api/pmdviz.run.html": "a run", "../secret.txt": "not theirs"}
    for name, text in files.items():
        path = tmp_path / "site" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "site"


def test_it_is_served_under_its_address_and_nothing_above_it(built, monkeypatch):
    paths = "/docs", "/docs/", "/docs/api/pmdviz.run.html", "/docs/none.html", "/docs/..%2Fsecret.txt"
    found = [(one.code, one.body.decode()) for one in answers(pages.docs_routes(), *paths)]
    whole, first, page, none, above = found
    assert whole == first == (200, "first") and page == (200, "a run")
    assert none[0] == 404 and above[0] in (403, 404) and "theirs" not in above[1]
    monkeypatch.delenv(pages.FOLDER, raising=False)
    pages.offer_docs(None)
    assert pages.docs_routes() == []


@pytest.mark.parametrize("missing", [MARKER, "index.html"])
def test_a_folder_without_a_site_is_refused(missing, built):
    (built / missing).unlink()
    with pytest.raises(InputError, match="pmdviz docs FOLDER"):
        pages.offer_docs(str(built))
