"""Defaults of Bokeh's models, looked up once a class: a page asks for some 20,000, and each one was checked anew."""

from __future__ import annotations

from typing import Any

from pmdviz.serve.bokeh_internals import default_of, is_themed, replace_default_of

PLAIN = (str, int, float, bool, type(None))  # what nobody can change in place

_known: dict[tuple[type, str], Any] = {}


def _kept_default(descriptor: Any, model: Any) -> Any:
    """Bokeh's own, which computes the default of a property that has not been set; themes come before it."""
    if is_themed(model, descriptor.name):
        return default_of(descriptor, model)
    key = (model.__class__, descriptor.name)
    if key not in _known:
        value = default_of(descriptor, model)
        if type(value) not in PLAIN or descriptor.has_unstable_default(model):
            return value
        _known[key] = value
    return _known[key]


def install() -> None:
    """Have them kept from now on. Twice does no harm."""
    replace_default_of(_kept_default)
