import pytest

from pmdviz.lab.controls.widgets import KnobForm, as_text
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


def test_values_as_text_can_be_read_back():
    assert [as_text(v) for v in (0.05, 2.0, 1500.0, 1500, True, "ess", 1e-9)] == [
        "0.05", "2", "1500", "1500", "true", "ess", "1e-09",
    ]  # fmt: skip


def test_the_basic_knobs_come_first_and_what_was_changed_does_not_fold_away(form):
    shown = [spec["name"] for spec in form.specs if form.controls[spec["name"]].visible]
    assert shown[:5] == ["num_particles", "eta", "policy", "batch_size", "bandwidth"]
    assert [name for name in shown if not form.states[name]["folds"]] == shown[:5]
    assert {spec["name"] for spec in form.specs} == set(form.controls)
    assert form.states["n0"]["folds"] and form.states["until"]["folds"]
    show(form, n0=3.0, policy="until")
    assert not form.states["n0"]["folds"], "changed"
    assert not form.states["until"]["folds"], "without t₀ the choice means nothing"
    assert form.states["step_limit"]["folds"]


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


def test_the_browser_is_told_once_what_a_form_shows(form):
    told = []
    form.param.watch(lambda event: told.append(event.new), "states")
    show(form, eta=5.0, bandwidth=2.0)
    show(form, eta=5.0, bandwidth=2.0)
    assert len(told) == 1 and told[0]["eta"]["value"] == "5" and told[0]["bandwidth"]["changed"]
    form._handle_msg({"name": "eta", "value": "-1"})
    assert "Step size η must be" in form.states["eta"]["message"]
