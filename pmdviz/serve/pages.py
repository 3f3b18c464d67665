"""The served pages: a lab inside panel-material-ui's chrome. Nothing here asks any other server for anything."""

from __future__ import annotations

import asyncio
import gzip
import html
import logging
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from contextvars import ContextVar
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import panel as pn
import panel_material_ui as pmui
import param
from bokeh.document import Document
from bokeh.models import CustomJS
from bokeh.themes import Theme
from panel.custom import JSComponent
from panel.io.resources import get_dist_path
from panel.io.state import set_curdoc
from panel.util import edit_readonly
from tornado.web import RedirectHandler, RequestHandler, StaticFileHandler

from pmdviz.cli.tools import MARKER
from pmdviz.engine.recipe import Recipe
from pmdviz.errors import InputError, shown
from pmdviz.essay.build import page as essay
from pmdviz.files import Json
from pmdviz.kernels.compiling import compiler
from pmdviz.lab import Lab, css, links
from pmdviz.lab.links import Link
from pmdviz.lab.loop import limits
from pmdviz.lab.loop.frame_sender import HELP
from pmdviz.lab.loop.task import log_failure, pool_for
from pmdviz.lab.page import Page
from pmdviz.lab.panel_internals import handed, locked
from pmdviz.lab.panels.guide import BESIDE, Guide
from pmdviz.lab.panels.widgets import WIDE, small_button
from pmdviz.lab.plain_pages import GeometryPage, LessonsPage, MethodsPage
from pmdviz.lab.race import Race, usual_race
from pmdviz.lab.theory import TheoryPage
from pmdviz.lessons.reading import find_lesson
from pmdviz.limits import check_limits, limit
from pmdviz.serve import handlers, server_internals
from pmdviz.serve.handlers import GAP_S, INSIDE, turn
from pmdviz.serve.server_internals import page_script

OPEN, LARGE = "pmdviz-lesson-open", "pmdviz-large"  # a lesson is open next to the page; for a lecture hall

# The docs site served with the app: a folder that `pmdviz docs` has built, served as it lies there.

Route = tuple[str, type] | tuple[str, type, dict[str, str]]  # address, handler and its settings
FOLDER = "PMDVIZ_DOCS"  # environment variable: the folder, for every process of a server
ADDRESS = "/docs/"


def offer_docs(folder: str | None) -> None:
    """Have a built site served, here and in the processes that are begun. Raises InputError for any other folder."""
    if folder is not None:
        os.environ[FOLDER] = folder
    docs_folder()


def docs_folder() -> Path | None:
    """The folder that the environment names; None where it names none. Raises InputError where no site is in it."""
    name = os.environ.get(FOLDER)
    if not name:
        return None
    if not (Path(name) / MARKER).is_file() or not (Path(name) / "index.html").is_file():
        raise InputError(
            f"no docs site is in {shown(name, 200)}; build one in a new folder, `pmdviz docs site`, then: --docs site"
        )
    return Path(name).resolve()


def docs_routes() -> list[Route]:
    """The addresses of the site, for a server to be made; none where no folder is offered."""
    folder = docs_folder()
    if folder is None:
        return []
    files = {"path": str(folder), "default_filename": "index.html"}
    return [(ADDRESS.rstrip("/"), RedirectHandler, {"url": ADDRESS}), (f"{ADDRESS}(.*)", StaticFileHandler, files)]


# The essay's address in the app, `/essay`: a page without a session, built once and sent as it is.

ESSAY_ADDRESS = "essay"  # relative to the app's, which a proxy may serve from a folder
_routed = False


class EssayHandler(RequestHandler):
    """The handler of the essay."""

    async def get(self) -> None:
        """The page; the first visitor's is built in a thread: no live run waits for it."""
        whole, packed = await asyncio.get_running_loop().run_in_executor(pool_for(0.0), _bytes)
        small = "gzip" in self.request.headers.get("Accept-Encoding", "")
        if small:
            self.set_header("Content-Encoding", "gzip")
        self.set_header("Vary", "Accept-Encoding")
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.set_header("Cache-Control", "max-age=3600")
        self.finish(packed if small else whole)


@cache
def _bytes() -> tuple[bytes, bytes]:
    """The page as it is and packed, a third of it."""
    text = essay(served=True).encode()
    return text, gzip.compress(text)


def essay_routes() -> list[Route]:
    """The essay's address, for a server to be made; its pages then link it."""
    global _routed
    _routed = True
    return [(rf"/{ESSAY_ADDRESS}", EssayHandler)]


def essay_address() -> str:
    """Where a page of the app finds the essay; "" where it is not served."""
    return ESSAY_ADDRESS if _routed else ""


OF_A_RUN = {"run", "preset", "at", "frame", "start"}  # of a link's arguments
OF_THE_TABS = {"page"}  # what the browser alone reads; any other argument is about the page
FIGURE_MODELS = ["Axis", "Legend", "Grid", "Plot", "Figure", "Title"]  # dressed by our own table of colours
PAGE_CSS = """
:root { --pmdviz-accent: #A34700; --pmdviz-foot: 64px; }
:root[data-pmdviz="dark"] { --pmdviz-accent: #FFB570; }
@media (max-height: 760px) { :root { --pmdviz-foot: 56px; } }
@media (max-width: 600px) { :root { --pmdviz-foot: 104px; } }
"""


TEMPLATE = Path(__file__).with_name("page.html")
OPENING = "Opening the lab …"
LOOK = {  # unused parts of the design's page: a bar that never moves, empty headings that only take up room
    "& .MuiLinearProgress-root": {"display": "none"},
    "& .MuiToolbar-root > h5": {"visibility": "hidden"},
    "& .MuiAppBar-root a": {"display": "none !important"},  # a link to where one is; the name is before the tabs
    # An element that the Tab key reaches is scrolled to between the picture of a phone and the foot.
    "& .main-content": {"scrollPadding": "var(--pmdviz-above, 0px) 0 calc(var(--pmdviz-foot) + 8px)"},
    "& .MuiIconButton-root:focus-visible": {"outline": "3px solid", "outlineOffset": "-3px"},
    "& .MuiAppBar-root.MuiPaper-root": {  # of the page's own colour: only Play is saturated
        "backgroundColor": "background.paper",
        "color": "text.primary",
        "boxShadow": "none",
        "borderBottom": "1px solid #8884",
    },
    "& div.MuiToolbar-root": {"minHeight": "48px !important", "height": "48px"},
}
# For an iframe and for a lecture hall: neither the bar nor the room that it takes.
BARE = {f"& .Mui{part}-root": {"display": "none"} for part in ("AppBar", "Toolbar")}


# Every page is imported with the server: of a class that a session defines Panel gives the first browser the
# constructor itself, which that browser cannot send back with a message.

PAGES: dict[str, tuple[str, Callable[[Link], Page]]] = {
    "lessons": ("Lessons", lambda link: LessonsPage()),
    "race": ("Race", lambda link: Race(recipe=link.race or usual_race(), at=link.round)),
    "theory": ("Theory", lambda link: TheoryPage(link.asked)),
    "geometry": ("Geometry", lambda link: GeometryPage()),
    "methods": ("Methods", lambda link: MethodsPage()),
}  # name: title, and what makes one as a link says; built by a visitor's first look, in the order of their tabs

log = logging.getLogger(__name__)
_outcome: ContextVar[Link | InputError | None] = ContextVar("pmdviz-link", default=None)
open_pages: set[Tabs] = set()  # of sessions that have not been destroyed, those built ahead among them
_one_at_a_time = threading.Lock()


class _Never(param.Parameterized):
    busy = param.Boolean(default=False)


def is_phone(headers: Mapping[str, str] | None) -> bool:
    """Whether the browser calls itself a phone's (else its width decides, once the page is there)."""
    return "Mobi" in str(headers.get("User-Agent", "")) if headers else False


def lab_page(link: Link | None = None, notice: str = "", **parameters: Any) -> pmui.Page:
    """The page of one browser session, with the Lab in front: as a link says, or with parameters of `pmdviz.Lab`."""
    doc = pn.state.curdoc
    if doc is not None:
        # Panel writes it when the page is sent, and then into the style sheets of all models: without an error where a
        # callback in a thread has the document: the browser then asks a CDN for them.
        doc.template_variables["dist_url"] = get_dist_path()
    link = link or Link(limits.fitted(Recipe()) if not parameters else None)
    lab = Lab(keyboard=True, link=link, **parameters)
    if notice:
        lab.notice.say(notice)
    others = {name: PageSpec(words, partial(make, link)) for name, (words, make) in PAGES.items()}
    tabs = Tabs({"lab": PageSpec("Lab", lambda: lab), **others}, "lab")
    guide = Guide(tabs, lab)
    room = pn.Column(css_classes=["pmdviz-lesson-room"], **WIDE)  # left of the pages; in a narrow window above them
    sheets = [css.PART, css.static("pages.css", "lesson_beside")]
    beside = pn.Column(room, tabs.view, stylesheets=sheets, **WIDE)
    tabs.bar.beside = [*BESIDE]
    addresses = {"Essay": essay_address(), "Docs": docs_folder() and ADDRESS.lstrip("/")}
    tabs.bar.links = [] if link.embed else [pair for pair in addresses.items() if pair[1]]
    look: dict[str, Json] = {"margin": 0, "align": "center", "stylesheets": [css.HEADER_BUTTON]}
    share = small_button("Share", lab.share.toggle, **look)
    to_present = small_button("Present", lambda: lab.present(True), css_classes=["pmdviz-wide"], **look)
    of_the_lab = pn.Row(share, to_present, margin=0, align="center")
    page = pmui.Page(
        title="pmdviz",
        site_url="#",  # the run stays: the page is the only one of its site
        main=[beside],
        header=[tabs.bar, pn.Spacer(sizing_mode="stretch_width"), of_the_lab],
        sx={**LOOK, **(BARE if link.embed else {})},
        busy_indicator=None,
        raw_css=[PAGE_CSS],
        meta_name="pmdviz",
        template=TEMPLATE,
    )
    with edit_readonly(page):
        # Left as it is, every event of any session sends two messages to every open page, and the watcher on the state
        # of the whole process keeps each page forever.
        page.busy = _Never().param.busy
    page.param.watch(handed(lambda event: tabs.set_theme(dark=event.new)), "dark_theme")
    if page.dark_theme:  # by ?theme=dark: nothing changes, so no event is sent
        tabs.set_theme(dark=True)
    large = link.presenter

    def dress() -> None:
        """The bars of the page that is seen, and the room for a lesson."""
        page.sx = {**LOOK, **(BARE if large or link.embed else {})}
        of_the_lab.visible = tabs.active == "lab"
        seen = tabs.bar.lesson and tabs.active in BESIDE
        beside.css_classes = [OPEN, *[LARGE] * large] if seen else []

    def present(on: bool) -> None:
        nonlocal large
        large = on
        dress()
        guide.present(on)

    def with_lesson(on: bool) -> None:
        if on != tabs.bar.lesson:
            tabs.bar.lesson = on
            lab.for_lesson(on)
            dress()

    tabs.bar.param.watch(handed(lambda event: dress()), "active")
    dress()

    tabs.on_presenter = present
    guide.on_open, guide.on_card = with_lesson, room.append
    tabs.on_made = guide.hook
    guide.hook("lab", lab)
    lab.on_lesson, lab.leave_lesson = guide.open, guide.leave
    if link.presenter and not is_phone(pn.state.headers):  # large letters need a wide window
        lab.present(True)
    if link.lesson.name:
        guide.open(find_lesson(link.lesson.name), link.lesson)
    if doc is not None:
        doc.template_variables.update(opening=OPENING, chrome=page_script())
        doc.theme = Theme(json={"attrs": {name: {} for name in FIGURE_MODELS}})
        doc.js_on_event("document_ready", CustomJS(code=css.static("page.js", "frame")))
        doc.js_on_event("connection_lost", CustomJS(code=css.MAKE + css.static("frames.js", "lost")))
        # The first frame may come with the document.
        doc.js_on_event("document_ready", *lab.screen.ack.js_property_callbacks["change:sent"])
        tabs.foot.server_doc(doc, location=False)  # a root of its own, before the page's: Play is reached at once
        pn.state.onload(handed(lab.ready))
        tabs.start(doc)
        open_pages.add(tabs)
        pn.state.on_session_destroyed(lambda context: _close(tabs))
    return page


def _close(tabs: Tabs) -> None:
    tabs.stop()
    open_pages.discard(tabs)
    server_internals.schedule_trim()


def session_page() -> pmui.Page:
    """The page of one browser session; from Bokeh 3.10 on several may be asked for at once, in threads."""
    compiler.begin()
    with _one_at_a_time:  # classes and caches are filled by the first page; two visitors must not share the last place
        if is_full():
            return _full_page()
        try:
            link = _opened(pn.state.session_args)
            return lab_page(link if link.recipe else replace(link, recipe=limits.fitted(Recipe())))
        except InputError as error:
            return lab_page(notice=f"This link could not be read: {error}. Showing the default run instead.")


async def read_ahead(arguments: Mapping[str, Sequence[bytes]]) -> Link | None:
    """Read and check the link of a request in a thread, for the page that this task makes next.

    Returned is a link that any page can show which has been built without it.

    One with hundreds of changes takes as long as some frames, for which the others need not wait.
    """
    loop = asyncio.get_running_loop()
    outcome = await loop.run_in_executor(pool_for(0.0), _checked, arguments)
    _outcome.set(outcome)
    if isinstance(outcome, Link) and outcome.recipe is not None and arguments.keys() <= OF_A_RUN | OF_THE_TABS:
        return outcome
    return None


def open_link(doc: Document, link: Link) -> None:
    """Show what a link says in a page that was built ahead."""
    with set_curdoc(doc):
        lab = next(tabs for tabs in open_pages if tabs.doc is doc).built["lab"]
        assert isinstance(lab, Lab)
        lab.open(link)


def _checked(arguments: Mapping[str, Sequence[bytes]]) -> Link | InputError:
    """The link, or why it cannot be read or is too large."""
    try:
        link = links.read(arguments)
        if link.recipe is not None:
            limits.check(link.recipe)
        if link.race is not None:
            limits.check_race(link.race)
        return link
    except InputError as error:
        return error


def _opened(arguments: Mapping[str, Sequence[bytes]]) -> Link:
    """The link of this page's address, as `read_ahead` found it where that was asked. Raises InputError."""
    outcome = _outcome.get()
    if isinstance(outcome, InputError):
        raise outcome
    return outcome or links.read(arguments)


def is_full() -> bool:
    """Whether as many pages are open as the server may have."""
    most = limit("max_sessions")
    return most is not None and len(open_pages) >= most


def serve_lab() -> None:
    """What the served script calls."""
    handlers.install()  # also into the server that runs already
    server_internals.install()
    pn.extension(notifications=False)
    _scripted_page().servable(title="pmdviz")


def _scripted_page() -> pmui.Page:
    """A session's page; a sentence instead of it where a limit of the environment cannot be used."""
    if pn.state.session_args.keys() & {*handlers.CHOOSES}:  # the first page of a server, which Panel's handler let in
        return _sentence_page("The server names its sessions itself: open the address without its arguments.")
    try:
        check_limits()
    except InputError as error:
        log.error("visitors are refused: %s", error)
        return _sentence_page(f"This server's limits cannot be used: {error}.")
    limits.enforce()
    return session_page()


def _full_page() -> pmui.Page:
    most = limit("max_sessions")
    words = f"Server full ({most} session{'s' * (most > 1)}). Reload this page when someone has closed a tab."
    return _sentence_page(words)


def _sentence_page(words: str) -> pmui.Page:
    text = f'<p class="pmdviz-status" role="alert">{html.escape(words)}</p>'
    return pmui.Page(title="pmdviz", main=[pn.pane.HTML(text)])


# The pages of one browser session as tabs: one is seen, the others stand still or have not been built yet.


PARTS = ("foot", "view")  # of a page, in the order in which they are built: the pictures come last
BUILDING = "Building the page …"
BROKEN = "This page could not be built. Reload it. If it fails again, report it: the server's log says why."
LINE = '<p class="pmdviz-building" role="status">{}</p>'
FOOT = "pmdviz-foot"  # the name by which the template finds the foot of the window


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
        self.kinds, self.doc, self._dark, self._ended = kinds, None, False, False
        self.on_presenter: Callable[[bool], None] = lambda on: None
        self.on_made: Callable[[str, Page], None] = lambda name, page: None
        self.built: dict[str, Page] = {}
        self._boxes: dict[str, dict[str, pn.Column]] = {}
        self._tasks: dict[str, asyncio.Task] = {}  # of pages that are being built
        self._waiting: dict[str, Any] = {}  # what a page that has not been built is to show
        self.active = first
        self.bar = TabBar(pages=[[name, kind.title] for name, kind in kinds.items()], active=first, margin=(0, 8))
        self.bar.visible = len(kinds) > 1
        self.view = pn.Column(stylesheets=[css.PART], **WIDE)
        self.foot = pn.Column(name=FOOT, stylesheets=[css.FOOT], **WIDE)
        self._make_boxes(first)
        self._take(first, kinds[first].make())
        for part in PARTS:
            self._put(first, part)
        self.bar.param.watch(handed(lambda event: self.choose(event.new)), "active")

    def start(self, doc: Document | None) -> None:
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
        if name not in self.kinds or name == self.active:
            return
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
        """Build a page when its turn has come: in a thread, then in parts between which the loop is free."""
        with ExitStack() as stack:
            if self.doc is not None:
                stack.enter_context(set_curdoc(self.doc))
            try:
                async with turn(lane=INSIDE):
                    page = await asyncio.to_thread(self.kinds[name].make)
                    await self._tick(self._take, name, page)
                    for part in PARTS[:-1]:
                        await self._tick(self._put, name, part)
                    await self._tick(self._begin, name)
            except Exception:
                await locked(self._say, name, BROKEN, doc=self.doc)
                raise

    async def _tick(self, act: Callable[..., None], *args: str | Page) -> None:
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

    def _take(self, name: str, page: Page) -> None:
        if self._ended:
            return
        self.built[name] = page
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
        self._boxes[name] = {part: pn.Column(**WIDE) for part in PARTS}
        for part, box in self._boxes[name].items():
            getattr(self, part).append(box)

    def _put(self, name: str, part: str) -> None:
        """Give the browser a part of a page; it replaces the line."""
        if not self._ended:
            self._boxes[name][part][:] = [getattr(self.built[name], part)]

    def _say(self, name: str, words: str) -> None:
        self._boxes[name]["view"][:] = [pn.pane.HTML(LINE.format(words), stylesheets=[css.TEXT], margin=12)]
