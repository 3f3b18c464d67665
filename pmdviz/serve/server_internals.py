"""Every private part of Bokeh, tornado and panel-material-ui that the served app uses.

Tried with Bokeh 3.9 and 3.10 (bokeh>=3.9,<3.11): `Server._tornado`, `ServerSession._token` and
`_current_patch_connection`, `ServerConnection._session`, `WSHandler._receive` and `_async_open`,
`ApplicationContext._sessions` and `_discard_session`, `SessionContext._document`, `DocumentModelManager._models` and
`_new_models`, `PropertyDescriptor._get_default`, `__themed_values__` of a model, and the form of a token (JSON in
base64, its payload packed by zlib).

Tried with tornado 6.5 and 6.6 (tornado>=6.5,<7): `RequestHandler._finished`, `IOStream._write_buffer`, and `stream`,
`_compressor` and `_write_frame` of a websocket's protocol. With panel-material-ui~=0.16.6: `Page._render_esm`.
"""

from __future__ import annotations

import asyncio
import base64
import ctypes
import gc
import json
import sys
import threading
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import panel_material_ui as pmui
from bokeh.application.application import SessionContext
from bokeh.core.property.descriptors import PropertyDescriptor
from bokeh.core.serialization import Ref, Serializer
from bokeh.document import Document
from bokeh.document.events import DocumentPatchedEvent
from bokeh.document.models import DocumentModelManager
from bokeh.model import Model
from bokeh.protocol.message import Message
from bokeh.protocol.messages.patch_doc import patch_doc
from bokeh.server.connection import ServerConnection
from bokeh.server.contexts import ApplicationContext
from bokeh.server.server import BaseServer
from bokeh.server.session import ServerSession
from bokeh.server.tornado import BokehTornado
from bokeh.util.token import generate_jwt_token, get_session_id
from tornado.escape import utf8
from tornado.iostream import IOStream, StreamClosedError
from tornado.web import RequestHandler
from tornado.websocket import WebSocketClosedError, WebSocketHandler, WebSocketProtocol13

from pmdviz.files import Json
from pmdviz.lab.panel_internals import own_thread

PACKED = "__bk__zlib_"  # the name of the payload in a token

default_of = PropertyDescriptor._get_default  # (descriptor, model): the value of a property that has not been set


def application(server: BaseServer) -> BokehTornado:
    """The tornado application of a server."""
    return server._tornado


def use_handlers(ours: Mapping[type, type]) -> None:
    """Have pages served by these handlers instead of others, also by servers that run already."""
    for kind, own in ours.items():
        kind.__new__ = partial(_instead, kind, own)  # type: ignore[method-assign]


def _instead(kind: type, own: type, wanted: type, *args: type, **kwargs: Any) -> Any:
    return object.__new__(own if wanted is kind else wanted)


def session_of(context: ApplicationContext, session_id: str) -> ServerSession | None:
    """The session of that name, None where there is none."""
    return context._sessions.get(session_id)


def sign_again(session: ServerSession, **signing: bytes | bool | None) -> None:
    """A new token: one holds for five minutes, and Bokeh signs none for a session that was made without."""
    session._token = generate_jwt_token(session.id, **signing)


async def discard(context: ApplicationContext, session: ServerSession) -> None:
    """End a session that no browser has."""
    await context._discard_session(session, lambda unused: True)


def has_session(connection: ServerConnection) -> bool:
    """Whether a stopping server has not let go of it yet."""
    return connection._session is not None


async def set_from_browser(connection: ServerConnection, model: Model, name: str, value: int) -> None:
    """A browser's patch of one property: no look at every model of the page, and no answer, for which no code waits."""
    session = connection.session

    def change() -> None:
        session._current_patch_connection = connection
        try:
            model.set_from_json(name, value, setter=session)
        finally:
            session._current_patch_connection = None

    await session.with_document_locked(change)


def token_content(token: str, max_payload: int) -> tuple[dict[str, Json], bool]:
    """The payload of a token, and whether its payload has more bytes than that; any error if it is not a token."""
    content = json.loads(_decoded(token.split(".")[0]))
    unpacking = zlib.decompressobj()
    unpacking.decompress(_decoded(content.get(PACKED, "")), max_payload)
    return content, bool(unpacking.unconsumed_tail)


def _decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def replace_default_of(look_up: Callable[[PropertyDescriptor, Model], Any]) -> None:
    """Have the defaults of all models looked up by it, instead of `default_of`."""
    PropertyDescriptor._get_default = look_up


class SocketHooks(WebSocketHandler):
    """For a handler of the websocket, in front of Bokeh's: public names for what becomes of it and of a message."""

    async def receive_part(self, part: str | bytes) -> Message | None:
        """The message that a part completes, None while others are missing."""
        return await super()._receive(part)

    async def _receive(self, fragment: str | bytes) -> Message | None:
        return await self.receive_part(fragment)

    async def _async_open(self, token: str) -> None:
        if self.may_open(get_session_id(token)):
            await super()._async_open(token)
        else:
            self.close()


def build_in_thread(context: ApplicationContext) -> None:
    """Have each page of an app built in a thread: the loop serves other pages meanwhile.

    Bokeh does so from 3.10 on, but not for a script, during which the whole process has another current folder. The
    models of the page are looked through once, not after each root: that took a quarter of the time.
    """
    app, building = context.application, dict[Document, asyncio.Future[None]]()
    hooks, initialize = app.on_session_created, app.initialize_document

    def build(document: Document) -> None:
        with document.models.freeze():
            initialize(document)

    async def created(session: SessionContext) -> None:
        await hooks(session)
        document = session._document
        building[document] = asyncio.ensure_future(asyncio.to_thread(build, document))
        await asyncio.wait([building[document]])
        own_thread(document)

    def built(document: Document) -> None:
        """Raises what the app has raised."""
        building.pop(document).result()

    app.on_session_created, app.initialize_document = created, built


# tornado


def is_finished(handler: RequestHandler) -> bool:
    """Whether a request has been answered."""
    return handler._finished


def has_hung_up(handler: RequestHandler) -> bool:
    """Whether who sent a request is no longer there to read the answer."""
    return handler.request.connection.stream.closed()


def pace(connection: WebSocketProtocol13, owed: Callable[[int], float]) -> None:
    """Read a websocket as fast as allowed: nothing for `owed(number)` seconds after so many bytes."""
    connection.stream = PacedStream(connection.stream, owed)
    if connection._compressor is None:
        connection.write_message = partial(_written, connection)


def _written(connection: WebSocketProtocol13, message: str | bytes, binary: bool = False) -> asyncio.Future[None]:
    """As tornado writes a message, which makes a task of each. Raises WebSocketClosedError."""
    try:
        return connection._write_frame(True, 2 if binary else 1, utf8(message))
    except StreamClosedError:
        raise WebSocketClosedError from None


class PacedStream:
    """A tornado stream; a client that sends faster than allowed waits.

    All that is written in one turn of the loop leaves together: a frame of a run is five pieces.
    """

    def __init__(self, stream: IOStream, owed: Callable[[int], float]) -> None:
        self._stream, self._owed = stream, owed
        self._pieces: list[bytes] = []
        self._written: list[asyncio.Future[None]] = []  # one of each piece

    def write(self, data: bytes) -> asyncio.Future[None]:
        """Write the bytes with this turn's others. Raises StreamClosedError."""
        if self._stream.closed():
            raise StreamClosedError
        loop = asyncio.get_running_loop()
        if not self._pieces:
            loop.call_soon(self.flush)
        self._pieces.append(data)
        self._written.append(written := loop.create_future())
        return written

    def flush(self) -> None:
        """Write the pieces that wait."""
        if not self._pieces:
            return
        data, written = b"".join(self._pieces), self._written
        self._pieces, self._written = [], []
        try:
            self._stream.write(data).add_done_callback(partial(_over, written))
        except StreamClosedError:
            _tell(written, WebSocketClosedError())

    def close(self, exc_info: bool | BaseException = False) -> None:
        """Close it, after the pieces that wait."""
        self.flush()
        self._stream.close(exc_info)

    async def read_bytes(self, number: int) -> bytes:
        """So many bytes."""
        found = await self._stream.read_bytes(number)
        if wait := self._owed(number):
            await asyncio.sleep(wait)
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _over(written: list[asyncio.Future[None]], done: asyncio.Future[None]) -> None:
    closed = isinstance(done.exception(), StreamClosedError)
    _tell(written, WebSocketClosedError() if closed else done.exception())


def _tell(written: list[asyncio.Future[None]], error: BaseException | None) -> None:
    """End the futures of a write; an error that no code waits for is not logged."""
    for future in written:
        if error is None and not future.done():
            future.set_result(None)
        elif error is not None and not future.done():
            future.set_exception(error)
            future.exception()


def bytes_waiting(stream: IOStream) -> int:
    """How many bytes wait until the other side reads."""
    return len(stream._write_buffer or ())


# panel-material-ui


def page_script() -> str:
    """Address of the script that draws a page."""
    return pmui.Page._render_esm(server=True)


# What Bokeh and the C library do again for every message, page and session: done once, or given back.


SWITCH_S = 0.001  # between threads: with 0.005 those who play get half as many frames while a page is built


def install() -> None:
    """Have patches and defaults made so from now on. A second call does no harm."""
    sys.setswitchinterval(SWITCH_S)
    patch_doc.create = classmethod(create)
    replace_default_of(kept_default)


# Patches.


class KnownModels(Serializer):
    """Looks a model up when it is spoken of; what the browser has is sent as its id alone, as by Bokeh's own."""

    def __init__(self, models: DocumentModelManager) -> None:
        super().__init__()
        self._known = models

    def has_ref(self, obj: Any) -> bool:
        """Whether the browser has it, or will by this message."""
        new, all_models = self._known._new_models, self._known._models
        return super().has_ref(obj) or (isinstance(obj, Model) and all_models.get(obj.id) is obj and obj not in new)

    def get_ref(self, obj: Any) -> Ref | None:
        """Its reference, None for what the browser does not have."""
        found = super().get_ref(obj)
        return obj.ref if found is None and self.has_ref(obj) else found


def create(kind: type[patch_doc], events: Sequence[DocumentPatchedEvent], **metadata: Json) -> patch_doc:
    """The message of these events of one document. Raises ValueError for events of none or of several."""
    documents = {event.document for event in events}
    if len(documents) != 1:
        raise ValueError(f"a patch is for one document; got events of {len(documents)}")
    models = documents.pop().models
    serializer = KnownModels(models)
    message = kind(kind.create_header(), metadata, {"events": serializer.encode(list(events))})
    models.flush_synced(lambda model: not serializer.has_ref(model))
    message.add_buffers(*serializer.buffers)
    return message


# Defaults of models.

PLAIN = (str, int, float, bool, type(None))  # types that cannot be changed in place

_known: dict[tuple[type, str], Any] = {}


def kept_default(descriptor: PropertyDescriptor, model: Model) -> Any:
    """Bokeh's own, which computes the default of a property that has not been set; themes come before it."""
    if descriptor.name in (model.__dict__.get("__themed_values__") or ()):
        return default_of(descriptor, model)
    key = (model.__class__, descriptor.name)
    if key not in _known:
        value = default_of(descriptor, model)
        if type(value) not in PLAIN or descriptor.has_unstable_default(model):
            return value
        _known[key] = value
    return _known[key]


# Memory.

EVERY_S = 10.0  # at most; a page takes some seconds until nothing refers to it any more

_timer: threading.Timer | None = None


def schedule_trim() -> None:
    """Have free memory given back in a while; many calls until then are one."""
    global _timer
    if sys.platform == "linux" and (_timer is None or _timer.finished.is_set()):
        _timer = threading.Timer(EVERY_S, release_free_memory)  # in a thread: it takes tens of milliseconds
        _timer.name, _timer.daemon = "pmdviz-trim", True
        _timer.start()


def release_free_memory() -> bool:
    """Give free memory back now; whether the C library can (musl cannot)."""
    gc.collect()  # a page is full of circles
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
    return trim is not None
