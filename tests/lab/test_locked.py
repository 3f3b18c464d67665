"""Real sessions without a browser: callbacks come as the server makes them, in threads from Bokeh 3.10 on."""

import asyncio
import json
import threading
from contextlib import asynccontextmanager, nullcontext
from types import SimpleNamespace

import numpy as np
import panel as pn
from bokeh.application import Application
from bokeh.application.handlers.function import FunctionHandler
from bokeh.core.properties import value
from bokeh.document import Document
from bokeh.models import Column, ColumnDataSource, Div, Legend, LegendItem
from bokeh.protocol import Protocol
from bokeh.server.connection import ServerConnection
from bokeh.server.contexts import ApplicationContext
from panel.io.state import set_curdoc
from tornado.ioloop import IOLoop

from pmdviz.engine.recipe import Recipe
from pmdviz.lab.loop.frame_sender import Acknowledge, FrameSender
from pmdviz.lab.loop.live import Live
from pmdviz.lab.loop.runner import Runner
from pmdviz.lab.panel_internals import THREADED, adopt, handed, in_a_while, is_closed, locked, soon
from tests.lab.test_live import FakeScreen
from tests.lab.threads import until

REQUEST = SimpleNamespace(arguments={}, cookies={}, headers={}, path="/")  # as much of one as Panel asks for


class Page:
    """A session with one model; `made` is called while the document is being built."""

    def __init__(self, made=lambda doc: None):
        self.model, self._made = Div(text=""), made
        self.context = ApplicationContext(Application(FunctionHandler(self._fill)), io_loop=IOLoop.current())
        self.context.application.on_server_loaded(self.context.server_context)

    def _fill(self, doc):
        doc.add_root(self.model)
        with set_curdoc(doc):
            self._made(doc)

    async def open(self):
        self.session = await self.context.create_session_if_needed("a", REQUEST)
        self.doc = self.session.document
        return self

    async def callback(self, act):
        """Call `act` as the server calls what a browser's event asks for."""

        def called():
            with set_curdoc(self.doc):
                act()

        await self.session.with_document_locked(called)

    async def close(self):
        self.session.request_expiration()
        await self.context._cleanup_sessions(0)


@asynccontextmanager
async def on_a_page(**options):
    async with asyncio.timeout(60):
        yield await Page(**options).open()


async def test_what_callbacks_ask_for_is_done_on_the_loop_with_the_lock_and_in_order():
    seen = []

    def lock_held(page):
        return page.session._lock.locked() if THREADED else True

    async with on_a_page() as page:
        done = asyncio.Event()

        def note(word):
            seen.append((word, threading.get_ident() == loop_thread, lock_held(page), pn.state.curdoc is page.doc))
            if word == "last":
                done.set()

        loop_thread = threading.get_ident()
        for word in ("turn", "play"):
            await page.callback(lambda word=word: handed(note)(word))
        await page.callback(lambda: (soon(note, "one"), soon(note, "two")))
        await page.callback(lambda: soon(note, "last"))
        await done.wait()
    assert seen == [(word, True, True, True) for word in ("turn", "play", "one", "two", "last")]


async def test_a_task_of_the_loop_waits_for_a_callback_that_has_the_document():
    seen = []
    async with on_a_page() as page:
        begun, may_end = threading.Event(), threading.Event()

        def callback():
            begun.set()
            may_end.wait(30 if THREADED else 0)
            seen.append("callback")

        running = asyncio.ensure_future(page.callback(callback))
        await until(begun.is_set)
        change = asyncio.ensure_future(locked(seen.append, "task", doc=page.doc))
        for _ in range(20):
            await asyncio.sleep(0)  # the task has its turns
        may_end.set()
        await asyncio.gather(running, change)
    assert seen == ["callback", "task"]


async def test_changes_reach_the_document_and_a_closed_page_takes_none():
    async with on_a_page() as page:
        await locked(lambda: page.model.update(text="seen"), doc=page.doc)
        assert page.model.text == "seen"
        later, doc = [], page.doc
        in_a_while(0.01, doc, lambda: later.append(pn.state.curdoc is doc))
        await until(lambda: later)
        assert later == [True] and not is_closed(doc)
        await page.close()
        assert is_closed(doc)
        await locked(later.append, "closed", doc=doc)
        with set_curdoc(doc):
            soon(later.append, "closed")
        assert later == [True]


class Browser:
    """It has the document and has not said that it is ready; `said` is what the server tells it."""

    def __init__(self, page):
        self.said = ""
        page.doc.to_json()
        ServerConnection(Protocol(), self, page.context, page.session)

    async def send_message(self, message):
        self.said += message.content_json


async def test_a_frame_that_waits_for_the_lock_while_a_browser_connects_comes_once_the_page_is_built():
    asked, may_look = threading.Event(), threading.Event()

    def look(runner):
        asked.set()
        may_look.wait(60)
        return runner.snapshot()

    live = Live(FakeScreen(), Acknowledge())
    live.runner = Runner(Recipe("mixture", num_particles=50, budget=None))
    live.do("look", look)
    async with on_a_page(made=live.start) as page:
        await until(asked.is_set)
        connected = asyncio.Event()
        holder = asyncio.create_task(page.session.with_document_locked(connected.wait))
        may_look.set()
        await until(lambda: not live.at_work)
        await asyncio.sleep(0)
        Browser(page)
        connected.set()
        await holder
        await page.callback(lambda: None)  # the frame had the lock before
        assert live.screen.shown == []
        await page.callback(handed(live.ready))
        await until(lambda: live.screen.shown)
        await page.callback(live.stop)


async def test_a_browser_that_is_not_ready_yet_misses_no_change():
    """Of a Panel layout too, whose own update holds back what it changes."""
    column = pn.Column()
    async with on_a_page(made=lambda doc: doc.add_root(column.get_root(doc))) as page:
        browser = Browser(page)
        for ask in (locked, soon):
            words = f"of Bokeh, {ask.__name__}", f"of Panel, {ask.__name__}"
            with set_curdoc(page.doc):
                for change in (
                    lambda word=words[0]: page.model.update(text=word),
                    lambda word=words[1]: column.param.update(css_classes=[word]),
                ):
                    if (asked := ask(change)) is not None:
                        await asked
            await until(lambda words=words: all(word in browser.said for word in words))


def test_changes_of_one_turn_leave_in_their_order_and_none_is_lost():
    """Draws of a run before stayed in view, and browsers stopped at a model that they had never been sent."""
    doc, ack, legend, column = Document(), Acknowledge(), Legend(), Column()
    for model in (ack, legend, column):
        doc.add_root(model)
    adopt(doc)
    sources = [ColumnDataSource() for _ in range(2)]
    sender = FrameSender(ack, sources)
    sender.live()
    left = []
    doc.on_change(lambda event: left.append((type(event.model).__name__, event.attr, event.new)))

    def act():
        item = LegendItem(label=value("one"))
        legend.items = [item]
        item.label = value("two")
        legend.items = []
        for _ in range(2):  # of two lists in one message a browser builds the same child twice
            column.children = [*column.children, Div()]
        for source in sources:
            sender.put(source, {"x": np.zeros(3)})

    for around in (nullcontext(), pn.io.hold(doc)):  # Panel holds a document while it runs a handler
        left.clear()
        with set_curdoc(doc), around:
            soon(act)
        said = [(kind, attr) for kind, attr, _ in left if attr in ("items", "label")]
        assert said == [("Legend", "items"), ("LegendItem", "label"), ("Legend", "items")]
        parts = [json.loads(new)[0][0] for _, attr, new in left if attr == "layout"]
        assert parts == [0, 1]
        assert [new for _, attr, new in left if attr == "children"] == [column.children]
