"""The ipywidgets widget of a live page: carries its Bokeh document between the kernel and the notebook.

Panel's own ways into a notebook were measured and left: they wait for an idle kernel before each message and fail
("Could not create a view for model id") wherever BokehJS is not yet in the page when the cell shows. This one brings
the scripts along and builds nothing before they have run.
"""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import re
import weakref
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anywidget
import bokeh
import panel
import traitlets
from bokeh.core.json_encoder import serialize_json
from bokeh.core.serialization import Serialized
from bokeh.document import Document
from bokeh.document.events import DocumentPatchedEvent
from bokeh.protocol import Protocol
from panel.io.state import set_curdoc

from pmdviz.knobs import KnobSpec, Value
from pmdviz.lab.css import MAKE, static
from pmdviz.lab.loop.task import running_loop
from pmdviz.lab.panel_internals import Ts

if TYPE_CHECKING:
    from pmdviz.lab.page import LivePage

KINDS = {"whole": traitlets.CInt, "real": traitlets.CFloat, "flag": traitlets.Bool}  # of all other knobs texts


class PageWidget(anywidget.AnyWidget):
    """A live page as a widget: goes into `HBox`, `Output` and the like, and its traits into `jslink`.

    `iteration` follows the run, `playing` plays and pauses it, and each knob of a lab's method is a trait of its name.
    One place shows the page at a time, the one that was opened last.
    """

    _esm = MAKE + static("notebook.js")
    iteration = traitlets.Int(0).tag(sync=True)
    playing = traitlets.Bool(False).tag(sync=True)

    def __init__(self, page: LivePage, knobs: Mapping[str, KnobSpec], values: Mapping[str, Value]) -> None:
        self._page = weakref.ref(page)  # ipywidgets keeps every widget forever; a page without a holder may go
        self._loop = running_loop()
        self._view, self._telling = "", False
        self._doc: Document | None = None
        self._events: list[DocumentPatchedEvent] = []
        free = {name: spec for name, spec in knobs.items() if not hasattr(self, name)}
        kinds = {name: KINDS.get(spec.kind, traitlets.Unicode) for name, spec in free.items()}
        self.add_traits(**{name: kind(values[name]).tag(sync=True) for name, kind in kinds.items()})
        super().__init__()
        self.on_msg(lambda widget, content, buffers: self._soon(self._hear, content))
        self.observe(lambda change: self._soon(self._turned, change.name), ["playing", *free])
        weakref.finalize(page, self.close)

    def _soon(self, act: Callable[[*Ts], None], *args: *Ts) -> None:
        """Do it on the kernel's own event loop: JupyterLab may deliver messages of widgets in another thread."""
        if self._telling:
            return
        if self._loop is None or self._loop is running_loop():
            act(*args)
        else:
            self._loop.call_soon_threadsafe(act, *args)

    def tell(self, **traits: Value) -> None:
        """What the traits are now, without hearing of it."""
        new = {name: value for name, value in traits.items() if self.has_trait(name) and getattr(self, name) != value}
        self._telling = True
        try:
            with self.hold_sync():
                for name, value in new.items():
                    setattr(self, name, value)
        finally:
            self._telling = False

    def _turned(self, name: str) -> None:
        if (page := self._page()) is not None:
            page.turned(name, getattr(self, name))

    # Messages of a view

    def _hear(self, message: dict[str, Any]) -> None:
        what, view = message.get("what"), message.get("view")
        if what == "open":
            self._open(view, message)
        elif view != self._view or self._doc is None:
            return  # of a place that no longer shows the page
        elif what == "ready":
            self._with_page(lambda page: page.ready())
        elif what == "patch":
            self._flush()  # what waits here would count as known in the browser once one of its patches is taken
            content = Serialized(content=json.loads(message["patch"]), buffers=[])
            self._with_page(lambda page: self._doc.apply_json_patch(content, setter=self))
        elif what == "gone":
            self._with_page(lambda page: page.out_of_view())

    def _with_page(self, act: Callable[[LivePage], None]) -> None:
        if (page := self._page()) is not None:
            with set_curdoc(self._doc):
                act(page)

    def _open(self, view: str, message: dict[str, Any]) -> None:
        if (page := self._page()) is None:
            self.send({"what": "lost", "view": view})
            return
        if VERSION not in message["has"]:
            self.send({"what": "scripts", "version": VERSION}, scripts())
        self._view = view
        self._doc = page.into_view(bool(message["dark"]))
        self._doc.on_change_dispatch_to(self)
        text = self_contained(serialize_json(self._doc.to_json(deferred=False)))
        self.send({"what": "document", "view": view, "version": VERSION, "name": self.model_id, "doc": text})

    def let_go(self) -> None:
        """The document is another's from now on."""
        if self._doc is not None:
            self._doc.remove_on_change(self)
        self._doc, self._events = None, []

    # Changes of the document

    def _document_patched(self, event: DocumentPatchedEvent) -> None:
        if event.setter is not self:
            if not self._events:
                asyncio.get_running_loop().call_soon(self._flush)
            self._events.append(event)

    def _flush(self) -> None:
        """Send the changes within a turn of the loop as one patch."""
        events, self._events = self._events, []
        if events and self._doc is not None:
            patch = Protocol().create("PATCH-DOC", events)
            refs, text = [buffer.ref["id"] for buffer in patch.buffers], self_contained(patch.content_json)
            content = {"what": "patch", "view": self._view, "patch": text, "refs": refs}
            self.send(content, [buffer.to_bytes() for buffer in patch.buffers])


# What a live page needs in a browser that has nothing of ours, out of the installed packages.

BOKEH = Path(bokeh.__file__).parent / "server" / "static" / "js"
PANEL = Path(panel.__file__).parent / "dist"
COMPRESSION = 6
VERSION = f"{bokeh.__version__}+{panel.__version__}"
SHEET = re.compile(r'"https://cdn\.holoviz\.org/panel/[^/"]+/dist/([^"?]+\.css)[^"]*"')
IN_A_CELL = {  # what of our own style sheets is meant for a window of its own
    "@media (max-width: 900px)": "@container (max-width: 720px)",
    "@media (min-width: 901px) and (max-height: 760px)": "@container (min-width: 721px)",
    "@media (max-width: 1150px)": "@container (max-width: 1150px)",
    "@media (min-width: 1200px)": "@container (min-width: 1200px)",
    "1.7vw": "1.7cqw",
    "60vw": "60cqw",
    "100vw": "100cqw",
    "100vh - var(--bars)": "556px",  # and the transport: 620 px in all
    "position:fixed !important": "position:absolute !important",  # a sheet lies over its own lab
    "position: fixed !important": "position: static !important",  # each cell has its own buttons
    "padding: 4px 4px 130px": "padding: 4px",
}


@cache
def scripts() -> list[bytes]:
    """BokehJS with its widgets, a loader of modules, and Panel's models, each zipped, in the order of their use."""
    (shims,) = PANEL.glob("bundled/reactiveesm/*/dist/es-module-shims.min.js")
    parts = [BOKEH / f"{name}.min.js" for name in ("bokeh", "bokeh-widgets", "bokeh-tables")]
    files = *parts, shims, PANEL / "panel.min.js"
    return [gzip.compress(file.read_bytes(), COMPRESSION, mtime=0) for file in files]


def self_contained(text: str) -> str:
    """A document's JSON that asks no other server for anything and is as narrow as its cell, not as the window."""
    text = SHEET.sub(lambda found: f'"{_sheet(found[1])}"', text)
    for window, cell in IN_A_CELL.items():
        text = text.replace(window, cell)
    return text


@cache
def _sheet(name: str) -> str:
    """A style sheet of Panel as an address that holds it."""
    return "data:text/css;base64," + base64.b64encode((PANEL / name).read_bytes()).decode()
