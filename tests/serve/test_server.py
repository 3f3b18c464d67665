"""How a server is started and limited, its processes, its log, and the queue of those who ask for pages."""

import asyncio
import json
import logging
import signal
import socket
import subprocess
import sys
import threading
import time
from unittest.mock import Mock

import panel as pn
import pytest
from bokeh.application import Application
from bokeh.application.handlers.function import FunctionHandler
from bokeh.server.contexts import ApplicationContext
from panel.io.state import set_curdoc

from pmdviz.cli.main import main
from pmdviz.errors import InputError, InputWarning
from pmdviz.knobs import Knobs
from pmdviz.lab.loop.task import Bucket
from pmdviz.limits import LIMITS, MOST, check_limits, limit, set_limits, variable
from pmdviz.serve import handlers, pages, server
from pmdviz.serve.server import check_origins, chosen_port
from pmdviz.serve.server_internals import build_in_thread
from tests.support.client import Client
from tests.support.crowd import Crowd, served
from tests.support.tables import looped, refused
from tests.support.wire import Wire


@looped(
    "origin",
    ["http://lab.example.org", "lab.example.org/", "a:b:c", "", " ", "lab:", "lab:http", "lab:0", "lab:65536", "a b"],
)
def test_an_origin_that_no_browser_has_is_refused(origin):
    words = "--allow-websocket-origin must be HOST or HOST:PORT, such as lab.example.org or .*, without http://"
    refused(f"{words}; got '", check_origins, ["lab.example.org", origin])


def test_port_0_is_a_free_one_a_taken_one_is_named_and_an_open_address_has_a_warning(monkeypatch, capsys):
    assert chosen_port(0) != server.DEFAULT_PORT
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        refused(rf"cannot listen on 127.0.0.1 port {port}: .*leave --port out", chosen_port, port)
    monkeypatch.setattr(server, "supervise", lambda arguments, ports: 0)
    monkeypatch.setattr(server, "chosen_port", lambda asked, address: asked or server.DEFAULT_PORT)  # taken or not
    for more, is_open in ([], True), (["--allow-websocket-origin", "lab.example.org"], False):
        assert main(["serve", "--num-procs", "2", "--address", "0.0.0.0", *more]) == 0
        assert ("--allow-websocket-origin" in capsys.readouterr().err) == is_open


@looped("port", [None, 0, 5999])
@looped("address", ["203.0.113.7", "no such host", "a\0b", "a" * 64 + ".org", "\ud800"])
def test_an_address_that_is_not_ours_is_named(address, port):
    with pytest.raises(InputError, match="cannot listen on --address '") as error:
        chosen_port(port, address)
    assert "None" not in str(error.value) and "leave --port out" not in str(error.value)


@pytest.mark.parametrize(
    "link",
    [
        pytest.param("?preset=one_gaussian&hide=seed", marks=pytest.mark.ci),
        pytest.param("?preset=one_gaussian", marks=pytest.mark.nightly),
    ],
)
def test_a_link_takes_the_last_place_and_the_next_visitor_is_told(link):
    """In the page that was built ahead where that fits, else in place of it."""
    with served("--max-sessions", "1") as lab:  # the page that waits for a visitor takes the only place
        crowd = Crowd(lab.url)
        client = Client(lab.url)
        crowd.do(client.open(link))
        assert client.found("title", "Target")["attributes"]["value"] == "gaussian"
        for query in ("", link):
            assert "Server full (1 session)" in crowd.do(words_at(lab.url, query))
        crowd.clients.append(client)
        crowd.leave()
        assert crowd.errors == [] and lab.complaints() == []


async def words_at(url, query):
    wire = Wire(url, lambda events, buffers: None, lambda sentence: None)
    document = await wire.open(query)
    await wire.close()
    return json.dumps(document)


@pytest.fixture
def started(monkeypatch):
    """What the processes do, one piece of Python after the other, and the ports that they were started for."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    pieces, ports = [], []

    def start(arguments, port):
        ports.append(port)
        return time.monotonic(), subprocess.Popen([sys.executable, "-S", "-c", pieces[len(ports) - 1]])

    monkeypatch.setattr(server, "_start", start)
    monkeypatch.setattr(server, "WATCH_S", 0.01)
    yield pieces, ports
    for number, handler in handlers.items():
        signal.signal(number, handler)


STAYS, DIES, USELESS = "import time; time.sleep(60)", "raise SystemExit(3)", "raise SystemExit(2)"


def test_a_process_that_dies_early_is_given_up_and_later_replaced(started, capsys, monkeypatch):
    pieces, ports = started
    for piece, status in ((DIES, 1), (USELESS, 2)):
        pieces[:], ports[:] = [STAYS, piece], []
        assert server.supervise([], [7001, 7002]) == status
        assert ports == [7001, 7002]
        words = f"port 7002 ended within 10 s with status {3 if status == 1 else 2}; see its messages above"
        assert words in capsys.readouterr().err
    pieces[:], ports[:] = [USELESS, DIES, DIES], []
    moments = iter([0, 100, 100, 200, 200, 201])
    monkeypatch.setattr(server.time, "monotonic", lambda: next(moments))
    assert server.supervise([], [7001]) == 1
    assert len(ports) == 3
    assert capsys.readouterr().out.count("; another is started") == 2


def test_a_process_takes_no_module_of_the_current_folder_and_ends_with_its_parent(monkeypatch):
    seen = {}
    monkeypatch.setattr(server.subprocess, "Popen", lambda command, **how: seen.update(how, command=command))
    server._start(["--address", "127.0.0.1"], 7001)
    assert seen["command"][1:] == ["-P", "-m", "pmdviz", "serve", "--address", "127.0.0.1", "--port", "7001"]
    assert seen["stdin"] == subprocess.PIPE and server.WORKER in seen["env"]


@pytest.fixture(autouse=True)
def _heard(monkeypatch):  # Bokeh 3.9.0 keeps the records of its loggers from pytest
    monkeypatch.setattr(logging.getLogger("bokeh"), "propagate", True)


def test_a_message_that_makes_no_sense_is_one_line_and_what_fails_in_our_own_code_stays_whole(caplog):
    handlers.filter_logs()
    handlers.filter_logs()
    logger = logging.getLogger(handlers.LOGGERS[0])
    assert sum(isinstance(one, handlers.RefusedMessages) for one in logger.filters) == 1
    for act in (lambda: {}["no such\nmessage"], lambda: Knobs.checked({"nothing": 1})):
        try:
            act()
        except Exception:
            logger.error("error handling message", exc_info=True)
    refused_one, own = caplog.records[-2:]
    assert refused_one.getMessage() == r"a message was refused: KeyError: 'no such\nmessage'"
    assert refused_one.exc_info is None and refused_one.levelno == logging.WARNING
    assert own.exc_info and own.levelno == logging.ERROR


@looped("name", ("bokeh.util.asyncio", "bokeh.util.tornado"))
def test_a_traceback_that_is_written_into_a_record_is_one_line_too(caplog, name):
    handlers.filter_logs()
    text = 'Traceback (most recent call last):\n  File "{}", line 1, in f\nValueError: ' + "x" * 5000 + "\n"
    logging.getLogger(name).error(text.format("/panel/reactive.py"))
    assert caplog.messages[-1].startswith("a message was refused: ValueError: xxx") and len(caplog.messages[-1]) < 300
    logging.getLogger(name).error(text.format(f"{handlers.HERE}/lab/live.py"))
    assert caplog.messages[-1].count("\n") == 3


def test_a_log_has_short_records_few_lines_and_a_bucket_for_the_rest(monkeypatch):
    written = []

    class Kept(logging.Handler):
        def emit(self, record):
            written.append(self.format(record))

    kept, bounded = Kept(), handlers.BoundedLog()
    kept.addFilter(bounded)
    logger = logging.Logger("attacked")
    for handler in (kept, kept):
        logger.addHandler(handler)
    logger.error("Refusing websocket connection from Origin '%s'", "x" * 60_000)
    assert len(written) == 1 and len(written[0]) < 700 and "60," in written[0]
    try:
        raise ValueError("y" * 10**6)
    except ValueError:
        logger.exception("it failed")
    assert len(written[1]) < 1500 and "ValueError: yyy" in written[1]
    for k in range(1000):
        logger.warning("%s\n" * 3, k, k, k)
    assert sum(text.count("\n") + 1 for text in written) <= handlers.LINES_A_MINUTE
    monkeypatch.setattr(bounded, "_lines", Bucket(1, 10))
    logger.warning("later")
    assert "later (" in written[-1] and "left out" in written[-1]
    now = [0.0]
    monkeypatch.setattr("pmdviz.lab.loop.task.time.monotonic", lambda: now[0])
    one = Bucket(2.0, 4.0)
    assert [one.take() for _ in range(5)] == [True] * 4 + [False]
    now[0] = 1.0
    assert one.take(2.0) and not one.take(0.1)
    assert one.owed(1.0) == 0.5 and one.owed(1.0) == 1.0
    now[0] = 100.0
    assert one.owed(4.0) == 0.0 and one.owed(1.0) == 0.5


async def test_who_has_hung_up_and_who_comes_when_it_is_full_gets_nothing(monkeypatch):
    monkeypatch.setattr(handlers, "MOST_WAITING", 3)
    gate, order, here = asyncio.Event(), [], {"b": True}

    async def visit(name):
        async with handlers.turn(lambda: not here.get(name, True), bounded=True):
            order.append(name)
            await gate.wait()

    tasks = {name: asyncio.ensure_future(visit(name)) for name in "abcd"}
    await asyncio.sleep(0)
    with pytest.raises(handlers.Full):
        await visit("late")
    async with handlers.turn(lane=handlers.INSIDE):  # who is there already does not wait at the door
        order.append("tab")
    here["b"] = False
    gate.set()
    outcomes = await asyncio.gather(*tasks.values(), return_exceptions=True)
    assert order == ["a", "tab", "c", "d"] and [type(one) for one in outcomes if one] == [handlers.Gone]


async def test_pages_that_no_browser_keeps_use_up_their_share_of_the_loop(monkeypatch):
    monkeypatch.setattr(handlers, "PAGES", (1e-9, 1.5))
    monkeypatch.setattr(handlers, "REST_S", 0.0)
    monkeypatch.setattr(handlers, "KEPT_S", 0.01)

    async def visit(stay):
        async with handlers.turn():
            pass
        place, socket = handlers.Place(), Mock()
        place.enter(socket)
        if not stay:
            place.open.discard(socket)
        await asyncio.sleep(0.02)  # a callback that was due before has run then
        return place, socket

    kept = await visit(True)
    await visit(False)
    assert handlers.may_build_ahead(), "the first one was paid back"
    await visit(False)
    assert not handlers.may_build_ahead() and kept


async def test_where_pages_were_in_vain_a_sender_who_hangs_up_soon_gets_none(monkeypatch):
    monkeypatch.setattr(handlers, "GRACE_S", 0.05)
    monkeypatch.setattr(handlers, "PAGES", (0.2, -1.0))
    hung_up = []
    asyncio.get_running_loop().call_later(0.01, hung_up.append, True)
    with pytest.raises(handlers.Gone):
        async with handlers.turn(lambda: bool(hung_up), bounded=True):
            pytest.fail("a page was built")


async def test_the_loop_runs_while_a_page_is_built_and_what_the_app_raises_is_raised():
    loop, free = asyncio.get_running_loop(), threading.Event()

    def build(document):
        loop.call_soon_threadsafe(free.set)
        document.title = f"the loop was free: {free.wait(20)}"

    def fail(document):
        raise ZeroDivisionError

    contexts = [ApplicationContext(Application(FunctionHandler(act, trap_exceptions=False))) for act in (build, fail)]
    for context in contexts:
        build_in_thread(context)
    session = await contexts[0].create_session_if_needed("a page")
    assert session.document.title == "the loop was free: True"
    with set_curdoc(session.document):
        assert pn.state._thread_id == threading.get_ident(), "Panel would wait for another turn at each change"
    with pytest.raises(ZeroDivisionError):
        await contexts[1].create_session_if_needed("another")


BAD = ("abc", "-1", "0", "1.5", "inf", "9" * 5000)


@pytest.fixture(autouse=True)
def no_limits(monkeypatch):
    for name in LIMITS:
        monkeypatch.setenv(variable(name), "")


def test_a_variable_without_a_limit_is_refused_and_a_misspelt_one_gets_the_nearest_name(monkeypatch):
    for name in LIMITS:
        words = rf"^{variable(name)} must be a whole number at least [\d,]+ .*got '"
        with monkeypatch.context() as patch:
            for raw in BAD:
                patch.setenv(variable(name), raw)
                for ask in (check_limits, lambda name=name: limit(name), lambda: set_limits({})):
                    refused(words, ask)
    for name, meant in [("MAX_SESSION", "MAX_SESSIONS"), ("THREAD", "THREADS"), ("MAXPARTICLES", "MAX_PARTICLES")]:
        with monkeypatch.context() as patch:
            patch.setenv(f"PMDVIZ_{name}", "1")
            with pytest.warns(InputWarning, match=f"PMDVIZ_{name}, which does nothing; did you mean PMDVIZ_{meant}"):
                check_limits()
    monkeypatch.setenv("PMDVIZ_SOMETHING_ELSE", "1")
    monkeypatch.setenv("PMDVIZ_THREADS", "1")
    check_limits()


def test_a_variable_has_the_bounds_of_its_flag_and_both_are_read_alike(monkeypatch):
    for name in LIMITS:
        with monkeypatch.context() as patch:
            for raw in (LIMITS[name].least - 1, MOST + 1):
                patch.setenv(variable(name), str(raw))
                refused(f"{variable(name)} must be", limit, name)
                refused(f"--{name.replace('_', '-')} must be", set_limits, {name: raw})
            for raw in (LIMITS[name].least, MOST):
                patch.setenv(variable(name), f" {raw} ")
                assert limit(name) == raw, name
    for raw in ("2e3", "2,000", "2000"):
        set_limits({"max_particles": raw})
        monkeypatch.setenv(variable("max_budget"), raw)
        assert limit("max_particles") == limit("max_budget") == 2000
    monkeypatch.setenv(variable("max_sessions"), "abc")
    set_limits({"max_sessions": "3"})  # a flag goes first
    assert limit("max_sessions") == 3


def test_serve_refuses_before_it_starts_and_under_panel_serve_every_page_is_the_sentence(monkeypatch, capsys):
    monkeypatch.setattr(server, "chosen_port", lambda *asked: pytest.fail("it went on"))
    origin, two = "--allow-websocket-origin=http://lab.example.org", ["--num-procs", "2"]
    for arguments, words in (
        ([origin], "without http://; got 'http://lab.example.org'"),
        ([*two, origin], "without http://; got"),
        ([*two, "--show"], "--show"),
        ([*two, "--port", "0"], "--port"),
        (["--max-sessions", "many"], "--max-sessions must be a whole number"),
        (["--max-grid", "10"], "--max-grid must be a whole number at least 160"),
        (["--num-procs", "0"], "--num-procs must be a whole number at least 1 and at most 64; got 0"),
    ):
        assert main(["serve", *arguments]) == 2
        assert words in capsys.readouterr().err
    monkeypatch.setenv(variable("max_step_ms"), "1 s")
    assert main(["serve"]) == 2 and "PMDVIZ_MAX_STEP_MS must be a whole number" in capsys.readouterr().err
    monkeypatch.setenv(variable("max_sessions"), "<b>")
    text = pages._scripted_page().main[0].object
    assert "limits cannot be used: PMDVIZ_MAX_SESSIONS must be a whole number" in text
    assert "<b>" not in text
