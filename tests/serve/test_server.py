"""How a server is started: names, addresses and ports that cannot be used, and links where places are few."""

import json
import socket

import pytest

from pmdviz.cli.main import main
from pmdviz.errors import InputError
from pmdviz.serve import server
from pmdviz.serve.server import check_origins, chosen_port
from tests.support.client import Client
from tests.support.crowd import Crowd, served
from tests.support.tables import looped
from tests.support.wire import Wire


@looped(
    "origin",
    ["http://lab.example.org", "lab.example.org/", "a:b:c", "", " ", "lab:", "lab:http", "lab:0", "lab:65536", "a b"],
)
def test_an_origin_that_no_browser_has_is_refused(origin):
    words = "--allow-websocket-origin must be HOST or HOST:PORT, such as lab.example.org or .*, without http://"
    with pytest.raises(InputError, match=f"{words}; got '"):
        check_origins(["lab.example.org", origin])


@looped("more", [[], ["--num-procs", "2"]])
def test_a_bad_origin_is_refused_before_anything_starts(more, monkeypatch, capsys):
    monkeypatch.setattr(server, "chosen_port", lambda *asked: pytest.fail("it went on"))
    assert main(["serve", *more, "--allow-websocket-origin=http://lab.example.org"]) == 2
    assert "without http://; got 'http://lab.example.org'" in capsys.readouterr().err


@looped("more", [["--show"], ["--port", "0"]])
def test_what_several_processes_cannot_do_is_refused(more, monkeypatch, capsys):
    monkeypatch.setattr(server, "chosen_port", lambda *asked: pytest.fail("it went on"))
    assert main(["serve", "--num-procs", "2", *more]) == 2
    assert more[0] in capsys.readouterr().err


def test_port_0_is_a_free_one_and_an_open_address_has_a_warning(monkeypatch, capsys):
    assert chosen_port(0) != server.DEFAULT_PORT
    monkeypatch.setattr(server, "supervise", lambda arguments, ports: 0)
    for more, is_open in ([], True), (["--allow-websocket-origin", "lab.example.org"], False):
        assert main(["serve", "--num-procs", "2", "--address", "0.0.0.0", *more]) == 0
        assert ("--allow-websocket-origin" in capsys.readouterr().err) == is_open


@looped("port", [None, 0, 5999])
@looped("address", ["203.0.113.7", "no such host", "a\0b", "a" * 64 + ".org", "\ud800"])
def test_an_address_that_is_not_ours_is_named(address, port):
    with pytest.raises(InputError, match="cannot listen on --address '") as refused:
        chosen_port(port, address)
    assert "None" not in str(refused.value) and "leave --port out" not in str(refused.value)


def test_a_port_that_is_taken_is_named():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=rf"cannot listen on 127.0.0.1 port {port}: .*leave --port out"):
            chosen_port(port)


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
