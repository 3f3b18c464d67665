"""The app by Panel's own command is guarded as by ours, without a flag."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.serve.test_doors import added
from tests.support.browser import await_answer, end, free_port
from tests.support.client import Client
from tests.support.crowd import Crowd
from tests.support.raw_client import ask, forged, shake_hands
from tests.support.wire import TOKEN

pytestmark = pytest.mark.ci
APP = Path(__file__).parents[2] / "pmdviz" / "app.py"


@pytest.fixture(scope="module")
def port(tmp_path_factory):
    port, log = free_port(), tmp_path_factory.mktemp("panel") / "log"
    with log.open("w") as out:
        command = [sys.executable, "-m", "panel", "serve", str(APP), "--port", str(port)]
        process = subprocess.Popen(command, stdout=out, stderr=out)
        try:
            await_answer(process, f"http://127.0.0.1:{port}/static/js/bokeh.min.js")
            yield port
        finally:
            end(process)
    assert "Traceback" not in log.read_text()


def test_all_doors_of_a_server_that_panel_started(port):
    first = ask(port, "/app?bokeh-session-id=known")  # by Panel's handler: a sentence in place of a lab
    known = TOKEN.search(first.text)[1]
    own = f"http://localhost:{port}"  # the only origin that Panel 1.9 allows by itself
    assert shake_hands(port, known, own, path="/app/ws").status == 101
    for path in ("/app?bokeh-session-id=known", "/app/autoload.js?bokeh-autoload-element=x&bokeh-token=x"):
        assert ask(port, path).status == 400
    assert shake_hands(port, forged("another"), own, path="/app/ws").status == 403  # of a session that is not there
    assert ask(port, "/components/unittest.__main__/x/_css/y").status == 404
    page = ask(port, "/app")
    assert "default-src 'self'" in page.headers["Content-Security-Policy"]
    crowd = Crowd(f"{own}/app")
    victim, attacker = Client(crowd.url), Client(crowd.url)
    crowd.clients += [victim, attacker]
    for one in (victim, attacker):
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
