"""The card that tests whether a run's sample comes from its target: what it offers, says, keeps and lets go of."""

import asyncio
import threading
import time

import pytest

from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.experiments.goodness_of_fit.statistics import FIT_TESTS
from pmdviz.lab.loop.runner import Runner
from pmdviz.lab.loop.work import fit as fit_work
from pmdviz.lab.panels.fit import CANCELLED, NO_TEST, FitPanel
from tests.lab.threads import in_a_thread

INDEPENDENT = Recipe("gaussian", "pmd", draws="independent", num_particles=200)


async def until(condition, seconds=120.0):  # its threads give way to everybody else's
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        await asyncio.sleep(0.005)


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
def gate():
    """Opened at the end, whatever happens: the thread of all tests waits at it."""
    made = threading.Event()
    yield made
    made.set()


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


def test_a_sample_is_tested_in_the_background_and_the_result_says_of_what(held, gate):
    async def scene():
        runner = Runner(INDEPENDENT)
        panel = opened(at(runner, 60))
        panel._begin()
        assert panel.button.disabled and panel.stop_it.visible and "Testing the sample" in panel.said.object
        await until(held.is_set)
        gate.set()
        await until(lambda: not panel.work.running)
        words = panel.said.object
        assert "Iteration 60: statistic" in words and ", p = " in words
        assert "no evidence against it" in words or "rejected at 5\u00a0%" in words
        assert "w / max w" in words and "pmdviz-fit-old" not in words
        assert not panel.button.disabled and not panel.stop_it.visible

    in_a_thread(scene)


def test_a_result_of_an_earlier_moment_says_so_until_the_run_is_there_again():
    async def scene():
        runner = Runner(INDEPENDENT)
        there = at(runner, 40)
        panel = opened(there)
        panel._begin()
        await until(lambda: not panel.work.running)
        fresh = panel.said.object
        panel.show(at(runner, 1))
        assert "pmdviz-fit-old" in panel.said.object and "iteration 40 is no longer" in panel.said.object
        panel.show(there)
        assert panel.said.object == fresh
        panel.show(at(Runner(INDEPENDENT.replaced(knobs={"eta": 0.5})), 40))  # begun again with another step size
        assert "pmdviz-fit-old" in panel.said.object

    in_a_thread(scene)


def test_another_run_has_no_result_and_lets_go_of_the_test_under_way(held, gate):
    async def scene():
        panel = opened(at(Runner(INDEPENDENT), 40))
        panel._begin()
        await until(held.is_set)
        panel.show(at(Runner(INDEPENDENT.replaced(seed=1)), 40))
        assert not panel.work.running and panel.said.object == "" and not panel.button.disabled
        gate.set()
        panel._begin()
        await until(lambda: not panel.work.running)
        assert panel.work.outcome.result is not None

    in_a_thread(scene)


def test_it_can_be_cancelled_and_the_end_of_the_page_cancels_it(held, gate):
    async def scene():
        panel = opened(at(Runner(INDEPENDENT), 20))
        panel._begin()
        await until(held.is_set)
        panel.work.cancel()
        await until(lambda: not panel.work.running)
        assert CANCELLED in panel.said.object and panel.work.outcome is None
        gate.set()
        panel._begin()
        panel.stop()
        assert not panel.work.running

    in_a_thread(scene)


def test_evenly_spread_particles_are_refused_in_words_of_the_page():
    async def scene():
        panel = opened(at(Runner(Recipe("gaussian", "pmd", num_particles=50)), 5))
        panel._begin()
        await until(lambda: not panel.work.running)
        assert "evenly spread" in panel.said.object and "set New particles to “independent”." in panel.said.object

    in_a_thread(scene)


def test_what_a_test_raises_is_said(monkeypatch):
    def broken(*args):
        raise ZeroDivisionError("<b>by nought</b>")

    async def scene():
        panel = opened(at(Runner(INDEPENDENT), 5))
        panel._begin()
        await until(lambda: not panel.work.running)
        assert "It stopped: &lt;b&gt;by nought" in panel.said.object

    monkeypatch.setattr(fit_work, "tested", broken)
    in_a_thread(scene)


def test_the_tests_offered_are_those_that_apply():
    async def scene():
        panel = opened(at(Runner(Recipe("gaussian", "mala")), 1))
        offered = {*panel.test.options.values()}
        assert {"ksd", "mmd"} <= offered and "dksd" not in offered
        states = at(Runner(Recipe("ising", "gibbs")), 1)
        panel.show(states)
        assert "dksd" in panel.test.options.values() and panel.test.value in panel.test.options.values()
        assert {*panel.test.options.values()} == {n for n, t in FIT_TESTS.items() if t.applies(states.frame.target)}

    in_a_thread(scene)


def test_where_none_applies_it_says_so(monkeypatch):
    async def scene():
        for test in FIT_TESTS.values():
            monkeypatch.setattr(type(test), "applies", lambda self, target: False)
        panel = opened(at(Runner(INDEPENDENT), 1))
        assert NO_TEST in panel.said.object and panel.button.disabled and not panel.test.visible
        panel._begin()
        assert not panel.work.running

    in_a_thread(scene)
