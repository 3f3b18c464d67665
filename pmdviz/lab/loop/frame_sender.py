"""The shortest way of frames and words to the browser: one parcel of bytes a frame."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from pmdviz.lab.loop.acknowledge import Acknowledge
from pmdviz.lab.panels.status import fields_html
from pmdviz.scenes.packing import pack


class FrameSender:
    """Sends columns of the `packed` sources and the fields of the status panel.

    Until the page is there they go into the document itself. From `live` on they take the short way, which leaves the
    sources and the text of this side as they were in the document; the browser has the present.
    """

    def __init__(self, ack: Acknowledge, packed: Sequence[Any], status: Any) -> None:
        self._ack, self._packed, self._status = ack, list(packed), status
        self._parcel: list[tuple[int, Mapping[str, np.ndarray]]] = []
        self._live, self._open = False, 0

    def live(self, on: bool = True) -> None:
        """The page is there, or no longer."""
        self._live = on

    def say(self, fields: Mapping[str, Any]) -> None:
        """Fill the status panel."""
        if self._live:
            self._ack.words = json.dumps(fields)
        else:
            self._status.text = fields_html(fields)

    def put(self, source: Any, data: dict[str, np.ndarray]) -> None:
        """Give a source its columns."""
        if not self._live or source not in self._packed:
            source.data = data
            return
        with self.together():
            self._parcel.append((self._packed.index(source), data))

    @contextmanager
    def together(self) -> Iterator[None]:
        """What is put within it goes out as one parcel; within another it goes out with that one."""
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1
        if self._parcel and not self._open:
            packed, layout = pack(self._parcel)
            self._parcel.clear()
            self._ack.update(packed=packed, layout=layout)
            self._ack.parcel += 1
