"""What a patch from a browser may hold, and how long a browser that does not read is waited for."""

from pmdviz.lab.loop.acknowledge import Acknowledge
from pmdviz.serve.browser_messages import FULL, LOOKS, SMALL, CheckedMessages, frame_drawn, patch_fault
from tests.support.tables import looped

MODELS = {"p1": "ReactiveESM", "p2": "FileInput", "p4": "OwnDataView1"}


def fault(*events, size=100):
    return patch_fault({"events": list(events)}, size, lambda name: MODELS.get(name, ""))


def changed(model, new):
    return {"kind": "ModelChanged", "model": {"id": model}, "attr": "value", "new": new}


def described(name, kind="panel.models.esm.ReactiveESM"):
    return {"type": "object", "name": kind, "id": name, "attributes": {}}


def event(model):
    values = {"type": "map", "entries": [["model", model], ["data", {"type": "map", "entries": [["name", "frames"]]}]]}
    return {"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": {"type": "event", "values": values}}


def test_what_a_page_sends_is_taken_and_a_long_message_is_an_upload():
    assert fault() == fault(changed("p1", [1, {"a": 2}]), event({"id": "p1"})) == ""
    assert fault(event(described("p1"))) == ""  # of a form that came after the page a browser sends all it knows
    assert fault(changed("p1", [described("new", "ImportedStyleSheet")])) == ""
    assert fault(changed("p2", "x" * 2 * SMALL), size=3 * SMALL) == ""  # a file
    assert fault(changed("p4", "x" * 2 * SMALL), size=3 * SMALL) == ""  # a person's table
    long = changed("p1", "x")
    for size, refused in ((SMALL, False), (SMALL + 1, True)):
        assert bool(fault(long, size=size)) is refused
        assert bool(fault(changed("p2", "x"), long, size=size)) is refused


@looped(
    "one",
    [event(described("p3")), changed("p1", {"type": "map", "entries": [["a", [described("p3", "Div")]]]}),
     {"kind": "RootAdded", "model": described("p3")}, {"kind": "RootRemoved", "model": {"id": "p1"}}, {}],
)  # fmt: skip
def test_what_no_page_sends_is_named(one):
    assert fault(changed("p1", 1), one).startswith("a page ")


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
