"""How long a browser that does not read is waited for, and the short way of an acknowledgement."""

import asyncio
import json
from types import SimpleNamespace

import pytest
from bokeh.document import Document
from bokeh.models import Row
from tornado.iostream import StreamClosedError
from tornado.websocket import WebSocketClosedError, WebSocketHandler

from pmdviz.lab.loop.frame_sender import Acknowledge
from pmdviz.serve import messages
from pmdviz.serve.messages import (
    COST,
    FULL,
    LOOKS,
    MAX_PULLS,
    MAX_READY,
    SHEETS_COST,
    Bucket,
    CheckedMessages,
    cost,
    frame_drawn,
)
from pmdviz.serve.server_internals import PacedStream, pace
from tests.lab.threads import in_a_thread
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
    handler = CheckedMessages.__new__(CheckedMessages)
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


class Below(WebSocketHandler):
    """What Bokeh has below: it is given whole messages in three parts."""

    max_message_size = 100_000

    def __init__(self):
        self.taken, self.closed = [], []
        document = Document()
        document.add_root(Row(name="r"))
        document.roots[0].tags = [Acknowledge(name="ack")]
        session = SimpleNamespace(document=document)
        self.connection = SimpleNamespace(session=session, _session=session)

    async def _receive(self, part):
        self.taken.append(part)
        return "message" if len(self.taken) % 3 == 0 else None

    def close(self, code, words):
        self.closed.append((code, words))


class Socket(CheckedMessages, Below):
    """A handler without a server."""

    def __init__(self):
        super().__init__()
        self._messages = Bucket(1e6, 1e6)

    async def say(self, kind, content):
        for part in ({"msgid": "c1", "msgtype": kind}, {}, content):
            found = await self.receive_part(json.dumps(part))
        return found


def ready():
    data = {"type": "event", "name": "document_ready", "values": {"type": "map"}}
    return {"events": [{"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": data}]}


@looped(
    "kind, content, often",
    [
        ("PATCH-DOC", {"events": [{"kind": "RootAdded"}]}, 0),
        ("PUSH-DOC", {}, 0),
        ("PATCH-DOC", ready(), MAX_READY),
        ("PULL-DOC-REQ", {}, MAX_PULLS),
    ],
)
def test_a_message_reaches_bokeh_whole_or_ends_the_connection(kind, content, often):
    async def scene():
        socket = Socket()
        for _ in range(often):
            assert await socket.say(kind, content) == "message"
        assert len(socket.taken) == 3 * often and not socket.closed
        assert await socket.say(kind, content) is None
        assert await socket.say("PULL-DOC-REQ", {}) is None  # nothing more is listened to
        assert len(socket.taken) == 3 * often
        assert [code for code, _ in socket.closed] == [1008] and len(
            socket.closed[0][1]
        ) < 120  # as the protocol has it

    in_a_thread(scene)


def test_a_model_that_has_gone_is_no_reason_to_end_the_connection():
    async def scene():
        socket, gone = Socket(), {"type": "object", "name": "Div", "id": "gone", "attributes": {}}
        change = {"kind": "ModelChanged", "model": gone, "attr": "text", "new": "x"}
        assert await socket.say("PATCH-DOC", {"events": [change]}) is None
        assert not socket.taken and not socket.closed
        assert await socket.say("PATCH-DOC", ready()) == "message"

    in_a_thread(scene)


@looped("when", ["before the message", "while it waits"])
def test_a_message_after_the_session_has_gone_is_dropped(when):
    async def scene():
        socket = Socket()

        async def leave(_cost):
            socket.connection._session = None

        if when == "while it waits":
            socket._rest = leave
        else:
            await leave(0)
        assert await socket.say("PATCH-DOC", ready()) is None
        assert not socket.taken and not socket.closed

    in_a_thread(scene)


def test_a_part_that_is_too_long_is_not_waited_for():
    async def scene():
        socket = Socket()
        await socket.receive_part("x" * 2_000)
        assert socket.closed and not socket.taken

    in_a_thread(scene)


def test_a_message_costs_what_its_events_make_bokeh_do():
    sheets, other = {"kind": "ModelChanged", "attr": "stylesheets"}, ready()["events"][0]
    assert [cost({"events": events}) for events in ([], [other], [other, other])] == [COST, COST, 2 * COST]
    assert cost({"events": [sheets, other]}) == SHEETS_COST + COST and cost({}) == COST


def test_who_sends_too_much_is_read_more_slowly(monkeypatch):
    slept = []

    async def sleep(seconds):
        slept.append(seconds)

    async def scene():
        socket = Socket()
        socket._messages = Bucket(100.0, 2 * COST)
        for _ in range(4):
            await socket.say("PATCH-DOC", {"events": []})
        assert len(slept) == 2 and slept[1] > slept[0] > 0.9 * COST / 100
        slept.clear()
        stream = PacedStream(SimpleNamespace(read_bytes=read), lambda number: number / 10)
        assert await stream.read_bytes(5) == b"xxxxx" and slept == [0.5]

    async def read(number):
        return b"x" * number

    monkeypatch.setattr(messages.asyncio, "sleep", sleep)
    in_a_thread(scene)


class Wire(Stream):
    """A stream that a test can close, and that notes each write."""

    def __init__(self):
        self.writes, self.shut = [], False

    def closed(self):
        return self.shut

    def close(self, exc_info=False):
        self.shut = True

    def write(self, data):
        if self.shut:
            raise StreamClosedError
        self.writes.append(data)
        done = asyncio.get_running_loop().create_future()
        done.set_result(None)
        return done


class Protocol:
    """A websocket's protocol as far as it writes."""

    _compressor = None

    def __init__(self):
        self.stream = Wire()

    def _write_frame(self, fin, opcode, data):
        return self.stream.write(bytes([opcode]) + data)


def test_messages_of_one_turn_of_the_loop_leave_as_one_piece_in_their_order():
    async def scene():
        protocol = Protocol()
        wire = protocol.stream
        pace(protocol, lambda number: 0.0)
        await asyncio.gather(protocol.write_message("a"), protocol.write_message(b"b", binary=True))
        await protocol.write_message("c")
        assert wire.writes == [b"\x01a\x02b", b"\x01c"]
        last = protocol.write_message("d")
        protocol.stream.close()
        assert wire.writes[-1] == b"\x01d" and wire.shut and await last is None
        with pytest.raises(WebSocketClosedError):
            protocol.write_message("e")

    in_a_thread(scene)


def test_a_message_to_a_tab_that_closes_meanwhile_fails_where_somebody_waits():
    async def scene():
        protocol = Protocol()
        wire = protocol.stream
        pace(protocol, lambda number: 0.0)
        late = protocol.write_message("a")
        wire.shut = True
        with pytest.raises(WebSocketClosedError):
            await late

    in_a_thread(scene)
