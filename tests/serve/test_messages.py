"""How long a browser that does not read is waited for, what ends its connection, and how messages leave."""

import json
from types import SimpleNamespace

from bokeh.document import Document
from bokeh.models import Row
from tornado.websocket import WebSocketHandler

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
from pmdviz.serve.server_internals import PacedStream
from tests.support.tables import looped


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
    ended, handler = [], CheckedMessages.__new__(CheckedMessages)
    stream = SimpleNamespace(close=lambda: ended.append(True))
    handler.ws_connection = SimpleNamespace(stream=stream)
    for size in waiting:
        stream._write_buffer = range(size)
        handler._look_at_reader()
    assert bool(ended) is closed


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


async def test_a_message_reaches_bokeh_whole_or_ends_the_connection():
    for kind, content, often in (
        ("PATCH-DOC", {"events": [{"kind": "RootAdded"}]}, 0),
        ("PUSH-DOC", {}, 0),
        ("PATCH-DOC", ready(), MAX_READY),
        ("PULL-DOC-REQ", {}, MAX_PULLS),
    ):
        socket = Socket()
        for _ in range(often):
            assert await socket.say(kind, content) == "message"
        assert not socket.closed
        assert await socket.say(kind, content) is None
        assert await socket.say("PULL-DOC-REQ", {}) is None  # nothing more is listened to
        assert len(socket.taken) == 3 * often
        ((code, words),) = socket.closed
        assert code == 1008 and len(words) < 120  # as the protocol has it
    socket = Socket()
    await socket.receive_part("x" * 2_000)  # a part that is too long is not waited for
    assert socket.closed and not socket.taken


async def test_what_has_gone_is_no_reason_to_end_the_connection():
    socket, gone = Socket(), {"type": "object", "name": "Div", "id": "gone", "attributes": {}}
    change = {"kind": "ModelChanged", "model": gone, "attr": "text", "new": "x"}
    assert await socket.say("PATCH-DOC", {"events": [change]}) is None
    assert not socket.taken and not socket.closed
    assert await socket.say("PATCH-DOC", ready()) == "message"
    before, meanwhile = Socket(), Socket()  # the session has gone before the message comes, or while it waits
    before.connection._session = None

    async def leave(_cost):
        meanwhile.connection._session = None

    meanwhile._rest = leave
    for socket in (before, meanwhile):
        assert await socket.say("PATCH-DOC", ready()) is None
        assert not socket.taken and not socket.closed


async def test_who_sends_too_much_is_read_more_slowly(monkeypatch):
    sheets, other = {"kind": "ModelChanged", "attr": "stylesheets"}, ready()["events"][0]
    assert [cost({"events": events}) for events in ([], [other], [other, other])] == [COST, COST, 2 * COST]
    assert cost({"events": [sheets, other]}) == SHEETS_COST + COST and cost({}) == COST
    slept = []

    async def sleep(seconds):
        slept.append(seconds)

    async def read(number):
        return b"x" * number

    monkeypatch.setattr(messages.asyncio, "sleep", sleep)
    socket = Socket()
    socket._messages = Bucket(100.0, 2 * COST)
    for _ in range(4):
        await socket.say("PATCH-DOC", {"events": []})
    assert len(slept) == 2 and slept[1] > slept[0] > 0.9 * COST / 100
    slept.clear()
    stream = PacedStream(SimpleNamespace(read_bytes=read), lambda number: number / 10)
    assert await stream.read_bytes(5) == b"xxxxx" and slept == [0.5]
