"""Columns of several pictures reach the browser whole, however often they are sent."""

import json

import numpy as np
from bokeh.document import Document
from bokeh.models import ColumnDataSource, Div

from pmdviz.lab.loop.frame_sender import Acknowledge, FrameSender


def test_a_held_document_loses_no_columns():
    """Bokeh keeps the last value of a property alone: the draws of a run before stayed in view, and no error came."""
    doc, ack, sources = Document(), Acknowledge(), [ColumnDataSource() for _ in range(3)]
    doc.add_root(ack)
    sender = FrameSender(ack, sources, Div(), str)
    sender.live()
    sent: list[list[int]] = []
    doc.on_change(lambda event: event.attr == "layout" and sent.append([at for at, _ in json.loads(event.new)]))
    doc.hold("combine")
    with sender.together():
        sender.put(sources[0], {"x": np.zeros(3)})
        sender.put(sources[1], {"x": np.zeros(2)})
    sender.put(sources[1], {"x": np.ones(4)})
    doc.unhold()
    assert sent == [[0, 1]]
    assert np.frombuffer(ack.packed, "<f4").tolist() == [0.0] * 3 + [1.0] * 4
    sender.put(sources[2], {"x": np.zeros(1)})
    assert sent == [[0, 1], [2]], "what has left is not sent again"
