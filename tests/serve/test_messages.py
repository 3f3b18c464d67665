"""What a patch from a browser may hold, and how long a browser that does not read is waited for."""

from types import SimpleNamespace

import pytest

from pmdviz.serve.browser_messages import FULL, LOOKS, SMALL, CheckedMessages, patch_fault
from pmdviz.serve.handlers import SocketHandler

MODELS = {"p1": "ReactiveESM", "p2": "FileInput"}


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
