"""Controls generated from knob declarations: one widget a knob, named after it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import panel as pn
import param
from panel.custom import JSComponent

from pmdviz.errors import InputError
from pmdviz.knobs import KnobSpec
from pmdviz.lab import css
from pmdviz.lab.css import static
from pmdviz.lab.limits import capped
from pmdviz.views.words import short

GROUPS = {  # in this order; the words say when the knobs below them act
    "at once": "Act at once, also while paused",
    "next step": "Act at the next step",
    "rejuvenation": "Act at the next step, which then draws new particles",
    "restart": "Act at a restart",
}


def as_text(value: Any) -> str:
    """A knob's value as its box shows it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return short(value).replace(",", "") if 1e-4 <= abs(value) < 1e15 or value == 0 else repr(value)
    return str(value)


class KnobControl(JSComponent):
    """The widget of one knob; what is typed goes through `KnobSpec.parse` and is refused beside the box if need be."""

    spec = param.Dict(default={}, doc="The declaration, in plain values.")
    value = param.String(doc="The value in force, as text.")
    message = param.String(doc="Why the last input was refused.")
    note = param.String(doc="When a new value will act.")
    changed = param.Boolean(doc="Whether the value differs from the default.")
    serial = param.Integer(doc="Raised to make the browser show `value` again.")

    _esm = static("knob.js")
    _stylesheets = [static("knob.css")]

    def __init__(self, knob: KnobSpec, default: Any, turn: Callable[[str, Any], None], **params: Any) -> None:
        self._knob, self._default, self._turn = knob, default, turn
        plain = _plain(knob, default)
        super().__init__(
            name=knob.name, spec=plain, value=as_text(default), sizing_mode="stretch_width", margin=0, **params
        )

    def _handle_msg(self, data: dict[str, Any]) -> None:
        """Input from the browser: {"value": text} or {"reset": true}."""
        self.enter(self._default if data.get("reset") else data.get("value"))

    def enter(self, raw: Any) -> None:
        """Take what a person gave: turn the knob, or say why not and keep the text."""
        try:
            value = self._knob.parse(raw)
        except InputError as error:
            self.message = str(error)
            return
        self.message = ""
        self.value = as_text(value)
        self.serial += 1
        self._turn(self.name, value)

    def show(self, value: Any, default: Any, note: str = "") -> None:
        """The value in force, what its default is now, and when a new value will act."""
        self._default = default
        text = as_text(value)
        changes = {"changed": value != default, "note": note}
        if text != self.value:
            changes.update(value=text, message="", serial=self.serial + 1)
        if as_text(default) != self.spec["usual"]:
            changes["spec"] = {**self.spec, "usual": as_text(default)}
        self.param.update(**changes)

    def refuse(self, sentence: str) -> None:
        """Say beside the box why a value could not be used."""
        self.message = sentence


def _plain(knob: KnobSpec, default: Any) -> dict[str, Any]:
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
        "unit": knob.unit,
        "help": knob.help,
        "kind": knob.kind,
        "choices": list(knob.choices),
        "low": low,
        "high": high,
        "log": bool(knob.log and low and low > 0),
        "whole": knob.kind == "whole",
        "usual": as_text(default),
    }


class KnobForm:
    """All knobs of a method (or options of a target), grouped by when they act; `view` goes onto the page."""

    def __init__(self, turn: Callable[[str, Any], None], headed: bool = True) -> None:
        self._turn, self._headed = turn, headed
        self._made: tuple[type, ...] | None = None
        self.controls: dict[str, KnobControl] = {}
        self._headings: dict[str, pn.pane.HTML] = {}
        self.view = pn.Column(sizing_mode="stretch_width", margin=0)

    def rebuild(self, knobs: type[Any], defaults: Mapping[str, Any]) -> None:
        """Make the widgets of another set of knobs; the same set keeps its widgets."""
        if self._made == (knobs,):
            return
        self._made, parts = (knobs,), []
        specs = {name: capped(spec) for name, spec in knobs.specs().items()}
        self.controls = {name: KnobControl(spec, defaults[name], self._turn) for name, spec in specs.items()}
        self._headings = {
            acts: pn.pane.HTML(_heading(text), margin=0, stylesheets=[css.TEXT], sizing_mode="stretch_width")
            for acts, text in GROUPS.items()
        }
        for acts in GROUPS:
            members = [self.controls[name] for name, spec in specs.items() if spec.acts == acts]
            if members:
                parts += ([self._headings[acts]] if self._headed else []) + members
        self.view[:] = parts

    def show(self, values: Any, defaults: Mapping[str, Any], pending: Mapping[str, str]) -> None:
        """Show the knobs in force; those that do nothing with these values are not shown at all."""
        plain, specs = values.as_dict(), values.specs()
        for name, control in self.controls.items():
            spec = specs[name]
            default = spec.default_given(plain) if spec.default_by else defaults[name]
            control.show(plain[name], default, pending.get(name, ""))
            relevant = spec.relevant(plain)
            if control.visible != relevant:
                control.visible = relevant


def _heading(text: str) -> str:
    return f'<div class="pmdviz-heading">{text}</div>'
