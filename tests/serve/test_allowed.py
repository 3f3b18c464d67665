"""What pages send passes the guard; what no page sends is refused before Bokeh decodes it."""

import base64
import gzip
import json
import re

import numpy as np
import pytest
from panel.custom import JSComponent

import pmdviz.serve.pages  # noqa: F401  all components of all pages
from pmdviz.serve.messages import SHORT, SMALL, WRITES, Gone, Known, Refused, check_patch, check_short, is_ready, parsed
from tests.support.decoding import Decoded
from tests.support.mutations import ARRAY, ENCODED, recorded
from tests.support.tables import looped

LONGEST = 4_000_000
MODELS = {
    "p1": Known("ReactiveESM", {"data_event"}),
    "p2": Known("FileInput"),
    "p3": Known("OwnDataView"),
    "p4": Known("Acknowledge"),
    "p5": Known("Toolbar"),
}
HEAD = '{"msgid":"c1","msgtype":"PATCH-DOC"}'


def check(*events, size=100):
    check_patch({"events": list(events)}, size, MODELS.get)


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


def test_what_real_pages_sent_passes():
    assert len(recorded()) > 40
    for event in recorded():
        events = {"Button": {"button_click"}, "ReactiveESM": {"data_event"}, "Figure": {"tap", "doubletap"}}
        check_patch({"events": [event]}, 100, lambda name, events=events: Known(name, events.get(name, ())))


def test_what_the_scripts_of_components_write_is_allowed():
    for kind in [kind for kind in JSComponent.__subclasses__() if kind.__module__.startswith("pmdviz.")]:
        written = set(re.findall(r"\bmodel\.(\w+) (?:=|\+=) ", str(kind._esm)))
        assert written <= set(WRITES.get(kind.__name__, ())), (kind.__name__, written)


def test_what_a_page_sends_passes():
    check(changed("p4", "drawn", 3), changed("p5", "stylesheets", ["a", {"id": "p1"}, SHEET]))
    check(told("document_ready"), told("data_event", ("model", {"id": "p1"}), ("data", {"type": "map", "entries": []})))
    check(told("data_event", ("model", described("p1")), ("data", {"type": "number", "value": "nan"})))
    check(changed("gone", "anything", [1]), told("tap", ("model", {"id": "gone"}), *TAPPED))  # Bokeh says so
    check(changed("gone", "stylesheets", ["a", SHEET]))
    with pytest.raises(Gone):  # Bokeh would make it again
        check(told("data_event", ("model", described("gone"))))
    check(changed("p2", "value", "x" * SMALL), size=2 * SMALL)
    assert is_ready({"events": [told("document_ready")]}) and not is_ready({"events": [told("tap")]})


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
    with pytest.raises(Refused) as refused:
        check(changed("p4", "drawn", 1), event)
    assert len(str(refused.value)) < 120


def nested(depth):
    value = 1
    for _ in range(depth):
        value = [value]
    return value


@looped("event", [changed("p1", "x", "y"), changed("p2", "value", ["x" * SMALL]), told("document_ready"),
                  changed("p4", "key", "x" * SMALL), changed("p4", "key", nested(100))])  # fmt: skip
def test_only_a_plain_string_of_an_upload_may_be_long(event):
    with pytest.raises(Refused):
        check(event, size=SMALL + 1)


@looped(
    "parts",
    [
        (HEAD, "{}", b"{}"),
        (HEAD, "{}", "[" * SMALL),
        (HEAD, "{}", "[" + "[]," * 2_000_000 + "[]]"),
        (HEAD, "{}", json.dumps({"events": [changed("p2", "value", ['a"'] * SMALL)]})),
        (HEAD, "{}", json.dumps({"events": [changed("p2", "value", "é" * SMALL)]}, ensure_ascii=False)),
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
    with pytest.raises(Refused):
        parsed(parts, LONGEST)
    with pytest.raises(Refused):
        check_short("x" * (SHORT + 1))
    content = {"events": [changed("p2", "value", "A" * (LONGEST - 1000))]}
    assert parsed((HEAD, "{}", json.dumps(content)), LONGEST) == ("PATCH-DOC", content)


@pytest.mark.ci
def test_random_changes_of_what_pages_sent_do_no_harm():
    decoded = Decoded(np.random.default_rng(0), 500)
    assert decoded.refused > 100 and decoded.passed > 10
    assert decoded.wrong == [] and decoded.megabytes < 50
