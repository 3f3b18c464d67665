"""Served pages, without a server: what a process keeps of them, and what they say."""

import time
from concurrent.futures import ThreadPoolExecutor

import panel as pn

from pmdviz import pages
from pmdviz.links import Link
from pmdviz.pages import lab_page


def watchers_on_the_process():
    """How many watch the state that all sessions share (Panel has no public way to ask)."""
    return sum(len(watchers) for what in pn.state._param__private.watchers.values() for watchers in what.values())


def test_a_page_leaves_no_watcher_on_the_state_of_the_process():
    lab_page()
    before = watchers_on_the_process()
    lab_page()
    assert watchers_on_the_process() == before


def test_pages_asked_for_at_once_are_made_one_after_the_other(monkeypatch):
    """From Bokeh 3.10 on a server makes pages in threads; of two for the last place one gets the sentence."""
    monkeypatch.setattr(pages, "_open", set())
    monkeypatch.setattr(pages, "limit", {"max_sessions": 1}.get)
    monkeypatch.setattr(pages, "links", type("Links", (), {"read": staticmethod(lambda arguments: Link())}))
    inside, most = [], []

    def made(link):
        inside.append(link)
        time.sleep(0.05)  # the other one comes in meanwhile, if it can
        most.append(len(inside))
        pages._open.add(link)
        inside.remove(link)
        return "page"

    monkeypatch.setattr(pages, "lab_page", made)
    monkeypatch.setattr(pages, "_full_page", lambda: "full")
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda _: pages.session_page(), range(4)))
    assert sorted(found) == ["full", "full", "full", "page"]
    assert most == [1]
