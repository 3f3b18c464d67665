"""`pmdviz serve`: the app on a free port, kernels compiled in the background, unused sessions closed, a quick end."""

from __future__ import annotations

import argparse
import asyncio
import errno
import gc
import os
import re
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
import webbrowser
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from bokeh.util.token import generate_session_id
from panel.io.server import Server, get_server
from threadpoolctl import threadpool_limits
from tornado.httputil import HTTPServerRequest

from pmdviz.errors import InputError, shown, words_of
from pmdviz.kernels import jit
from pmdviz.kernels.compiling import all_groups, compile_ahead, compiler
from pmdviz.kernels.jit import DEFAULT
from pmdviz.lab.loop import limits
from pmdviz.lab.loop import work as temporary
from pmdviz.lab.panel_internals import locked
from pmdviz.lessons.reading import offer_lessons
from pmdviz.limits import LIMITS, limit, set_limits
from pmdviz.serve import handlers, pages, server_internals
from pmdviz.serve.handlers import GAP_S, may_build_ahead, turn
from pmdviz.serve.pages import docs_routes, essay_routes, offer_docs, session_page
from pmdviz.serve.server_internals import ApplicationContext, BokehTornado, ServerSession
from pmdviz.targets import custom

DEFAULT_PORT = 5006
UNUSED_SESSION_MS, CHECK_SESSIONS_MS = 3000, 1000
MAX_PROCESSES = 64
ORIGIN = re.compile(r"[A-Za-z0-9_.*-]+(:(?P<port>[0-9]{1,5}))?")
PING_S = 30  # a connection that does not answer within it is dead; a proxy's timeout must be longer
IDLE_S = 60.0  # a connection that asks nothing for so long is closed; this does not include websockets
MAX_BODY = 65_536  # bytes; nothing that the app answers has a body
MAX_FILES = 65_536  # a connection is one

# Processes of --num-procs.
WORKER = "PMDVIZ_WORKER"  # in the environment of a process whose standard input ends with its parent
WATCH_S, PATIENCE_S = 0.2, 5.0
EARLY_S = 10.0  # a process that ends sooner cannot live like this, and the next process could not either
UNUSABLE = 2  # the status of a server that cannot be used as it was asked


def serve_arguments(parser: argparse.ArgumentParser) -> None:
    """The command line of `pmdviz serve`."""
    add, when = parser.add_argument, ("background", "default", "all")
    add("--port", type=int, help=f"port to listen on (0: a free one; default: {DEFAULT_PORT}, or a free one if taken)")
    add("--address", default="127.0.0.1", help="address to listen on (0.0.0.0: all, for a class)")
    words = "a name under which browsers may open it"
    add("--allow-websocket-origin", action="append", metavar="HOST[:PORT]", help=words)
    add("--show", action="store_true", help="open a browser")
    add("--num-procs", type=int, default=1, metavar="N", help="processes on N ports from --port on, behind a proxy")
    add("--lessons", metavar="FOLDER", help="a folder with lessons of your own, offered with ours")
    words = "a target of your own in the menus: made with pmdviz.custom_target, or a function that gives one"
    add("--target", action="append", metavar="MODULE:OBJECT", help=words)
    words = "compile kernels before the first page: for the default run, or all (default: in the background)"
    add("--compile", choices=when, default=when[0], help=words)
    add("--docs", metavar="FOLDER", help="a folder that `pmdviz docs` has built, served at /docs/")
    for name, bound in LIMITS.items():
        add(f"--{name.replace('_', '-')}", metavar=bound.letter, help=bound.words)


def serve(options: argparse.Namespace) -> int:
    """Serve until SIGINT or SIGTERM; returns the exit status. Raises InputError for options that cannot be used."""
    check_origins(options.allow_websocket_origin or ())
    set_limits(vars(options))
    offer_lessons(options.lessons)
    custom.offer(options.target or ())
    offer_docs(options.docs)
    if options.compile != "background":  # before the first page
        compile_ahead(all_groups() if options.compile == "all" else (DEFAULT,))
    if options.address == "0.0.0.0" and not options.allow_websocket_origin and WORKER not in os.environ:
        print("pmdviz: pages of any website can connect to this server; to allow only the pages of your host, give "
              "--allow-websocket-origin HOST[:PORT]", file=sys.stderr)  # fmt: skip
    if options.num_procs != 1:
        return _serve_many(options)
    port = chosen_port(options.port, options.address)
    compiler.begin()  # in the background, the kernels of the default run first; a line says how long these take
    threading.Thread(target=compile_ahead, args=((DEFAULT,),), name="pmdviz-compile-line", daemon=True).start()
    server = _server(options, port)
    gc.collect()
    gc.freeze()  # objects loaded by now live as long as the process: the collector need not look through them again
    shown_at = "127.0.0.1" if options.address == "0.0.0.0" else options.address
    url = f"http://{shown_at}:{port}/"
    _raise_file_limit()
    app = server_internals.application(server)
    handlers.guard(app)
    server.start()
    server.io_loop.add_callback(fill, app, app.applications["/"])
    if os.environ.pop(WORKER, ""):
        threading.Thread(target=_end_with_parent, name="pmdviz-parent", daemon=True).start()
    print(f"pmdviz is at {url}  (press Ctrl-C to stop)", flush=True)
    if options.show:
        server.io_loop.add_callback(show_in_browser, url)
    return _run(server)


def _serve_many(options: argparse.Namespace) -> int:
    """Several processes; their limits are in the environment."""
    if not 1 <= options.num_procs <= MAX_PROCESSES:
        words = f"--num-procs must be a whole number at least 1 and at most {MAX_PROCESSES}"
        raise InputError(f"{words}; got {options.num_procs}")
    if options.show:
        raise InputError("--show opens the page of one process; leave it out and open the address of your proxy")
    first = DEFAULT_PORT if options.port is None else options.port
    if not first:
        raise InputError(f"--num-procs needs the first of its ports, such as --port {DEFAULT_PORT}; got --port 0")
    ports = [chosen_port(first + k, options.address) for k in range(options.num_procs)]
    arguments = ["--address", options.address]
    for origin in options.allow_websocket_origin or ():
        arguments += ["--allow-websocket-origin", origin]
    return supervise(arguments, ports)


def supervise(arguments: Sequence[str], ports: Sequence[int]) -> int:
    """Run `pmdviz serve ARGUMENTS --port P` for every port until SIGTERM or SIGINT. Returns their exit status."""
    ending = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ending.set())
    running = {port: _start(arguments, port) for port in ports}
    status = 0
    while not status and not ending.wait(WATCH_S):
        for port, (began, process) in running.items():
            if (ended := process.poll()) is None:
                continue
            if time.monotonic() - began < EARLY_S:
                print(f"pmdviz: the process at port {port} ended within {EARLY_S:.0f} s with status {ended}; see its "
                      "messages above. All processes were stopped", file=sys.stderr)  # fmt: skip
                status = UNUSABLE if ended == UNUSABLE else 1
                break
            print(f"pmdviz: the process at port {port} ended with status {ended}; another is started", flush=True)
            running[port] = _start(arguments, port)
    for _, process in running.values():
        process.terminate()
    for _, process in running.values():
        with suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE_S)
        process.kill()  # where it has not ended
        process.wait()
    return status


def _start(arguments: Sequence[str], port: int) -> tuple[float, subprocess.Popen]:
    """When it was begun, and the process; `-P` keeps the current folder out of where it looks for modules."""
    command = [sys.executable, "-P", "-m", "pmdviz", "serve", *arguments, "--port", str(port)]
    return time.monotonic(), subprocess.Popen(command, stdin=subprocess.PIPE, env={**os.environ, WORKER: "1"})


def _end_with_parent() -> None:
    """End this process once its parent is gone, however it ended, whatever the threads here are at."""
    os.read(0, 1)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(PATIENCE_S)
    os._exit(1)


def _raise_file_limit() -> None:
    """Let this process have as many files as the system allows."""
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_FILES)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with suppress(ValueError, OSError):  # macOS may refuse what it says is allowed
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def check_origins(origins: Sequence[str]) -> None:
    """Raise InputError for a name that Bokeh could not compare with a browser's."""
    for origin in origins:
        found = ORIGIN.fullmatch(origin)
        if found is None or not 1 <= int(found["port"] or 80) <= 65535:
            words = "must be HOST or HOST:PORT, such as lab.example.org or lab.example.org:5006, without http://"
            raise InputError(f"--allow-websocket-origin {words}; got {shown(origin)}")


def chosen_port(asked: int | None, address: str = "127.0.0.1") -> int:
    """The port asked for (0: any free one), else the usual one, else any free one.

    Raises InputError if the one asked for is taken, or if the address cannot be listened on.
    """
    if asked is not None and not 0 <= asked <= 65535:
        raise InputError(f"--port must be a whole number at least 0 and at most 65,535; got {asked}")
    if not address:
        raise InputError("--address must be an address of this machine, or 0.0.0.0 for all; got ''")
    for port in (DEFAULT_PORT, 0) if asked is None else (asked,):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((address, port))
                return probe.getsockname()[1]
            except (OSError, TypeError, UnicodeError) as error:  # the last two: no name of a host can be made of it
                reason = getattr(error, "strerror", None) or str(error)
                of_port = getattr(error, "errno", None) in (errno.EADDRINUSE, errno.EACCES)
    if of_port:
        raise _taken(address, port, reason)
    raise InputError(f"cannot listen on --address {shown(address)}: {reason}; give one of this machine")


def _server(options: argparse.Namespace, port: int) -> Server:
    """The server, not yet started; everything a page needs comes from it and from no other.

    Raises InputError where another server has taken the port since it was chosen.
    """
    os.environ["BOKEH_RESOURCES"] = "server"
    os.environ["BOKEH_VALIDATE_DOC"] = "no"  # a check for those who write pages; each page would wait for it
    limits.enforce()
    temporary.remove_stale()
    threadpool_limits(1, "blas")
    handlers.install(SpareHandler)
    server_internals.install()
    origins = options.allow_websocket_origin or (["*"] if options.address == "0.0.0.0" else None)
    if origins is None:
        origins = [f"{host}:{port}" for host in ("localhost", "127.0.0.1", options.address)]
    longest = limits.longest_message()
    try:
        return get_server(
            {"/": session_page},
            port=port,
            address=options.address,
            websocket_origin=origins,
            title="pmdviz",
            liveness=True,
            show=False,
            start=False,
            extra_patterns=[*essay_routes(), *docs_routes()],
            sign_sessions=True,
            secret_key=secrets.token_hex(32).encode(),
            include_headers=["User-Agent"],  # a token is in the page: no cookie of anybody's belongs into it
            include_cookies=[],
            check_unused_sessions_milliseconds=CHECK_SESSIONS_MS,
            unused_session_lifetime_milliseconds=UNUSED_SESSION_MS,
            # Bokeh's own pings lose a session twice where its tab has just been cut off; these end dead ones too.
            keep_alive_milliseconds=0,
            websocket_ping_interval=PING_S,
            websocket_ping_timeout=PING_S,
            websocket_max_message_size=longest,
            http_server_kwargs={
                "idle_connection_timeout": IDLE_S,
                "body_timeout": IDLE_S,
                "max_body_size": MAX_BODY,
                "max_buffer_size": longest + MAX_BODY,
            },
        )
    except OSError as error:
        raise _taken(options.address, port, words_of(error)) from error


def _taken(address: str, port: int, reason: str) -> InputError:
    return InputError(f"cannot listen on {address} port {port}: {reason}; leave --port out to take a free one")


def show_in_browser(url: str) -> None:
    """Open the page in a browser of this machine, or say that there is none."""
    if not webbrowser.open(url):
        print(f"no browser was found on this computer: open {url} in one yourself", flush=True)


def _run(server: Server) -> NoReturn:
    """Run the loop until a signal; the process ends at once then, whatever its threads are at."""
    loop = server.io_loop
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: loop.add_callback_from_signal(loop.stop))
    loop.start()
    server.stop(wait=False)
    if crew := sys.modules.get("pmdviz.experiments.workers"):  # a measurement may be under way
        crew.shut_down()
    temporary.remove()
    jit.remove_temporary()
    print("pmdviz has stopped", flush=True)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


# Pages built before a visitor comes: the next visitors need not wait until the server has made theirs.


REFILL_S = 5.0  # after a visitor: the loop belongs to the new page first
HELD_S = 40.0  # a page that was handed out waits so long for its browser, which may read scripts over a slow line

_spares: list[ServerSession] = []  # sessions without a visitor
_filling = asyncio.Lock()
_changing = asyncio.Lock()  # one at a time: a spare in the making is the next visitor's, and takes a place already


class SpareHandler(handlers.PageHandler):
    """The handler of "/" that hands out a spare page where it fits, and has another one made later."""

    async def get_session(self) -> ServerSession:
        """A spare session; a new one for a link that hides something, for a phone (another layout), or without one."""
        self.request.uri = one_question_mark(self.request.uri)
        loop = self.application.io_loop
        loop.call_later(REFILL_S, fill, self.application, self.application_context)
        arguments = self.request.arguments
        link = await pages.read_ahead(arguments) if {"run", "preset", "race"} & arguments.keys() else None
        usual = (link is not None or arguments.keys() <= pages.OF_THE_TABS) and not pages.is_phone(self.request.headers)
        async with _changing:
            session = _spares.pop() if _spares and usual and not server_internals.has_hung_up(self) else None
            if session is None and pages.is_full() and _spares:  # the place that a spare page takes is a visitor's
                ended = _spares.pop()
                ended.unblock_expiration()
                await server_internals.discard(self.application_context, ended)
            if session is not None:
                await asyncio.sleep(GAP_S)  # a crowd's pages go out one by one: visitors who play get frames in between
        if session is None:  # a class that comes at once is served one by one, not all before the first connection
            session = await super().get_session()
            session.block_expiration()
        else:
            server_internals.sign_again(self.claimed(session), **_signing(self.application))
            if link is not None:
                await locked(pages.open_link, session.document, link, doc=session.document)
        loop.call_later(HELD_S, session.unblock_expiration)
        return session


def one_question_mark(uri: str) -> str:
    """An address whose question marks after the first are written as %3F: Panel reads it up to the second one."""
    path, mark, query = uri.partition("?")
    return path + mark + query.replace("?", "%3F")


async def fill(application: BokehTornado, context: ApplicationContext) -> None:
    """Build spare pages as long as visitors keep theirs, one is missing and a place is left."""
    if _filling.locked():
        return
    async with _filling:
        while _is_wanted():
            async with turn(), _changing:
                if _is_wanted():
                    _spares.append(await _another(application, context))


async def _another(application: BokehTornado, context: ApplicationContext) -> ServerSession:
    request = HTTPServerRequest("GET", "/")  # without a visitor: what depends on the visitor is not in a spare page
    made = await context.create_session_if_needed(generate_session_id(**_signing(application)), request)
    made.block_expiration()
    loop = application.io_loop
    made.document.on_session_destroyed(
        lambda session_context: loop.add_callback(loop.call_later, REFILL_S, fill, application, context)
    )
    return made


def _is_wanted() -> bool:
    somebody = len(pages.open_pages) > len(_spares)  # then one is enough
    return may_build_ahead() and not pages.is_full() and len(_spares) < (1 if somebody else limit("spare_pages") or 1)


def _signing(application: BokehTornado) -> dict[str, bytes | bool | None]:
    return {"secret_key": application.secret_key, "signed": application.sign_sessions}
