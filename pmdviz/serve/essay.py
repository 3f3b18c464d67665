"""The essay's address beside the app, `/essay`: a page without a session, built once and sent as it is."""

from __future__ import annotations

import asyncio
import gzip
from functools import cache
from typing import Any

from tornado.web import RequestHandler

from pmdviz.essay.build import page
from pmdviz.lab.loop.background import pool_for

ADDRESS = "essay"  # relative to the app's, which a proxy may serve from a folder
_routed = False


class EssayHandler(RequestHandler):
    """The handler of the essay."""

    async def get(self) -> None:
        """The page; the first visitor's is built in a thread, so that no live run waits for it."""
        whole, packed = await asyncio.get_running_loop().run_in_executor(pool_for(0.0), _bytes)
        small = "gzip" in self.request.headers.get("Accept-Encoding", "")
        if small:
            self.set_header("Content-Encoding", "gzip")
        self.set_header("Vary", "Accept-Encoding")
        self.set_header("Content-Type", "text/html; charset=utf-8")
        self.set_header("Cache-Control", "max-age=3600")
        self.finish(packed if small else whole)


@cache
def _bytes() -> tuple[bytes, bytes]:
    """The page as it is and packed, a third of it."""
    text = page(served=True).encode()
    return text, gzip.compress(text)


def essay_routes() -> list[Any]:
    """The essay's address, for a server to be made; its pages then link it."""
    global _routed
    _routed = True
    return [(rf"/{ADDRESS}", EssayHandler)]


def essay_address() -> str:
    """Where a page of the app finds the essay; "" where it is not served."""
    return ADDRESS if _routed else ""
