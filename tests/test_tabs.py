"""The pages of a session: built when first looked at, told when they are out of sight."""

import panel as pn
import pytest

from pmdviz.tabs import HIDDEN, Kind, Tabs


class FakePage:
    """A page that notes what it is told."""

    def __init__(self, log, name):
        self.view, self.controls, self.foot = pn.Column(name=name), pn.Column(), pn.Row(name=name)
        self.on_presenter = lambda on: None
        self.start = lambda doc: log.append((name, "start"))
        self.look = lambda on: log.append((name, "look", on))
        self.dress = lambda dark: log.append((name, "dress", dark))
        self.stop = lambda: log.append((name, "stop"))


@pytest.fixture
def log():
    return []


@pytest.fixture
def tabs(log):
    kinds = {name: Kind(name.title(), lambda name=name: FakePage(log, name)) for name in ("lab", "race", "theory")}
    made = Tabs(kinds, "lab")
    made.start(None)
    return made


def seen(tabs):
    """Names of the pages that are shown; what stands at the window's foot is of the same."""
    pages, feet = ([box[0].name for box in part if HIDDEN not in box.css_classes] for part in (tabs.view, tabs.foot))
    assert pages == feet
    return pages


def test_only_the_first_page_is_built_at_once(tabs, log):
    assert list(tabs.built) == ["lab"] and log == [("lab", "start")]
    assert len(tabs.view) == len(tabs.controls) == len(tabs.foot) == 1


def test_a_page_is_built_at_its_first_visit_and_kept(tabs, log):
    tabs.bar.active = "race"
    assert log[1:] == [("lab", "look", False), ("race", "start")] and seen(tabs) == ["race"]
    first, log[:] = tabs.built["race"], []
    tabs.bar.active = "lab"
    tabs.bar.active = "race"
    assert log == [("race", "look", False), ("lab", "look", True), ("lab", "look", False), ("race", "look", True)]
    assert tabs.built["race"] is first and seen(tabs) == ["race"] and len(tabs.view) == 2


def test_a_name_that_is_no_page_changes_nothing(tabs, log):
    tabs.bar.active = "rice"
    assert tabs.active == "lab" and seen(tabs) == ["lab"] and log == [("lab", "start")]


def test_a_page_that_cannot_be_built_leaves_the_one_before_in_sight(log):
    def broken():
        raise RuntimeError("no")

    tabs = Tabs({"lab": Kind("Lab", lambda: FakePage(log, "lab")), "race": Kind("Race", broken)}, "lab")
    with pytest.raises(RuntimeError):
        tabs.choose("race")
    assert tabs.active == "lab" and seen(tabs) == ["lab"] and log == []


def test_theme_and_end_reach_every_page(tabs, log):
    tabs.dress(dark=True)
    tabs.choose("race")
    tabs.stop()
    assert log[1:] == [
        ("lab", "dress", True),
        ("race", "dress", True),
        ("lab", "look", False),
        ("race", "start"),
        ("lab", "stop"),
        ("race", "stop"),
    ]


def test_one_page_alone_has_no_tabs(log):
    assert not Tabs({"lab": Kind("Lab", lambda: FakePage(log, "lab"))}, "lab").bar.visible
