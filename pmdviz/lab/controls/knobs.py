"""Controls generated from knob declarations: one form, in it a knob for each of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import param
from panel.custom import JSComponent

from pmdviz.errors import InputError
from pmdviz.knobs import KnobSpec
from pmdviz.lab.css import EXPLAIN, static
from pmdviz.lab.loop.limits import capped
from pmdviz.lab.loop.locked import soon
from pmdviz.scenes.words import short

ACTS = {  # when a knob takes effect, in its explanation
    "at once": "immediately",
    "next step": "at the next step",
    "rejuvenation": "at the next step, with new particles",
    "restart": "on restart",
}


def as_text(value: Any) -> str:
    """A knob's value as its box shows it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return short(value).replace(",", "") if 1e-4 <= abs(value) < 1e15 or value == 0 else repr(value)
    return str(value)


class KnobControl:
    """One knob of a form; what is typed goes through `KnobSpec.parse` and is refused beside the box if need be."""

    def __init__(self, knob: KnobSpec, default: Any, turn: Callable[[str, Any], None], publish: Callable[[], None]):
        self.name, self._knob, self._default = knob.name, knob, default
        self._turn, self._publish = turn, publish
        self.value, self.message, self.note, self.unit = as_text(default), "", "", knob.unit
        self.changed, self.visible, self.serial = False, True, 0  # serial: raised to have `value` shown again
        self.folds = not knob.basic  # away under More, as things are

    @property
    def usual(self) -> str:
        """The default, as a person reads it."""
        if isinstance(self._default, bool):
            return "on" if self._default else "off"
        return self._knob.said(as_text(self._default))

    def state(self) -> dict[str, Any]:
        """What the browser shows, in plain values."""
        names = ("value", "message", "note", "unit", "changed", "visible", "serial", "usual", "folds")
        return {name: getattr(self, name) for name in names}

    def receive(self, data: Mapping[str, Any]) -> None:
        """Input from the browser, {"value": text} or {"reset": true}: set the knob, or say why not and keep the text.

        This is the one check of the value; from here on it goes its way as it is.
        """
        try:
            value = self._knob.parse(self._default if data.get("reset") else data.get("value"))
        except InputError as error:
            self.refuse(error.on_page)
            return
        self.message, self.value = "", as_text(value)
        self.serial += 1
        self._publish()
        self._turn(self.name, value)

    def show(
        self,
        value: Any,
        default: Any,
        note: str = "",
        unit: str | None = None,
        visible: bool = True,
        asked_for: bool = False,
    ) -> None:
        """The value in force, what its default is now, and when a new value will act.

        A knob that was changed, or is `asked_for` by another one that was, is not folded away.
        """
        self._default, self.changed, self.note, self.visible = default, value != default, note, visible
        self.folds = not (self._knob.basic or self.changed or asked_for)
        self.unit = self.unit if unit is None else unit
        text = as_text(value)
        if text != self.value:
            self.value, self.message = text, ""
            self.serial += 1
        self._publish()

    def refuse(self, sentence: str) -> None:
        """Say beside the box why a value could not be used."""
        self.message = sentence
        self.serial += 1
        self._publish()


def _plain(knob: KnobSpec) -> dict[str, Any]:
    low, high = knob.soft_bounds or (None, None)
    if (
        low is None
        and knob.kind in ("whole", "real")
        and knob.bounds
        and None not in knob.bounds
        and all(knob.inclusive)
    ):
        low, high = knob.bounds
    if low is not None and high - low > 1e7 and not knob.log:
        low = high = None  # a seed: a slider over billions is no help
    return {
        "name": knob.name,
        "label": knob.label or knob.name,
        "acts": ACTS[knob.acts],
        "help": knob.help,
        "kind": knob.kind,
        "basic": knob.basic,
        "choices": [[choice, knob.said(choice)] for choice in knob.choices],
        "examples": dict(knob.examples),
        "low": low,
        "high": high,
        "log": bool(knob.log and low and low > 0),
        "whole": knob.kind == "whole",
    }


def unit_given(unit: str, values: Mapping[str, Any]) -> str:
    """The part of a unit like "units of θ (isotropic) or factor c (local)" that holds for the choices in force."""
    parts = dict((choice, text) for text, choice in re.findall(r"(?:^|or )([^()]+) \((\w+)\)", unit))
    return next((text for choice, text in parts.items() if choice in values.values()), unit)


def in_order(specs: Mapping[str, KnobSpec]) -> list[str]:
    """The basic knobs first."""
    return sorted(specs, key=lambda name: not specs[name].basic)


class KnobForm(JSComponent):
    """All knobs of a method (or options of a target) as one element of the page: a model for each would be slow."""

    specs = param.List(default=[], doc="The declarations, in plain values and in the order of display.")
    states = param.Dict(default={}, doc="What each knob shows now.")

    _esm = EXPLAIN + static("knob.js")
    _stylesheets = [static("knob.css")]

    def __init__(self, turn: Callable[[str, Any], None] | None = None, **params: Any) -> None:
        self.controls: dict[str, KnobControl] = {}
        self._turn, self._made, self._quiet = turn, None, False
        self.hidden: frozenset[str] = frozenset()  # knobs that a link leaves out
        super().__init__(**{"sizing_mode": "stretch_width", "margin": 0, **params})

    def _handle_msg(self, data: dict[str, Any]) -> None:
        """Input from the browser, with the name of the knob."""
        if data.get("name") in self.controls:
            soon(self.controls[data["name"]].receive, data)

    def rebuild(
        self, knobs: type[Any], defaults: Mapping[str, Any], turn: Callable[[str, Any], None] | None = None
    ) -> None:
        """Show another set of knobs, from now on turned by `turn` if it is given; the same set stays as it is."""
        if self._made is not knobs:
            self._made, self._turn = knobs, turn or self._turn
            self.build({name: capped(spec, knobs) for name, spec in knobs.specs().items()}, defaults)

    def build(self, specs: Mapping[str, KnobSpec], defaults: Mapping[str, Any]) -> None:
        """Make a control for each declaration."""
        self.controls = {
            name: KnobControl(spec, defaults[name], self._turn, self._publish) for name, spec in specs.items()
        }
        states = {name: control.state() for name, control in self.controls.items()}
        self.param.update(specs=[_plain(specs[name]) for name in in_order(specs)], states=states)

    def show(
        self,
        values: Any,
        defaults: Mapping[str, Any],
        pending: Mapping[str, str],
        idle: frozenset[str] = frozenset(),
    ) -> None:
        """Show the knobs in force; those that do nothing, with these values or here (`idle`), are not shown at all."""
        plain, specs = values.as_dict(), values.specs()
        self._quiet = True
        for name, control in self.controls.items():
            spec = specs[name]
            default = spec.default_beside(plain, defaults)
            unit, seen = unit_given(spec.unit, plain), name not in idle and self._seen(name, values, plain)
            asked_for = any(plain[other] != defaults[other] for other in spec.only_if or ())
            control.show(plain[name], default, pending.get(name, ""), unit, seen, asked_for)
        self._quiet = False
        self._publish()

    def _seen(self, name: str, values: Any, plain: Mapping[str, Any]) -> bool:
        return name not in self.hidden and values.matters(name, plain)

    def _publish(self) -> None:
        states = {name: control.state() for name, control in self.controls.items()}
        if not self._quiet and states != self.states:
            self.states = states
