"""A browser session without a browser: it acknowledges frames, and checks that they rise and are whole."""

import asyncio
import json
import re
import time
from collections.abc import Callable
from typing import Any, Self

from pmdviz.lab.loop.live import FAST
from tests.support.wire import PATIENCE_S, Wire, objects

DRAW_S = 0.03  # what a browser needs from a frame to its acknowledgement
MAX_DRAWN = 5_000  # dots of a frame
ITERATION = re.compile(r"iteration ([\d,]+)")
STATUS = "pmdviz-status"


class Client:
    """One session."""

    def __init__(self, url: str, draw_s: float = DRAW_S) -> None:
        self.wire, self._draw_s = Wire(url, self._events, self._failed), draw_s
        self.frames: list[float] = []  # times (monotonic) at which a frame with a higher iteration came
        self.errors: list[str] = []  # what went wrong, in sentences
        self.words: dict[str, Any] = {}  # of the status panel
        self.iteration = -1
        self.models: dict[str, dict[str, Any]] = {}  # by id, as the document had them
        self.ack: dict[str, Any] = {}  # the attributes of the acknowledgement model
        self.ack_id, self._presses, self._closed = "", 0, False

    async def open(self, query: str = "") -> Self:
        document = await self.wire.open(query)
        self.models = {model["id"]: model for model in objects(document)}
        found = self.found("name", "acknowledge")
        self.ack_id, self.ack = found["id"], dict(found["attributes"])
        self.words = json.loads(self.ack.get("words") or "{}")
        self._look(str(self.words.get(STATUS, "")))
        self.wire.send_event("document_ready", {})
        self._drawn_later()
        return self

    async def close(self, cut: bool = False) -> None:
        """Close the tab; `cut` resets the connection instead, as a lost network does."""
        self._closed = True
        await self.wire.close(cut)

    async def until(self, condition: Callable[[], bool], seconds: float = PATIENCE_S) -> None:
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise TimeoutError(f"waited {seconds:.0f} s in vain at iteration {self.iteration}; {self.errors}")
            await asyncio.sleep(0.02)

    async def play(self) -> Self:
        """Wait for the first picture, choose the endless budget and full speed, and press Play."""
        await self.until(lambda: self.iteration >= 0)
        self.wire.patch(self.found("title", "Run length (observations used)")["id"], value="0")
        await self.until(lambda: "endless" in str(self.words.get("of", "")))
        self.wire.patch(self.found("title", "Speed")["id"], value=FAST.name)
        self.press("space")
        return self

    def press(self, key: str) -> None:
        self._presses += 1
        self.wire.patch(self.ack_id, key=key, presses=self._presses)

    def turn(self, knob: str, value: Any) -> None:
        form = next(m for m in self.models.values() if m["name"].endswith("ReactiveESM") and f"'{knob}'" in str(m))
        self.wire.send_event("data_event", {"model": {"id": form["id"]}, "data": {"name": knob, "value": value}})

    def found(self, attribute: str, value: str) -> dict[str, Any]:
        for model in self.models.values():
            if model["attributes"].get(attribute) == value:
                return model
        raise LookupError(f"there is no model whose {attribute} is {value!r}")

    def rate(self, since: float, until: float) -> float:
        return sum(since <= at < until for at in self.frames) / (until - since)

    # What comes in

    def _failed(self, sentence: str) -> None:
        if not self._closed:
            self.errors.append(sentence)

    def _events(self, events: list[dict[str, Any]], buffers: dict[str, bytes]) -> None:
        sent = self.ack.get("sent", 0)
        for event in events:
            self.models.update({model["id"]: model for model in objects(event)})
            if event["kind"] == "ModelChanged" and event["model"]["id"] == self.ack_id:
                self._changed(event["attr"], event["new"], buffers)
        if self.ack.get("sent", 0) > sent:
            self._drawn_later()

    def _changed(self, name: str, new: Any, buffers: dict[str, bytes]) -> None:
        if name == "packed":
            self.ack[name] = buffers[new["data"]["id"]] if isinstance(new, dict) else new
            return
        self.ack[name] = new
        if name == "words":
            self.words = json.loads(new)
            self._look(str(self.words.get(STATUS, "")))
        elif name == "parcel":
            self._check_columns()

    def _look(self, words: str) -> None:
        found = ITERATION.search(words)
        if found is None:
            return
        iteration = int(found[1].replace(",", ""))
        if iteration < self.iteration:
            self._failed(f"iteration {iteration} came after {self.iteration}")
        elif iteration > self.iteration:
            self.frames.append(time.monotonic())
        self.iteration = iteration

    def _check_columns(self) -> None:
        """The columns of one source have one length, at least 1, and lie within the bytes that came."""
        for source, columns in json.loads(self.ack["layout"]):
            lengths = {length for _, _, length in columns}
            ends = max(4 * (start + length) for _, start, length in columns)
            if len(lengths) != 1 or not 1 <= min(lengths) or ends > len(self.ack["packed"]):
                self._failed(f"source {source} came with columns {columns} in {len(self.ack['packed'])} bytes")

    def _drawn_later(self) -> None:
        asyncio.get_running_loop().call_later(self._draw_s, self._drawn, self.ack.get("sent", 0))

    def _drawn(self, number: int) -> None:
        if not self._closed and number > self.ack.get("drawn", 0):
            self.ack["drawn"] = number
            self.wire.patch(self.ack_id, drawn=number)
