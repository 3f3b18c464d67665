"""The deployment files: nginx in front of two processes, really run; the others read for what they promise."""

import re
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path

import psutil
import pytest

from pmdviz.cli.main import main
from tests.support.browser import await_answer, end, free_port, server
from tests.support.crowd import Crowd

DEPLOY = Path(__file__).parents[1] / "deploy"


def two_free_ports():
    for _ in range(50):
        port = free_port()
        with suppress(OSError), socket.socket() as probe:
            probe.bind(("127.0.0.1", port + 1))
            return port
    raise AssertionError("no two free ports beside each other")


@contextmanager
def nginx(folder, servers):
    """nginx with these servers in its config, which needs no rights."""
    program = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
    if program is None:
        pytest.skip("no nginx found: install it (Debian, Ubuntu: apt-get install nginx; macOS: brew install nginx)")
    paths = "".join(f"{it}_temp_path {folder}/{it};\n" for it in "client_body proxy fastcgi uwsgi scgi".split())
    whole = f"pid {folder}/pid; error_log {folder}/error.log; events {{}} http {{ access_log off; {paths}{servers}}}"
    (folder / "nginx.conf").write_text(whole, encoding="utf-8")
    process = subprocess.Popen([program, "-c", str(folder / "nginx.conf"), "-g", "daemon off;"])
    try:
        yield process
    finally:
        end(process)


@pytest.mark.nightly
def test_two_processes_behind_nginx_with_websockets(tmp_path):
    front, first = free_port(), two_free_ports()
    serve = [sys.executable, "-m", "pmdviz", "serve", "--num-procs", "2", "--port", str(first)]
    serve += ["--allow-websocket-origin", f"127.0.0.1:{front}"]
    text = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    for old, new in (("5006", first), ("5007", first + 1), ("listen 80", f"listen 127.0.0.1:{front}")):
        text = text.replace(old, str(new))
    with nginx(tmp_path, text) as proxy, server(serve, first) as lab:
        for process, port in ((lab, first + 1), (proxy, front)):
            await_answer(process, f"http://127.0.0.1:{port}/liveness", 90)
        crowd = Crowd(f"http://127.0.0.1:{front}")
        clients = crowd.join(4)
        for client in clients:
            crowd.do(client.until(lambda client=client: client.iteration >= 3))
        places = {client.wire.cookies["pmdviz_at"] for client in clients}
        assert places == {f"127.0.0.1:{port}" for port in (first, first + 1)}
        assert crowd.errors == []
        children = psutil.Process(lab.pid).children()
        lab.send_signal(signal.SIGTERM)
        assert lab.wait(60) == 0
        assert not psutil.wait_procs(children, timeout=300)[1]
        crowd.leave()


def test_the_commands_in_the_files_can_be_read_by_the_command_line(monkeypatch):
    from pmdviz.serve import server as served

    seen = []
    monkeypatch.setattr(served, "serve", lambda options: seen.append(options) or 0)
    container, service = ((DEPLOY / name).read_text(encoding="utf-8") for name in ("Containerfile", "pmdviz.service"))
    assert re.search(r"^ENV NUMBA_CACHE_DIR=.*\nRUN pmdviz compile --all$", container, re.MULTILINE)
    quoted = re.findall(r'"([^"]+)"', "".join(re.findall(r"^(?:ENTRYPOINT|CMD) .*$", container, re.MULTILINE)))
    for words in (quoted[1:], re.search(r"^ExecStart=\S+ (.*)$", service, re.MULTILINE)[1].split()):
        assert main(words) == 0, words
        assert seen[-1].port == 5006 and seen[-1].allow_websocket_origin
