"""What a stranger may ask of a running server, of several processes, of the app by Panel, and of another session."""

import json
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psutil
import pytest
from bokeh.util.token import get_token_payload

import pmdviz
from pmdviz.engine.recipe import Recipe
from pmdviz.serve.server import EARLY_S
from pmdviz.targets import TARGETS
from tests.support.browser import await_answer, await_that, end, free_port
from tests.support.client import Client
from tests.support.crowd import Crowd, served
from tests.support.engine import default_target, fitting
from tests.support.raw_client import ask, connected, forged, shake_hands
from tests.support.tables import looped
from tests.support.wire import TOKEN
from tests.test_deploy import two_free_ports

pytestmark = pytest.mark.ci


@pytest.fixture(scope="module")
def lab():
    with served() as made:
        yield made
        assert made.complaints(("Traceback",)) == []


@pytest.fixture
def crowd(lab):
    made = Crowd(lab.url)
    yield made
    made.leave()


@looped(
    "path",
    ["unittest.__main__/x/_css/y", "venv.__main__/x/_css/y", "this/x/_css/y", "panel.nothing/x/_css/y", "../x/_css/y",
     "../x", "/a", "//a/_css/y", ".panel/x/_css/y", "pmdviz.notebooks.x/x/_css/y", "panel.config/config/_css/y",
     "panel.pane/Markdown/_css/..", "panel/state/css/y", "panel.widgets/Button/_resources/x"],
)  # fmt: skip
def test_no_address_names_a_module_to_import(lab, path):
    assert 400 <= ask(lab.port, f"/components/{path}").status < 500
    assert ask(lab.port, "/liveness").status == 200 and lab.process.is_running()
    answer = ask(lab.port, "/components/panel.template.material/MaterialTemplate/_css/material.css")
    assert answer.status == 200 and "{" in answer.text  # the sheet of a loaded component is still there


def test_a_visitor_cannot_choose_the_session(lab):
    for more, headers in [
        ("?bokeh-session-id=known", {}),
        ("?bokeh-session-id=", {}),
        ("?bokeh-token=abc", {}),
        ("autoload.js?bokeh-autoload-element=x&bokeh-session-id=known", {}),
        ("", {"Bokeh-Session-Id": "known"}),
    ]:
        answer = ask(lab.port, f"/{more}", headers=headers)
        assert answer.status == 400 and "leave bokeh-session-id" in answer.text


def test_a_token_is_of_this_server_and_holds_nothing_of_the_visitors_cookies(lab):
    before = lab.probe()["sessions"]
    for token in [forged("known"), forged("known") + ".x", forged("known") + ".é", "", "abc", "a" * 20_000]:
        answer = shake_hands(lab.port, token.encode().decode("latin-1"))
        assert answer.status == 403 and "Traceback" not in answer.text
    assert lab.probe()["sessions"] <= before
    token = TOKEN.search(ask(lab.port, "/").text)[1]
    assert shake_hands(lab.port, token, origin=None).status == 403
    assert shake_hands(lab.port, token, origin="http://evil.example").status == 403
    assert shake_hands(lab.port, token[:-1] + ("A" if token[-1] != "A" else "B")).status == 403
    assert shake_hands(lab.port, token).status == 101
    page = ask(lab.port, "/?preset=one_gaussian", headers={"Cookie": "secret=1", "User-Agent": "Mobi"}).text
    payload = get_token_payload(TOKEN.search(page)[1])
    assert "secret" not in json.dumps(payload, default=str)
    assert payload["headers"] == {"User-Agent": "Mobi"}  # by which a phone is known


def test_nobody_is_listened_to_for_megabytes_nor_is_a_small_token_unfolded_to_them(lab):
    head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 90000000\r\n\r\n"
    with connected(lab.port, 1, head) as (stream,):
        stream.settimeout(20)
        assert stream.recv(100).startswith(b"HTTP/1.1 400")
        while stream.recv(1000):
            pass  # and hangs up
    cpu = lab.cpu_seconds()
    answer = shake_hands(lab.port, forged("bomb", [{}] * 2_000_000))
    assert answer.status == 403
    assert lab.cpu_seconds() - cpu < 6  # unfolding it took eleven; meanwhile the server may load kernels


def added(size=0):
    div = {"type": "object", "name": "Div", "id": "evil", "attributes": {"text": "x" * size}}
    return {"kind": "RootAdded", "model": div, "setter": None}


def written(value):
    return {"events": [{"kind": "ModelChanged", "model": {"id": "ACK"}, "attr": "key", "new": value}]}


@looped(
    "kind, content",
    [
        ("PATCH-DOC", {"events": [added()]}),
        ("PATCH-DOC", {"events": [{"kind": "TitleChanged", "title": "mine"}]}),
        ("PATCH-DOC", written([{"a": added()["model"]}])),
        ("PATCH-DOC", written("x" * 70_000)),
        ("PUSH-DOC", {"doc": {"roots": [], "title": "mine"}}),
        ("SERVER-INFO-REQ", {}),
    ],
)
def test_what_no_page_sends_ends_the_connection(lab, crowd, kind, content):
    crowd.clients.append(mine := Client(crowd.url))
    crowd.do(mine.open())
    crowd.do(mine.until(lambda: mine.iteration >= 0))
    text = json.dumps(content).replace('"ACK"', json.dumps(mine.ack_id))

    async def attack():
        mine.wire._send(kind, json.loads(text))
        await mine.until(lambda: mine.wire.closed)

    before = len(log_of(lab))
    crowd.do(attack())
    said = log_of(lab)[before:]
    assert "a connection was closed: no page sends " in said and said.count("\n") == 1 and len(said) < 300


def test_answers_say_what_a_browser_and_other_sites_may_do(lab):
    for path in ["/", "/liveness", "/static/js/bokeh.min.js", "/nothing", "/components/x", "/?bokeh-token=x"]:
        headers = ask(lab.port, path).headers
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "same-origin"
        assert "default-src 'self'" in headers["Content-Security-Policy"]
        assert "frame-ancestors 'self'" in headers["Content-Security-Policy"]
    embedded = ask(lab.port, "/?preset=one_gaussian&embed=1").headers["Content-Security-Policy"]
    assert "frame-ancestors" not in embedded and "default-src 'self'" in embedded
    path, mine = "/autoload.js?bokeh-autoload-element=x", f"http://127.0.0.1:{lab.port}"
    for method in ("GET", "OPTIONS"):
        evil = ask(lab.port, path, method, {"Origin": "http://evil.example", "Cookie": "a=1"}).headers
        assert "Access-Control-Allow-Origin" not in evil
        own = ask(lab.port, path, method, {"Origin": mine}).headers
        assert own["Access-Control-Allow-Origin"] == mine
        assert "Access-Control-Allow-Credentials" not in {**evil, **own}


def test_a_tab_that_is_reloaded_while_it_plays_leaves_no_words(lab, crowd):
    before = len(log_of(lab))
    mine = crowd.join(1)[0]
    crowd.do(mine.until(lambda: mine.iteration >= 3))
    crowd.do(mine.close(cut=True))
    other = crowd.join(1)[0]
    crowd.do(other.until(lambda: other.iteration >= 3))
    assert log_of(lab)[before:] == ""


def log_of(lab):
    """The server's log without its lines on compiling, which only an empty cache brings."""
    with open(lab._log.name, encoding="utf-8") as log:
        return "".join(line for line in log if not line.startswith("Preparing"))


APP = str(Path(pmdviz.__file__).with_name("app.py"))


@contextmanager
def serving(folder, *arguments, ports, path="/liveness"):
    """A process that was started in a folder with a module of an innocent name; its words are in the file `log`."""
    (folder / "clean_up.py").write_text("open('it_was_run', 'w').close()\n")
    with (folder / "log").open("w") as log:
        process = subprocess.Popen([sys.executable, *arguments], cwd=folder, stdout=log, stderr=log)
        workers = []
        try:
            for port in ports:
                await_answer(process, f"http://127.0.0.1:{port}{path}", 90)
            workers += psutil.Process(process.pid).children()
            yield process
        finally:
            end(process)
            for worker in filter(psutil.Process.is_running, workers):
                worker.kill()
    assert "Traceback" not in (folder / "log").read_text()


def test_two_processes_as_one(tmp_path):
    first = two_free_ports()
    command = ["-m", "pmdviz", "serve", "--num-procs", "2", "--port", str(first)]
    with serving(tmp_path, *command, ports=(first, first + 1)) as parent:
        answered = time.monotonic()  # psutil's time of a start may be a second too early
        for name in ("clean_up", "unittest.__main__"):
            assert ask(first, f"/components/{name}/x/_css/y").status == 404
        assert not (tmp_path / "it_was_run").exists() and parent.poll() is None
        token = TOKEN.search(ask(first, "/").text)[1]
        other = shake_hands(first + 1, token)
        assert other.status == 403 and "the token is not of this server" in other.text
        assert shake_hands(first, token).status == 101
        victim = next(p for p in psutil.Process(parent.pid).children() if str(first) in p.cmdline())
        await_that(lambda: time.monotonic() - answered > EARLY_S)  # one that ends sooner is not replaced
        victim.kill()
        await_that(lambda: "another is started" in (tmp_path / "log").read_text())
        await_answer(parent, f"http://127.0.0.1:{first}/liveness", 90)
        assert shake_hands(first, token).status == 403  # its session has ended with its process
        assert TOKEN.search(ask(first, "/").text)  # a reload finds a lab
        workers = psutil.Process(parent.pid).children()
        parent.kill()
        assert not psutil.wait_procs(workers, timeout=20)[1]  # and the ports are free
        assert ask(first, "/liveness").status == ask(first + 1, "/liveness").status == 0


def test_panel_serve_with_the_plugin_is_guarded_before_its_first_page(tmp_path):
    port = free_port()
    command = ["-m", "panel", "serve", APP, "--plugins", "pmdviz.panel_plugin", "--liveness", "--port", str(port)]
    with serving(tmp_path, *command, ports=[port]):
        script = "/static/extensions/panel-material-ui/panel-material-ui.bundle.js"
        assert ask(port, script).status == 200  # which another process may be asked
        assert ask(port, "/components/unittest.__main__/x/_css/y").status == 404
        assert ask(port, "/app?bokeh-session-id=known").status == 400
        for token in ("a" * 20_000, forged("bomb", [{}] * 2_000_000)):
            assert shake_hands(port, token, path="/app/ws").status == 403


def test_panel_serve_without_the_plugin_is_guarded_from_its_first_page_on(tmp_path):
    port = free_port()
    own = f"http://localhost:{port}"  # the only origin that Panel 1.9 allows by itself
    with serving(
        tmp_path, "-m", "panel", "serve", APP, "--port", str(port), ports=[port], path="/static/js/bokeh.min.js"
    ):
        first = ask(port, "/app?bokeh-session-id=known")  # by Panel's handler: a sentence in place of a lab
        assert shake_hands(port, TOKEN.search(first.text)[1], own, path="/app/ws").status == 101
        for path in ("/app?bokeh-session-id=known", "/app/autoload.js?bokeh-autoload-element=x&bokeh-token=x"):
            assert ask(port, path).status == 400
        assert shake_hands(port, forged("another"), own, path="/app/ws").status == 403  # of no session that is there
        assert ask(port, "/components/unittest.__main__/x/_css/y").status == 404
        assert "default-src 'self'" in ask(port, "/app").headers["Content-Security-Policy"]
        crowd = Crowd(f"{own}/app")
        victim, attacker = crowd.clients = [Client(crowd.url), Client(crowd.url)]
        for one in crowd.clients:
            crowd.do(one.open())
            crowd.do(one.play())
        crowd.do(attack(attacker))
        before = victim.iteration
        crowd.do(victim.until(lambda: victim.iteration > before + 2))
        assert victim.errors == []
        crowd.leave()


async def attack(client):
    client.wire._send("PATCH-DOC", {"events": [added()]})
    await client.until(lambda: client.wire.closed)


def test_what_recipes_share_cannot_be_written():
    for name in TARGETS:
        method = fitting(default_target(name))[0]
        one, two = (Recipe(name, method).make_target() for _ in range(2))
        assert one is two, name
        assert not isinstance(one.data, np.ndarray) or not one.data.flags.writeable, name


def test_messages_with_the_names_of_another_session_change_nothing_there(crowd):
    mine, theirs = crowd.join(2)
    assert mine.ack_id != theirs.ack_id
    common = set(mine.models) & set(theirs.models)
    assert all(set(mine.models[name]["attributes"]) <= {"name"} for name in common)  # nothing that holds a value
    crowd.do(meddle(mine, theirs))
    before = theirs.iteration
    crowd.do(theirs.until(lambda: theirs.iteration > before + 2))  # plays on as if nothing had been
    assert theirs.errors == []
    assert "endless" in theirs.words["of"]


async def meddle(mine, theirs):
    """Pause them, change their budget, claim their frames: by the ids of their models, over my own connection."""
    mine.wire.patch(theirs.ack_id, key="space", presses=99)
    mine.wire.patch(theirs.ack_id, hidden=True)
    mine.wire.patch(theirs.found("title", "Run length (observations used)")["id"], value="2000")
    mine.wire.send_event("button_click", {"model": {"id": theirs.found("label", "Restart")["id"]}})
    await mine.until(lambda: any("UnknownReferenceError" in sentence for sentence in mine.errors))
