"""Panel's handlers without what a visitor must not do: choose a session, forge a token, import a module.

A page, its script and its websocket are the three doors to a session. Pages and scripts wait in one queue. A websocket
opens a session that is there, and no other.
"""

from __future__ import annotations

import asyncio
import logging
import re
import sys
import traceback
import warnings
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from urllib.parse import urlparse
from weakref import WeakKeyDictionary, WeakSet

from bokeh.server.util import check_allowlist
from bokeh.util.token import check_token_signature
from panel.io.server import AutoloadJsHandler, ComponentResourceHandler, DocHandler, WSHandler
from tornado.httputil import HTTPHeaders, HTTPServerRequest
from tornado.web import ErrorHandler, Finish, HTTPError, OutputTransform, RequestHandler

from pmdviz.errors import words_of
from pmdviz.lab.loop import limits
from pmdviz.lab.loop.task import Bucket
from pmdviz.lab.panel_internals import parse_component_path, replace_parse_component_path
from pmdviz.serve import server_internals
from pmdviz.serve.messages import CheckedMessages
from pmdviz.serve.server_internals import BokehTornado, ServerSession

# What every answer says to a browser: what the page may load, who may frame it, what leaves with a link.

HOST = re.compile(r"[A-Za-z0-9_.-]+(:[0-9]{1,5})?|\[[0-9A-Fa-f:.]+\](:[0-9]{1,5})?")
# Bokeh and Panel write scripts and styles into the page, compile callbacks (eval), and fetch and import the code of
# components from blob: addresses. Nothing comes from another server, and nothing goes to one.
POLICY = {
    "default-src": "'self'",
    "script-src": "'self' 'unsafe-inline' 'unsafe-eval' blob:",
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data: blob:",
    "font-src": "'self' data:",
    "object-src": "'none'",
    "base-uri": "'none'",
    "form-action": "'none'",
}
FRAMED = "'self'"
NOT_EMBEDDED = (b"", b"0", b"false")  # as `pmdviz.lab.links` reads it


def security_headers(host: str, embedded: bool) -> dict[str, str]:
    """The headers of an answer; `host` is what the browser calls the server, `embedded` pages may be in any frame."""
    parts = dict(POLICY)
    sockets = f" ws://{host} wss://{host}" if HOST.fullmatch(host) else ""  # for browsers to whom 'self' is http alone
    parts["connect-src"] = f"'self' blob:{sockets}"
    if not embedded:
        parts["frame-ancestors"] = FRAMED
    return {
        "Content-Security-Policy": "; ".join(f"{name} {value}" for name, value in parts.items()),
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "same-origin",
    }


class SecurityHeaders(OutputTransform):
    """Adds them to whatever a handler answers, a file or an error too."""

    def __init__(self, request: HTTPServerRequest) -> None:
        self._host, self._embedded = request.host, request.arguments.get("embed", [b"0"])[-1] not in NOT_EMBEDDED

    def transform_first_chunk(self, status_code: int, headers: HTTPHeaders, chunk: bytes, finishing: bool) -> tuple:
        """Called by tornado before anything is sent."""
        for name, value in security_headers(self._host, self._embedded).items():
            headers[name] = value
        return status_code, headers, chunk


# Pages are built one at a time, in a thread, while the event loop has frames and new connections.
#
# The queue is bounded, and senders who have hung up lose their turn. A page takes a part of the loop's time while it is
# built. Pages are counted, but for those that a browser has kept for a while: of others there are two, then one in 4 s.

REST_S = 0.1  # after a page
LOOK_S = 0.05
GAP_S = 0.03  # between two parts of one: about a frame
BUILDING_S = 0.0003  # between threads meanwhile: visitors who play keep more frames; a page takes a tenth longer
DOOR, INSIDE = "door", "inside"  # lanes
MOST_WAITING = 40  # a class comes at once
PAGES = (0.25, 1.0)  # that may be built per second, and at once besides the next one
KEPT_S = 8.0  # a browser that has a page for so long keeps it
GRACE_S = 0.3  # before a page is begun where that is used up: senders who hang up are mostly gone by then


class Full(Exception):
    """As many wait as may."""


class Gone(Exception):
    """Who waited has hung up."""


class _Queue:
    def __init__(self) -> None:
        self.lock, self.waiting = asyncio.Lock(), 0
        self.pages = Bucket(*PAGES)

    @property
    def in_debt(self) -> bool:
        """Whether more pages were built than may be."""
        return self.pages.owed(0.0) > 0

    async def release(self) -> None:
        """Let the next one build, in a while; sooner where browsers keep what they get."""
        await asyncio.sleep(REST_S)
        while self.in_debt:
            await asyncio.sleep(LOOK_S)
        self.lock.release()


_tasks: set[asyncio.Task] = set()
_queues: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[str, _Queue]] = WeakKeyDictionary()


def _queue(lane: str = DOOR) -> _Queue:
    return _queues.setdefault(asyncio.get_running_loop(), {}).setdefault(lane, _Queue())


@asynccontextmanager
async def turn(
    gone: Callable[[], bool] = lambda: False, bounded: bool = False, lane: str = DOOR
) -> AsyncIterator[None]:
    """Wait until no other page is being built on this loop; the next one waits until a while after.

    Those who are there already have a lane of their own: they do not wait behind everybody at the door. Raises Full
    where it is `bounded` and too many wait, and Gone where the sender has hung up meanwhile.
    """
    queue = _queue(lane)
    if bounded and queue.waiting >= MOST_WAITING:
        raise Full
    queue.waiting += 1
    try:
        if bounded and queue.in_debt:
            await asyncio.sleep(GRACE_S)
        await queue.lock.acquire()
    finally:
        queue.waiting -= 1
    if gone():
        queue.lock.release()
        raise Gone
    sys.setswitchinterval(BUILDING_S)
    try:
        yield
    finally:
        sys.setswitchinterval(server_internals.SWITCH_S)
        if lane == DOOR:
            queue.pages.owed()
        _tasks.add(task := asyncio.ensure_future(queue.release()))
        task.add_done_callback(_tasks.discard)


def may_build_ahead() -> bool:
    """Whether the loop has time to build a page before a visitor comes."""
    return not _queue().in_debt


FAMILY = ("panel", "panel_material_ui", "pmdviz")  # whose loaded modules may show their style sheets
CHOOSES = ("bokeh-session-id", "bokeh-token")  # arguments by which Bokeh lets an address name a session
APP_PATH = re.compile(r"[\w/-]+")
MAX_TOKEN = 16_384  # characters; ours have some hundred
MAX_PAYLOAD = 262_144  # bytes of a token's payload, unpacked
MAX_ORIGIN = 300  # characters: a scheme, a name of at most 253, a port
MAX_SOCKETS = 2  # of a session: a browser that lost one opens another before the server has noticed
REOPENED = (0.2, 6)  # websockets of one session: a second, and at once
RETRY_S = 10

log = logging.getLogger(__name__)
_guarded: WeakSet[BokehTornado] = WeakSet()  # applications
_places: WeakKeyDictionary[ServerSession, Place] = WeakKeyDictionary()  # session -> its open connections


class Place:
    """The websockets of a session that has just been handed out, and whether its page still counts."""

    def __init__(self) -> None:
        self.open: WeakSet[SocketHandler] = WeakSet()
        self.opened, self._queue, self._counts = Bucket(*REOPENED), _queue(), True

    def enter(self, socket: SocketHandler) -> None:
        """A browser has it; if it still does in a while, the page no longer counts."""
        self.open.add(socket)
        asyncio.get_running_loop().call_later(KEPT_S, self._keep)

    def _keep(self) -> None:
        if self.open and self._counts:
            self._queue.pages.owed(-1.0)
            self._counts = False


def _refuse(handler: RequestHandler, status: int, words: str, **headers: int) -> None:
    handler.set_status(status)
    handler.set_header("Content-Type", "text/plain; charset=utf-8")
    for name, value in headers.items():
        handler.set_header(name.replace("_", "-"), value)
    handler.finish(words)


def guard(application: BokehTornado) -> None:
    """Headers on every answer, no address with a zero byte, pages built in a thread. A second call does no harm."""
    if application not in _guarded:
        _guarded.add(application)
        application.add_transform(SecurityHeaders)
        # No file system takes a zero byte.
        application.add_handlers(r".*", [(r".*%00.*", ErrorHandler, {"status_code": 404})])
        apps = application.applications.values()
        if len(apps) == 1:  # a script changes the current folder: other apps would notice
            server_internals.build_in_thread(*apps)


class OwnSessions(RequestHandler):
    """For the handlers of all doors: the server alone chooses a session's name."""

    async def prepare(self) -> None:
        """Before any method."""
        await super().prepare()
        guard(self.application)
        if server_internals.is_finished(self):
            return
        request = self.request
        if any(name in request.arguments for name in CHOOSES) or "Bokeh-Session-Id" in request.headers:
            _refuse(self, 400, "The server names its sessions itself: leave bokeh-session-id and bokeh-token out.\n")


class Queued(OwnSessions):
    """For the doors that build sessions: one queue, bounded, and only for a sender who is still there."""

    async def get_session(self) -> ServerSession:
        """A session, once the turn has come. Raises Finish where it does not come."""
        try:
            async with turn(partial(server_internals.has_hung_up, self), bounded=True):
                return self.claimed(await super().get_session())
        except Full:
            _refuse(self, 503, "Too many pages are asked for at once; try again soon.\n", Retry_After=RETRY_S)
            raise Finish from None
        except Gone:
            raise Finish from None

    def claimed(self, session: ServerSession) -> ServerSession:
        """The session, which waits for its browser from now on."""
        _places[session] = Place()
        return session


class PageHandler(Queued, DocHandler):
    """The handler of a page."""


class ScriptHandler(Queued, AutoloadJsHandler):
    """The handler of autoload.js: other sites may read it where their pages may open a websocket."""

    async def prepare(self) -> None:
        """Before any method; an app's path is written into the script, where Panel does not escape it."""
        await super().prepare()
        if not server_internals.is_finished(self) and not APP_PATH.fullmatch(self.get_argument("bokeh-app-path", "/")):
            _refuse(self, 400, "bokeh-app-path must be a path of letters, digits, - and _.\n")

    def set_default_headers(self) -> None:
        """Only for origins that are let in; nothing that a browser sends by itself (cookies) is asked for."""
        origin = self.request.headers.get("Origin", "")
        if 0 < len(origin) <= MAX_ORIGIN:
            if check_allowlist(urlparse(origin).netloc.lower(), list(self.application.websocket_origins)):
                self.set_header("Access-Control-Allow-Origin", origin)
                self.set_header("Access-Control-Allow-Headers", "*")
        self.set_header("Vary", "Origin")

    async def options(self, *path: str) -> None:
        """What a browser asks before it gets the script for another site."""
        self.set_header("Access-Control-Allow-Methods", "GET, OPTIONS")
        self.set_status(204)


class SocketHandler(CheckedMessages, OwnSessions, WSHandler):
    """The handler of the websocket: it looks at origin, token and session before it says yes."""

    _place: Place | None = None

    async def prepare(self) -> None:
        """Before the handshake."""
        await super().prepare()
        if server_internals.is_finished(self):
            return
        origin = self.request.headers.get("Origin", "")
        if not 0 < len(origin) <= MAX_ORIGIN:  # every browser sends it; who does not is none
            _refuse(self, 403, "A websocket needs the Origin of its page.\n")
            return
        words, session_id = token_fault(
            _token(self.request.headers), self.application.secret_key, self.application.sign_sessions
        )
        words = words or self._session_fault(session_id)
        if words:
            log.warning("a websocket was refused: %s", words)
            _refuse(self, 403, f"The websocket was refused: {words}.\n")

    def _session_fault(self, session_id: str) -> str:
        """Why a visitor is refused the session of that name, "" for one who is."""
        session = server_internals.session_of(self.application_context, session_id)
        if session is None:
            return "its session has ended"
        place = _places.setdefault(session, Place())
        if len(place.open) >= MAX_SOCKETS:
            return f"its session has {MAX_SOCKETS} open"
        if not place.opened.take():
            return "its session was opened again too often"
        place.enter(self)
        self._place = place
        return ""

    @property
    def max_message_size(self) -> int:
        """Bytes, whatever the server was started with."""
        return limits.longest_message()

    def may_open(self, session_id: str) -> bool:
        """Whether the session is still there after the handshake: Bokeh makes another one where it is not."""
        return server_internals.session_of(self.application_context, session_id) is not None

    def open(self) -> None:
        """The handshake is done. A frame is sent at once: else it may wait up to 40 ms for the browser's TCP ACK."""
        self.set_nodelay(True)
        super().open()

    def on_finish(self) -> None:
        """The request is answered; one that became no websocket takes no place."""
        if self.get_status() != 101:
            self._leave()
        super().on_finish()

    def on_close(self) -> None:
        """The connection is gone."""
        self._leave()
        super().on_close()

    def _leave(self) -> None:
        if self._place is not None:
            self._place.open.discard(self)


def _token(headers: HTTPHeaders) -> str:
    """The entry after "bokeh" among the subprotocols that are offered."""
    offered = [part.strip() for part in headers.get("Sec-WebSocket-Protocol", "").split(",")]
    return offered[1] if len(offered) == 2 and offered[0] == "bokeh" else ""


def token_fault(token: str, secret_key: bytes | None, signed: bool) -> tuple[str, str]:
    """The fault of a token, "" if it is valid, and its session; one that is not ours is never unpacked."""
    if not token:
        return "no token", ""
    if len(token) > MAX_TOKEN:
        return f"a token of {len(token):,} characters", ""
    try:
        if not check_token_signature(token, secret_key, signed):
            return "the token is not of this server", ""
        content, too_large = server_internals.token_content(token, MAX_PAYLOAD)
        if too_large:
            return "a token that is large when unpacked", ""
        session = content["session_id"]
        return ("", session) if session and isinstance(session, str) else ("a token without a session", "")
    except Exception:  # otherwise it is not a token
        return "the token cannot be read", ""


def install(page: type = PageHandler) -> None:
    """Have these handlers answer instead of Panel's, of servers that run already too. A second call does no harm."""
    server_internals.use_handlers({DocHandler: page, AutoloadJsHandler: ScriptHandler, WSHandler: SocketHandler})
    replace_parse_component_path(_parse_component_path)
    filter_logs()


def _parse_component_path(handler: ComponentResourceHandler, path: str) -> str:
    """Panel's own, which imports the module that the address names: here it must be a loaded one of the family."""
    module = path.partition("/")[0]
    if module.partition(".")[0] not in FAMILY or module not in sys.modules:
        raise HTTPError(404)
    try:
        return parse_component_path(handler, path)
    except HTTPError:
        raise
    except Exception:  # an address may name any attribute of it
        raise HTTPError(404) from None


# Logs that a visitor cannot fill: short records, few lines a minute, one line for a message that was refused.

LONGEST = 500  # characters of a record without its traceback
MAX_FRAMES = 20  # of a traceback: the last ones
LINES_A_MINUTE = 50  # and as many at once: no minute has more than twice as many
LOGGERS = (
    *("bokeh.server.protocol_handler", "bokeh.server.views.ws", "panel.io.document", "panel.reactive"),
    *("tornado.application", "bokeh.util.asyncio", "bokeh.util.tornado"),
)
HERE = str(Path(__file__).parents[1])
PASSES = ("__main__.py", "server_internals.py", "messages.py", "handlers.py", "server.py")  # every message does
CLOSED = "Failed sending message as connection was closed"  # of a tab: dozens at every reload


class RefusedMessages(logging.Filter):
    """Replaces by one line a traceback that goes through no file of this package; drops records of closed tabs."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is about anything but a closed tab."""
        error = record.exc_info[1] if isinstance(record.exc_info, tuple) else None
        text = record.getMessage()
        if error is not None and not _through_ours(error):
            words = f"{type(error).__name__}: {words_of(error)}"
        elif text.startswith("Traceback") and HERE not in text:  # by Bokeh 3.10, of a callback
            words = text.strip().splitlines()[-1]
        else:
            return record.msg != CLOSED
        record.msg, record.args = f"a message was refused: {words[:200]}", ()
        record.exc_info = record.exc_text = None
        record.levelno, record.levelname = logging.WARNING, "WARNING"
        return True


def _through_ours(error: BaseException) -> bool:
    frames = traceback.extract_tb(error.__traceback__)
    return any(frame.filename.startswith(HERE) for frame in frames if not frame.filename.endswith(PASSES))


class BoundedLog(logging.Filter):
    """For every handler: shortens a record, and drops it where too many lines were written of late."""

    def __init__(self) -> None:
        super().__init__()
        self._lines, self._dropped = Bucket(LINES_A_MINUTE / 60, LINES_A_MINUTE), 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the record is written; one that has been seen by another handler is not counted again."""
        if not hasattr(record, "pmdviz_written"):
            _shorten(record)
            lines = 1 + record.getMessage().count("\n") + (record.exc_text or "").count("\n")
            vars(record)["pmdviz_written"] = written = self._lines.take(min(lines, LINES_A_MINUTE))
            if not written:
                self._dropped += 1
            elif self._dropped:
                record.msg, record.args = f"{record.getMessage()} ({self._dropped} records before were left out)", ()
                self._dropped = 0
        return bool(vars(record)["pmdviz_written"])


def _shorten(record: logging.LogRecord) -> None:
    text = record.getMessage()
    if len(text) > LONGEST:
        record.msg, record.args = f"{text[: LONGEST // 2]} … {text[-LONGEST // 2 :]} ({len(text):,} characters)", ()
    if isinstance(record.exc_info, tuple) and record.exc_info[1] is not None:
        frames = traceback.format_exception(*record.exc_info, limit=-MAX_FRAMES, chain=False)
        record.exc_text = "".join([*frames[:-1], frames[-1][:LONGEST]]).rstrip()
    record.stack_info = None


_refused, _bounded = RefusedMessages(), BoundedLog()


def filter_logs() -> None:
    """Filter the server's logs and bound what the handlers of this process write; once or again."""
    # A browser describes a model that came later than the page once more when it first speaks of it.
    warnings.filterwarnings("ignore", message="reference already known", category=UserWarning)
    for name in LOGGERS:
        logging.getLogger(name).addFilter(_refused)
    for logger in [logging.root, *logging.root.manager.loggerDict.values()]:
        for handler in getattr(logger, "handlers", ()):
            handler.addFilter(_bounded)
    if logging.lastResort is not None:
        logging.lastResort.addFilter(_bounded)
