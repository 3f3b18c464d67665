"""Patches without a table of all models: Bokeh makes one for every message, though a frame speaks of two or three."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bokeh.core.serialization import Serializer
from bokeh.model import Model
from bokeh.protocol.messages.patch_doc import patch_doc

from pmdviz.serve.bokeh_internals import is_synced


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


def install() -> None:
    """Have patches made so from now on. Twice does no harm."""
    patch_doc.create = classmethod(create)
