"""What exact samples get is computed in the background, told on the way, and let go when nobody wants it."""

import asyncio
import threading
import time

import pytest

from pmdviz.engine.recipe.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.lab.loop.work.floor import FloorWork
from pmdviz.metrics import perfect_draws
from pmdviz.metrics.perfect_draws import NUM_SETS, known_floor
from tests.lab.threads import in_a_thread


def frame(seed, m=30):
    return Session(
        Recipe("gaussian", target_options={"data_seed": seed}, num_particles=m, bandwidth_rule="local")
    ).frame


async def until(condition, seconds=120.0):  # its threads give way to everybody else's
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        await asyncio.sleep(0.005)


def test_it_is_computed_once_and_told_at_the_end():
    async def scene():
        told = []
        work, asked = FloorWork(lambda: told.append(work.running)), frame(901)
        work.ask(asked)
        work.ask(asked)
        assert work.running and work.words.startswith("being computed")
        await until(lambda: told and told[-1] is False)
        assert told.count(False) == 1
        assert known_floor(asked.target, 30) is not None and work.sets_done == NUM_SETS

    in_a_thread(scene)


@pytest.fixture
def gate():
    """Opened at the end, whatever happens: a thread of all tests waits at it."""
    made = threading.Event()
    yield made
    made.set()


def test_cancelled_it_is_not_asked_again_until_it_is_forgotten(monkeypatch, gate):
    asked, held, calls = frame(902, m=400), threading.Event(), []

    def slow(density, target, inner=perfect_draws._judged):
        if target.key == asked.target.key:  # another test's floor may still be under way
            calls.append(density)
            if len(calls) == 3 * perfect_draws.USUAL_PLACES + 1:
                held.set()
                gate.wait(60)
        return inner(density, target)

    monkeypatch.setattr(perfect_draws, "_judged", slow)
    monkeypatch.setenv("PMDVIZ_THREADS", "1")  # so that all before the third set are told

    async def scene():
        work = FloorWork(lambda: None)
        work.ask(asked)
        await until(held.is_set)
        assert work.words == f"being computed, 3 of {NUM_SETS}"
        work.cancel()
        await until(lambda: not work.running)
        gate.set()
        assert work.cancelled and work.words == "not computed" and known_floor(asked.target, 400) is None
        work.ask(asked)
        assert not work.running
        work.forget()
        work.ask(asked)
        await until(lambda: not work.running)
        assert known_floor(asked.target, 400) is not None and len(calls) > 3 * perfect_draws.USUAL_PLACES + 1

    in_a_thread(scene)


def test_another_number_of_particles_lets_go_of_the_first():
    async def scene():
        work, first, second = FloorWork(lambda: None), frame(903, m=20_000), frame(903, m=25)
        work.ask(first)
        work.ask(second)
        await until(lambda: not work.running)
        assert known_floor(second.target, 25) is not None
        assert known_floor(first.target, 20_000) is None

    in_a_thread(scene)


def test_a_run_that_has_no_tv_lets_go_of_the_one_of_the_run_before():
    async def scene():
        work, first = FloorWork(lambda: None), frame(904, m=20_000)
        work.ask(first)
        assert work.running
        work.ask(Session(Recipe("categorical", "discrete_gf_svgd", num_particles=5)).frame)
        assert not work.running
        work.ask(first)
        assert work.running, "it is wanted again"
        work.forget()

    in_a_thread(scene)
