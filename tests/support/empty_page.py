"""An empty figure that acknowledges every frame, two in flight: the most frames a second that one could hope for."""

import panel as pn
from bokeh.plotting import figure

from pmdviz.lab.loop.frame_sender import make_acknowledge
from pmdviz.lab.loop.live import IN_FLIGHT

pn.extension()
empty = figure(width=600, height=600, name="stage")
ack = make_acknowledge(empty)


def send(attr: str, old: int, new: int) -> None:
    """Send what fits in flight."""
    while ack.sent - ack.drawn < IN_FLIGHT:
        ack.sent += 1


ack.on_change("drawn", send)
pn.state.onload(lambda: send("drawn", 0, 0))
pn.pane.Bokeh(empty).servable()
