"""Leave-one-out log density of a kernel density estimate with shrunk centres, at some of its own particles."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from pmdviz.kernels.checks import finite, matrix, plain, vector
from pmdviz.kernels.exponential import LOG2E
from pmdviz.kernels.groups import in_dimensions
from pmdviz.kernels.jit import jit
from pmdviz.kernels.kde import UNDERFLOW_SINGLE, _aligned, _buffers
from pmdviz.kernels.pairs import LOG_ZERO, LOG_ZERO_SINGLE, add_rows, redo_faint

SCALE = np.sqrt(LOG2E / 2)
PADDED = 64


class Kernels(NamedTuple):
    """A cluster's kernels and the points at which they are judged, made ready for any h."""

    columns: np.ndarray  # (d, at least m), whitened and times SCALE, padded with zeros
    base: np.ndarray  # as many: log2 of the weights less the largest, far below zero where padded
    single: np.ndarray  # the same in float32, which is changed for as long as one of them is left out
    bound: float  # the largest log-weight
    rows: np.ndarray  # (n + 2, d), the judged points: pairs of rows are read
    own: np.ndarray  # (n,) int64


def kernels_of(points: np.ndarray, log_weights: np.ndarray, judged: np.ndarray, own: np.ndarray) -> Kernels:
    """Ready for `leave_one_out`.

    points x (m, d), whitened: mean 0 and covariance I; log_weights (m,), -inf allowed; judged y (n, d); own (n,): the
    index of y_i among the points, -1 where it is none of them. ValueError for shapes that do not fit and for values
    that are not finite.
    """
    points, judged = finite(matrix(points, "points"), "points"), finite(matrix(judged, "judged"), "judged")
    (m, d), n = points.shape, len(judged)
    log_weights, own = vector(log_weights, "log_weights", m), plain(own, np.int64)
    bound = log_weights.max()
    columns = _aligned(d, -(-m // PADDED) * PADDED)
    columns[:, m:] = 0.0
    columns[:, :m] = points.T * SCALE
    base = np.full(columns.shape[1], LOG_ZERO)
    np.maximum((log_weights - bound) * LOG2E, LOG_ZERO, out=base[:m])
    rows = np.zeros((n + 2, d))
    rows[:n] = judged * SCALE
    single = np.maximum(base, LOG_ZERO_SINGLE).astype(np.float32)
    return Kernels(columns, base, single, float(bound), rows, own)


def only(kernels: Kernels, at: np.ndarray) -> Kernels:
    """The same at some of the judged points, by index."""
    rows = np.append(at, [len(kernels.own), len(kernels.own) + 1])
    return kernels._replace(rows=kernels.rows[rows], own=kernels.own[at])


def leave_one_out(kernels: Kernels, h: float, exact: bool = False) -> np.ndarray:
    """log sum_j w_j N(y_i | a x_j, h^2 I) without the term of y_i itself, a = sqrt(1 - h^2), (n,).

    In float32, and -inf where that is too coarse: there the sum is below 1e-25 of its bound; `exact` is for those.
    """
    kind, (n, d) = np.float64 if exact else np.float32, (len(kernels.own), len(kernels.columns))
    columns, rows = _aligned(*kernels.columns.shape, kind), np.empty(kernels.rows.shape, kind)
    _times(kernels.columns, np.sqrt(1 - h * h) / h, columns)
    _times(kernels.rows, 1 / h, rows)
    sums, tops = np.zeros(n), np.zeros(n)
    if exact:
        _exact_sums(columns, kernels.base.copy(), rows, kernels.own, sums, tops)
    else:
        _sums(columns, kernels.single, rows, kernels.own, sums, _buffers(columns))
        sums[~(sums > UNDERFLOW_SINGLE)] = 0.0
    with np.errstate(divide="ignore"):
        return np.log(sums) + tops / LOG2E + (kernels.bound - d * (0.5 * np.log(2 * np.pi) + np.log(h)))


@jit
def _times(values, factor, out):
    for i in range(values.shape[0]):
        for j in range(values.shape[1]):
            out[i, j] = values[i, j] * factor


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


def warm_up_calls() -> Iterator[tuple[str, str, Callable[[], object]]]:
    """One call of each kernel."""
    log_weights, labels = np.full(2, np.log(0.5)), np.zeros(2, np.int64)
    for dim in (2, 3, 5):
        points = np.zeros((2, dim))
        for exact in (False, True):
            words = f"leave one out in {dim} dimensions{', exactly' if exact else ''}"
            yield (
                in_dimensions(dim),
                words,
                lambda p=points, e=exact: leave_one_out(kernels_of(p, log_weights, p, labels), 0.5, e),
            )
