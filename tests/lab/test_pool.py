"""Two lanes: quick work, and long work that gives way to it."""

import sys
import threading

import pytest

from pmdviz.kernels.pool import priority, run_blocks, set_threads
from pmdviz.lab.pool import GIVES_WAY, QUICK_S, DaemonPool, lane


def test_errors_are_handed_on_and_no_thread_keeps_a_process_alive():
    pool = DaemonPool(2, "test")
    assert [pool.submit(pow, 2, k).result() for k in range(5)] == [1, 2, 4, 8, 16]
    with pytest.raises(ZeroDivisionError):
        pool.submit(lambda: 1 / 0).result()
    assert all(thread.daemon for thread in pool._threads)


def test_who_comes_first_is_served_first():
    pool, order, gate = DaemonPool(1, "test"), [], threading.Event()
    pool.submit(gate.wait, 30)
    waiting = [pool.submit(order.append, k) for k in range(20)]
    gate.set()
    for one in waiting:
        one.result(30)
    assert order == list(range(20))


def test_long_work_never_stands_in_the_way_of_quick_work():
    gate = threading.Event()
    long = [lane(10 * QUICK_S).submit(gate.wait, 60) for _ in range(50)]
    assert lane(0.0).submit(pow, 2, 3).result(20) == 8
    gate.set()
    for one in long:
        one.result(60)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has priorities of threads")
def test_long_work_and_its_helpers_give_way():
    usual = priority()
    assert lane(0.0).submit(priority).result() == usual
    assert lane(10 * QUICK_S).submit(priority).result() == min(19, usual + GIVES_WAY)

    def helped():
        seen = set()
        together = threading.Barrier(3, timeout=30)  # so that three threads take part
        run_blocks(lambda start, stop: (together.wait(), seen.add(priority())), 3, 1, 1e9)
        return seen

    set_threads(3)
    try:
        assert lane(0.0).submit(helped).result() == {usual}
        assert lane(10 * QUICK_S).submit(helped).result() == {min(19, usual + GIVES_WAY)}
    finally:
        set_threads(None)
