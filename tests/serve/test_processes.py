"""Several server processes: one that dies is replaced, one that cannot live is not."""

import signal
import subprocess
import sys

import pytest

from pmdviz.serve import processes


@pytest.fixture
def started(monkeypatch):
    """What the processes do, one piece of Python after the other, and the ports that they were started for."""
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    pieces, ports = [], []

    def start(arguments, port, connection):
        ports.append(port)
        return subprocess.Popen([sys.executable, "-S", "-c", pieces[len(ports) - 1]], stdin=connection)

    monkeypatch.setattr(processes, "_start", start)
    monkeypatch.setattr(processes, "WATCH_S", 0.01)
    yield pieces, ports
    for number, handler in handlers.items():
        signal.signal(number, handler)


STAYS, DIES, USELESS = "import time; time.sleep(60)", "raise SystemExit(3)", "raise SystemExit(2)"
ENDED_LATER = "import os; os.write(0, b'!'); raise SystemExit(2)"  # by what a visitor did, say


def test_a_process_that_dies_early_again_and_again_is_given_up(started, monkeypatch, capsys):
    pieces, ports = started
    pieces += [STAYS, *[DIES] * processes.MAX_EARLY]
    monkeypatch.setattr(processes, "EARLY_S", 1e9)
    assert processes.supervise([], [7001, 7002]) == 1
    assert ports == [7001, *[7002] * processes.MAX_EARLY]
    said = capsys.readouterr()
    assert said.out.count("the process at port 7002 ended with status 3; another is started") == 2
    assert "the process at port 7002 ended within" in said.err
    assert "3 times in a row, the last time with status 3" in said.err


def test_a_status_of_two_ends_all_only_before_anybody_was_served(started, monkeypatch, capsys):
    pieces, ports = started
    pieces += [ENDED_LATER, ENDED_LATER, USELESS]
    monkeypatch.setattr(processes, "EARLY_S", 0.0)
    assert processes.supervise([], [7001]) == 2
    assert len(ports) == 3
    assert capsys.readouterr().out.count("ended with status 2; another is started") == 2


def test_a_worker_is_handed_the_key_where_nobody_else_reads_it(monkeypatch):
    """Through its standard input; neither its command line nor its environment has it."""
    shows = "import os, sys; print(os.read(0, 99).decode(), dict(os.environ), sys.argv, sys.flags.safe_path)"
    started = []

    def popen(command, **how):
        started.append(command)
        return subprocess.Popen([*command[:2], "-c", shows, *command[3:]], stdout=subprocess.PIPE, text=True, **how)

    monkeypatch.setattr(processes, "subprocess", type("Fake", (), {"Popen": staticmethod(popen)}))
    key = processes.new_key()
    worker = processes.Worker(["--address", "127.0.0.1"], 7001, key)
    said, rest = worker.process.communicate()[0].split("\n", 1)
    worker.close()
    assert said == key.decode() and len(key) == 64
    assert key.decode() not in rest and processes.WORKER in rest
    assert rest.rstrip().endswith("True")  # no module of the current folder comes before ours
