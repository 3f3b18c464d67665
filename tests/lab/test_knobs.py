import pytest

from pmdviz.lab.controls.widgets import KnobForm
from pmdviz.methods import METHODS


@pytest.fixture
def form():
    turned = []
    form = KnobForm(lambda name, value: turned.append((name, value)))
    kind = METHODS["pmd"].Knobs
    form.rebuild(kind, kind.checked({}).as_dict())
    form.turned, form.kind = turned, kind
    show(form)
    return form


def show(form, pending=None, **knobs):
    form.show(form.kind.checked(knobs), form.kind.checked({}).as_dict(), pending or {})


@pytest.mark.parametrize(("text", "value"), [("0.05", 0.05), ("5e-2", 0.05), ("2", 2.0)])
def test_numbers_as_people_write_them(form, text, value):
    form.controls["bandwidth"].receive({"value": text})
    assert form.turned == [("bandwidth", value)]
    assert form.controls["bandwidth"].message == ""


def test_out_of_range_is_refused_with_the_bounds_and_turns_nothing(form):
    control = form.controls["num_particles"]
    control.receive({"value": "0"})
    assert form.turned == []
    assert "at least 1 and at most 100,000" in control.message
    assert control.value == "1500"
    control.receive({"value": "2000"})
    assert control.message == "" and form.turned == [("num_particles", 2000)]


def test_unit_and_default_are_those_of_the_rule_in_force(form):
    assert form.controls["bandwidth"].unit == "× automatic"
    show(form, bandwidth_rule="local")
    assert form.controls["bandwidth"].unit == "factor c"
    show(form, bandwidth_rule="isotropic")
    assert form.controls["bandwidth"].unit == "units of θ"
    assert form.controls["batch_size"].unit == "data points"
    show(form, bandwidth_rule="isotropic", bandwidth=0.3)
    control = form.controls["bandwidth"]
    assert control.changed and control.usual == "0.1"
    control.receive({"reset": True})
    assert form.turned == [("bandwidth", 0.1)]
