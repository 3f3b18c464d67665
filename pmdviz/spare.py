"""A page built before anybody asks for it: the next visitor need not wait until the server has made one."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from bokeh.util.token import generate_jwt_token, generate_session_id
from tornado.httputil import HTTPServerRequest

from pmdviz import handlers, pages
from pmdviz.refusals import one_question_mark
from pmdviz.turns import turn

REFILL_S = 5.0  # after a visitor: the loop belongs to the new page first
HELD_S = 15.0  # a page that was handed out is kept for so long until its browser has connected

log = logging.getLogger(__name__)
_spare: Any = None  # the session, while nobody has it
_changing = asyncio.Lock()  # one at a time: a spare in the making is the next visitor's, and takes a place already


class SpareHandler(handlers.PageHandler):
    """The handler of "/" that hands out the spare page where it fits, and has another one made later."""

    async def get_session(self) -> Any:
        """The spare session; a new one for a link with arguments, for a phone (another layout), or if there is none."""
        self.request.uri = one_question_mark(self.request.uri)
        loop = self.application.io_loop
        loop.call_later(REFILL_S, fill, self.application, self.application_context)
        usual = not self.request.arguments and not pages.is_phone(self.request.headers)
        async with _changing:
            session = _take() if usual else None
            if session is None and pages.is_full():
                await _make_room(self.application_context)
        if session is None:
            if "run" in self.request.arguments:
                await pages.read_ahead(self.request.arguments)
            session = await self._built()
        else:  # a token holds for five minutes, and Bokeh 3.9 and 3.10 sign none for a session that was made without
            session._token = generate_jwt_token(session.id, **_signing(self.application))
        loop.call_later(HELD_S, session.unblock_expiration)
        return session

    async def _built(self) -> Any:
        """A page of one's own, in turn."""
        async with turn():  # a class that comes at once is served one by one, not built in one go with nobody connected
            session = await super().get_session()
            session.block_expiration()
        return session


def install() -> None:
    """Have pages served by `SpareHandler`; before the server is made."""
    handlers.install(SpareHandler)


async def fill(application: Any, context: Any) -> None:
    """Build the spare page, unless there is one or no place is left."""
    global _spare
    async with _changing:
        if _spare is None and not pages.is_full():
            request = HTTPServerRequest("GET", "/")  # nobody's: what hangs on the visitor is not in a spare page
            made = await context.create_session_if_needed(generate_session_id(**_signing(application)), request)
            made.block_expiration()
            _spare = made


def _signing(application: Any) -> dict[str, Any]:
    return {"secret_key": application.secret_key, "signed": application.sign_sessions}


async def _make_room(context: Any) -> None:
    """End the spare page, if there is one: the place that it takes is a visitor's."""
    session = _take()
    if session is not None:
        session.unblock_expiration()
        await context._discard_session(session, lambda unused: True)


def _take() -> Any:
    global _spare
    taken, _spare = _spare, None
    return taken
