import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from pmdviz.errors import InputError
from pmdviz.kernels import pool
from pmdviz.kernels.pool import Cancelled, CancelToken, cancellable, current_token
from tests.support.tables import looped

LARGE = 10 * pool.SERIAL_BELOW


@pytest.fixture(autouse=True)
def environment_decides():
    yield
    pool.set_threads(None)


@looped("threads", [1, 2, 3, 8])
@looped("cost", [0, LARGE])
@looped("rows", [0, 1, 63, 64, 65, 200])
def test_every_row_once_in_blocks_that_do_not_depend_on_the_threads(threads, cost, rows):
    pool.set_threads(threads)
    blocks = []
    pool.run_blocks(lambda start, stop: blocks.append((start, stop)), rows, 64, cost)
    assert sorted(blocks) == [(start, min(start + 64, rows)) for start in range(0, rows, 64)]


def test_dear_work_runs_in_several_threads_at_once():
    pool.set_threads(3)
    together = threading.Barrier(3, timeout=30)  # breaks unless three threads meet
    pool.run_blocks(lambda start, stop: together.wait(), 3, 1, LARGE)


@looped("threads, cost", [(1, LARGE), (3, pool.SERIAL_BELOW - 1)])
def test_serial_with_one_thread_or_cheap_work(threads, cost):
    pool.set_threads(threads)
    seen = set()
    pool.run_blocks(lambda start, stop: seen.add(threading.get_ident()), 50, 1, cost)
    assert seen == {threading.get_ident()}


def test_a_block_may_start_blocks_of_its_own():
    pool.set_threads(2)
    done = []

    def outer(start, stop):
        pool.run_blocks(lambda a, b: done.append((start, a)), 4, 1, LARGE)

    pool.run_blocks(outer, 6, 1, LARGE)
    assert sorted(done) == [(i, j) for i in range(6) for j in range(4)]


def test_an_error_in_the_caller_s_block_or_in_a_helping_thread_reaches_the_caller():
    pool.set_threads(2)
    caller, together = threading.get_ident(), threading.Barrier(2, timeout=30)

    def fail(start, stop, helper):
        together.wait()
        if (threading.get_ident() != caller) == helper:
            raise ZeroDivisionError("block")

    for helper in (False, True):
        with pytest.raises(ZeroDivisionError, match="block"):
            pool.run_blocks(lambda start, stop, helper=helper: fail(start, stop, helper), 2, 1, LARGE)


def test_threads_from_the_environment(monkeypatch):
    monkeypatch.setenv("PMDVIZ_THREADS", "5")
    assert pool.num_threads() == 5
    pool.set_threads(2)
    assert pool.num_threads() == 2
    pool.set_threads(None)
    for given in ("0", "-1", "two", "1.5"):
        monkeypatch.setenv("PMDVIZ_THREADS", given)
        with pytest.raises(InputError, match=f"PMDVIZ_THREADS.*at least 1.*{given}"):
            pool.num_threads()
        with pytest.raises(InputError):
            pool.set_threads(given)
    monkeypatch.setenv("PMDVIZ_THREADS", "")
    assert pool.num_threads() >= 1


def test_a_watch_sees_how_far_the_work_is_and_stops_it_between_two_blocks():
    watch, seen = CancelToken(), []

    def work(start, stop):
        seen.append((start, watch.share))
        if start == 20:
            watch.cancel()

    with cancellable(watch), pytest.raises(Cancelled):
        pool.run_blocks(work, 50, 10, cost=0)
    assert seen == [(0, 0.0), (10, 0.2), (20, 0.4)]
    assert current_token() is None
    pool.run_blocks(work, 50, 10, cost=0)  # nobody watches: nothing stops it
    assert len(seen) == 8


@looped("threads", [1, 3])
def test_cancelled_work_of_several_threads_ends_and_the_pool_goes_on(threads):
    pool.set_threads(threads)
    watch = CancelToken()
    watch.cancel()
    with cancellable(watch), pytest.raises(Cancelled):
        pool.run_blocks(lambda start, stop: None, 1000, 10, cost=LARGE)
    done = []
    pool.run_blocks(lambda start, stop: done.append(start), 1000, 10, cost=LARGE)
    assert sorted(done) == list(range(0, 1000, 10))


def test_blas_is_limited_until_the_last_caller_leaves():
    def num_threads():
        return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}

    def compute():
        with pool.one_blas_thread():
            inside.set()
            left.wait(10)
            return num_threads()

    np.ones(2).dot(np.ones(2))  # loads NumPy's BLAS
    before, inside, left = num_threads(), threading.Event(), threading.Event()
    with ThreadPoolExecutor(1) as executor:
        with pool.one_blas_thread():
            other = executor.submit(compute)
            assert inside.wait(10) and num_threads() == {1}, "two callers compute at once"
        left.set()
        assert other.result(10) == {1}
    assert num_threads() == before
