"""What every answer says to a browser: what the page may load, who may frame it, what leaves with a link."""

from __future__ import annotations

import re
from typing import Any

from tornado.web import OutputTransform

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
    """The headers of an answer; `host` is what the browser calls the server, `embedded` pages stand in any frame."""
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

    def __init__(self, request: Any) -> None:
        self._host, self._embedded = request.host, request.arguments.get("embed", [b"0"])[-1] not in NOT_EMBEDDED

    def transform_first_chunk(self, status_code: int, headers: Any, chunk: bytes, finishing: bool) -> Any:
        """Called by tornado before anything is sent."""
        for name, value in security_headers(self._host, self._embedded).items():
            headers[name] = value
        return status_code, headers, chunk
