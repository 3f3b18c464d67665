"""Pages built before a visitor comes: the next visitors need not wait until the server has made theirs."""

from __future__ import annotations

import asyncio
from typing import Any

from bokeh.util.token import generate_session_id
from tornado.httputil import HTTPServerRequest

from pmdviz.lab.links import Link
from pmdviz.lab.loop.locked import locked
from pmdviz.limits import limit
from pmdviz.serve import handlers, pages, server_internals
from pmdviz.serve.turns import GAP_S, are_wanted, turn

REFILL_S = 5.0  # after a visitor: the loop belongs to the new page first
HELD_S = 15.0  # a page that was handed out is kept for so long until its browser has connected

_spares: list[Any] = []  # sessions without a visitor
_filling = asyncio.Lock()
_changing = asyncio.Lock()  # one at a time: a spare in the making is the next visitor's, and takes a place already


class SpareHandler(handlers.PageHandler):
    """The handler of "/" that hands out a spare page where it fits, and has another one made later."""

    async def get_session(self) -> Any:
        """A spare session; a new one for a link that hides something, for a phone (another layout), or without one."""
        self.request.uri = one_question_mark(self.request.uri)
        loop = self.application.io_loop
        loop.call_later(REFILL_S, fill, self.application, self.application_context)
        arguments = self.request.arguments
        link = await pages.read_ahead(arguments) if {"run", "preset", "race"} & arguments.keys() else None
        usual = (link is not None or arguments.keys() <= pages.OF_THE_TABS) and not pages.is_phone(self.request.headers)
        async with _changing:
            session = _take() if usual and not server_internals.has_hung_up(self) else None
            if session is None and pages.is_full():
                await _make_room(self.application_context)
            if session is not None:
                await asyncio.sleep(GAP_S)  # a crowd's pages go out one by one: visitors who play get frames in between
        if session is None:  # a class that comes at once is served one by one, not all before the first connection
            session = await super().get_session()
            session.block_expiration()
        else:
            await self._hand_out(self.claimed(session), link)
        loop.call_later(HELD_S, session.unblock_expiration)
        return session

    async def _hand_out(self, session: Any, link: Link | None) -> None:
        """Make a spare page this visitor's."""
        server_internals.sign_again(session, **_signing(self.application))
        if link is not None:
            await locked(pages.open_link, session.document, link, doc=session.document)


def one_question_mark(uri: str) -> str:
    """An address whose question marks after the first are written as %3F: Panel reads it up to the second one."""
    path, mark, query = uri.partition("?")
    return path + mark + query.replace("?", "%3F")


def install() -> None:
    """Have pages served by `SpareHandler`; before the server is made."""
    handlers.install(SpareHandler)


async def fill(application: Any, context: Any) -> None:
    """Build spare pages as long as visitors keep theirs, one is missing and a place is left."""
    if _filling.locked():
        return
    async with _filling:
        while _is_wanted():
            async with turn(), _changing:
                if _is_wanted():
                    _spares.append(await _another(application, context))


async def _another(application: Any, context: Any) -> Any:
    request = HTTPServerRequest("GET", "/")  # without a visitor: what depends on the visitor is not in a spare page
    made = await context.create_session_if_needed(generate_session_id(**_signing(application)), request)
    made.block_expiration()
    loop = application.io_loop
    made.document.on_session_destroyed(
        lambda session_context: loop.add_callback(loop.call_later, REFILL_S, fill, application, context)
    )
    return made


def _is_wanted() -> bool:
    somebody = pages.number_open() > len(_spares)  # then one is enough
    return are_wanted() and not pages.is_full() and len(_spares) < (1 if somebody else limit("spare_pages") or 1)


def _signing(application: Any) -> dict[str, Any]:
    return {"secret_key": application.secret_key, "signed": application.sign_sessions}


async def _make_room(context: Any) -> None:
    """End a spare page, if there is one: the place that it takes is a visitor's."""
    session = _take()
    if session is not None:
        session.unblock_expiration()
        await server_internals.discard(context, session)


def _take() -> Any:
    return _spares.pop() if _spares else None
