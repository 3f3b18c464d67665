"""What independent draws get is computed in the background, told on the way, and let go when nobody wants it."""

import threading

from pmdviz.engine.recipe import Recipe
from pmdviz.engine.session import Session
from pmdviz.lab.loop.work import FloorWork
from pmdviz.metrics import perfect_draws
from pmdviz.metrics.perfect_draws import NUM_SETS, known_floor
from tests.lab.threads import until


def frame(seed, m=30):
    return Session(
        Recipe("gaussian", target_options={"data_seed": seed}, num_particles=m, bandwidth_rule="local")
    ).frame


async def test_cancelled_it_is_not_asked_again_until_it_is_forgotten(monkeypatch, gate):
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
    work = FloorWork(lambda: None)
    work.ask(asked)
    await until(held.is_set)
    assert work.words == f"being computed, 3 of {NUM_SETS}"
    work.cancel()
    await until(lambda: not work.running)
    gate.set()
    assert work.cancelled and work.words == "not computed" and known_floor(asked.target, 400, **asked.drawn_as) is None
    work.ask(asked)
    assert not work.running
    work.forget()
    work.ask(asked)
    await until(lambda: not work.running)
    assert (
        known_floor(asked.target, 400, **asked.drawn_as) is not None and len(calls) > 3 * perfect_draws.USUAL_PLACES + 1
    )
