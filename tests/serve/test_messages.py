"""How long a browser that does not read is waited for, and the short way of an acknowledgement."""

from pmdviz.lab.loop.acknowledge import Acknowledge
from pmdviz.serve.browser_messages import FULL, LOOKS, CheckedMessages, frame_drawn
from tests.support.tables import looped


class Stream:
    closed = False
    _write_buffer = b""

    def close(self):
        self.closed = True


@looped(
    "waiting, closed",
    [
        ([FULL + 1] * (LOOKS + 1), True),
        ([FULL + k for k in range(LOOKS + 1)], True),
        ([FULL] * 10, False),
        ([3 * FULL, 2 * FULL, FULL + 9, FULL + 8, FULL + 7], False),  # a slow reader of a large file
        ([2 * FULL, 2 * FULL, FULL, 2 * FULL, 2 * FULL], False),
    ],
)
def test_who_takes_nothing_off_is_not_waited_for(waiting, closed):
    handler = CheckedMessages()
    handler.ws_connection = type("Connection", (), {"stream": Stream()})
    for size in waiting:
        handler.ws_connection.stream._write_buffer = range(size)
        handler._look_at_reader()
    assert handler.ws_connection.stream.closed is closed


def drawn(model="p9", attr="drawn", new=7, kind="ModelChanged"):
    return {"kind": kind, "model": {"id": model}, "attr": attr, "new": new}


def test_an_acknowledgement_alone_takes_the_short_way():
    ack = Acknowledge()
    model_of = {"p9": ack, "p1": object()}.get
    assert frame_drawn({"events": [drawn()]}, model_of) == (ack, 7)
    for events in ([drawn(), drawn()], [drawn("p1")], [drawn("p2")], [drawn(attr="presses")], [drawn(new="7")],
                   [drawn(kind="MessageSent")], [drawn(model=5)], [], "x"):  # fmt: skip
        assert frame_drawn({"events": events}, model_of) is None
    assert frame_drawn([], model_of) is None
