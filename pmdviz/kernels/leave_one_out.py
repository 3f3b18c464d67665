"""Leave-one-out log density of a kernel density estimate with shrunk centres, at some of its own particles."""

import numpy as np

from pmdviz.kernels.checks import finite, matrix, plain, vector
from pmdviz.kernels.exponential import LOG2E
from pmdviz.kernels.jit import jit
from pmdviz.kernels.kde import UNDERFLOW_SINGLE, _aligned, _buffers
from pmdviz.kernels.pairs import LOG_ZERO, LOG_ZERO_SINGLE, add_rows, redo_faint

SCALE = np.sqrt(LOG2E / 2)
PADDED = 64


def leave_one_out(
    points: np.ndarray, log_weights: np.ndarray, judged: np.ndarray, own: np.ndarray, h: float, exact: bool = False
) -> np.ndarray:
    """log sum_j w_j N(y_i | a x_j, h^2 I) without the term of y_i itself, a = sqrt(1 - h^2), (n,).

    points x (m, d), whitened: mean 0 and covariance I; log_weights (m,), -inf allowed; judged y (n, d); own (n,): the
    index of y_i among the points, -1 where it is none of them. In float32, and -inf where that is too coarse: there
    the sum is below 1e-25 of its bound; `exact` is for those.
    """
    points, judged = finite(matrix(points, "points"), "points"), finite(matrix(judged, "judged"), "judged")
    (m, d), n = points.shape, len(judged)
    log_weights, own = vector(log_weights, "log_weights", m), plain(own, np.int64)
    bound, unit = log_weights.max(), SCALE / h
    columns = _aligned(d, -(-m // PADDED) * PADDED, np.float64 if exact else np.float32)
    columns[:, m:] = 0.0
    columns[:, :m] = points.T * (unit * np.sqrt(1 - h * h))
    rows = np.zeros((n + 2, d), columns.dtype)  # pairs of rows are read
    rows[:n] = judged * unit
    base = np.full(columns.shape[1], LOG_ZERO if exact else LOG_ZERO_SINGLE, columns.dtype)
    np.maximum((log_weights - bound) * LOG2E, base[:m], out=base[:m], casting="same_kind")
    sums, tops = np.zeros(n), np.zeros(n)
    if exact:
        _exact_sums(columns, base, rows, own, sums, tops)
    else:
        _sums(columns, base, rows, own, sums, _buffers(columns))
        sums[~(sums > UNDERFLOW_SINGLE)] = 0.0
    with np.errstate(divide="ignore"):
        return np.log(sums) + tops / LOG2E + (bound - d * (0.5 * np.log(2 * np.pi) + np.log(h)))


@jit
def _sums(columns, base, rows, own, sums, buffers):
    for i in range(own.size):
        kept = base[own[i]]
        if own[i] >= 0:
            base[own[i]] = LOG_ZERO_SINGLE
        add_rows(columns, base, rows, sums, i, i + 1, buffers)
        if own[i] >= 0:
            base[own[i]] = kept


@jit
def _exact_sums(columns, base, rows, own, sums, tops):
    for i in range(own.size):
        kept = base[own[i]]
        if own[i] >= 0:
            base[own[i]] = LOG_ZERO
        redo_faint(columns, base, rows, sums, tops, i, i + 1)
        if own[i] >= 0:
            base[own[i]] = kept
