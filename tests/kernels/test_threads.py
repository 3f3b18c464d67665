"""A kernel gives the same bits with 1, 2 and 3 threads: no block reads or writes what belongs to another."""

import numpy as np
import pytest

from pmdviz.kernels import networks, pool
from pmdviz.kernels.clusters import pooled_local_covariance
from pmdviz.kernels.gaussian_processes import gp_log_marginal
from pmdviz.kernels.grid import kde_on_grid
from pmdviz.kernels.kde import kde_log_density
from pmdviz.kernels.mixture import component_shares, mixture_grad_log_likelihood, mixture_log_likelihood
from pmdviz.kernels.stein import imq_force, log_determinants, soft_means, stein_force, transport
from pmdviz.kernels.topics import filtered, shares_of, tilted
from tests.kernels.naive import weighted

RNG = np.random.default_rng(20_261_121)
X, LEADERS, AXIS, SIGNS = RNG.normal(size=(900, 2)), RNG.normal(size=(400, 2)), np.linspace(-3, 3, 90), [1.0, -1.0]
NET, LAYERS = networks.NetShape(64, 32, 10, 1.0, 1.0), networks.LayeredShape((20, 20, 20, 1), True, False)
NETS, ROWS = RNG.uniform(-1, 1, (5, NET.dim)), np.column_stack([RNG.random((40, 64)), RNG.integers(10, size=40)])
WEIGHTS, BATCH = RNG.normal(size=(5, LAYERS.dim)), RNG.normal(size=(200, 21))
NATURAL, SEEDS = RNG.gamma(1.0, size=(5, 40, 8)), RNG.integers(0, 2**64, size=(5, 60), dtype=np.uint64)
PLACES = np.stack([np.arange(60) * 40, np.arange(60) * 40 + 20, np.arange(1, 61) * 40], axis=1)
DOCUMENTS = PLACES, np.tile(np.arange(40, dtype=np.int32), 60), np.full(2400, 2, np.int32)


def calls():
    """Each kernel on enough rows for many blocks."""
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


@pytest.fixture
def threaded(monkeypatch):
    monkeypatch.setattr(pool, "SERIAL_BELOW", 0)
    yield pool.set_threads
    pool.set_threads(None)


def test_same_bits_for_any_number_of_threads(threaded):
    for k, call in enumerate(calls()):
        found = []
        for number in (1, 2, 3):
            threaded(number)
            found.append(np.concatenate([np.ravel(part) for part in call()]))
        for other in found[1:]:
            np.testing.assert_array_equal(found[0], other, err_msg=f"call {k}")
