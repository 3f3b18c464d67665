"""Messages that browsers sent, recorded from real pages of Bokeh 3.9, and random changes of them."""

import copy
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

RECORDED = Path(__file__).parents[1] / "fixtures" / "browser_messages.json"
ARRAY = {"type": "ndarray", "order": "little", "shape": [4], "array": ["a"] * 4, "dtype": "U50000000"}
ENCODED = (
    ARRAY,
    {**ARRAY, "dtype": "S1000000", "array": ["x"] * 400},
    {**ARRAY, "dtype": "float64", "shape": [10**9], "array": {"type": "bytes", "data": "AAAA"}},
    {**ARRAY, "dtype": "object", "array": [[1], [2]]},
    {"type": "bytes", "data": "H4sIAAAAAAAC/w=="},
    {"type": "bytes", "data": {"id": "0"}},
    {"type": "typed_array", "array": [1], "order": "little", "dtype": "float64"},
    {"type": "array", "entries": [1]},
    {"type": "set", "entries": [1]},
    {"type": "slice", "start": 0, "stop": 1, "step": None},
    {"type": "value", "value": 1},
    {"type": "field", "field": "x"},
    {"type": "expr", "expr": {"id": "x"}},
    {"type": "symbol", "name": "x"},
    {"type": "number", "value": "1e400"},
    {"type": "object", "name": "Div", "id": "new", "attributes": {"text": "x"}},
    {"type": "object", "name": "Div"},
    {"type": "map", "entries": [[[1], 2]]},
    {"type": "event", "name": "tap", "values": {"type": "map"}},
)
ODD = (
    *(None, True, False, 0, -1, 2**70, 1e308, float("nan"), "", "a" * 3000, "\ud800", "<script>", "document_ready"),
    *([], {}, [[[[[[]]]]]], [1, "a", None], {"a": 1}),
    *({"id": "x"}, {"id": 5}, {"type": "map"}, {"type": 3}, {"type": []}),
)


@cache
def recorded() -> tuple[dict[str, Any], ...]:
    """One event of each kind; the ids of its models are the names of their classes."""
    return tuple(json.loads(RECORDED.read_text(encoding="utf-8")))


def mutated(rng: np.random.Generator, number: int) -> Iterator[dict[str, Any]]:
    """So many recorded events with something written over, left out, added, nested or moved."""
    events = recorded()
    for _ in range(number):
        event = copy.deepcopy(events[rng.integers(len(events))])
        for _ in range(rng.integers(1, 4)):
            _change(rng, event)
        yield event


def _change(rng: np.random.Generator, event: dict[str, Any]) -> None:
    holders = [part for part in _parts(event) if part]
    holder = holders[rng.integers(len(holders))] if holders else event
    keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
    key = keys[rng.integers(len(keys))]
    match rng.integers(7):
        case 0 | 1:
            holder[key] = copy.deepcopy(_one(rng, ODD))
        case 2:
            holder[key] = copy.deepcopy(_one(rng, ENCODED))
        case 3:
            del holder[key]
        case 4:
            depth = int(rng.integers(1, 60))
            for _ in range(depth):
                holder[key] = [holder[key]]
        case 5 if isinstance(holder, dict):
            holder[str(_one(rng, ("type", "id", "kind", "hint", "setter", "callback_invoker", "x")))] = copy.deepcopy(
                _one(rng, ODD)
            )
        case _:
            other = holders[rng.integers(len(holders))]
            holder[key] = copy.deepcopy(other)


def _one(rng: np.random.Generator, things: tuple[Any, ...]) -> Any:
    return things[rng.integers(len(things))]


def _parts(part: Any) -> Iterator[Any]:
    if isinstance(part, (dict, list)):
        yield part
        for inner in part.values() if isinstance(part, dict) else part:
            yield from _parts(inner)
