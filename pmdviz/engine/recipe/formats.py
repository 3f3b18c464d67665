"""Formats of recipes and links, and the defaults that an earlier one had.

A recipe that leaves a knob out means the default of its own format. What changes a run without being asked for, such as
another default, therefore needs a new format, and what the earlier one had is kept here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pmdviz.methods import find_method

FORMAT = 3
BUDGETS = {1: 20_000}
KNOBS: dict[int, dict[str, Any]] = {1: {"step_limit": 0.0, "bandwidth_rule": "local"}}  # of every method that has them
UNTIL_2 = {  # of one method, in formats 1 and 2
    "gibbs": {"burn_in": 50.0},
    "sgld": {"burn_in": 1000.0},
    "hmc": {"burn_in": 100.0, "leapfrog_steps": 10},
    "mala": {"burn_in": 500.0},
}
METHOD_KNOBS: dict[int, dict[str, dict[str, Any]]] = {1: UNTIL_2, 2: UNTIL_2}


def earlier_knobs(given: Mapping[str, Any], method: str, version: int) -> dict[str, Any]:
    """`given` knobs of a method, completed by the defaults of `version` that are others today."""
    known = find_method(method).Knobs.specs()
    shared = {name: value for name, value in KNOBS.get(version, {}).items() if name in known}
    return {**shared, **METHOD_KNOBS.get(version, {}).get(method, {}), **given}
