"""Every private part of Panel that the lab asks for, tried with Panel 1.9.4 and 1.10.

`state._connected` (documents whose browser is ready), `state._thread_id_` (the thread that may change a document at
once), `state._views` (roots that are shown), `panel_extension._loaded`, and `Viewable._cleanup`.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bokeh.document import Document
from panel.config import panel_extension
from panel.io.state import state


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


def adopt(doc: Document) -> None:
    """Have Panel send what changes in a document without a server, from this thread at once."""
    state._connected[doc], state._thread_id_[doc] = True, threading.get_ident()


def forget(layout: Any, root: Any) -> None:
    """Take a layout down that was shown with this root."""
    layout._cleanup(root)
    state._views.pop(root.ref["id"], None)


def is_loaded() -> bool:
    """Whether `pn.extension` was called in this notebook."""
    return bool(panel_extension._loaded)
