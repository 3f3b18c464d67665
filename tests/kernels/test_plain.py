"""Kernels compiled and in plain Python give the same: what is tested of one holds for the other."""

import numpy as np
from numba import njit

from pmdviz.kernels import distances, grid, kde, neighbourhoods, pairs, resampling, thinning
from pmdviz.kernels.likelihoods import banana, bimodal, gaussian, gaussian_mixture, mixture
from pmdviz.kernels.stein import black_box
from tests.support.tables import looped

RNG = np.random.default_rng(20_261_121)
PLANE, LINE, NINE, FEW = RNG.normal(size=(9, 2)), RNG.normal(size=(9, 1)), RNG.normal(size=9), RNG.random(4)
COLUMNS, WEIGHTS = np.ascontiguousarray(RNG.normal(size=(12, 2)).T), RNG.random(12)
AXIS, ORDER = np.linspace(-1, 1, 9), np.arange(12)
REACHED = grid._rows_reached(PLANE, grid.REACH * 0.5, AXIS)
DISTANCES = neighbourhoods._distances(COLUMNS, np.array([0, 5]))
SQUARE = RNG.normal(size=(9, 9))

# A kernel and what it is given: arrays that it fills are compared too.
CASES = [
    (banana._log_likelihood, PLANE, 1.0, 0.5, 2.0, -3.0),
    (banana._gradient, PLANE, 1.0, 0.5, 2.0),
    (bimodal._log_likelihood, LINE, 1.0, 2.0, -3.0),
    (bimodal._gradient, LINE, 1.0, 2.0),
    (gaussian._log_likelihood, PLANE, NINE[:2].copy(), 2.0, -7.0),
    (mixture._log_likelihood, NINE, NINE[::-1].copy(), FEW, (0.7, -1.7, -0.5), np.empty(9)),
    (mixture._log_likelihood_few, NINE, NINE[::-1].copy(), FEW, (0.7, -1.7, -0.5), np.empty(9)),
    (mixture._gradient, NINE, NINE[::-1].copy(), FEW, (0.7, -1.7, -0.5), np.empty((9, 2))),
    (mixture._gradient_few, NINE, NINE[::-1].copy(), FEW, (0.7, -1.7, -0.5), np.empty((9, 2))),
    (gaussian_mixture._log_density, PLANE, PLANE[:4].copy(), np.log(FEW), 0.7, np.empty(9)),
    (gaussian_mixture._gradient, PLANE, PLANE[:4].copy(), np.log(FEW), 0.7, np.empty((9, 2))),
    (distances._squared_distances, PLANE),
    (grid._rows_reached, PLANE, grid.REACH * 0.5, AXIS),
    (grid._scatter_rows, PLANE, -RNG.random(9), REACHED, (0.4, 0.3, 0.5), AXIS, AXIS, np.zeros((9, 9)), 0, 9),
    (grid._scatter_blocks, PLANE, -RNG.random(9), REACHED, (0.4, 0.3, 0.5), AXIS, AXIS, np.zeros((9, 9)), 0, 9),
    (pairs.add_rows, COLUMNS, -WEIGHTS, PLANE, np.zeros(3), 0, 3, np.empty((2, 12))),
    (pairs.redo_faint, COLUMNS, -WEIGHTS, 1e3 * PLANE, np.zeros(3), np.zeros(3), 0, 3),
    (neighbourhoods._distances, COLUMNS, np.array([0, 5])),
    (neighbourhoods._nearest, DISTANCES[0], np.sort(DISTANCES[0])[3], 4),
    *((neighbourhoods._extent, WEIGHTS, enough, least) for enough, least in ((0.1, 1.0), (1.0, 3.0), (99.0, 1.0))),
    (neighbourhoods._covariance, COLUMNS.T.copy(), WEIGHTS, ORDER[:5].copy(), COLUMNS[:, 0].copy(), np.zeros((2, 2))),
    (resampling._search, WEIGHTS, (np.arange(20) + 0.3) / 20),
    (thinning._thinned, COLUMNS, 3, FEW[:3].copy()),
    (thinning._widest, COLUMNS, ORDER, 2, 9),
    (black_box._nearest, NINE, np.ones(9)),
    (black_box._descended, SQUARE @ SQUARE.T, np.ones(9), np.full(9, 1 / 9), np.full(9, 1 / 9), 1.0, 20),
]  # fmt: skip


def done(function, given):
    """What a function returns, and its arguments afterwards."""
    given = [one.copy() if isinstance(one, np.ndarray) else one for one in given]
    with np.errstate(all="ignore"):
        return [function(*given), *given]


@looped("case", CASES)
def test_compiled_and_plain_python_agree(case):
    kernel, *given = case
    for compiled, plain in zip(done(kernel, given), done(kernel.py_func, given), strict=True):
        if compiled is not None:
            np.testing.assert_allclose(compiled, plain, rtol=1e-9, atol=1e-12)


def test_kernels_can_be_called_from_other_compiled_code():
    @njit
    def outer(columns, base, targets):
        out = np.empty(targets.shape[0])
        pairs.add_rows(columns, base, targets, out, 0, targets.shape[0], np.empty((2, 0)))
        return out

    found = np.log(outer(COLUMNS * kde.SCALE, np.log2(WEIGHTS), PLANE * kde.SCALE)) - np.log(2 * np.pi)
    expected = kde.kde_log_density(COLUMNS.T.copy(), np.log(WEIGHTS), np.eye(2), PLANE)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
