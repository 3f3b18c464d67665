"""What is done once gives what Bokeh gives: patches, and defaults of models, which are looked up once a class."""

import json
import re

import numpy as np
import pytest
from bokeh.core.property.descriptors import PropertyDescriptor, UnsetValueError
from bokeh.document import Document
from bokeh.document.events import ColumnDataChangedEvent, ModelChangedEvent, RootAddedEvent
from bokeh.models import ColumnDataSource, Div, Row
from bokeh.protocol.messages.patch_doc import patch_doc
from bokeh.themes import Theme
from bokeh.util.warnings import BokehDeprecationWarning

from pmdviz.lab import Lab
from pmdviz.serve import server_internals


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


# Patches.

bokehs_own = patch_doc.create.__func__


def sent_by(create):
    """What is sent of a known model, of a new one, of that one again, of a column, of a root; how many are new then."""
    document = Document()
    row, source, new = Row(Div(text="a")), ColumnDataSource({"x": np.arange(3.0)}), Div()
    document.add_root(row)
    document.models.flush_synced()
    sent = []

    def send(*events):
        message = create(patch_doc, list(events))
        sent.extend([json.loads(message.content_json), *(buffer.to_bytes().hex() for buffer in message.buffers)])

    send(ModelChangedEvent(document, row.children[0], "text", "b"))
    new.tags = [source, row]
    row.children = [*row.children, new]
    send(ModelChangedEvent(document, row, "children", row.children), ModelChangedEvent(document, new, "text", "c"))
    send(ModelChangedEvent(document, row, "children", row.children))
    send(ColumnDataChangedEvent(document, source, "data", {"x": np.arange(4.0)}))
    document.add_root(Div())
    send(RootAddedEvent(document, document.roots[1]))
    return numbered(json.dumps(sent)), len(document.models._new_models)


def numbered(text):
    """With numbers in place of ids, in the order in which they come."""
    seen = {}
    return re.sub(r'"id": "([^"]+)"', lambda found: f"id {seen.setdefault(found[1], len(seen))}", text)


def test_a_patch_is_as_bokeh_makes_it():
    ours = sent_by(server_internals.create)
    assert ours == sent_by(bokehs_own)
    assert ours[0].count('"attributes"') == 3  # each new model is described once
    with pytest.raises(ValueError, match="one document"):
        server_internals.create(patch_doc, [])
