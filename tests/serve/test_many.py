"""Processes of --num-procs live and die together; the app by Panel's own command is guarded as by ours."""

import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

import pmdviz
from pmdviz.serve.server import EARLY_S
from tests.serve.test_doors import added
from tests.support.browser import await_answer, end, free_port
from tests.support.client import Client
from tests.support.crowd import Crowd
from tests.support.raw_client import ask, forged, shake_hands
from tests.support.wire import TOKEN
from tests.test_deploy import two_free_ports

pytestmark = pytest.mark.ci

APP = str(Path(pmdviz.__file__).with_name("app.py"))


def until(condition, seconds=60):
    late = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < late
        time.sleep(0.05)


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
        until(lambda: time.monotonic() - answered > EARLY_S)  # one that ends sooner is not replaced
        victim.kill()
        until(lambda: "another is started" in (tmp_path / "log").read_text())
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
