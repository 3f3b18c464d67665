"""What a server of some routes alone answers."""

from typing import Any

from tornado.httpclient import AsyncHTTPClient, HTTPResponse
from tornado.httpserver import HTTPServer
from tornado.testing import bind_unused_port
from tornado.web import Application

from tests.lab.threads import in_a_thread


def answers(routes: list[Any], *paths: str, **request: Any) -> list[HTTPResponse]:
    async def asked() -> list[HTTPResponse]:
        sock, port = bind_unused_port()
        server = HTTPServer(Application(routes))
        server.add_sockets([sock])
        client = AsyncHTTPClient()
        found = [
            await client.fetch(f"http://127.0.0.1:{port}{path}", raise_error=False, request_timeout=300, **request)
            for path in paths
        ]
        server.stop()
        return found

    return in_a_thread(asked)
