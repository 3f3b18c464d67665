"""Served pages, without a server: what a process keeps of them, and what they say."""

import asyncio
import gzip
import itertools
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from tornado.httputil import HTTPServerRequest, RequestStartLine

from pmdviz.cli.tools import MARKER
from pmdviz.engine.recipe import Recipe
from pmdviz.errors import InputError
from pmdviz.essay.build import page
from pmdviz.experiments.race import RaceRecipe
from pmdviz.lab.links import Link
from pmdviz.limits import variable
from pmdviz.serve import handlers as turns
from pmdviz.serve import pages, server
from pmdviz.serve.pages import BARE, TabBar, lab_page
from pmdviz.serve.server_internals import set_from_browser
from tests.lab.threads import in_a_thread
from tests.serve.answers import answers
from tests.support.tables import looped

RACE = RaceRecipe.checked("pmd,gibbs", budget=2_000).to_link()


def a_request(query):
    """What the handler of "/" is, when a browser asks for the page with this query."""
    handler = object.__new__(server.SpareHandler)
    handler.request = HTTPServerRequest(start_line=RequestStartLine("GET", f"/?{query}", "HTTP/1.0"))
    handler.application = SimpleNamespace(io_loop=SimpleNamespace(call_later=lambda *later: None))
    handler.application_context = None
    handler.request.connection = SimpleNamespace(stream=SimpleNamespace(closed=lambda: False))
    return handler


class Session(SimpleNamespace):
    """Unlike its base it can be a key of a weak dictionary."""

    __hash__ = object.__hash__


def a_session(shows=None):
    return Session(shows=shows, block_expiration=lambda: None, unblock_expiration=lambda: None)


@pytest.fixture
def stock(monkeypatch):
    """A server with two pages built ahead, `opened` notes the links that they were given."""
    opened, made = [], itertools.count()

    async def page(handler):
        return a_session("own page")

    spares = [Session(**vars(a_session(f"spare {next(made)}")), id="a", document=None) for _ in range(2)]
    monkeypatch.setattr(server.handlers.DocHandler, "get_session", page)
    monkeypatch.setattr(server, "_signing", lambda application: {"secret_key": b"k" * 32, "signed": True})
    monkeypatch.setattr(server, "_changing", asyncio.Lock())
    monkeypatch.setattr(server, "_spares", spares)
    monkeypatch.setattr(pages, "open_link", lambda doc, link: opened.append(link))
    return opened


@pytest.mark.parametrize("query", ["", "page=race", "run={}", "run={}&at=3", "preset=worse_with_more_data&at=2"])
def test_a_page_built_ahead_is_for_any_run(query, stock):
    recipe = Recipe("banana", seed=3)
    shown = in_a_thread(a_request(query.format(recipe.to_link())).get_session).shows
    assert shown == "spare 1"
    of_a_run = query not in ("", "page=race")
    assert [link.iteration for link in stock] == [int(query[-1]) if "at" in query else 0] * of_a_run
    if "run" in query:
        assert stock[0].recipe == recipe


ABOUT_THE_PAGE = ["run={}&hide=seed", "run={}&embed=1", "run={}&theme=dark", "embed=1", "presenter=1", f"race={RACE}"]


@looped("query", [*ABOUT_THE_PAGE, "run=nonsense"])
def test_a_link_that_is_about_the_page_has_a_page_of_its_own(query, stock):
    assert in_a_thread(a_request(query.format(Recipe().to_link())).get_session).shows == "own page"
    assert not stock and len(server._spares) == 2


@pytest.mark.parametrize(("somebody", "full", "made"), [(False, None, 3), (True, None, 1), (False, 2, 2)])
async def test_as_many_pages_are_built_ahead_as_are_asked_for_while_nobody_is_there(somebody, full, made, monkeypatch):
    """Also where two set out to build them at once."""
    open_ = {"somebody"} if somebody else set()

    async def another(application, context):
        await asyncio.sleep(0)
        open_.add(object())
        return object()

    monkeypatch.setattr(server, "_another", another)
    monkeypatch.setattr(turns, "REST_S", 0.0)
    monkeypatch.setattr(server, "_spares", [])
    monkeypatch.setattr(server, "_changing", asyncio.Lock())
    monkeypatch.setattr(server, "limit", {"spare_pages": 3}.get)
    monkeypatch.setattr(pages, "limit", {"max_sessions": full}.get)
    monkeypatch.setattr(pages, "open_pages", open_)
    await asyncio.gather(server.fill(None, None), server.fill(None, None))
    assert len(server._spares) == made


def test_pages_asked_for_at_once_are_made_one_after_the_other(monkeypatch):
    """From Bokeh 3.10 on a server makes pages in threads; of two for the last place one gets the sentence."""
    monkeypatch.setattr(pages, "open_pages", set())
    monkeypatch.setattr(pages, "limit", {"max_sessions": 1}.get)
    monkeypatch.setattr(pages, "links", type("Links", (), {"read": staticmethod(lambda arguments: Link())}))
    inside, most = [], []

    def made(link):
        inside.append(link)
        time.sleep(0.05)  # the other one comes in meanwhile, if it can
        most.append(len(inside))
        pages.open_pages.add(link)
        inside.remove(link)
        return "page"

    monkeypatch.setattr(pages, "lab_page", made)
    monkeypatch.setattr(pages, "_full_page", lambda: "full")
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: pages.session_page(), range(4)))
    assert sorted(found) == ["full", "full", "full", "page"]
    assert most == [1]


def test_a_link_to_a_race_opens_its_race_and_is_held_to_the_limits(monkeypatch):
    arguments = {"page": [b"race"], "race": [RACE.encode()], "at": [b"3"]}
    link = in_a_thread(lambda: asyncio.sleep(0, pages._checked(arguments)))
    assert (link.iteration, link.round) == (0, 3)  # the Lab stays at the start
    assert pages.PAGES["race"][1](link).recipe.to_link() == RACE
    monkeypatch.setenv(variable("max_particles"), "100")
    assert isinstance(pages._checked(arguments), InputError)


def test_an_address_has_one_question_mark():
    assert server.one_question_mark("/?a=1?b=2??") == "/?a=1%3Fb=2%3F%3F"
    assert server.one_question_mark("/") == "/"


# What a served page does when a browser or a presenter asks for it, the essay and the docs beside it; no server.


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
    with pytest.raises(InputError, match="pmdviz docs"):
        pages.offer_docs(str(built))
