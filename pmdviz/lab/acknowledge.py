"""What the browser says back: which frame it has drawn, whether anybody looks, which key was pressed.

The model lives in an importable module (never in a served script) and is pulled into the document by a figure's
callback. The browser acknowledges a frame after the next animation frame, so a hidden tab stops acknowledging.
"""

from __future__ import annotations

from typing import Any

from bokeh.core.properties import Bool, Int, String
from bokeh.model import DataModel
from bokeh.models import CustomJS

from pmdviz.lab.css import static


class Acknowledge(DataModel):
    """`drawn`, `hidden`, `key`, `presses`, `copied`, `refused` are written by the browser, the rest by the server."""

    sent = Int(0)
    drawn = Int(0)
    shown = String("{}")  # the knobs of the frame `sent`, as JSON: for whoever checks what a picture shows
    shown = String("")  # JSON of the knobs in force in the last frame sent
    hidden = Bool(False)
    keyboard = Bool(False)  # whether the keys of the whole page belong to this lab (in the app, not in a notebook)
    key = String("")
    presses = Int(0)
    text = String("")  # to be put on the clipboard
    copies = Int(0)  # raised by the server after `text`
    copied = Int(0)  # the last of `copies` that reached the clipboard
    refused = Int(0)  # the last of `copies` that the browser would not copy


HELP = static("help.js")
ON_SENT = f"const help = () => {{ {HELP} }}\n" + static("ears.js")
ON_COPIES = static("copy.js")


def on_sent(ack: Acknowledge) -> CustomJS:
    """What the browser does with a frame, and once at the start."""
    return CustomJS(args={"a": ack}, code=ON_SENT)


def make_acknowledge(figure: Any, keyboard: bool = False) -> Acknowledge:
    """A new acknowledgement model that enters the document together with `figure`."""
    ack = Acknowledge(name="acknowledge", keyboard=keyboard)
    ack.js_on_change("sent", on_sent(ack))
    ack.js_on_change("copies", CustomJS(args={"a": ack}, code=ON_COPIES))
    figure.js_on_change("name", CustomJS(args={"a": ack}, code=""))
    return ack
