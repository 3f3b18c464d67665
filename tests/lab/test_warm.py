"""The warm-up in other processes, and what a page says before it is over."""

import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from pmdviz.kernels import warmup
from pmdviz.lab import Lab
from pmdviz.lab.loop import warm
from tests.lab.test_live import run

ROOT = Path(__file__).parents[2]

# After the first part of the warm-up alone: what the usual run's first picture compiles or loads besides.
FIRST_PICTURE = """
from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.kernels import warmup
from pmdviz.lab.loop.runner import Runner

def signatures():
    found = {(m.__name__, n): i for m in warmup.MODULES for n, i in vars(m).items() if hasattr(i, "py_func")}
    return {(name, str(signature)) for name, item in found.items() for signature in item.signatures}

warmup.call_each(warmup.first_calls(), lambda share, words: None)
before = signatures()
Runner(Recipe()).snapshot()
print(sorted(signatures() - before))
"""


def test_other_processes_compile_and_tell():
    told, firsts = [], []
    warm._compile_elsewhere(lambda share, words: told.append((share, words)), lambda: firsts.append(len(told)))
    words = [words for words, _ in [*warmup.first_calls(), *warmup.other_calls()]]
    assert sorted(said for _, said in told) == sorted(words), "each kernel in one of the processes"
    assert [share for share, _ in told] == pytest.approx([k / len(words) for k in range(len(words))])
    assert len(firsts) == 1 and firsts[0] >= len(warmup.first_calls())


def test_without_other_processes_this_one_compiles(monkeypatch):
    monkeypatch.setattr(warm.sys, "executable", "no-such-program")
    warm._compile_elsewhere(lambda *said: pytest.fail("nothing was told"), lambda: pytest.fail("nothing was done"))


def test_the_first_picture_needs_no_more_than_the_first_calls():
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", FIRST_PICTURE], env=environment, capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stdout + done.stderr


def test_who_has_a_picture_waits_for_the_rest_and_then_plays(monkeypatch):
    """The first step would compile what is missing in this process, and hold up every page of it."""

    class Gate:
        asked = opened = False

        def is_set(self):
            return self.opened

        def wait(self):
            self.asked = True
            while not self.opened:
                time.sleep(0.01)

    async def scene(bench):
        gate = Gate()
        monkeypatch.setattr(warm, "_ready", gate)
        monkeypatch.setattr(warm, "_thread", object())
        bench.live.play(True)
        await bench.until(lambda: gate.asked)
        assert bench.live.runner.session.frame.iteration == 0 and bench.live.playing
        gate.opened = True
        await bench.until(lambda: bench.screen.shown)

    run(scene)


@pytest.mark.parametrize(("knobs", "enough"), [({}, True), ({"budget": 500, "seed": 3}, True), ({"eta": 1.0}, False)])
def test_the_usual_run_alone_is_drawn_before_the_rest_is_compiled(monkeypatch, knobs, enough):
    asked = []
    monkeypatch.setattr(warm, "wait", lambda first_picture=False: asked.append(first_picture))
    Lab(**knobs)._first(None)
    assert asked == [enough]


def test_the_first_document_says_what_is_happening(monkeypatch):
    monkeypatch.setattr(warm, "can_draw", lambda: False)
    monkeypatch.setattr(warm, "_progress", (0.12, "density on a grid"))
    monkeypatch.setattr(warm, "_compiling", threading.Event())  # set where this process found an empty cache
    warm_words = Lab().screen.status.text
    assert "Preparing the lab: loading the mathematics. 12 %" in warm_words
