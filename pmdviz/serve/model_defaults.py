"""Defaults of Bokeh's models, looked up once a class: a page asks for some 20,000, and each one was checked anew.

Private parts of Bokeh 3.9 and 3.10 that this file relies on: `PropertyDescriptor._get_default`, and the attribute
`__themed_values__` of a model.
"""

from __future__ import annotations

from typing import Any

from bokeh.core.property.descriptors import PropertyDescriptor

PLAIN = (str, int, float, bool, type(None))  # what nobody can change in place

_bokehs = PropertyDescriptor._get_default
_known: dict[tuple[type, str], Any] = {}


def _get_default(self: Any, model: Any) -> Any:
    """Bokeh's own, which computes the default of a property that has not been set; themes come before it."""
    themed = model.__dict__.get("__themed_values__")
    if themed is not None and self.name in themed:
        return _bokehs(self, model)
    key = (model.__class__, self.name)
    if key not in _known:
        value = _bokehs(self, model)
        if type(value) not in PLAIN or self.has_unstable_default(model):
            return value
        _known[key] = value
    return _known[key]


def install() -> None:
    """Have them kept from now on. Twice does no harm."""
    PropertyDescriptor._get_default = _get_default
