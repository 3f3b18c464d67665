"""Served pages, without a server: what a process keeps of them, what they say, and when each is built."""

import asyncio
import gzip
from functools import partial
from types import SimpleNamespace

import panel as pn
from tornado.httpclient import AsyncHTTPClient
from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port
from tornado.web import Application

from pmdviz.cli.tools import MARKER
from pmdviz.engine.recipe import Recipe
from pmdviz.essay.build import page
from pmdviz.experiments.race import RaceRecipe
from pmdviz.lab.css import HIDDEN
from pmdviz.lab.links import Link
from pmdviz.limits import variable
from pmdviz.serve import pages, server
from pmdviz.serve.pages import BARE, BROKEN, BUILDING, PageSpec, Tabs, lab_page
from tests.lab.threads import in_a_thread
from tests.support.tables import refused

RACE = RaceRecipe.checked("pmd,gibbs", budget=2_000).to_link()


def test_each_page_can_be_built_and_a_link_to_a_race_is_held_to_the_limits(monkeypatch):
    for name, (_, make) in pages.PAGES.items():
        assert make(Link()).view is not None, name
    arguments = {"page": [b"race"], "race": [RACE.encode()], "at": [b"3"]}
    link = pages._checked(arguments)
    assert (link.iteration, link.round) == (0, 3)  # the Lab stays at the start
    assert pages.PAGES["race"][1](link).recipe.to_link() == RACE
    usual, presented = lab_page(Link(Recipe())), lab_page(Link(Recipe(), presenter=True))
    assert not BARE.keys() & usual.sx.keys() and BARE.items() <= presented.sx.items()
    monkeypatch.setattr(pages, "_routed", False)
    assert pages.essay_address() == ""
    monkeypatch.setenv(variable("max_particles"), "100")
    assert "num_particles" in str(pages._checked(arguments))
    assert server.one_question_mark("/?a=1?b=2??") == "/?a=1%3Fb=2%3F%3F"


def answers(routes, *paths, **request):
    """What a server of some routes alone answers."""

    async def asked():
        sock, port = bind_unused_port()
        server = HTTPServer(Application(routes))
        server.add_sockets([sock])
        client = AsyncHTTPClient()
        found = [
            await client.fetch(f"http://127.0.0.1:{port}{path}", raise_error=False, request_timeout=300, **request)
            for path in paths
        ]
        server.stop()
        return found

    return in_a_thread(asked)


def test_a_browser_that_unpacks_gets_it_packed():
    (whole,) = answers(pages.essay_routes(), "/essay", decompress_response=False)
    asked = {"Accept-Encoding": "gzip, deflate"}
    (packed,) = answers(pages.essay_routes(), "/essay", decompress_response=False, headers=asked)
    assert whole.code == packed.code == 200 and "Content-Encoding" not in whole.headers
    assert packed.headers["Content-Encoding"] == "gzip" and packed.headers["Vary"] == "Accept-Encoding"
    assert whole.body.decode() == gzip.decompress(packed.body).decode() == page(served=True)
    assert len(packed.body) < 200_000


def test_docs_are_served_under_their_address_and_nothing_above_it(tmp_path, monkeypatch):
    monkeypatch.setenv(pages.FOLDER, str(tmp_path / "site"))
    files = {MARKER: "", "index.html": "first", "api/pmdviz.run.html": "a run", "../secret.txt": "not theirs"}
    for name, text in files.items():
        path = tmp_path / "site" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    paths = "/docs", "/docs/", "/docs/api/pmdviz.run.html", "/docs/none.html", "/docs/..%2Fsecret.txt"
    found = [(one.code, one.body.decode()) for one in answers(pages.docs_routes(), *paths)]
    whole, first, page, none, above = found
    assert whole == first == (200, "first") and page == (200, "a run")
    assert none[0] == 404 and above[0] in (403, 404) and "theirs" not in above[1]
    for missing in ("index.html", MARKER):
        (tmp_path / "site" / missing).unlink()
        refused("pmdviz docs", pages.offer_docs, str(tmp_path / "site"))
    monkeypatch.delenv(pages.FOLDER, raising=False)
    pages.offer_docs(None)
    assert pages.docs_routes() == []


def fake_page(log, name):
    view, foot = pn.Column(name=name), pn.Row(name=name)
    made = SimpleNamespace(view=view, foot=foot, on_presenter=lambda on: None, set_theme=lambda dark: None)
    for act in ("start", "look", "stop", "take"):
        setattr(made, act, lambda *given, act=act: log.append((name, act, *given)))
    return made


def seen(tabs):
    """Names of the pages that are shown; what stands at the window's foot is of the same."""
    pages, feet = ([box[0].name for box in part if HIDDEN not in box.css_classes] for part in (tabs.view, tabs.foot))
    assert pages == feet
    return pages


def line(tabs):
    """What the box in sight says in place of a page."""
    return tabs._boxes[tabs.active]["view"][0].object


async def until_built(tabs):
    await asyncio.gather(*tabs._tasks.values(), return_exceptions=True)
    await asyncio.sleep(0)


async def test_a_page_is_built_once_takes_what_it_opens_with_and_one_that_cannot_be_built_says_so(caplog):
    log, faults = [], [RuntimeError("no")]

    def race():
        if faults:
            raise faults.pop()
        return fake_page(log, "race")

    tabs = Tabs({"lab": PageSpec("Lab", lambda: fake_page(log, "lab")), "race": PageSpec("Race", race)}, "lab")
    tabs.start(None)
    tabs.bar.active = "race"
    assert BUILDING in line(tabs) and 'role="status"' in line(tabs)
    await until_built(tabs)
    assert BROKEN in line(tabs) and "RuntimeError: no" in caplog.text
    tabs.bar.active = "lab"
    assert seen(tabs) == ["lab"] and log == [("lab", "start", None), ("lab", "look", False), ("lab", "look", True)]
    log.clear()
    tabs.built["lab"].on_open("race", "two")  # and another try is free
    await until_built(tabs)
    assert log == [("lab", "look", False), ("race", "take", "two"), ("race", "start", None)]
    assert seen(tabs) == ["race"] and tabs.bar.active == "race"
    first, tabs.bar.active = tabs.built["race"], "lab"
    log.clear()
    tabs.built["lab"].on_open("race", "more")
    assert log == [("race", "take", "more"), ("lab", "look", False), ("race", "look", True)]
    assert tabs.built["race"] is first and len(tabs.view) == len(tabs.foot) == 2


async def test_a_page_that_is_there_too_late_is_out_of_sight_and_a_session_that_ends_builds_none():
    for ends in (False, True):
        log = []
        tabs = Tabs({name: PageSpec(name, partial(fake_page, log, name)) for name in ("lab", "race")}, "lab")
        tabs.start(None)
        tabs.bar.active = "race"
        tabs.bar.active = "lab"
        if ends:
            tabs.stop()
        await until_built(tabs)
        assert ("race" in tabs.built) is not ends
        assert ends or log[-1] == ("race", "look", False)
        assert seen(tabs) == ["lab"]
