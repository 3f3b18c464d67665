"""Every private part of Panel that this package uses, tried with Panel 1.9.4 and 1.10: it needs panel>=1.9.4,<1.11.

`state._connected` (documents whose browser is ready), `state._thread_id_` (the thread that may change a document at
once), `state._views` (roots that are shown), `panel_extension._loaded`, `Viewable._cleanup`,
`Select._process_param_change`, `Select._update_model` and `_events` (what a browser said and no handler has heard of
yet), `Viewable._models` and `ComponentResourceHandler.parse_url_path`; of Bokeh `callbacks._hold` of a document.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import panel as pn
from bokeh.document import Document
from bokeh.model import Model
from panel.config import panel_extension
from panel.custom import ReactiveESM
from panel.io import server
from panel.io.state import state
from panel.viewable import Viewable
from panel.widgets import Select
from param.parameterized import Event, discard_events

from pmdviz.files import Json

parse_component_path = server.ComponentResourceHandler.parse_url_path  # (handler, path): the file of a component


def is_connected(doc: Document) -> bool:
    """Whether Panel knows that the document's browser is ready."""
    return doc in state._connected


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
        policy, doc.callbacks._hold = (
            doc.callbacks.hold_value,
            "collect",
        )  # maybe of a hold in which Panel runs a handler
        try:
            yield
        finally:
            doc.callbacks._hold = policy


def adopt(doc: Document) -> None:
    """Have Panel send what changes in a document without a server, from this thread at once."""
    state._connected[doc], state._thread_id_[doc] = True, threading.get_ident()


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
    for model, _ in component._models.values():
        model.data.update(**values)


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
