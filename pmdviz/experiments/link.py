"""The knobs of an experiment as a short text for links: the format's number, a dot, the folded JSON of what differs.

In the form of a recipe's link; but knobs that have their defaults are left out, and follow them when they change.
"""

from __future__ import annotations

import json
from typing import Any

from pmdviz.engine.recipe_parts import FORMAT, fold, json_value, mapping, unfold
from pmdviz.knobs import Knobs


def changed(knobs: Knobs) -> dict[str, Any]:
    """The knobs that do not have their defaults, those that follow from others included."""
    values, specs = knobs.as_dict(), knobs.specs()
    return {name: value for name, value in values.items() if value != specs[name].default_given(values)}


def pack(knobs: Knobs) -> str:
    """The text that stands for `knobs`; equal ones give equal texts, and the defaults ""."""
    plain = changed(knobs)
    if not plain:
        return ""
    text = json.dumps(plain, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
    return f"{FORMAT}.{fold(text)}"


def unpack(text: str) -> dict[str, Any]:
    """The plain values of `pack`'s text, not checked yet. Raises InputError for others."""
    if not text:
        return {}
    return mapping("the knobs of a link", json_value(unfold(text)[1]))
