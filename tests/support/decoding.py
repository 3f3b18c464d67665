"""Messages that browsers sent, recorded from real pages of Bokeh 3.9, random changes of them, and what decodes them."""

import asyncio
import copy
import json
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from bokeh.core.serialization import Deserializer
from bokeh.document import Document
from panel.io.state import set_curdoc

from pmdviz.lab.loop import limits
from pmdviz.serve import pages
from pmdviz.serve.messages import Gone, Refused, check_patch, known, parsed
from tests.lab.threads import in_a_thread

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
            name = _one(rng, ("type", "id", "kind", "hint", "setter", "callback_invoker", "x"))
            holder[name] = copy.deepcopy(_one(rng, ODD))
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


HEADER = '{"msgid":"c1","msgtype":"PATCH-DOC"}'


def decoded(rng: np.random.Generator, number: int) -> dict[str, Any]:
    """What the guard and Bokeh's decoder make of so many changed messages at a whole page, and the most memory."""
    document = in_a_thread(_opened)
    models = {known(model).kind: model.id for model in document.models}
    ends, wrong, most = Counter(refused=0, of_models_that_are_not_there=0, decoded=0), [], 0
    tracemalloc.start()
    for event in mutated(rng, number):
        text = json.dumps({"events": [_placed(event, models)]})
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        try:
            content = parsed((HEADER, "{}", text), limits.longest_message())[1]
            check_patch(content, len(text), lambda name: known(document.get_model_by_id(name)))
            Deserializer([*document.models]).deserialize(content)
            ends["decoded"] += 1
        except Refused:
            ends["refused"] += 1
        except Exception as error:
            if isinstance(error, Gone) or "UnknownReference" in type(error).__name__:
                ends["of_models_that_are_not_there"] += 1
            else:
                wrong.append(f"{type(error).__name__}: {str(error)[:200]}")
        most = max(most, tracemalloc.get_traced_memory()[1] - before)
    tracemalloc.stop()
    return {"tried": number, **ends, "megabytes_at_most": round(most / 2**20, 1), "wrong": wrong}


def _placed(part: Any, models: dict[str, str]) -> Any:
    """Names of classes become ids of models."""
    if isinstance(part, list):
        return [_placed(value, models) for value in part]
    if not isinstance(part, dict):
        return part
    name = part.get("id")
    plain = {key: _placed(value, models) for key, value in part.items()}
    return plain | {"id": models[name]} if isinstance(name, str) and name in models else plain


async def _opened() -> Document:
    document = Document()
    with set_curdoc(document):
        pages.lab_page().server_doc(document)
        tabs = next(one for one in pages.open_pages if one.doc is document)
        for name in tabs.kinds:
            tabs.choose(name)
            while name not in tabs.built:
                await asyncio.sleep(0.05)
        while tabs._tasks:  # until the last one is in the document
            await asyncio.sleep(0.05)
        tabs.stop()
    return document
