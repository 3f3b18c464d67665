"""How a server is started: names, addresses and ports that cannot be used, and links where places are few."""

import json
import signal
import socket
import subprocess
import sys

import pytest

from pmdviz.cli.main import main
from pmdviz.errors import InputError
from pmdviz.serve import server
from pmdviz.serve.server import check_origins, chosen_port
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


def test_a_bad_origin_and_what_several_processes_cannot_do_are_refused_before_anything_starts(monkeypatch, capsys):
    monkeypatch.setattr(server, "chosen_port", lambda *asked: pytest.fail("it went on"))
    origin, two = "--allow-websocket-origin=http://lab.example.org", ["--num-procs", "2"]
    for more, words in (
        ([origin], "without http://; got 'http://lab.example.org'"),
        ([*two, origin], "without http://; got"),
        ([*two, "--show"], "--show"),
        ([*two, "--port", "0"], "--port"),
    ):
        assert main(["serve", *more]) == 2
        assert words in capsys.readouterr().err


def test_port_0_is_a_free_one_and_an_open_address_has_a_warning(monkeypatch, capsys):
    assert chosen_port(0) != server.DEFAULT_PORT
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


def test_a_port_that_is_taken_is_named():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        refused(rf"cannot listen on 127.0.0.1 port {port}: .*leave --port out", chosen_port, port)


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
    """Everything that a page's document says."""
    wire = Wire(url, lambda events, buffers: None, lambda sentence: None)
    document = await wire.open(query)
    await wire.close()
    return json.dumps(document)


# Several server processes: one that dies is replaced, one that cannot live is not.


@pytest.fixture
def started(monkeypatch):
    """What the processes do, one piece of Python after the other, and the ports that they were started for."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    pieces, ports = [], []

    def start(arguments, port):
        ports.append(port)
        return subprocess.Popen([sys.executable, "-S", "-c", pieces[len(ports) - 1]])

    monkeypatch.setattr(server, "_start", start)
    monkeypatch.setattr(server, "WATCH_S", 0.01)
    yield pieces, ports
    for number, handler in handlers.items():
        signal.signal(number, handler)


STAYS, DIES, USELESS = "import time; time.sleep(60)", "raise SystemExit(3)", "raise SystemExit(2)"


def test_a_process_that_dies_early_is_given_up_with_its_status(started, capsys):
    pieces, ports = started
    for piece, status in ((DIES, 1), (USELESS, 2)):
        pieces[:], ports[:] = [STAYS, piece], []
        assert server.supervise([], [7001, 7002]) == status
        assert ports == [7001, 7002]
        words = f"port 7002 ended within 10 s with status {3 if status == 1 else 2}; see its messages above"
        assert words in capsys.readouterr().err


def test_one_that_dies_later_is_replaced_whatever_its_status(started, monkeypatch, capsys):
    pieces, ports = started
    pieces += [USELESS, DIES, DIES]
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
