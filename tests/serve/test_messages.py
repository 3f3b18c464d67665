"""Messages of browsers: what passes, what ends a connection, how they leave, and defaults of models."""

import base64
import gzip
import json
import re
from types import SimpleNamespace

import numpy as np
import pytest
from bokeh.core.property.descriptors import PropertyDescriptor, UnsetValueError
from bokeh.document import Document
from bokeh.models import Div, Row
from bokeh.themes import Theme
from bokeh.util.warnings import BokehDeprecationWarning
from panel.custom import JSComponent
from tornado.websocket import WebSocketHandler

import pmdviz.serve.pages  # noqa: F401  all components of all pages
from pmdviz.lab import Lab
from pmdviz.lab.loop.frame_sender import Acknowledge
from pmdviz.lab.loop.task import Bucket
from pmdviz.serve import messages, server_internals
from pmdviz.serve.handlers import SocketHandler
from pmdviz.serve.server_internals import PacedStream
from tests.support.decoding import ARRAY, ENCODED, decoded, recorded
from tests.support.tables import looped


@looped(
    "waiting, closed",
    [
        ([messages.FULL + 1] * (messages.LOOKS + 1), True),
        ([messages.FULL + k for k in range(messages.LOOKS + 1)], True),
        ([messages.FULL] * 10, False),
        ([3 * messages.FULL, *(messages.FULL + k for k in (99, 9, 8, 7))], False),  # a slow reader of a large file
        ([2 * messages.FULL, 2 * messages.FULL, messages.FULL, 2 * messages.FULL, 2 * messages.FULL], False),
    ],
)
def test_who_takes_nothing_off_is_not_waited_for(waiting, closed):
    ended, handler = [], messages.CheckedMessages.__new__(messages.CheckedMessages)
    stream = SimpleNamespace(close=lambda: ended.append(True))
    handler.ws_connection = SimpleNamespace(stream=stream)
    for size in waiting:
        stream._write_buffer = range(size)
        handler._look_at_reader()
    assert bool(ended) is closed


def test_a_websocket_does_not_wait_for_an_answer_before_it_sends(monkeypatch):
    done, handler = [], SocketHandler.__new__(SocketHandler)
    handler.ws_connection = SimpleNamespace(set_nodelay=done.append)
    monkeypatch.setattr(messages.CheckedMessages, "open", lambda self: done.append("opened"))
    handler.open()
    assert done == [True, "opened"]


def drawn(model="p9", attr="drawn", new=7, kind="ModelChanged"):
    return {"kind": kind, "model": {"id": model}, "attr": attr, "new": new}


def test_an_acknowledgement_alone_takes_the_short_way():
    ack = Acknowledge()
    model_of = {"p9": ack, "p1": object()}.get
    assert messages.frame_drawn({"events": [drawn()]}, model_of) == (ack, 7)
    for events in ([drawn(), drawn()], [drawn("p1")], [drawn("p2")], [drawn(attr="presses")], [drawn(new="7")],
                   [drawn(kind="MessageSent")], [drawn(model=5)], [], "x"):  # fmt: skip
        assert messages.frame_drawn({"events": events}, model_of) is None
    assert messages.frame_drawn([], model_of) is None


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


class Socket(messages.CheckedMessages, Below):
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
        ("PATCH-DOC", ready(), messages.MAX_READY),
        ("PULL-DOC-REQ", {}, messages.MAX_PULLS),
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
    costs = [messages.cost({"events": events}) for events in ([], [other], [other, other], [sheets, other])]
    assert costs == [messages.COST, messages.COST, 2 * messages.COST, messages.SHEETS_COST + messages.COST]
    assert messages.cost({}) == messages.COST
    slept = []

    async def sleep(seconds):
        slept.append(seconds)

    async def read(number):
        return b"x" * number

    monkeypatch.setattr(messages.asyncio, "sleep", sleep)
    socket = Socket()
    socket._messages = Bucket(1.0, 2 * messages.COST)
    for _ in range(4):
        await socket.say("PATCH-DOC", {"events": []})
    assert len(slept) == 2 and slept[1] > slept[0] > 0.9 * messages.COST
    slept.clear()
    stream = PacedStream(SimpleNamespace(read_bytes=read), lambda number: number / 10)
    assert await stream.read_bytes(5) == b"xxxxx" and slept == [0.5]


LONGEST = 4_000_000
MODELS = {
    "p1": messages.Known("ReactiveESM", {"data_event"}),
    "p2": messages.Known("FileInput"),
    "p3": messages.Known("OwnDataView"),
    "p4": messages.Known("Acknowledge"),
    "p5": messages.Known("Toolbar"),
}
HEAD = '{"msgid":"c1","msgtype":"PATCH-DOC"}'


def check(*events, size=100):
    messages.check_patch({"events": list(events)}, size, MODELS.get)


def changed(model, attr, new):
    return {"kind": "ModelChanged", "model": {"id": model}, "attr": attr, "new": new}


def told(name, *entries):
    values = {"type": "map", "entries": [list(entry) for entry in entries]}
    data = {"type": "event", "name": name, "values": values}
    return {"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": data}


def described(name, kind="panel.models.esm.ReactiveESM"):
    return {"type": "object", "name": kind, "id": name, "attributes": {}}


TAPPED = (("sx", 1), ("sy", 1), ("x", 0.5), ("y", 0.5), ("modifiers", {"type": "map"}))
SHEET = {"type": "object", "name": "ImportedStyleSheet", "id": "new", "attributes": {"url": "a.css"}}


def test_what_real_pages_and_scripts_of_components_send_passes():
    assert len(recorded()) > 40
    for event in recorded():
        events = {"Button": {"button_click"}, "ReactiveESM": {"data_event"}, "Figure": {"tap", "doubletap"}}
        messages.check_patch(
            {"events": [event]}, 100, lambda name, events=events: messages.Known(name, events.get(name, ()))
        )
    for kind in [kind for kind in JSComponent.__subclasses__() if kind.__module__.startswith("pmdviz.")]:
        written = set(re.findall(r"\bmodel\.(\w+) (?:=|\+=) ", str(kind._esm)))
        assert written <= set(messages.WRITES.get(kind.__name__, ())), (kind.__name__, written)
    check(changed("p4", "drawn", 3), changed("p5", "stylesheets", ["a", {"id": "p1"}, SHEET]))
    check(told("document_ready"), told("data_event", ("model", {"id": "p1"}), ("data", {"type": "map", "entries": []})))
    check(told("data_event", ("model", described("p1")), ("data", {"type": "number", "value": "nan"})))
    check(changed("gone", "anything", [1]), told("tap", ("model", {"id": "gone"}), *TAPPED))  # Bokeh says so
    check(changed("gone", "stylesheets", ["a", SHEET]))
    with pytest.raises(messages.Gone):  # Bokeh would make it again
        check(told("data_event", ("model", described("gone"))))
    check(changed("p2", "value", "x" * messages.SMALL), size=2 * messages.SMALL)
    assert messages.is_ready({"events": [told("document_ready")]}) and not messages.is_ready({"events": [told("tap")]})


INLINE = base64.b64encode(gzip.compress(bytes(10**6))).decode()


@looped(
    "event",
    [
        *(changed("p4", "key", one) for one in ENCODED),
        *(changed("p4", "key", [{"a": {"type": "map", "entries": [["b", one]]}}]) for one in ENCODED),
        *(told("data_event", ("model", {"id": "p1"}), ("data", one)) for one in ENCODED),
        *(changed("gone", "key", one) for one in ENCODED),
        changed("p4", "key", {"type": "bytes", "data": INLINE}),
        changed("p2", "tags", []),
        changed("p2", "tags", [ARRAY]),
        changed("p4", "words", "mine"),
        changed("p4", "key", SHEET),
        changed("p5", "stylesheets", [{**SHEET, "attributes": {"url": [ARRAY]}}]),
        changed("p5", "stylesheets", [{**SHEET, "name": "Div"}]),
        changed("p5", "stylesheets", [{**SHEET, "id": f"new{k}"} for k in range(9)]),
        {**changed("p4", "key", 1), "callback_invoker": 1},
        {**changed("p4", "key", 1), "model": {"id": ["p4"]}},
        {"kind": "RootAdded", "model": described("p3")},
        {"kind": "ColumnDataChanged", "model": {"id": "p1"}, "attr": "data", "data": {}},
        {"kind": "TitleChanged", "title": "mine"},
        {},
        [],
        "x",
        told("data_event"),
        told("data_event", ("model", {"id": "p1"}), ("data", 1), ("more", 1)),
        told("dom_event", ("model", {"id": "p1"})),
        changed("p4", "key", {"id": [1]}),
        told("data_event", ("model", None)),
        told("data_event", ("model", {"id": "p4"})),
        told("tap", ("model", {"id": "p1"})),
        told("data_event", ("model", {"id": "p1"}), ("model", {"id": "p1"})),
        told("data_event", ([1], {"id": "p1"})),
        {**told("document_ready"), "msg_type": "other"},
        {**told("document_ready"), "msg_data": {"type": "event"}},
    ],
)
def test_what_no_page_sends_is_refused(event):
    with pytest.raises(messages.Refused) as refused:
        check(changed("p4", "drawn", 1), event)
    assert len(str(refused.value)) < 120


NESTED = json.loads("[" * 100 + "]" * 100)


@looped("event", [changed("p1", "x", "y"), changed("p2", "value", ["x" * messages.SMALL]), told("document_ready"),
                  changed("p4", "key", "x" * messages.SMALL), changed("p4", "key", NESTED)])  # fmt: skip
def test_only_a_plain_string_of_an_upload_may_be_long(event):
    with pytest.raises(messages.Refused):
        check(event, size=messages.SMALL + 1)


@looped(
    "parts",
    [
        (HEAD, "{}", b"{}"),
        (HEAD, "{}", "[" * messages.SMALL),
        (HEAD, "{}", "[" + "[]," * 2_000_000 + "[]]"),
        (HEAD, "{}", json.dumps({"events": [changed("p2", "value", ['a"'] * messages.SMALL)]})),
        (HEAD, "{}", json.dumps({"events": [changed("p2", "value", "é" * messages.SMALL)]}, ensure_ascii=False)),
        (HEAD, "{}", json.dumps({"events": [changed("p2", "value", "x" * LONGEST)]})),
        (HEAD, "{}", '{"a": NaN'),
        ('{"msgid":"c1","msgtype":"PATCH-DOC","num_buffers":1}', "{}", "{}"),
        ('{"msgid":"c1","msgtype":"PUSH-DOC"}', "{}", "{}"),
        ('{"msgid":"c1","msgtype":["PATCH-DOC"]}', "{}", "{}"),
        ('{"msgid":1,"msgtype":"PATCH-DOC"}', "{}", "{}"),
        ("[]", "{}", "{}"),
    ],
)
def test_a_message_is_looked_at_before_it_is_parsed(parts):
    with pytest.raises(messages.Refused):
        messages.parsed(parts, LONGEST)
    with pytest.raises(messages.Refused):
        messages.check_short("x" * (messages.SHORT + 1))
    content = {"events": [changed("p2", "value", "A" * (LONGEST - 1000))]}
    assert messages.parsed((HEAD, "{}", json.dumps(content)), LONGEST) == ("PATCH-DOC", content)


@pytest.mark.ci
def test_random_changes_of_what_pages_sent_do_no_harm():
    found = decoded(np.random.default_rng(0), 500)
    assert found["refused"] > 100 and found["decoded"] > 10
    assert found["wrong"] == [] and found["megabytes_at_most"] < 50


@pytest.fixture
def installed(monkeypatch):
    monkeypatch.setattr(PropertyDescriptor, "_get_default", PropertyDescriptor._get_default)
    monkeypatch.setattr(server_internals, "_known", {})
    server_internals.replace_default_of(server_internals.kept_default)


def values(models):
    return [{name: _value(model, name) for name in sorted(model.properties())} for model in models]


def _value(model, name):
    try:
        return getattr(model, name)
    except (UnsetValueError, BokehDeprecationWarning) as error:
        return type(error)


@pytest.mark.ci
def test_every_model_of_a_lab_has_bokehs_own_values(installed):
    models = [Lab().view.get_root()]
    models += models[0].references()
    ours = values(models)
    assert len(server_internals._known) > 500
    PropertyDescriptor._get_default = server_internals.default_of
    assert len(models) > 100 and values(models) == ours


def test_a_theme_comes_before_a_default_and_goes_again(installed):
    a, document = Div(), Document()
    assert a.text == "" and a.width is None
    document.add_root(a)
    document.theme = Theme(json={"attrs": {"Div": {"width": 70}}})
    assert a.width == 70 and Div().width is None
    document.theme = Theme(json={"attrs": {}})
    assert a.width is None
