"""The card that tests whether a run's sample comes from its target: what it offers, says, keeps and lets go of."""

import threading

import pytest

from pmdviz.engine.recipe import Recipe
from pmdviz.lab.loop.runner import Runner
from pmdviz.lab.panels import folds as fit_work
from pmdviz.lab.panels.folds import CANCELLED, FitPanel
from tests.lab.threads import until

INDEPENDENT = Recipe("gaussian", "pmd", draws="independent", num_particles=200)


def opened(snapshot):
    panel = FitPanel()
    panel.show(snapshot)
    assert len(panel.view) == 0  # nothing is built before it is looked at
    panel.view.collapsed = False
    return panel


def at(runner, steps):
    """The snapshot after so many more steps."""
    runner.session.advance(steps)
    return runner.snapshot()


@pytest.fixture
def held(monkeypatch, gate):
    """Set once a test has begun, which then waits at the gate."""
    begun, real = threading.Event(), fit_work.tested

    def slow(*args):
        begun.set()
        gate.wait(60)
        return real(*args)

    monkeypatch.setattr(fit_work, "tested", slow)
    return begun


async def test_a_sample_is_tested_in_the_background_and_the_result_says_of_what(held, gate):
    runner = Runner(INDEPENDENT)
    panel = opened(at(runner, 60))
    panel._begin()
    assert panel.button.disabled and panel.stop_it.visible and "Testing the sample" in panel.said.object
    await until(held.is_set)
    gate.set()
    await until(lambda: not panel.running)
    words = panel.said.object
    assert "Iteration 60: statistic" in words and ", p = " in words
    assert "no evidence against it" in words or "rejected at 5\u00a0%" in words
    assert "w / max w" in words and "pmdviz-fit-old" not in words
    assert not panel.button.disabled and not panel.stop_it.visible


async def test_a_result_of_an_earlier_moment_says_so_until_the_run_is_there_again():
    runner = Runner(INDEPENDENT)
    there = at(runner, 40)
    panel = opened(there)
    panel._begin()
    await until(lambda: not panel.running)
    fresh = panel.said.object
    panel.show(at(runner, 1))
    assert "pmdviz-fit-old" in panel.said.object and "iteration 40 is no longer" in panel.said.object
    panel.show(there)
    assert panel.said.object == fresh
    panel.show(at(Runner(INDEPENDENT.replaced(knobs={"eta": 0.5})), 40))  # begun again with another step size
    assert "pmdviz-fit-old" in panel.said.object


async def test_it_can_be_cancelled_and_the_end_of_the_page_cancels_it(held, gate):
    panel = opened(at(Runner(INDEPENDENT), 20))
    panel._begin()
    await until(held.is_set)
    panel.cancel()
    await until(lambda: not panel.running)
    assert CANCELLED in panel.said.object and panel.outcome is None
    gate.set()
    panel._begin()
    panel.forget()
    assert not panel.running
