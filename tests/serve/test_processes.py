"""Several server processes: one that dies is replaced, one that cannot live is not."""

import signal
import subprocess
import sys

import pytest

from pmdviz.serve import server


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
        words = (
            f"the process at port 7002 ended within 10 s with status {3 if status == 1 else 2}; see its messages above"
        )
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
