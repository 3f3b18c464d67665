"""The pages of one browser session as tabs: one is seen, the others stand still or have not been built yet."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any, NamedTuple, Protocol

import panel as pn
import param
from panel.custom import JSComponent
from panel.io.state import set_curdoc

from pmdviz.lab import css
from pmdviz.lab.loop.frame_sender import HELP
from pmdviz.lab.loop.locked import handed, locked
from pmdviz.lab.loop.task import log_failure
from pmdviz.serve.turns import GAP_S, INSIDE, turn

PARTS = ("foot", "view")  # of a page, in the order in which they are built: the pictures come last
BUILDING = "Building the page …"
BROKEN = "This page could not be built. Reload it. If it fails again, report it: the server's log says why."
LINE = '<p class="pmdviz-building" role="status">{}</p>'
FOOT = "pmdviz-foot"  # the name by which the template finds the foot of the window


class Page(Protocol):
    """What a page of the app has."""

    view: Any  # the content in the middle
    foot: Any  # the bar at the foot of the window: Play and its neighbours
    on_presenter: Callable[[bool], None]  # the page calls it with whether it is shown to a lecture hall
    on_note: Callable[[str], None]  # the page calls it with a few words that are seen from every page; "" for none
    on_open: Callable[[str, Any], None] | None  # the page calls it to have another one seen, with something to show

    def start(self, doc: Any) -> None:
        """Begin: the document is `doc`; nothing may be sent before the browser has built the page."""

    def take(self, what: Any) -> None:
        """Show what another page hands over, also before `start`; only of a page that another one opens."""

    def look(self, on: bool) -> None:
        """The page is seen (or no longer): a hidden page does not compute."""

    def set_theme(self, dark: bool) -> None:
        """Put on the light or the dark theme."""

    def stop(self) -> None:
        """End everything that the page does."""


class PageSpec(NamedTuple):
    """A page before it is built."""

    title: str
    make: Callable[[], Page]


class TabBar(JSComponent):
    """The titles of the pages; the browser writes `active`."""

    pages = param.List(default=[], doc="Pairs of name and title.")
    links = param.List(default=[], doc="Pairs of title and address, in the menu with the other pages.")
    active = param.String(default="")
    lesson = param.Boolean(default=False, doc="Whether a lesson is open: then its own tab is marked.")
    beside = param.List(default=[])
    notes = param.Dict(default={}, doc="Name of a page -> a few words after its title, such as how far its work is.")

    _esm = f"const help = () => {{ {HELP} }}\n" + css.MAKE + css.static("page.js", "tabs")
    _stylesheets = [css.static("lab.css", "tabs")]


class Tabs:
    """The pages of one browser session.

    Parameters
    ----------
    kinds : mapping, name -> PageSpec
        In the order of their tabs.
    first : str
        Name of the page that is built at once; each other one is built when it is first chosen.
    """

    def __init__(self, kinds: Mapping[str, PageSpec], first: str) -> None:
        self._kinds, self.doc, self._dark, self._ended = kinds, None, False, False
        self.on_presenter: Callable[[bool], None] = lambda on: None
        self.on_made: Callable[[str, Page], None] = lambda name, page: None
        self.built: dict[str, Page] = {}
        self._boxes: dict[str, dict[str, Any]] = {}
        self._tasks: dict[str, asyncio.Task] = {}  # of pages that are being built
        self._waiting: dict[str, Any] = {}  # what a page that has not been built is to show
        self.active = first
        self.bar = TabBar(pages=[[name, kind.title] for name, kind in kinds.items()], active=first, margin=(0, 8))
        self.bar.visible = len(kinds) > 1
        look: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": 0}
        self.view = pn.Column(stylesheets=[css.PART], **look)
        self.foot = pn.Column(name=FOOT, stylesheets=[css.FOOT], **look)
        self._make_boxes(first)
        self._make(first)
        for part in PARTS:
            self._put(first, part)
        self.bar.param.watch(handed(lambda event: self.choose(event.new)), "active")

    def start(self, doc: Any) -> None:
        """Begin with the first page; `doc` is the served document."""
        self.doc = doc
        self.built[self.active].start(doc)

    def stop(self) -> None:
        """End every page, also those to come."""
        self._ended = True
        for page in self.built.values():
            page.stop()

    def set_theme(self, dark: bool) -> None:
        """The theme of all pages, also of those to come."""
        self._dark = dark
        for page in self.built.values():
            page.set_theme(dark=dark)

    def choose(self, name: str) -> None:
        """Show the page `name`; a name that is none is what a browser made up, and changes nothing.

        At the first visit a line says that the page is being built, until its turn has come.
        """
        if name not in self._kinds or name == self.active:
            return
        with pn.io.hold(self.doc):  # Panel may deliver a change without the document's lock
            if name not in self._boxes:
                self._make_boxes(name)
            for other, on in ((self.active, False), (name, True)):
                if other in self.built:
                    self.built[other].look(on)
            self.active = name
            for other, boxes in self._boxes.items():
                for box in boxes.values():
                    box.css_classes = [] if other == name else [css.HIDDEN]
            if name not in self.built and name not in self._tasks:
                self._say(name, BUILDING)
                self._tasks[name] = task = asyncio.get_running_loop().create_task(self._build(name))
                task.add_done_callback(log_failure)
                task.add_done_callback(lambda done: self._tasks.pop(name))

    @property
    def names(self) -> list[str]:
        """Those of all pages, built or not."""
        return [*self._kinds]

    def show(self, name: str) -> None:
        """Show the page `name`, and mark its tab."""
        self.choose(name)
        self.bar.active = self.active

    def open(self, name: str, what: Any) -> None:
        """Show the page `name` with something that another page hands over; it is built first where it is not there."""
        if name in self.built:
            self.built[name].take(what)
        else:
            self._waiting[name] = what
        self.show(name)

    async def _build(self, name: str) -> None:
        """Build a page when its turn has come, in parts between which the loop is free."""
        with ExitStack() as stack:
            if self.doc is not None:
                stack.enter_context(set_curdoc(self.doc))
            try:
                async with turn(lane=INSIDE):
                    await self._tick(self._make, name)
                    for part in PARTS[:-1]:
                        await self._tick(self._put, name, part)
                    await self._tick(self._begin, name)
            except Exception:
                await locked(self._say, name, BROKEN, doc=self.doc)
                raise

    async def _tick(self, act: Callable[..., None], *args: str) -> None:
        """Do one thing, then let the loop do others."""
        await locked(act, *args, doc=self.doc)
        await asyncio.sleep(GAP_S)

    def _begin(self, name: str) -> None:
        """Give the browser the pictures, and begin: messages sent before then are dropped."""
        self._put(name, PARTS[-1])
        if not self._ended:
            self.built[name].start(self.doc)
            if self.active != name:
                self.built[name].look(False)

    def _make(self, name: str) -> None:
        if self._ended:
            return
        page = self.built[name] = self._kinds[name].make()
        page.on_presenter = lambda on: self.on_presenter(on)
        page.on_note = lambda words: self.bar.param.update(notes={**self.bar.notes, name: words})
        page.on_open = self.open
        self.on_made(name, page)
        if name in self._waiting:
            page.take(self._waiting.pop(name))
        if self._dark:
            page.set_theme(dark=True)

    def _make_boxes(self, name: str) -> None:
        """Room for the parts of a page."""
        margins: dict[str, Any] = {"sizing_mode": "stretch_width", "margin": 0}
        self._boxes[name] = {part: pn.Column(**margins) for part in PARTS}
        for part, box in self._boxes[name].items():
            getattr(self, part).append(box)

    def _put(self, name: str, part: str) -> None:
        """Give the browser a part of a page; it replaces the line."""
        if not self._ended:
            self._boxes[name][part][:] = [getattr(self.built[name], part)]

    def _say(self, name: str, words: str) -> None:
        self._boxes[name]["view"][:] = [pn.pane.HTML(LINE.format(words), stylesheets=[css.TEXT], margin=12)]
