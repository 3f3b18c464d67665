"""What Bokeh and the C library do again for every message, page and session: done once, or given back.

- Patches without a table of all models: Bokeh makes one for every message, though a frame changes two or three.
- Defaults of models, looked up once a class: a page reads some 20,000, and Bokeh checks each one again.
- Memory of ended sessions goes back to the system: by itself glibc keeps most of it in pieces, ever more of them.
"""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
from collections.abc import Sequence
from typing import Any

from bokeh.core.serialization import Serializer
from bokeh.model import Model
from bokeh.protocol.messages.patch_doc import patch_doc

from pmdviz.serve.server_internals import default_of, is_synced, is_themed, replace_default_of


def install() -> None:
    """Have patches and defaults made so from now on. Twice does no harm."""
    patch_doc.create = classmethod(create)
    replace_default_of(kept_default)


# Patches.


class KnownModels(Serializer):
    """Looks a model up when it is spoken of; what the browser has is sent as its id alone, as by Bokeh's own."""

    def __init__(self, models: Any) -> None:
        super().__init__()
        self._known = models

    def has_ref(self, obj: Any) -> bool:
        """Whether the browser has it, or will by this message."""
        return super().has_ref(obj) or (isinstance(obj, Model) and is_synced(self._known, obj))

    def get_ref(self, obj: Any) -> Any:
        """Its reference, None for what the browser does not have."""
        found = super().get_ref(obj)
        return obj.ref if found is None and self.has_ref(obj) else found


def create(kind: type, events: Sequence[Any], **metadata: Any) -> Any:
    """The message of these events of one document. Raises ValueError for events of none or of several."""
    documents = {event.document for event in events}
    if len(documents) != 1:
        raise ValueError(f"a patch is for one document; given: events of {len(documents)}")
    models = documents.pop().models
    serializer = KnownModels(models)
    message = kind(kind.create_header(), metadata, {"events": serializer.encode(list(events))})
    models.flush_synced(lambda model: not serializer.has_ref(model))
    message.add_buffers(*serializer.buffers)
    return message


# Defaults of models.

PLAIN = (str, int, float, bool, type(None))  # what nobody can change in place

_known: dict[tuple[type, str], Any] = {}


def kept_default(descriptor: Any, model: Any) -> Any:
    """Bokeh's own, which computes the default of a property that has not been set; themes come before it."""
    if is_themed(model, descriptor.name):
        return default_of(descriptor, model)
    key = (model.__class__, descriptor.name)
    if key not in _known:
        value = default_of(descriptor, model)
        if type(value) not in PLAIN or descriptor.has_unstable_default(model):
            return value
        _known[key] = value
    return _known[key]


# Memory.

EVERY_S = 10.0  # at most; a page takes some seconds until nothing refers to it any more

_waiting = False


def schedule_trim() -> None:
    """Have free memory given back in a while; many calls until then are one."""
    global _waiting
    if _waiting or sys.platform != "linux":
        return
    _waiting = True
    timer = threading.Timer(EVERY_S, _begin)  # a thread of its own: it takes tens of milliseconds
    timer.name, timer.daemon = "pmdviz-trim", True
    timer.start()


def _begin() -> None:
    global _waiting
    _waiting = False
    release_free_memory()


def release_free_memory() -> bool:
    """Give free memory back now; whether the C library can (musl cannot)."""
    gc.collect()  # a page is full of circles
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    return trim is not None
