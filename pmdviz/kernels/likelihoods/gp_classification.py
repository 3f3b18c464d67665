"""The marginal likelihood of a Gaussian process classifier by Laplace's approximation, at many hyperparameters.

Of n rows with features z and classes y of -1 and 1 the model is P(y | f) = 1 / (1 + exp(-y f)), f ~ GP(0, K) with

    K_ij = s^2 exp(-1/2 sum_k (z_ik - z_jk)^2 / l_k^2),   theta = (log l_1, ..., log l_k, log s).

The posterior of f is replaced by a Gaussian at its peak, which Newton's method finds (Rasmussen, Williams 2006,
Algorithm 3.1), and so is the integral over f (their equation 3.32):

    log q(y | theta) = -1/2 a'f + sum_i log P(y_i | f_i) - 1/2 log|B|,   f = K a,   B = I + W^1/2 K W^1/2,

W the negative second derivatives of log P(y | f). It takes no random numbers: the same theta has the same value.
Values of theta are the blocks that threads share.
"""

from collections.abc import Callable, Iterator

import numpy as np

from pmdviz.kernels.checks import finite, matrix, vector
from pmdviz.kernels.jit import fast_jit, jit
from pmdviz.kernels.pool import run_blocks
from pmdviz.kernels.sparse_gp import add_squares, to_kernel
from pmdviz.kernels.triangular import cholesky, dot, forward

REACH = 30.0  # of log l: a length of e^30 is endless to rounding, and with e^-30 no two inputs share anything
TALLEST = 10.0  # of log s: rounding of s^2 stays far below the 1 on the diagonal of B
MAX_NEWTON, MAX_HALVINGS = 60, 30
CLOSE = 1e-6  # of f: Newton's error is squared in each step, so that this one leaves 1e-12
SLACK = 1e-9  # of the height, within which a step that seems to lead down is rounding


def gp_log_marginal(theta: np.ndarray, features: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """log q(y | theta) in nats, theta (m, k + 1), features (n, k), classes (n,) of -1 and 1; as (m,).

    Log lengths beyond 30 in size are taken at 30, and a log s above 10 at 10. A theta with NaN has -inf. ValueError for
    shapes or values that do not fit.
    """
    theta, features, classes = _checked(theta, features, classes)
    out, n = np.empty(len(theta)), len(classes)
    columns = np.ascontiguousarray(features.T)

    def work(start: int, stop: int) -> None:
        _log_marginal(theta[start:stop], columns, classes, out[start:stop])

    run_blocks(work, len(theta), 1, float(len(theta)) * n**3)
    return out


def gp_class_chances(theta: np.ndarray, features: np.ndarray, classes: np.ndarray, points: np.ndarray) -> np.ndarray:
    """P(y = 1 | z, theta) at points (p, k), as (m, p); theta must be finite, the rest as in `gp_log_marginal`.

    The logistic function's mean under N(mu, v), the Laplace approximation of f there (Algorithm 3.2), is taken as that
    of mu / sqrt(1 + pi v / 8) (MacKay 1992), which is 1/2 where it is.
    """
    theta, features, classes = _checked(theta, features, classes)
    points, out = finite(matrix(points, "points", features.shape[1]), "points"), np.empty((len(theta), len(points)))
    theta, n = finite(theta, "theta"), len(classes)
    columns, places = np.ascontiguousarray(features.T), np.ascontiguousarray(points.T)

    def work(start: int, stop: int) -> None:
        _chances(theta[start:stop], columns, classes, places, out[start:stop])

    run_blocks(work, len(theta), 1, float(len(theta)) * n * n * (n + len(points)))
    return out


def _checked(theta: np.ndarray, features: np.ndarray, classes: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    features = finite(matrix(features, "features"), "features")
    classes = vector(classes, "classes", len(features))
    if not np.isin(classes, (-1.0, 1.0)).all():
        raise ValueError("classes must be -1 or 1")
    theta = matrix(theta, "theta", features.shape[1] + 1)
    highest = np.append(np.full(features.shape[1], REACH), TALLEST)
    return np.clip(theta, -REACH, highest), features, classes


@jit
def _log_marginal(theta, columns, y, out):
    n = y.size
    cov, factor, a, f = np.empty((n, n)), np.empty((n, n)), np.empty(n), np.empty(n)
    for i in range(out.size):
        out[i] = -np.inf
        known = True
        for k in range(theta.shape[1]):
            known &= not np.isnan(theta[i, k])
        if known:
            _covariances(theta[i], columns, columns, cov)
            out[i] = _peak(cov, y, a, f, factor)
            for r in range(n):
                out[i] -= np.log(factor[r, r])


@jit
def _chances(theta, columns, y, places, out):
    n = y.size
    cov, factor, a, f = np.empty((n, n)), np.empty((n, n)), np.empty(n), np.empty(n)
    across, mean, left = np.empty((n, places.shape[1])), np.empty(places.shape[1]), np.empty(places.shape[1])
    for i in range(theta.shape[0]):
        _covariances(theta[i], columns, columns, cov)
        _peak(cov, y, a, f, factor)
        _covariances(theta[i], columns, places, across)
        for p in range(mean.size):
            mean[p], left[p] = 0.0, np.exp(2.0 * theta[i, -1])
        for r in range(n):
            root = np.sqrt(_curvature(f[r]))
            for p in range(mean.size):
                mean[p] += a[r] * across[r, p]
                across[r, p] *= root
        forward(factor, across)
        for r in range(n):
            for p in range(mean.size):
                left[p] -= across[r, p] * across[r, p]
        for p in range(mean.size):
            out[i, p] = _logistic(mean[p] / np.sqrt(1.0 + np.pi / 8.0 * max(left[p], 0.0)))


@jit
def _covariances(theta, columns, places, out):
    """K between inputs in columns (k, n) and places (k, p), into out (n, p)."""
    num = columns.shape[0]
    scaled, point = np.empty(places.shape), np.empty(num)
    for k in range(num):
        narrow = np.exp(-theta[k])
        for p in range(places.shape[1]):
            scaled[k, p] = places[k, p] * narrow
    variance = np.exp(2.0 * theta[num])
    for i in range(out.shape[0]):
        for k in range(num):
            point[k] = columns[k, i] * np.exp(-theta[k])
        for p in range(out.shape[1]):
            out[i, p] = 0.0
        add_squares(out[i], scaled, point)
        to_kernel(out[i])
        for p in range(out.shape[1]):
            out[i, p] *= variance


@jit
def _peak(cov, y, a, f, factor):
    """Newton's steps to the peak of the posterior of f: a and f = K a there, and L of B = L L' into `factor`.

    Gives -1/2 a'f + log P(y | f). A step that leads down is halved, which a concave function needs far from its peak.
    """
    n = y.size
    for r in range(n):
        a[r], f[r] = 0.0, 0.0
    new_a, new_f, height = np.empty(n), np.empty(n), n * np.log(0.5)
    for _ in range(MAX_NEWTON):
        _factorise(cov, f, factor)
        _newton(cov, y, f, factor, new_a)
        found = _height(cov, y, new_a, new_f)
        for _ in range(MAX_HALVINGS):
            if found >= height - SLACK * (1.0 - height):
                break
            for r in range(n):
                new_a[r] += 0.5 * (a[r] - new_a[r])
            found = _height(cov, y, new_a, new_f)
        moved, height = 0.0, found
        for r in range(n):
            moved = max(moved, abs(new_f[r] - f[r]))
            a[r], f[r] = new_a[r], new_f[r]
        if moved < CLOSE:
            break
    _factorise(cov, f, factor)
    return height


@jit
def _factorise(cov, f, factor):
    """The Cholesky factor of B = I + W^1/2 K W^1/2, whose eigenvalues are at least 1."""
    root = np.empty(f.size)
    for r in range(f.size):
        root[r] = np.sqrt(_curvature(f[r]))
        for s in range(r + 1):
            factor[r, s] = root[r] * cov[r, s] * root[s]
        factor[r, r] += 1.0
    cholesky(factor)


@jit
def _newton(cov, y, f, factor, a):
    """a = b - W^1/2 B^-1 W^1/2 K b with b = W f + the gradient of log P(y | f)."""
    n = f.size
    b, v = np.empty(n), np.empty(n)
    for r in range(n):
        b[r] = _curvature(f[r]) * f[r] + y[r] * _logistic(-y[r] * f[r])
    for r in range(n):
        v[r] = np.sqrt(_curvature(f[r])) * dot(cov[r], b, n)
        v[r] = (v[r] - dot(factor[r], v, r)) / factor[r, r]
    for r in range(n - 1, -1, -1):
        v[r] /= factor[r, r]
        _take_off(v, v[r], factor[r], r)
        a[r] = b[r] - np.sqrt(_curvature(f[r])) * v[r]


@jit
def _height(cov, y, a, f):
    """f = K a, and -1/2 a'f + sum_i log P(y_i | f_i)."""
    total = 0.0
    for r in range(y.size):
        f[r] = dot(cov[r], a, y.size)
        margin = y[r] * f[r]
        total += min(margin, 0.0) - np.log1p(np.exp(-abs(margin))) - 0.5 * a[r] * f[r]
    return total


@fast_jit
def _take_off(v, weight, row, n):
    for s in range(n):
        v[s] -= weight * row[s]


@jit
def _logistic(f):
    e = np.exp(-abs(f))
    return (1.0 if f > 0.0 else e) / (1.0 + e)


@jit
def _curvature(f):
    """-(log P(y | f))'' = p (1 - p), whatever y is."""
    e = np.exp(-abs(f))
    return e / ((1.0 + e) * (1.0 + e))


def warm_up_calls() -> Iterator[tuple[str, str, Callable[[], object]]]:
    """One call of each kernel."""
    given = np.zeros((1, 2)), np.zeros((2, 1)), np.array([-1.0, 1.0])
    yield "gp_classification", "Gaussian process classifier", lambda: gp_log_marginal(*given)
    yield "gp_classification", "its chances", lambda: gp_class_chances(*given, np.zeros((1, 1)))
