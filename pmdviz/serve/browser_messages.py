"""What becomes of a browser's messages, and what it must take: anything else ends its connection."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

from tornado.ioloop import PeriodicCallback

from pmdviz.lab.loop.frame_sender import Acknowledge
from pmdviz.serve.allowed import Gone, Known, Refused, check_patch, check_short, is_ready, known, parsed
from pmdviz.serve.bokeh_internals import SocketHooks, has_session, set_from_browser
from pmdviz.serve.bucket import Bucket
from pmdviz.serve.tornado_internals import bytes_waiting, pace

MAX_PULLS = 2  # of the whole document by one connection; a page asks once
MAX_READY = 3  # times that a page says that it is there
POLICY = 1008  # by the protocol: a message against the rules
PARTS = 3  # of a message: header, metadata, content
MESSAGES = (200.0, 400.0)  # frames drawn of which a browser may tell per second, and at once
COST = 4.0  # any other message is worth so many of them: 50 per second, as a slider that is dragged
READS = (1_500.0, 6_000.0)  # parts of frames of the websocket: a message takes nine, a ping three
BYTES_S = 500_000  # bytes per second, once the longest message has come
LOOK_S, LOOKS = 5.0, 3  # a reader that has taken nothing off for so many looks is none
FULL = 8 * 2**20  # bytes that wait for a reader before anybody looks whether it reads

log = logging.getLogger(__name__)


def frame_drawn(content: Any, model_of: Callable[[str], Any]) -> tuple[Acknowledge, int] | None:
    """The frame that a browser has drawn and the model that says so, if that is all that a patch says."""
    match content:
        case {"events": [{"kind": "ModelChanged", "model": {"id": str(name)}, "attr": "drawn", "new": int(frame)}]}:
            model = model_of(name)
            return (model, frame) if isinstance(model, Acknowledge) else None
    return None


class CheckedMessages(SocketHooks):
    """For the handler of the websocket."""

    _pulls = _ready = _stuck = _waited = 0
    _ended = False
    _parts: tuple[str | bytes, ...] = ()
    _look: PeriodicCallback | None = None

    def open(self, *args: Any, **kwargs: Any) -> Any:
        """The connection is there: look now and then whether its browser reads."""
        self._look = PeriodicCallback(self._look_at_reader, 1000 * LOOK_S)
        self._look.start()
        self._reads, self._bytes = Bucket(*READS), Bucket(BYTES_S, self.max_message_size + BYTES_S)  # type: ignore[attr-defined]
        self._messages = Bucket(*MESSAGES)
        pace(self.ws_connection, self._owed)  # type: ignore[attr-defined]
        return super().open(*args, **kwargs)  # type: ignore[misc]

    def on_close(self) -> None:
        """The connection is gone; Bokeh's fails where a server that stops has let it go first."""
        if self._look is not None:
            self._look.stop()
        connection = self.connection  # type: ignore[attr-defined]
        if connection is None or has_session(connection):
            super().on_close()  # type: ignore[misc]

    def _owed(self, number: int) -> float:
        return max(self._reads.owed(), self._bytes.owed(number))

    async def receive_part(self, part: str | bytes) -> Any:
        """Whole messages that a page may send go on to Bokeh; any other one ends the connection."""
        if self._ended:
            return None
        self._parts += (part,)
        try:
            if len(self._parts) < PARTS:
                check_short(part)
                return None
            parts, self._parts = self._parts, ()
            return await self._received(parts)
        except Gone:
            await self._rest(COST)
            return None
        except Refused as reason:
            self._ended = True
            log.warning("a connection was closed: no page sends %s", reason)
            self.close(POLICY, f"no page sends {reason}")  # type: ignore[attr-defined]
            return None

    async def _received(self, parts: tuple[str | bytes, ...]) -> Any:
        """The message for Bokeh, None where nothing is left to do. Raises Refused."""
        if self.connection is None:  # type: ignore[attr-defined]
            raise Refused("anything before it is let in")
        self._check_session()
        kind, content = parsed(parts, self.max_message_size)  # type: ignore[attr-defined]
        if kind == "PATCH-DOC":
            check_patch(content, len(parts[-1]), self._known)
            drawn = frame_drawn(content, self._model)
            if drawn is not None:
                await set_from_browser(self.connection, drawn[0], "drawn", drawn[1])  # type: ignore[attr-defined]
                await self._rest(1)
                return None
        self._count(kind, content)
        await self._rest(COST)
        self._check_session()
        for part in parts:
            message = await super().receive_part(part)
        return message

    def _check_session(self) -> None:
        """Raises Gone after the page was left, or where the server stops: messages are still read then."""
        if not has_session(self.connection):  # type: ignore[attr-defined]
            raise Gone

    async def _rest(self, cost: float) -> None:
        """Read nothing more for a while where too much has come."""
        if wait := self._messages.owed(cost):
            await asyncio.sleep(wait)

    def _count(self, kind: str, content: Any) -> None:
        """What costs much, a page says once. Raises Refused."""
        self._pulls += kind != "PATCH-DOC"
        self._ready += is_ready(content)
        if self._pulls > MAX_PULLS or self._ready > MAX_READY:
            raise Refused("it so often")

    def _model(self, model_id: str) -> Any:
        return self.connection.session.document.get_model_by_id(model_id)  # type: ignore[attr-defined]

    def _known(self, model_id: str) -> Known | None:
        return known(self._model(model_id))

    def _look_at_reader(self) -> None:
        """End a connection on which more and more waits to be read."""
        stream = getattr(self.ws_connection, "stream", None)  # type: ignore[attr-defined]
        waits = bytes_waiting(stream) if stream is not None else 0
        self._stuck = self._stuck + 1 if waits > FULL and waits >= self._waited else 0
        self._waited = waits
        if self._stuck >= LOOKS:
            log.warning("a connection was closed: %s bytes wait for a browser that does not read", f"{waits:,}")
            stream.close()
