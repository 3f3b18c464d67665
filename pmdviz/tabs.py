"""The pages of one browser session as tabs: one is seen, the others stand still or have not been built yet."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

import panel as pn
import param
from panel.custom import JSComponent

from pmdviz.lab import css
from pmdviz.lab.locked import handed

HIDDEN = "pmdviz-hidden"
FOOT = "pmdviz-foot"  # the name by which the template finds the foot of the window


class Page(Protocol):
    """What a page of the app has."""

    view: Any  # what stands in the middle
    controls: Any  # what stands in the drawer
    foot: Any  # what stands at the foot of the window: Play and its neighbours
    on_presenter: Callable[[bool], None]  # the page calls it with whether it is shown to a lecture hall
    on_note: Callable[[str], None]  # the page calls it with a few words that are seen from every page; "" for none

    def start(self, doc: Any) -> None:
        """Begin: the document is `doc`; nothing may be sent before the browser has built the page."""

    def look(self, on: bool) -> None:
        """The page is seen (or no longer): what is not seen does not compute."""

    def dress(self, dark: bool) -> None:
        """Put on the light or the dark theme."""

    def stop(self) -> None:
        """End everything that the page does."""


class Kind(NamedTuple):
    """A page before it is built."""

    title: str
    make: Callable[[], Page]


class TabBar(JSComponent):
    """The titles of the pages; the browser writes `active`."""

    pages = param.List(default=[], doc="Pairs of name and title.")
    active = param.String(default="")
    notes = param.Dict(default={}, doc="Name of a page -> a few words beside its title, such as how far its work is.")

    _esm = css.static("tabs.js")
    _stylesheets = [css.static("tabs.css")]


class Tabs:
    """The pages of one browser session.

    Parameters
    ----------
    kinds : mapping, name -> Kind
        In the order of their tabs.
    first : str
        Name of the page that is built at once; each other one is built when it is first chosen.
    """

    def __init__(self, kinds: Mapping[str, Kind], first: str) -> None:
        self._kinds, self._doc, self._dark = kinds, None, False
        self.on_presenter: Callable[[bool], None] = lambda on: None
        self.built: dict[str, Page] = {}
        self._boxes: dict[str, tuple[Any, Any, Any]] = {}
        self.active = first
        self.bar = TabBar(pages=[[name, kind.title] for name, kind in kinds.items()], active=first, margin=(0, 8))
        self.bar.visible = len(kinds) > 1
        look: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": 0}
        self.view, self.controls = (pn.Column(stylesheets=[css.PART], **look) for _ in range(2))
        self.foot = pn.Column(name=FOOT, stylesheets=[css.FOOT], **look)
        self._build(first)
        self.bar.param.watch(handed(lambda event: self.choose(event.new)), "active")

    def start(self, doc: Any) -> None:
        """Begin with the first page; `doc` is the served document."""
        self._doc = doc
        self.built[self.active].start(doc)

    def stop(self) -> None:
        """End every page."""
        for page in self.built.values():
            page.stop()

    def dress(self, dark: bool) -> None:
        """The theme of all pages, also of those to come."""
        self._dark = dark
        for page in self.built.values():
            page.dress(dark=dark)

    def choose(self, name: str) -> None:
        """Show the page `name`; a name that is none is what a browser made up, and changes nothing."""
        if name not in self._kinds or name == self.active:
            return
        with pn.io.hold(self._doc):  # Panel may deliver a change without the document's lock
            new = name not in self.built
            page = self._build(name) if new else self.built[name]
            self.built[self.active].look(False)
            self.active = name
            page.start(self._doc) if new else page.look(True)
            for other, boxes in self._boxes.items():
                for box in boxes:
                    box.css_classes = [] if other == name else [HIDDEN]

    def _build(self, name: str) -> Page:
        page = self.built[name] = self._kinds[name].make()
        page.on_presenter = lambda on: self.on_presenter(on)
        page.on_note = lambda words: self.bar.param.update(notes={**self.bar.notes, name: words})
        if self._dark:
            page.dress(dark=True)
        margins: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": 0}
        view, controls, foot = (pn.Column(part, **margins) for part in (page.view, page.controls, page.foot))
        self._boxes[name] = view, controls, foot
        for whole, box in ((self.view, view), (self.controls, controls), (self.foot, foot)):
            whole.append(box)
        return page
