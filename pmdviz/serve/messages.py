"""What pages of ours send over their websocket: everything else is refused before Bokeh decodes it.

Bokeh decodes whatever a message describes: arrays of any type and shape, packed bytes, models. Our pages need none of
it: they send numbers, strings, lists, maps and the ids of models, and they write few attributes.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Collection, Mapping
from inspect import Parameter, signature
from typing import Any, NamedTuple

from bokeh.events import ButtonClick, DocumentReady, DoubleTap, Tap
from panel.models.esm import DataEvent
from tornado.ioloop import PeriodicCallback

from pmdviz.files import Json
from pmdviz.lab.loop.frame_sender import Acknowledge
from pmdviz.lab.loop.task import Bucket
from pmdviz.serve import server_internals
from pmdviz.serve.server_internals import Message, Model, SocketHooks

SMALL = 65_536  # characters of a message that is not an upload
SHORT = 1_000  # characters of the parts before the content
DEEPEST = 24  # lists and maps inside one another
MAX_MARKS = 500  # quotes, brackets and commas of an upload: its content is in base64, which has none of them
NUMBERS = ("nan", "-inf", "+inf", "inf")  # for which JSON has no digits
MADE = ("ImportedStyleSheet", "InlineStyleSheet")  # models that a page makes when its theme changes
READY = DocumentReady.event_name  # the one event without a model
KINDS = ("PATCH-DOC", "PULL-DOC-REQ")  # of messages
UPLOADS = {("FileInput", "value"), ("OwnDataView", "upload")}  # attributes that may be longer
MAX_MADE = 4  # in one change
STYLE = {"url", "css"}  # attributes of these
REFERENCE = {"id"}
CHANGE = {"kind", "model", "attr", "new"}
MESSAGE = {"kind", "msg_type", "msg_data"}
DRAGGED = "dragged"  # name of the source that a dragged point is written to

ANY = {"visible"}  # a card that is closed hides what it has, of whatever class
SIZES = {"inner_width", "inner_height", "outer_width", "outer_height"}
WRITES: Mapping[str, Collection[str]] = {  # class -> the attributes that a browser writes
    "Acknowledge": {
        *("drawn", "hidden", "key", "presses", "copied", "refused", "address", "place", "places", "exactly")
    },
    "BrowserInfo": {
        *("dark_mode", "device_pixel_ratio", "language", "timezone", "timezone_offset", "webdriver", "webgl")
    },
    "Card": {"collapsed", "scroll_position"},
    "CheckboxGroup": {"active"},
    "Column": {"scroll_position"},
    f"{DRAGGED} ColumnDataSource": {"data"},
    "CustomSelect": {"value"},
    "Figure": SIZES,
    "FileDownload": {"clicks"},
    "FileInput": {"filename", "mime_type", "value"},
    "InsideView": {"freezes"},
    "Legend": {"ncols"},
    "Location": {"hash", "hostname", "href", "pathname", "port", "protocol", "reload", "search"},
    "OwnDataView": {"upload"},
    "MaterialWrapper": {"dark_theme"},
    "Page": {"contextbar_open", "contextbar_width", "dark_theme", "sidebar_open", "sidebar_width", "sx"},
    "Range1d": {"start", "end"},
    "TabBar": {"active"},
    "Toolbar": {"stylesheets"},
}


class Known(NamedTuple):
    """A model of the page: its class, and the events that a browser tells of."""

    kind: str
    events: Collection[str] = ()


class Values(NamedTuple):
    """Names of the values that an event has."""

    needed: frozenset[str]
    all: frozenset[str]


def _values_of(kind: type) -> Values:
    found = signature(kind).parameters.values()
    needed = frozenset(one.name for one in found if one.default is Parameter.empty)
    return Values(needed, frozenset(one.name for one in found))


EVENTS = {kind.event_name: _values_of(kind) for kind in (ButtonClick, DataEvent, DocumentReady, DoubleTap, Tap)}


class Refused(Exception):
    """No page of ours sends this; the words say what."""


class Gone(Exception):
    """A page speaks of a model or a session that has gone meanwhile."""


Find = Callable[[str], Known | None]


def known(model: Model | None) -> Known | None:
    """The guard's record of a model; Panel numbers the classes of what a component of ours has."""
    if model is None:
        return None
    kind = model.__qualified_model__.rsplit(".", 1)[-1].rstrip("0123456789")
    return Known(f"{DRAGGED} {kind}" if model.name == DRAGGED else kind, model.subscribed_events)


def check_short(part: str | bytes) -> None:
    """A part before the content. Raises Refused."""
    if len(part) > SHORT:
        raise Refused("a long header")


def parsed(parts: tuple[str | bytes, ...], longest: int) -> tuple[str, Json]:
    """The kind and the content of a message in three parts, sizes first. Raises Refused."""
    if not all(isinstance(part, str) for part in parts):
        raise Refused("bytes")
    content = str(parts[-1])
    if len(content) > SMALL and not _may_be_upload(content, longest):
        raise Refused(f"{len(content):,} characters outside uploads")
    try:
        head, _, body = (json.loads(part) for part in parts)
    except (ValueError, RecursionError):
        raise Refused("text that is not JSON") from None
    if not isinstance(head, dict) or set(head) != {"msgid", "msgtype"} or not isinstance(head["msgid"], str):
        raise Refused("an unknown header")
    if head["msgtype"] not in KINDS:
        raise Refused(f"a {_short(head['msgtype'])}")
    return head["msgtype"], body


def _may_be_upload(content: str, longest: int) -> bool:
    marks = sum(map(content.count, '"[{,\\'))
    return len(content) <= longest and content.isascii() and marks <= MAX_MARKS


def check_patch(content: Json, size: int, find: Find) -> None:
    """Look at all that a patch of so many characters says. Raises Refused."""
    if not isinstance(content, dict) or set(content) != {"events"} or not isinstance(content["events"], list):
        raise Refused("a patch without events")
    for event in content["events"]:
        _check_event(event, size > SMALL, find)


def is_ready(content: Json) -> bool:
    """Whether a page says that it is there, in a patch that has been looked at."""
    events = content.get("events", []) if isinstance(content, dict) else []
    return any(event["kind"] == "MessageSent" and event["msg_data"]["name"] == READY for event in events)


def cost(content: Json) -> float:
    """What the events of a message are worth that has been looked at; one without events counts as one."""
    events = content.get("events", []) if isinstance(content, dict) else []
    return sum(SHEETS_COST if event.get("attr") == "stylesheets" else COST for event in events) or COST


def _check_event(event: Any, large: bool, find: Find) -> None:
    match event:
        case {"kind": "ModelChanged", "model": model, "attr": str(name), "new": value} if set(event) == CHANGE:
            _check_change(_model(model, find), name, value, large, find)
        case {"kind": "MessageSent", "msg_type": "bokeh_event", "msg_data": data} if set(event) == MESSAGE:
            if large:
                raise Refused("a long event")
            _check_message(data, find)
        case _:
            raise Refused(f"a {_short(event.get('kind') if isinstance(event, dict) else event)}")


def _check_change(model: Known | None, name: str, value: Json, large: bool, find: Find) -> None:
    if model is None:  # it has gone meanwhile: Bokeh reports it, and applies nothing of the patch
        model = Known("model that has gone")
    elif name not in ANY and name not in WRITES.get(model.kind, ()):
        raise Refused(f"a change of {model.kind}.{_short(name)}")
    if large and ((model.kind, name) not in UPLOADS or not isinstance(value, str)):
        raise Refused(f"a long {_short(name)} of a {model.kind}")
    _check_value(value, find, name == "stylesheets")


def _check_message(data: Any, find: Find) -> None:
    match data:
        case {"type": "event", "name": str(name), "values": {"type": "map"} as values} if len(data) == 3:
            entries = values.get("entries", [])
            _values(entries)
        case _:
            raise Refused("a message without an event")
    given, named = dict(entries), EVENTS.get(name)
    if named is None or len(given) < len(entries) or not named.needed <= given.keys() <= named.all:
        raise Refused(f"a {_short(name)} with these values")
    model = _model(given.pop("model"), find) if name != READY else None
    if model is not None and name not in model.events:
        raise Refused(f"a {_short(name)} of {model.kind}")
    _check_value(given, find)


def _model(part: Any, find: Find) -> Known | None:
    """The model of a reference; a browser describes one that came after the page in full, and Bokeh takes its id."""
    match part:
        case {"id": str(name)} if set(part) == REFERENCE:
            return find(name)
        case {"id": str(name), "type": "object"}:
            if (found := find(name)) is None:  # Bokeh would make it again
                raise Gone
            return found
    raise Refused("a change without a model")


def _check_value(value: Json, find: Find, dressed: bool = False) -> None:
    """Numbers, strings, lists, maps, ids; where a model may be `dressed`, style sheets too. Raises Refused."""
    waiting, made = [(value, 0)], 0
    while waiting:
        part, depth = waiting.pop()
        if depth > DEEPEST:
            raise Refused(f"lists nested more than {DEEPEST} deep")
        if isinstance(part, list):
            waiting += [(one, depth + 1) for one in part]
        elif isinstance(part, dict):
            made += part.get("name") in MADE
            if made > MAX_MADE:
                raise Refused("too many style sheets")
            waiting += [(one, depth + 1) for one in _inside(part, find, dressed)]


def _inside(part: dict[str, Json], find: Find, dressed: bool) -> list[Json]:
    """What a map, a model or a number has inside. Raises Refused."""
    match part:
        case {"type": "number", "value": number} if len(part) == 2 and (
            number in NUMBERS or type(number) in (int, float)
        ):
            return []
        case {"type": "map"} if set(part) <= {"type", "entries"}:
            return _values(part.get("entries", []))
        case {"type": "object", "id": str(name)} if find(name) is not None:
            return []
        case {"type": "object", "name": kind, "id": str(), "attributes": dict(said)} if dressed and kind in MADE:
            if set(said) <= STYLE and all(isinstance(text, str) for text in said.values()):
                return []
        case {"type": kind}:
            raise Refused(f"an encoded {_short(kind)}")
        case {"id": name} if not isinstance(name, str):
            raise Refused("an invalid model id")
    return [*part.values()]


def _values(entries: Json) -> list[Json]:
    if not isinstance(entries, list) or not all(
        isinstance(entry, list) and len(entry) == 2 and isinstance(entry[0], str) for entry in entries
    ):
        raise Refused("a map without names")
    return [entry[1] for entry in entries]


def _short(words: Json) -> str:
    """A few letters of what came, for a line in a log."""
    return "".join(letter for letter in str(words)[:40] if letter.isprintable()) if isinstance(words, str) else "thing"


# What becomes of a browser's messages: one that no page sends ends its connection.

MAX_PULLS = 1  # of the whole document by one connection: BokehJS asks when it opens one
MAX_READY = 3  # times that a page says that it is there
POLICY = 1008  # by the protocol: a message against the rules
PARTS = 3  # of a message: header, metadata, content
MESSAGES = (200.0, 400.0)  # frames drawn of which a browser may tell per second, and at once
COST = 4.0  # any other event is worth so many of them: 50 per second, as many as a slider that is dragged
SHEETS_COST = 40.0  # of a change of style sheets: Bokeh goes through all models of the page
READS = (1_500.0, 6_000.0)  # parts of frames of the websocket: a message takes nine, a ping three
BYTES_S = 500_000  # bytes per second, once the longest message has come
LOOK_S, LOOKS = 5.0, 3  # a reader that has taken nothing off for so many looks is none
FULL = 8 * 2**20  # bytes that wait for a reader before anybody looks whether it reads

log = logging.getLogger(__name__)


def frame_drawn(content: Json, model_of: Callable[[str], Model | None]) -> tuple[Acknowledge, int] | None:
    """The frame that a browser has drawn and the model that reports it, if that is all that a patch says."""
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

    def open(self) -> None:
        """The connection is there: look now and then whether its browser reads."""
        self._look = PeriodicCallback(self._look_at_reader, 1000 * LOOK_S)
        self._look.start()
        self._reads, self._bytes = Bucket(*READS), Bucket(BYTES_S, self.max_message_size + BYTES_S)
        self._messages = Bucket(*MESSAGES)
        server_internals.pace(self.ws_connection, self._owed)
        super().open()

    def on_close(self) -> None:
        """The connection is gone; Bokeh's fails where a server that stops has let it go first."""
        if self._look is not None:
            self._look.stop()
        connection = self.connection
        if connection is None or server_internals.has_session(connection):
            super().on_close()

    def _owed(self, number: int) -> float:
        return max(self._reads.owed(), self._bytes.owed(number))

    async def receive_part(self, part: str | bytes) -> Message | None:
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
            self.close(POLICY, f"no page sends {reason}")
            return None

    async def _received(self, parts: tuple[str | bytes, ...]) -> Message | None:
        """The message for Bokeh, None where nothing is left to do. Raises Refused."""
        if self.connection is None:
            raise Refused("a message before its session is open")
        self._check_session()
        kind, content = parsed(parts, self.max_message_size)
        if kind == "PATCH-DOC":
            check_patch(content, len(parts[-1]), self._known)
            drawn = frame_drawn(content, self._model)
            if drawn is not None:
                await server_internals.set_from_browser(self.connection, drawn[0], "drawn", drawn[1])
                await self._rest(1)
                return None
        self._count(kind, content)
        await self._rest(cost(content))
        self._check_session()
        for part in parts:
            message = await super().receive_part(part)
        return message

    def _check_session(self) -> None:
        """Raises Gone after the page was left, or where the server stops: messages are still read then."""
        if not server_internals.has_session(self.connection):
            raise Gone

    async def _rest(self, cost: float) -> None:
        """Read nothing more for a while where too much has come."""
        if wait := self._messages.owed(cost):
            await asyncio.sleep(wait)

    def _count(self, kind: str, content: Json) -> None:
        """What costs much, a page says once. Raises Refused."""
        self._pulls += kind != "PATCH-DOC"
        self._ready += is_ready(content)
        if self._pulls > MAX_PULLS or self._ready > MAX_READY:
            raise Refused("this message so often")

    def _model(self, model_id: str) -> Model | None:
        return self.connection.session.document.get_model_by_id(model_id)

    def _known(self, model_id: str) -> Known | None:
        return known(self._model(model_id))

    def _look_at_reader(self) -> None:
        """End a connection on which more and more waits to be read."""
        stream = getattr(self.ws_connection, "stream", None)
        waits = server_internals.bytes_waiting(stream) if stream is not None else 0
        self._stuck = self._stuck + 1 if waits > FULL and waits >= self._waited else 0
        self._waited = waits
        if self._stuck >= LOOKS:
            log.warning("a connection was closed: %s bytes wait for a browser that does not read", f"{waits:,}")
            stream.close()
