import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from pmdviz.kernels import networks, pool
from pmdviz.kernels.clusters import pooled_local_covariance
from pmdviz.kernels.gaussian_processes import gp_log_marginal
from pmdviz.kernels.grid import kde_on_grid
from pmdviz.kernels.kde import kde_log_density
from pmdviz.kernels.mixture import component_shares, mixture_grad_log_likelihood, mixture_log_likelihood
from pmdviz.kernels.pool import Cancelled, CancelToken, cancellable, current_token
from pmdviz.kernels.stein import imq_force, log_determinants, soft_means, stein_force, transport
from pmdviz.kernels.topics import filtered, shares_of, tilted
from tests.kernels.naive import weighted
from tests.support.tables import looped, refused

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


def test_dear_work_runs_in_several_threads_whose_blocks_may_start_blocks():
    pool.set_threads(3)
    together = threading.Barrier(3, timeout=30)  # breaks unless three threads meet
    pool.run_blocks(lambda start, stop: together.wait(), 3, 1, LARGE)
    pool.set_threads(2)
    done = []
    inner = lambda start, stop: pool.run_blocks(lambda a, b: done.append((start, a)), 4, 1, LARGE)  # noqa: E731
    pool.run_blocks(inner, 6, 1, LARGE)
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
        refused(f"PMDVIZ_THREADS.*at least 1.*{given}", pool.num_threads)
        refused("at least 1", pool.set_threads, given)
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
    assert seen == [(0, 0.0), (10, 0.2), (20, 0.4)] and current_token() is None
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


RNG = np.random.default_rng(20_261_121)
X, LEADERS, AXIS, SIGNS = RNG.normal(size=(900, 2)), RNG.normal(size=(400, 2)), np.linspace(-3, 3, 90), [1.0, -1.0]
NET, LAYERS = networks.NetShape(64, 32, 10, 1.0, 1.0), networks.LayeredShape((20, 20, 20, 1), True, False)
NETS, ROWS = RNG.uniform(-1, 1, (5, NET.dim)), np.column_stack([RNG.random((40, 64)), RNG.integers(10, size=40)])
WEIGHTS, BATCH = RNG.normal(size=(5, LAYERS.dim)), RNG.normal(size=(200, 21))
NATURAL, SEEDS = RNG.gamma(1.0, size=(5, 40, 8)), RNG.integers(0, 2**64, size=(5, 60), dtype=np.uint64)
PLACES = np.stack([np.arange(60) * 40, np.arange(60) * 40 + 20, np.arange(1, 61) * 40], axis=1)
DOCUMENTS = PLACES, np.tile(np.arange(40, dtype=np.int32), 60), np.full(2400, 2, np.int32)


def calls():
    for dim in (1, 2, 5):
        x, log_weights = weighted(RNG, 700, dim)
        for single in (False, True):
            yield lambda x=x, w=log_weights, s=single: kde_log_density(x, w, np.eye(len(x[0])), x, single=s)
    for cholesky in (2 * np.eye(2), np.array([[0.4, 0], [0.38, 0.02]])):
        yield lambda c=cholesky: kde_on_grid(X, np.zeros(900), c, AXIS, AXIS)
    yield lambda: pooled_local_covariance(X, np.ones(900), np.arange(60), np.ones(2), 90)
    yield lambda: mixture_log_likelihood(X, AXIS, 1.0, 0.5)
    yield lambda: mixture_grad_log_likelihood(X, AXIS, 1.0, 0.5)
    yield lambda: component_shares(X, np.full(50, -4.0), LEADERS[:50], np.ones((50, 2)), np.zeros(900))
    yield lambda: soft_means(X, X, np.zeros(900), 0.3)
    yield lambda: (stein_force(X, -X, 0.3), imq_force(X, -X, 0.3))
    for dim in (2, 5):
        x, leaders = RNG.normal(size=(900, dim)), RNG.normal(size=(400, dim))
        yield lambda x=x, leaders=leaders: transport(x, leaders, -leaders, 0.3)
        _, jacobian = transport(x, leaders, -leaders, 0.3)
        yield lambda j=jacobian: log_determinants(j, 0.3)
    yield lambda: networks.net_gradient(NETS, ROWS, NET, False)
    yield lambda: networks.net_log_likelihood(NETS, ROWS, NET, False)
    yield lambda: networks.regression_gradient(WEIGHTS, BATCH, LAYERS)
    yield lambda: networks.regression_outputs(WEIGHTS, BATCH[:, :-1], LAYERS)
    yield lambda: gp_log_marginal(np.column_stack([X[:16], X[:16, 0]]), X[:30], np.tile(SIGNS, 15))
    yield lambda: tilted(NATURAL, DOCUMENTS, SEEDS, 0.1, 0.01, 0.5, 2.0, 3)
    yield lambda: filtered(NATURAL, DOCUMENTS, SEEDS, 0.1, 1)
    yield lambda: shares_of(NATURAL, DOCUMENTS, 0.1)


def test_same_bits_for_any_number_of_threads(monkeypatch):
    monkeypatch.setattr(pool, "SERIAL_BELOW", 0)
    for k, call in enumerate(calls()):
        found = []
        for number in (1, 2, 3):
            pool.set_threads(number)
            found.append(np.concatenate([np.ravel(part) for part in call()]))
        for other in found[1:]:
            np.testing.assert_array_equal(found[0], other, err_msg=f"call {k}")
