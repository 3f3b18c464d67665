"""What a browser may send over its websocket, and what it must take: everything else is refused or ends it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from typing import Any

from tornado.ioloop import PeriodicCallback

from pmdviz.lab.loop.acknowledge import Acknowledge
from pmdviz.serve.bokeh_internals import MessageHooks, has_session, set_from_browser
from pmdviz.serve.tornado_internals import bytes_waiting, gather_writes

KINDS = ("PATCH-DOC", "PULL-DOC-REQ")  # of messages that a page sends
EVENTS = ("ModelChanged", "MessageSent")  # of a patch that a page sends: it adds, replaces and removes no roots
MADE = ("ImportedStyleSheet", "InlineStyleSheet")  # when the theme changes, a page writes them anew
MAX_PULLS = 5  # of the whole document; a page asks once
SMALL = 65_536  # characters and bytes of a message that is no upload
UPLOADS = ("FileInput", "OwnDataView")  # models that take more
SAID = 3  # refusals of one connection that are logged
LOOK_S, LOOKS = 5.0, 3  # a reader that has taken nothing off for so many looks is none
FULL = 8 * 2**20  # bytes that wait for a reader before anybody looks whether it reads

log = logging.getLogger(__name__)


def patch_fault(content: Any, size: int, kind_of: Callable[[Any], str]) -> str:
    """What no page of ours would put into a patch, "" if there is nothing; `kind_of(id)` is "" for no model of it."""
    events = content.get("events", []) if isinstance(content, dict) else []
    changes = [event for event in events if isinstance(event, dict)]
    for event in changes:
        if event.get("kind") not in EVENTS:
            return f"a page sends no {str(event.get('kind'))[:40]}"
        made = next(_models_made(event, kind_of), "")
        if made:
            return f"a page makes no {made}"
    if size > SMALL and not all(_is_upload(kind_of(_target(event))) for event in changes):
        return f"{size:,} bytes that are no upload"
    return ""


def frame_drawn(content: Any, model_of: Callable[[str], Any]) -> tuple[Acknowledge, int] | None:
    """The frame that a browser has drawn and the model that says so, if that is all that a patch says."""
    match content:
        case {"events": [{"kind": "ModelChanged", "model": {"id": str(name)}, "attr": "drawn", "new": int(frame)}]}:
            model = model_of(name)
            return (model, frame) if isinstance(model, Acknowledge) else None
    return None


def _is_upload(kind: str) -> bool:
    """Whether a model takes more; Panel numbers the classes of what a component of ours has."""
    return kind.rstrip("0123456789") in UPLOADS


def _target(event: dict[str, Any]) -> Any:
    model = event.get("model")
    return model.get("id") if isinstance(model, dict) else None


def _models_made(part: Any, kind_of: Callable[[Any], str]) -> Iterator[str]:
    """The kinds of models that are described anywhere inside, but for what a page does make.

    Of a model that was sent after the page itself a browser sends the whole description back, once; Bokeh takes its id.
    """
    waiting = [part]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if part.get("type") == "object" and part.get("name") not in MADE and not kind_of(part.get("id")):
                yield str(part.get("name"))[:40] or "model"
            waiting += part.values()
        elif isinstance(part, list):
            waiting += part


class CheckedMessages(MessageHooks):
    """For the handler of the websocket."""

    _size = _whole = _pulls = _refused = _stuck = _waited = 0
    _look: PeriodicCallback | None = None

    def open(self, *args: Any, **kwargs: Any) -> Any:
        """The connection is there: look now and then whether its browser reads."""
        self._look = PeriodicCallback(self._look_at_reader, 1000 * LOOK_S)
        self._look.start()
        gather_writes(self.ws_connection)  # type: ignore[attr-defined]
        return super().open(*args, **kwargs)  # type: ignore[misc]

    def on_close(self) -> None:
        """The connection is gone; Bokeh's fails where a server that stops has let it go first."""
        if self._look is not None:
            self._look.stop()
        connection = self.connection  # type: ignore[attr-defined]
        if connection is None or has_session(connection):
            super().on_close()  # type: ignore[misc]

    async def receive_part(self, part: str | bytes) -> Any:
        """The parts of a message together are no longer than one part may be."""
        self._size += len(part)
        if self._size > self.max_message_size:  # type: ignore[attr-defined]
            self.end(f"a message of more than {self.max_message_size:,} bytes")  # type: ignore[attr-defined]
            return None
        message = await super().receive_part(part)
        if message is not None:
            self._whole, self._size = self._size, 0
        return message

    async def answer(self, message: Any) -> Any:
        """Answer what a page may send; an ERROR to everything else."""
        words = self._fault(message)
        if not words:
            drawn = frame_drawn(message.content, self._model) if message.msgtype == "PATCH-DOC" else None
            if drawn is None:
                return await super().answer(message)
            model, frame = drawn
            return await set_from_browser(self.connection, model, "drawn", frame)  # type: ignore[attr-defined]
        self._refused += 1
        if self._refused <= SAID:
            log.warning("a message was refused: %s", words)
        return self.connection.error(message, f"refused: {words}")  # type: ignore[attr-defined]

    def _fault(self, message: Any) -> str:
        kind = message.msgtype
        if kind not in KINDS:
            return f"a page sends no {kind}"
        if kind == "PULL-DOC-REQ":
            self._pulls += 1
            return "the document has been sent often enough" if self._pulls > MAX_PULLS else ""
        return patch_fault(message.content, self._whole, self._kind_of)

    def _model(self, model_id: str) -> Any:
        return self.connection.session.document.get_model_by_id(model_id)  # type: ignore[attr-defined]

    def _kind_of(self, model_id: Any) -> str:
        model = self._model(model_id) if isinstance(model_id, str) else None
        return "" if model is None else type(model).__name__

    def _look_at_reader(self) -> None:
        """End a connection on which more and more waits to be read."""
        stream = getattr(self.ws_connection, "stream", None)  # type: ignore[attr-defined]
        waits = bytes_waiting(stream) if stream is not None else 0
        self._stuck = self._stuck + 1 if waits > FULL and waits >= self._waited else 0
        self._waited = waits
        if self._stuck >= LOOKS:
            log.warning("a connection was closed: %s bytes wait for a browser that does not read", f"{waits:,}")
            stream.close()
