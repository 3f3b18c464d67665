"""Tasks and their pools: one task at a time, quick work, and long work that gives way to it."""

import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from pmdviz.kernels.pool import priority, run_blocks
from pmdviz.lab.loop import task as lanes
from pmdviz.lab.loop.task import GIVES_WAY, QUICK_S, QUIET_S, DaemonPool, TaskSlot, pool_for
from tests.lab.threads import until


def test_who_comes_first_is_served_first_and_long_work_never_stands_in_the_way_of_quick_work():
    pool, order, gate = DaemonPool(1, "test"), [], threading.Event()
    pool.submit(gate.wait, 30)
    waiting = [pool.submit(order.append, k) for k in range(20)]
    gate.set()
    for one in waiting:
        one.result(30)
    assert order == list(range(20)) and all(thread.daemon for thread in pool._threads)
    gate.clear()
    long = [pool_for(10 * QUICK_S).submit(gate.wait, 60) for _ in range(50)]
    assert pool_for(0.0).submit(pow, 2, 3).result(20) == 8
    gate.set()
    for one in long:
        one.result(60)


def at_work(threads):
    """Run blocks that need so many threads at once; the priorities and the number of those that took part."""
    together, seen = threading.Barrier(threads, timeout=30), {}

    def work(start, stop):
        together.wait()
        time.sleep(0.05)  # a helper, if there is one, comes in time
        seen[threading.current_thread()] = priority()

    run_blocks(work, threads if threads > 1 else 3, 1, 1e9)
    return set(seen.values()), len(seen)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has priorities of threads")
def test_long_work_and_its_helpers_give_way(monkeypatch):
    monkeypatch.setenv("PMDVIZ_THREADS", "3")
    usual = priority()
    assert pool_for(0.0).submit(priority).result() == usual
    assert pool_for(10 * QUICK_S).submit(priority).result() == min(19, usual + GIVES_WAY)
    assert pool_for(0.0).submit(at_work, 3).result() == ({usual}, 3)
    monkeypatch.setattr(lanes._quick, "_used", lanes._quick._used - 2 * QUIET_S)
    assert pool_for(10 * QUICK_S).submit(at_work, 3).result() == ({min(19, usual + GIVES_WAY)}, 3)
    monkeypatch.setattr(lanes, "QUIET_S", 60.0)  # it has none while short steps are made
    pool_for(0.0).submit(pow, 2, 3).result()
    assert pool_for(10 * QUICK_S).submit(at_work, 1).result()[1] == 1


def test_long_work_goes_round_in_slices(monkeypatch):
    """A short piece that comes last is not the last to end, and at any time one piece runs."""
    monkeypatch.setattr(lanes, "SLICE_S", 0.0)
    shared, gate, order, running = lanes.Slices("test"), threading.Event(), [], []

    def work(name, parts):
        for part in range(parts):
            running.append(name)
            assert len(running) == 1
            order.append((name, part))
            gate.wait(30)
            running.remove(name)
            shared.rest()
            with ThreadPoolExecutor(1) as helper:
                helper.submit(shared.rest).result()  # of no thread that has a slice: nobody's turn
        return name

    pieces = {name: shared.submit(work, name, parts) for name, parts in (("long", 40), ("wide", 40), ("short", 2))}
    while len(shared._line) < 2:
        time.sleep(0.005)
    gate.set()
    assert [piece.result(30) for piece in pieces.values()] == [*pieces]
    assert order.index(("short", 1)) < order.index(("long", 5))
    with pytest.raises(ZeroDivisionError):
        shared.submit(lambda: 1 / 0).result(30)
    assert shared.submit(pow, 2, 3).result(30) == 8  # an error keeps nobody's turn


async def test_a_new_task_takes_the_place_of_the_one_that_runs_or_waits_for_it():
    pool, gate, ended = DaemonPool(2, "test"), threading.Event(), []

    def act(name):
        def work(tell):
            while not gate.wait(0.01):
                tell(1, 4)
            return name

        return work

    told = []
    slot = TaskSlot(lambda: told.append(slot.running), 0.02)
    for name in ("first", "second"):
        slot.begin(pool, act(name), lambda task: ended.append(task.outcome()))
    await until(lambda: told and slot.share == 0.25)
    gate.set()
    await until(lambda: not slot.running)
    assert [found.result for found in ended] == ["second"] and told[-1] is False
    gate.clear()
    queue, results = TaskSlot(queues=True), []
    for name in ("first", "second", "third"):
        queue.compute(pool, partial(act(name), lambda done, total: None), results.append, results.append)
    gate.set()
    await until(lambda: len(results) == 2)
    assert results == ["first", "third"], "of those that wait the newest"


async def test_what_became_of_a_task_is_a_result_or_words():
    pool, gate = DaemonPool(2, "test"), threading.Event()
    slot, ended = TaskSlot(), []
    slot.begin(pool, lambda tell: 1 / 0, lambda task: ended.append(task.outcome("It stopped with {kind}: {error}")))
    await until(lambda: ended)
    assert ended[0].words == "It stopped with ZeroDivisionError: division by zero" and not ended[0].cancelled
    slot.begin(pool, lambda tell: gate.wait(30), lambda task: ended.append(task.outcome()))
    slot.cancel()
    await until(lambda: len(ended) == 2)
    assert ended[1].cancelled and ended[1].words == "" and not slot.running
    slot.begin(pool, lambda tell: 1, lambda task: ended.append(task.outcome()))
    slot.let_go()
    gate.set()
    assert pool.submit(pow, 2, 3).result(30) == 8 and len(ended) == 2, "nobody hears of what was let go"
