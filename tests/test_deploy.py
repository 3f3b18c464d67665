"""The deployment files: nginx in front of two processes, really run; the others read for what they promise."""

import re
import socket
from pathlib import Path

from pmdviz.cli.main import main
from tests.support.browser import free_port

DEPLOY = Path(__file__).parents[1] / "deploy"


def two_free_ports():
    for _ in range(50):
        port = free_port()
        try:
            with socket.socket() as probe:
                probe.bind(("127.0.0.1", port + 1))
            return port
        except OSError:
            continue
    raise AssertionError("no two free ports beside each other")


def test_the_commands_in_the_files_can_be_read_by_the_command_line(monkeypatch):
    from pmdviz.serve import server

    seen = []
    monkeypatch.setattr(server, "serve", lambda options: seen.append(options) or 0)
    container, service = ((DEPLOY / name).read_text(encoding="utf-8") for name in ("Containerfile", "pmdviz.service"))
    assert re.search(r"^ENV NUMBA_CACHE_DIR=.*\nRUN pmdviz compile --all$", container, re.MULTILINE)
    quoted = re.findall(r'"([^"]+)"', "".join(re.findall(r"^(?:ENTRYPOINT|CMD) .*$", container, re.MULTILINE)))
    for words in (quoted[1:], re.search(r"^ExecStart=\S+ (.*)$", service, re.MULTILINE)[1].split()):
        assert main(words) == 0, words
        assert seen[-1].port == 5006 and seen[-1].allow_websocket_origin
