"""What a patch from a browser may hold, and how long a browser that does not read is waited for."""

import asyncio
from types import SimpleNamespace

import pytest
from tornado.iostream import StreamClosedError

from pmdviz.lab.loop.acknowledge import Acknowledge
from pmdviz.serve.browser_messages import FULL, LOOKS, SMALL, CheckedMessages, frame_drawn, patch_fault
from pmdviz.serve.handlers import SocketHandler
from pmdviz.serve.tornado_internals import GatheredWrites
from tests.lab.threads import in_a_thread

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


def test_what_a_page_sends_is_taken():
    assert fault() == fault(changed("p1", [1, {"a": 2}]), event({"id": "p1"})) == ""
    assert fault(event(described("p1"))) == ""  # of a form that came after the page a browser sends all it knows
    assert fault(changed("p1", [described("new", "ImportedStyleSheet")])) == ""
    assert fault(changed("p2", "x" * 2 * SMALL), size=3 * SMALL) == ""  # a file
    assert fault(changed("p4", "x" * 2 * SMALL), size=3 * SMALL) == ""  # a person's table


@pytest.mark.parametrize(
    "one",
    [event(described("p3")), changed("p1", {"type": "map", "entries": [["a", [described("p3", "Div")]]]}),
     {"kind": "RootAdded", "model": described("p3")}, {"kind": "RootRemoved", "model": {"id": "p1"}}, {}],
)  # fmt: skip
def test_what_no_page_sends_is_named(one):
    assert fault(changed("p1", 1), one).startswith("a page ")


def test_a_long_message_is_an_upload():
    long = changed("p1", "x")
    for size, refused in ((SMALL, False), (SMALL + 1, True)):
        assert bool(fault(long, size=size)) is refused
        assert bool(fault(changed("p2", "x"), long, size=size)) is refused


class Stream:
    closed = False
    _write_buffer = b""

    def close(self):
        self.closed = True


@pytest.mark.parametrize(
    ("waiting", "closed"),
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


@pytest.mark.parametrize("let_go", [True, False])
def test_a_connection_that_the_stopping_server_has_let_go_closes_in_silence(let_go):
    told = []
    session = None if let_go else SimpleNamespace(notify_connection_lost=lambda: told.append("session"))
    handler = object.__new__(SocketHandler)
    handler.application = SimpleNamespace(client_lost=lambda connection: told.append("server"))
    handler.connection = SimpleNamespace(_session=session, session=session)
    handler.close_code = handler.close_reason = None
    handler._look = SimpleNamespace(stop=lambda: told.append("look"))
    handler.on_close()
    assert told == (["look"] if let_go else ["look", "session", "server"])


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


class Wire:
    def __init__(self):
        self.sent, self.shut, self.number = [], False, 5

    def closed(self):
        return self.shut

    def write(self, data):
        if self.shut:
            raise StreamClosedError()
        self.sent.append(data)

    def close(self):
        self.shut = True


def test_what_is_written_in_one_turn_of_the_loop_goes_out_at_once_and_in_its_order():
    async def act():
        stream = Wire()
        gathered = GatheredWrites(stream)
        assert gathered.number == 5
        for part in (b"head", b"er", memoryview(b" and data")):
            await gathered.write(part)
        assert stream.sent == []
        await asyncio.sleep(0)
        assert stream.sent == [b"header and data"]
        gathered.write(b"last words")
        gathered.close()
        assert stream.sent[1:] == [b"last words"] and stream.shut
        with pytest.raises(StreamClosedError):
            gathered.write(b"too late")
        await asyncio.sleep(0)

    in_a_thread(act)


def test_a_stream_that_closes_before_its_turn_fails_nobody():
    async def act():
        stream = Wire()
        GatheredWrites(stream).write(b"x")
        stream.shut = True
        await asyncio.sleep(0)
        assert stream.sent == []

    in_a_thread(act)
