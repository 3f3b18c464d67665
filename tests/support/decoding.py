"""Random changes of recorded messages at a page's document, through the guard and Bokeh's own decoder."""

import asyncio
import json
import tracemalloc
from typing import Any

import numpy as np
from bokeh.core.serialization import DeserializationError, Deserializer
from bokeh.document import Document
from panel.io.state import set_curdoc

from pmdviz.lab.loop import limits
from pmdviz.serve import pages
from pmdviz.serve.messages import Gone, Refused, check_patch, known, parsed
from tests.lab.threads import in_a_thread
from tests.support.mutations import mutated

HEADER = '{"msgid":"c1","msgtype":"PATCH-DOC"}'


class Decoded:
    """What became of so many messages."""

    def __init__(self, rng: np.random.Generator, number: int) -> None:
        self.refused = self.passed = self.unknown = 0  # by the guard; by both; by Bokeh, for a model that is not there
        self.wrong: list[str] = []  # errors of any other kind
        self.megabytes = 0.0  # the most that one message took
        self._document = whole_page()
        self._models = {known(model).kind: model for model in self._document.models}
        tracemalloc.start()
        for event in mutated(rng, number):
            self._try(self._placed(event))
        tracemalloc.stop()

    def _placed(self, part: Any) -> Any:
        """Names of classes become ids of models."""
        if isinstance(part, dict):
            plain = {name: self._placed(value) for name, value in part.items()}
            name = part.get("id")
            if isinstance(name, str) and name in self._models:
                plain["id"] = self._models[name].id
            return plain
        return [self._placed(value) for value in part] if isinstance(part, list) else part

    def _find(self, name: str) -> Any:
        return known(self._document.get_model_by_id(name))

    def _try(self, event: Any) -> None:
        text = json.dumps({"events": [event]})
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        try:
            content = parsed((HEADER, "{}", text), limits.longest_message())[1]
            check_patch(content, len(text), self._find)
            Deserializer([*self._document.models]).deserialize(content)
            self.passed += 1
        except Refused:
            self.refused += 1
        except Gone:
            self.unknown += 1
        except DeserializationError as error:
            self._note(error, "UnknownReference" in type(error).__name__)
        except Exception as error:
            self._note(error, False)
        self.megabytes = max(self.megabytes, (tracemalloc.get_traced_memory()[1] - before) / 2**20)

    def _note(self, error: Exception, expected: bool) -> None:
        if expected:
            self.unknown += 1
        else:
            self.wrong.append(f"{type(error).__name__}: {str(error)[:200]}")


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


def whole_page() -> Document:
    return in_a_thread(_opened)
