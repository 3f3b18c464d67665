"""The queue of the background compile, its processes, and a computer without a folder for compiled kernels."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pmdviz.kernels import compiling
from pmdviz.kernels.compiling import Call, Compiler, NotCached, Process, calls, only_loading
from pmdviz.kernels.jit import DEFAULT
from pmdviz.kernels.resampling import _top

ROOT = Path(__file__).parents[2]
PATIENCE_S = 60


@pytest.fixture
def queue(monkeypatch):
    order, compiled, gate = [], set(), threading.Event()

    def make(words):
        if words not in compiled:
            raise NotCached

    class Noting:
        def __init__(self):
            self.niceness = 0

        def compile(self, call, niceness):
            assert gate.wait(PATIENCE_S)
            order.append((call.words, niceness))
            compiled.add(call.words)
            return 2.0

        def end(self):
            pass

    groups = "banana", DEFAULT, "rest", "svgd"
    found = [Call(group, f"{group} {k}", lambda w=f"{group} {k}": make(w)) for group in groups for k in range(2)]
    monkeypatch.setattr(compiling, "calls", lambda: found)
    monkeypatch.setattr(compiling, "Process", Noting)
    monkeypatch.setattr(compiling, "SECONDS", {call.words: 1.0 for call in found})
    made = Compiler(lanes=1)
    made.order, made.gate = order, gate
    return made


def test_what_somebody_waits_for_comes_first_and_the_rest_while_nobody_plays(queue):
    page = threading.Event()  # any object
    queue.somebody_plays(page, True)
    queue.begin()
    queue.ask(("svgd", "banana"))
    queue.gate.set()
    assert queue.wait((DEFAULT,), PATIENCE_S) and queue.wait(("svgd", "banana"), PATIENCE_S)
    asked = {f"{group} {k}" for group in ("banana", DEFAULT, "svgd") for k in (0, 1)}
    assert {words for words, _ in queue.order} == asked and len(queue.order) == 6
    assert {niceness for _, niceness in queue.order} == {compiling.FOR_A_PAGE}
    assert not queue.is_ready(("rest",)) and queue.seconds_left(("rest",)) > 0
    queue.somebody_plays(page, False)
    with queue._change:
        assert queue._change.wait_for(lambda: len(queue._ready) == 8, PATIENCE_S)
    assert queue.order[6:] == [("rest 0", compiling.LOWEST), ("rest 1", compiling.LOWEST)]


def test_seconds_left_follow_the_measured_times_down_to_none(queue):
    assert queue.seconds_left(()) == 0.0
    queue.begin()
    queue.ask(("svgd",))
    assert not queue.wait(("svgd",), 0.05), "nothing is compiled yet"
    assert 0 < queue.seconds_left(("svgd",)) <= 2 + 2, "at most those of the group and of the default run"
    queue.gate.set()
    assert queue.wait(("svgd",), PATIENCE_S)
    assert queue.seconds_left(("svgd",)) == 0.0


def test_what_no_other_process_compiles_is_compiled_here(queue, monkeypatch):
    made = []
    call = Call("one", "one", lambda: made.append(compiling._this_thread.__dict__.get("only_loads")))
    for name, value in (("Process", Process), ("calls", lambda: [call]), ("_is_loaded", lambda call: False)):
        monkeypatch.setattr(compiling, name, value)
    monkeypatch.setattr(compiling.sys, "executable", "no-such-program")
    assert queue.wait(("one",), PATIENCE_S) and made == [None]


def test_another_process_compiles_and_is_replaced_when_it_died_and_a_thread_that_only_loads_compiles_none(caplog):
    with only_loading(), pytest.raises(NotCached):
        _top.compile("(float32[::1], float32[::1], float32)")
    call, process = next(call for call in calls() if call.words == "step limit"), Process()
    assert process.compile(call, compiling.LOWEST) > 0.0
    assert process.compile(Call("none", "no such call", None), compiling.LOWEST) is None
    assert "no such call" in caplog.text, "the last line of its traceback"
    assert process.compile(call, compiling.FOR_A_CALLER) > 0.0
    process.end()


THIN = """
import tempfile; tempfile.tempdir = {folder!r}
from numba.core.caching import CacheImpl, UserProvidedCacheLocator
CacheImpl._locator_classes = [UserProvidedCacheLocator]
import numpy as np
from pmdviz.kernels.factors import cholesky
assert cholesky(np.eye(2)[None]).shape == (1, 2, 2)
"""


def test_without_a_folder_for_them_kernels_are_kept_in_a_temporary_one(tmp_path):
    (tmp_path / "file").touch()
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "file"), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", THIN.format(folder=str(tmp_path))]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "in a temporary folder" in done.stderr and "NUMBA_CACHE_DIR" in done.stderr and done.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["file"], "the temporary folder is removed"
