"""Panel's handlers with the doors shut that a visitor has no business at: chosen sessions, forged tokens, imports."""

from __future__ import annotations

import logging
import sys
from typing import Any
from urllib.parse import urlparse

from bokeh.server.util import check_allowlist
from bokeh.util.token import check_token_signature
from panel.io.server import AutoloadJsHandler, DocHandler, WSHandler
from tornado.web import HTTPError

from pmdviz.lab.panel_internals import parse_component_path, replace_parse_component_path
from pmdviz.serve.bokeh_internals import token_content, use_handlers
from pmdviz.serve.browser_messages import CheckedMessages
from pmdviz.serve.tornado_internals import is_finished

FAMILY = ("panel", "panel_material_ui", "pmdviz")  # whose loaded modules may show their style sheets
CHOOSES = ("bokeh-session-id", "bokeh-token")  # arguments by which Bokeh lets an address name a session
MAX_TOKEN = 16_384  # characters; ours have some hundred
MAX_PAYLOAD = 262_144  # bytes of what is packed in a token, unpacked

log = logging.getLogger(__name__)


def _refuse(handler: Any, status: int, words: str) -> None:
    handler.set_status(status)
    handler.set_header("Content-Type", "text/plain; charset=utf-8")
    handler.finish(words)


class OwnSessions:
    """For the handlers of pages: the server alone chooses a session's name."""

    async def prepare(self) -> None:
        """Before any method."""
        await super().prepare()  # type: ignore[misc]
        if is_finished(self):
            return
        request = self.request  # type: ignore[attr-defined]
        if any(name in request.arguments for name in CHOOSES) or "Bokeh-Session-Id" in request.headers:
            _refuse(self, 400, "The server names its sessions itself: leave bokeh-session-id and bokeh-token out.\n")


class PageHandler(OwnSessions, DocHandler):
    """The handler of a page."""


class ScriptHandler(OwnSessions, AutoloadJsHandler):
    """The handler of autoload.js: other sites may read it where their pages may open a websocket."""

    def set_default_headers(self) -> None:
        """Only for origins that are let in; nothing that a browser sends by itself (cookies) is asked for."""
        origin = self.request.headers.get("Origin", "")
        if origin and check_allowlist(urlparse(origin).netloc.lower(), list(self.application.websocket_origins)):
            self.set_header("Access-Control-Allow-Origin", origin)
            self.set_header("Access-Control-Allow-Headers", "*")
        self.set_header("Vary", "Origin")

    async def options(self, *args: Any, **kwargs: Any) -> None:
        """What a browser asks before it gets the script for another site."""
        self.set_header("Access-Control-Allow-Methods", "GET, OPTIONS")
        self.set_status(204)


class SocketHandler(CheckedMessages, OwnSessions, WSHandler):
    """The handler of the websocket: it looks at origin and token before it says yes."""

    async def prepare(self) -> None:
        """Before the handshake."""
        await super().prepare()
        if is_finished(self):
            return
        if "Origin" not in self.request.headers:  # every browser sends it; who does not is none
            _refuse(self, 403, "A websocket needs the Origin of its page.\n")
            return
        words = token_fault(_token(self.request.headers), self.application.secret_key, self.application.sign_sessions)
        if words:
            log.warning("a websocket was refused: %s", words)
            _refuse(self, 403, f"The websocket was refused: {words}.\n")


def _token(headers: Any) -> str:
    """What stands beside "bokeh" among the subprotocols that are offered."""
    offered = [part.strip() for part in headers.get("Sec-WebSocket-Protocol", "").split(",")]
    return offered[1] if len(offered) == 2 and offered[0] == "bokeh" else ""


def token_fault(token: str, secret_key: bytes | None, signed: bool) -> str:
    """What is wrong with a token, "" if nothing is; the payload of one that is not ours is never unpacked."""
    if not token:
        return "no token"
    if len(token) > MAX_TOKEN:
        return f"a token of {len(token):,} characters"
    try:
        if not check_token_signature(token, secret_key, signed):
            return "the token is not of this server"
        content, too_large = token_content(token, MAX_PAYLOAD)
        if too_large:
            return "a token that is large when unpacked"
        return "" if content["session_id"] else "a token without a session"
    except Exception:  # whatever else it is, it is no token
        return "the token cannot be read"


def install(page: type = PageHandler) -> None:
    """Put these handlers in the place of Panel's; before the server is made. Twice does no harm."""
    use_handlers({DocHandler: page, AutoloadJsHandler: ScriptHandler, WSHandler: SocketHandler})
    replace_parse_component_path(_parse_component_path)


def _parse_component_path(handler: Any, path: str) -> str:
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
