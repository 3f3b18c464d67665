"""The pages of a session: built when first looked at, one at a time, told when they are out of sight."""

import asyncio

import panel as pn
import pytest

from pmdviz.lab.css import HIDDEN
from pmdviz.serve.pages import BROKEN, BUILDING, PageSpec, Tabs


class FakePage:
    """A page that notes what it is told."""

    def __init__(self, log, name):
        self.view, self.foot = pn.Column(name=name), pn.Row(name=name)
        self.on_presenter = lambda on: None
        self.start = lambda doc: log.append((name, "start"))
        self.look = lambda on: log.append((name, "look", on))
        self.set_theme = lambda dark: log.append((name, "set_theme", dark))
        self.stop = lambda: log.append((name, "stop"))
        self.take = lambda what: log.append((name, "take", what))


@pytest.fixture
def log():
    return []


@pytest.fixture
def tabs(log):
    kinds = {name: PageSpec(name.title(), lambda name=name: FakePage(log, name)) for name in ("lab", "race", "theory")}
    made = Tabs(kinds, "lab")
    made.start(None)
    return made


def seen(tabs):
    """Names of the pages that are shown; what stands at the window's foot is of the same."""
    pages, feet = ([box[0].name for box in part if HIDDEN not in box.css_classes] for part in (tabs.view, tabs.foot))
    assert pages == feet
    return pages


def line(tabs):
    """What the box in sight says in place of a page."""
    return tabs._boxes[tabs.active]["view"][0].object


async def until_built(*sessions):
    for tabs in sessions:
        await asyncio.gather(*tabs._tasks.values(), return_exceptions=True)
        await asyncio.sleep(0)


async def visit(tabs, name):
    tabs.bar.active = name
    await until_built(tabs)


async def test_a_page_is_built_at_its_first_visit_and_kept(tabs, log):
    assert list(tabs.built) == ["lab"] and log == [("lab", "start")]
    assert len(tabs.view) == len(tabs.foot) == 1
    await visit(tabs, "race")
    assert log[1:] == [("lab", "look", False), ("race", "start")] and seen(tabs) == ["race"]
    first, log[:] = tabs.built["race"], []
    tabs.bar.active = "lab"
    tabs.bar.active = "race"
    assert log == [("race", "look", False), ("lab", "look", True), ("lab", "look", False), ("race", "look", True)]
    assert tabs.built["race"] is first and seen(tabs) == ["race"] and len(tabs.view) == 2


async def test_who_goes_back_before_the_page_is_there_stays_there(tabs, log):
    tabs.bar.active = "race"
    assert BUILDING in line(tabs) and 'role="status"' in line(tabs) and "race" not in tabs.built
    tabs.bar.active = "lab"
    await until_built(tabs)
    assert log[1:] == [("lab", "look", False), ("lab", "look", True), ("race", "start"), ("race", "look", False)]
    assert seen(tabs) == ["lab"]
    tabs.bar.active = "race"
    assert log[5:] == [("lab", "look", False), ("race", "look", True)] and seen(tabs) == ["race"]


async def test_a_session_that_ends_first_builds_nothing(tabs, log):
    tabs.bar.active = "race"
    tabs.stop()
    await until_built(tabs)
    assert list(tabs.built) == ["lab"]


async def test_a_page_that_cannot_be_built_says_so_and_leaves_the_others(log, caplog):
    faults = [RuntimeError("no")]

    def broken():
        if faults:
            raise faults.pop()
        return FakePage(log, "race")

    tabs = Tabs({"lab": PageSpec("Lab", lambda: FakePage(log, "lab")), "race": PageSpec("Race", broken)}, "lab")
    await visit(tabs, "race")
    assert BROKEN in line(tabs) and "RuntimeError: no" in caplog.text
    tabs.bar.active = "lab"
    assert seen(tabs) == ["lab"]
    await visit(tabs, "race")  # and another try is free
    assert seen(tabs) == ["race"]


async def test_a_page_opens_another_one_with_something_to_show(tabs, log):
    """One that has not been built takes it before it begins; the bar follows as after a click."""
    tabs.built["lab"].on_open("race", "two")
    await until_built(tabs)
    assert log[1:] == [("lab", "look", False), ("race", "take", "two"), ("race", "start")]
    assert seen(tabs) == ["race"] and tabs.bar.active == "race"
    tabs.bar.active, log[:] = "lab", []
    tabs.built["lab"].on_open("race", "more")
    assert log == [("race", "take", "more"), ("lab", "look", False), ("race", "look", True)]
    assert tabs.bar.active == tabs.active == "race"
