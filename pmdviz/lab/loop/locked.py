"""The way to a page's document: on the event loop, with the document's lock, its changes as one message.

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
from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps
from typing import TypeVarTuple

import bokeh
import panel as pn
from bokeh.document import Document
from panel.io.state import set_curdoc

from pmdviz.lab.panel_internals import as_connected, collected, is_connected

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
    return _has_session(doc) and not is_connected(doc)


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
