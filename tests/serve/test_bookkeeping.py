"""Defaults of models, which are looked up once a class, are those that Bokeh gives."""

import pytest
from bokeh.core.property.descriptors import PropertyDescriptor, UnsetValueError
from bokeh.document import Document
from bokeh.models import Div
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
