"""The way to a page's document, and every private part of Panel that this package uses.

Tried with Panel 1.9.4 and 1.10 (it needs panel>=1.9.4,<1.11): `state._connected` (documents whose browser is ready),
`state._thread_id_` (the thread that may change a document at once), `state._views` (roots that are shown),
`panel_extension._loaded`, `Viewable._cleanup`, `Select._process_param_change`, `Select._update_model` and `_events`
(what a browser said and no handler has heard of yet), `Reactive._changing` (changes that come from this side),
`Viewable._models` and `ComponentResourceHandler.parse_url_path`; of Bokeh `callbacks._hold` and `_held_events` of a
document.

Up to Bokeh 3.9 every callback runs on the event loop. From 3.10 on most of them run in worker threads, which hold the
document's lock, and a few of Panel's on the loop without it. So every callback hands over its changes to the loop
(`handed`), and a task of the loop changes the document only with the lock (`locked`). Nothing of a page runs in two
threads at once then, and all of it in the order in which it was asked for.

A browser requests the document, lays it out, and says that it is ready: only then does Panel call it connected. What
changes in between is for the browser too, but Panel takes it for a part of the document that is still to be
asked for, and sends nothing: a slow browser that opened a link stayed at an early picture. So our changes are made with
the lock, and as if it were connected, as soon as there is a session.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import wraps
from typing import Any, TypeVarTuple

import bokeh
import panel as pn
from bokeh.document import Document
from bokeh.document.events import DocumentChangedEvent, ModelChangedEvent
from bokeh.model import Model
from panel.config import panel_extension
from panel.custom import ReactiveESM
from panel.io import server
from panel.io.state import set_curdoc, state
from panel.viewable import Viewable
from panel.widgets import Select
from param.parameterized import Event, discard_events

from pmdviz.files import Json

parse_component_path = server.ComponentResourceHandler.parse_url_path  # (handler, path): the file of a component


@contextmanager
def as_connected(doc: Document) -> Iterator[None]:
    """Within it Panel sends what changes, as if the document's browser were ready."""
    state._connected[doc] = True
    try:
        yield
    finally:
        del state._connected[doc]


@contextmanager
def collected(doc: Document | None) -> Iterator[None]:
    """Within it the changes of a document wait, and then leave in their order as one message.

    The usual hold writes a later value of a property over an earlier one. A model that only the earlier one
    had is then never sent, and a browser stops at a change of that model; columns that others replaced are lost.
    """
    if doc is None:
        yield
        return
    with pn.io.hold(doc, "collect"):
        policy = doc.callbacks.hold_value  # maybe of a hold in which Panel runs a handler
        doc.callbacks._hold = "collect"
        try:
            yield
        finally:
            doc.callbacks._held_events = _without_shorter_lists(doc.callbacks._held_events)
            doc.callbacks._hold = policy


def _without_shorter_lists(events: list[DocumentChangedEvent]) -> list[DocumentChangedEvent]:
    """Without children of a layout that a later event has too, among others.

    A browser builds the views of a list in the background. For two lists in one message it builds a child twice, and
    the view that it never draws raises at the child's next change.
    """
    lists = [event for event in events if isinstance(event, ModelChangedEvent) and event.attr == "children"]
    last = {event.model.id: event for event in lists}
    shorter = [
        event for event in lists if event is not last[event.model.id] and {*event.new} <= {*last[event.model.id].new}
    ]
    return [event for event in events if event not in shorter]


def adopt(doc: Document) -> None:
    """Have Panel send what changes in a document without a server, from this thread at once."""
    state._connected[doc] = True
    own_thread(doc)


def own_thread(doc: Document) -> None:
    """Have Panel take this thread for the document's: it sends changes made in any other one later."""
    state._thread_id_[doc] = threading.get_ident()


def forget(layout: Viewable, root: Model) -> None:
    """Take a layout down that was shown with this root."""
    layout._cleanup(root)
    state._views.pop(root.ref["id"], None)


def set_directly(component: ReactiveESM, **values: Json) -> None:
    """Set parameters of a component with a script, and the models that show it at once: no handler hears of it.

    Panel's own way costs 0.8 ms of CPU, mostly to look for attributes that its model lacks: too much for every frame.
    """
    with discard_events(component):
        component.param.update(**values)
    for ref, (model, _) in component._models.items():
        component._changing[ref] = [*values]  # or Panel would take the change for one that the browser has made
        model.data.update(**values)
        del component._changing[ref]


def is_loaded() -> bool:
    """Whether `pn.extension` was called in this notebook."""
    return bool(panel_extension._loaded)


def replace_parse_component_path(parse: Callable[[server.ComponentResourceHandler, str], str]) -> None:
    """Have addresses under /components/ read by it, instead of `parse_component_path`."""
    server.ComponentResourceHandler.parse_url_path = parse


class LabelledSelect(Select):
    """A select whose disabled options are grey also where labels differ from values.

    The browser compares with labels alone, and Panel 1.9 and 1.10 send it values.
    """

    def _process_param_change(self, params: dict[str, Json]) -> dict[str, Json]:
        found = super()._process_param_change(params)
        if lost := found.get("disabled_options"):
            found["disabled_options"] = [label for label, value in self.options.items() if value in lost]
        return found


class PatientSelect(Select):
    """A select that does not take back a choice which a person has made and no handler has heard of yet.

    A choice waits 50 ms or more. Panel drops it where the page sets the select meanwhile, as an answer to another one.
    """

    def _update_model(self, events: dict[str, Event], msg: dict[str, Json], *where: Any) -> None:
        super()._update_model(events, {name: value for name, value in msg.items() if name not in self._events}, *where)


# Changes of a document: on the event loop, with the document's lock, as one message.

THREADED = tuple(int(part) for part in bokeh.__version__.split(".")[:2]) >= (3, 10)
Ts = TypeVarTuple("Ts")
_here = threading.local()  # `holds` while a function of ours runs on the loop with the lock


def is_served(doc: Document | None) -> bool:
    """Whether the document belongs to a page of a server, and not to a notebook or to a test."""
    return doc is not None and doc.session_context is not None


def is_closed(doc: Document | None) -> bool:
    """Whether the document's session has been destroyed: it takes no change any more."""
    return doc is not None and not hasattr(doc, "roots")


def _is_waiting(doc: Document | None) -> bool:
    """Whether the page has a session whose browser is not ready, and a Panel that would send it nothing."""
    return _has_session(doc) and doc not in state._connected


def _has_session(doc: Document | None) -> bool:
    """Whether the page has been built: before, no other code can change it."""
    return is_served(doc) and doc.session_context.session is not None


def _has_lock_to_take(doc: Document | None) -> bool:
    """Whether the lock is ours to take: else callbacks run on the loop with it, and tasks need none."""
    return THREADED and _has_session(doc) or _is_waiting(doc)


def soon(act: Callable[[*Ts], None], *args: *Ts) -> None:
    """Do it on the event loop with the lock: at once where callbacks run there, else as the next callback."""
    doc = pn.state.curdoc
    if is_closed(doc):
        return
    if getattr(_here, "holds", False):
        act(*args)
        return
    if not _has_lock_to_take(doc):
        _do(doc, act, args)
        return

    async def later() -> None:
        _do(doc, act, args)

    doc.add_next_tick_callback(later)


def handed(act: Callable[[*Ts], None]) -> Callable[[*Ts], None]:
    """`act` as the handler of an event, a click or a change; arguments are passed on."""

    @wraps(act)
    def handler(*args: *Ts) -> None:
        soon(act, *args)

    return handler


async def locked(act: Callable[[*Ts], None], *args: *Ts, doc: Document | None = None) -> None:
    """Do it from a task of the loop, on the task's document unless one is given; not at all where that is closed."""
    doc = doc or pn.state.curdoc
    if is_closed(doc):
        return
    if not _has_lock_to_take(doc):
        _do(doc, act, args)
        return

    async def now(document: Document) -> None:
        _do(document, act, args)

    await doc.session_context.with_locked_document(now)


def in_a_while(seconds: float, doc: Document | None, act: Callable[[], None]) -> None:
    """Do it so many seconds from now, on this document; not at all where its page is closed by then."""

    async def now() -> None:
        _do(doc, act, ())

    if is_served(doc):
        doc.add_timeout_callback(now, round(1000 * seconds))
    else:
        asyncio.get_running_loop().call_later(seconds, _do, doc, act, ())


def _do(doc: Document | None, act: Callable[[*Ts], None], args: tuple[*Ts]) -> None:
    _here.holds = True
    try:
        with set_curdoc(doc), as_connected(doc) if _is_waiting(doc) else nullcontext(), collected(doc):
            act(*args)
    finally:
        _here.holds = False
