"""Frames to the browser, one parcel of bytes each, and what the browser says back."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import numpy as np
from bokeh.core.properties import Bool, Bytes, Int, Nullable, String
from bokeh.model import DataModel, Model
from bokeh.models import CustomJS, Div

from pmdviz.knobs import Value
from pmdviz.lab.css import DIALOG, EXPLAIN, MAKE, static
from pmdviz.render import MOTION
from pmdviz.scenes.columns import Source, pack

# What the browser says back: which frame it has drawn, whether anybody looks, which key was pressed.


class Acknowledge(DataModel):
    """The browser writes `drawn`, `hidden`, `key`, `presses`, `copied`, `refused`, `address`, `place` and `exactly`."""

    sent = Int(0)
    drawn = Int(0)
    shown = String("")  # JSON of the knobs in force in the last frame sent
    recorded = Bool(False)  # whether the last frame sent was a recorded one, until the live run takes over
    packed = Nullable(Bytes)  # columns of sources, see `pmdviz.scenes.columns`
    layout = String("[]")
    glide = Int(0)  # milliseconds in which dots move to the next frame; 0 on Pause: they are there at once
    parcel = Int(0)  # raised by the server after `packed` and `layout`
    words = String("")  # JSON of what the status panel says
    hidden = Bool(False)
    keyboard = Bool(False)  # whether the keys of the whole page belong to it: in the app while seen, not in a notebook
    presenter = Bool(False)  # for a lecture hall: the pointer says where it is
    pointer = Bool(False)  # whether a person has turned that over; the browser's own
    key = String("")
    presses = Int(0)
    link = String("")  # query of the link to the view, for the address bar
    text = String("")  # to be put on the clipboard; a query becomes a link
    copies = Int(0)  # raised by the server after `text`
    saves = Int(0)  # raised by the server: the browser saves a picture of the stage
    copied = Int(0)  # the last of `copies` that reached the clipboard
    place = Int(0)  # the iteration that a person goes to on the time line
    exactly = Bool(True)  # whether it must be that one: not while they drag
    places = Int(0)  # raised by the browser after `place`
    address = String("")  # the last link that was to be copied, with the address of the page before it
    refused = Int(0)  # the last of `copies` that the browser would not copy


HELP = DIALOG + static("frames.js", "help")
ON_SENT = f"const help = () => {{ {HELP} }}\n" + static("frames.js", "ears")
ON_PARCEL = MOTION + static("frames.js", "glide", "unpack")
ON_WORDS = EXPLAIN + static("frames.js", "timeline", "words")
ON_COPIES = static("frames.js", "copy")


def on_sent(ack: Acknowledge) -> CustomJS:
    """What the browser does with a frame, and once at the start."""
    return CustomJS(args={"a": ack}, code=ON_SENT)


def write_words(ack: Acknowledge, script: CustomJS) -> None:
    """Have a script write the `words`, those too that came with the page itself, with its first frame."""
    for name in ("words", "sent"):
        ack.js_on_change(name, script)


def make_acknowledge(
    figure: Model,
    keyboard: bool = False,
    sources: Sequence[Source] = (),
    status: Div | None = None,
    name: str = "acknowledge",
    marks: Source | None = None,
) -> Acknowledge:
    """A new acknowledgement model that enters the document together with `figure`.

    `sources` are those whose columns may come packed, `status` is the Div that shows `words`, and
    on its time line the `marks`, a source.
    """
    ack = Acknowledge(name=name, keyboard=keyboard)
    ack.js_on_change("sent", on_sent(ack))
    ack.js_on_change("link", CustomJS(args={"a": ack}, code=static("frames.js", "link")))
    ack.js_on_change("copies", CustomJS(args={"a": ack}, code=ON_COPIES))
    ack.js_on_change("parcel", CustomJS(args={"a": ack, "sources": list(sources)}, code=ON_PARCEL))
    if status is not None:
        shown = {"a": ack, "status": status, "figure": figure, "marks": marks}
        write_words(ack, CustomJS(args=shown, code=ON_WORDS))
    if keyboard:
        pointer = CustomJS(args={"a": ack, "figure": figure}, code=MAKE + static("frames.js", "pointer"))
        for event in ("mousemove", "mouseleave"):
            figure.js_on_event(event, pointer)
    figure.js_on_change("name", CustomJS(args={"a": ack}, code=""))
    return ack


UNSEEN = np.full(1, np.nan, np.float32)


class FrameSender:
    """Sends columns of the `packed` sources and the fields of the status panel.

    Until the page is there columns go into the document itself. From `live` on they take the short way, which leaves
    the sources of this side as they were in the document; the browser has the present.
    """

    def __init__(self, ack: Acknowledge, packed: Sequence[Source]) -> None:
        self._ack, self._packed = ack, list(packed)
        self._parcel: list[tuple[int, Mapping[str, np.ndarray]]] = []
        self._live, self._open = False, 0

    def live(self, on: bool = True) -> None:
        """The page is there, or no longer."""
        self._live = on

    def say(self, fields: Mapping[str, Value]) -> None:
        """Fill the status panel."""
        self._ack.words = json.dumps(fields)

    def put(self, source: Source, data: dict[str, np.ndarray]) -> None:
        """Give a source its columns; on the short way one row that is not painted instead of none."""
        if not self._live or source not in self._packed:
            source.data = data
            return
        if not len(next(iter(data.values()))):
            data = dict.fromkeys(data, UNSEEN)
        with self.together():
            self._parcel.append((self._packed.index(source), data))

    @contextmanager
    def together(self) -> Iterator[None]:
        """Changes within it go out as one parcel; within another it goes out with that one."""
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
