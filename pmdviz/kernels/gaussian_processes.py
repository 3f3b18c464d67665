"""Gaussian processes: matrices in tiles, sparse regression, and the marginal likelihood of a classifier.

Symmetric products, triangular solves and Cholesky factors of matrices of tens to a few thousand rows.

Written out in tiles of 4 x 4, which stay in registers: without BLAS, whose last bits depend on its number of threads.
"""

import numpy as np

from pmdviz.kernels.checks import Array, finite, plain
from pmdviz.kernels.factors import add_multiple, dot
from pmdviz.kernels.jit import WarmUps, exp64, fast_jit, jit
from pmdviz.kernels.pool import filled, run_blocks

SMALLEST = 1e-300  # a pivot that rounding made negative is cut there


@fast_jit
def add_tile(target, left, rows, r, s, n, scale):
    """target[r + i, s + j] += scale left[r + i].rows[s + j] for i, j < 4, over the first n columns."""
    a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = c0 = c1 = c2 = c3 = d0 = d1 = d2 = d3 = 0.0
    for k in range(n):
        a, b, c, d = left[r, k], left[r + 1, k], left[r + 2, k], left[r + 3, k]
        x, y, z, w = rows[s, k], rows[s + 1, k], rows[s + 2, k], rows[s + 3, k]
        a0, a1, a2, a3 = a0 + a * x, a1 + a * y, a2 + a * z, a3 + a * w
        b0, b1, b2, b3 = b0 + b * x, b1 + b * y, b2 + b * z, b3 + b * w
        c0, c1, c2, c3 = c0 + c * x, c1 + c * y, c2 + c * z, c3 + c * w
        d0, d1, d2, d3 = d0 + d * x, d1 + d * y, d2 + d * z, d3 + d * w
    _put(target[r], s, scale, a0, a1, a2, a3)
    _put(target[r + 1], s, scale, b0, b1, b2, b3)
    _put(target[r + 2], s, scale, c0, c1, c2, c3)
    _put(target[r + 3], s, scale, d0, d1, d2, d3)


@fast_jit
def _put(row, s, scale, x, y, z, w):
    row[s] += scale * x
    row[s + 1] += scale * y
    row[s + 2] += scale * z
    row[s + 3] += scale * w


@jit
def add_products(target, left, rows, scale):
    """target[r, s] += scale left[r].rows[s] for s <= r; the entries above the diagonal are overwritten."""
    num, n = left.shape
    whole = num - num % 4
    for r in range(0, whole, 4):
        for s in range(0, r + 1, 4):
            add_tile(target, left, rows, r, s, n, scale)
    for r in range(whole, num):
        for s in range(r + 1):
            target[r, s] += scale * dot(left[r], rows[s], n)


@jit
def clear_above(matrix):
    """Zeros above the diagonal of (M, M) or (M, M + 1), whose last column stays."""
    for r in range(matrix.shape[0]):
        matrix[r, r + 1 : matrix.shape[0]] = 0.0


@fast_jit
def _take_off_four(t0, t1, t2, t3, x, y, z, w, factor, r, s):
    """Rows r to r + 3, less their parts along the solved rows s to s + 3."""
    a0, a1, a2, a3 = factor[r, s], factor[r, s + 1], factor[r, s + 2], factor[r, s + 3]
    b0, b1, b2, b3 = factor[r + 1, s], factor[r + 1, s + 1], factor[r + 1, s + 2], factor[r + 1, s + 3]
    c0, c1, c2, c3 = factor[r + 2, s], factor[r + 2, s + 1], factor[r + 2, s + 2], factor[r + 2, s + 3]
    d0, d1, d2, d3 = factor[r + 3, s], factor[r + 3, s + 1], factor[r + 3, s + 2], factor[r + 3, s + 3]
    for k in range(t0.size):
        p, q, u, v = x[k], y[k], z[k], w[k]
        t0[k] -= a0 * p + a1 * q + a2 * u + a3 * v
        t1[k] -= b0 * p + b1 * q + b2 * u + b3 * v
        t2[k] -= c0 * p + c1 * q + c2 * u + c3 * v
        t3[k] -= d0 * p + d1 * q + d2 * u + d3 * v


@jit
def forward(factor, columns):
    """columns <- L^-1 columns, (M, n), in place."""
    num = factor.shape[0]
    for r in range(0, num, 4):
        first = 0
        if r + 4 <= num:
            first = r
            for s in range(0, r, 4):
                x, y, z, w = columns[s], columns[s + 1], columns[s + 2], columns[s + 3]
                t0, t1, t2, t3 = columns[r], columns[r + 1], columns[r + 2], columns[r + 3]
                _take_off_four(t0, t1, t2, t3, x, y, z, w, factor, r, s)
        for q in range(r, min(r + 4, num)):
            for s in range(first, q):
                add_multiple(columns[s], -factor[q, s], columns[q])
            columns[q] /= factor[q, q]


@jit
def cholesky(matrix):
    """The lower triangle becomes its Cholesky factor, four columns at a time; the entries above it are overwritten."""
    num = matrix.shape[0]
    for s in range(0, num, 4):
        tiled = s
        if s + 4 <= num:
            tiled = num - num % 4
            for r in range(s, tiled, 4):
                add_tile(matrix, matrix, matrix, r, s, s, -1.0)
        for r in range(tiled, num):
            for q in range(s, min(s + 4, r + 1)):
                matrix[r, q] -= dot(matrix[r], matrix[q], s)
        _finish_columns(matrix, s)


@jit
def _finish_columns(matrix, s):
    """Columns s to s + 3 of the factor, once the parts of the columns before are taken off."""
    num = matrix.shape[0]
    for q in range(s, min(s + 4, num)):
        for r in range(q, num):
            for c in range(s, q):
                matrix[r, q] -= matrix[r, c] * matrix[q, c]
            if r == q:
                matrix[q, q] = np.sqrt(max(matrix[q, q], SMALLEST))
            else:
                matrix[r, q] /= matrix[q, q]


# The conditional posterior p(u | Z, y) of a sparse Gaussian process, for many sets Z of inducing inputs at once.
#
# Everything is in whitened coordinates: with K_ZZ = L L' and u = L v the prior of v is N(0, I), and a row (x, y) has
# the feature a = L^-1 k(Z, x). The posterior of v is Gaussian with precision P and linear term h = P E v, kept as one
# array (M, M + 1): the lower triangle of P, and h in the last column. No function here inverts a matrix.
#
# The kernel is exp(-|x - z|^2 / 2); inputs come divided by its width. Sets of inducing inputs are the blocks that
# threads share.

JITTER = 1e-8  # added to the diagonal of K_ZZ, in units of the prior's variance 1: inducing inputs may coincide


def factorised(inputs: Array) -> Array:
    """L of every set, L L' = K_ZZ + 1e-8 I: inputs (m, M, k) -> (m, M, M), lower triangular."""
    m, num = inputs.shape[:2]
    return filled(_factorise, (inputs,), (), 1, m * num**3 / 6, (num, num))[0]


def tilted(
    inputs: Array, factors: Array, natural: Array, rows: Array, kept: float, power: float, noise: float, corrected: bool
) -> tuple[Array, Array, Array]:
    """q(v)^kept N(v | 0, I)^(1 - kept) prod over the rows of p(y | v, x)^power, for every set of inducing inputs.

    p(y | v, x) = N(y | a'v, noise + s), where s = 1 - a'a is what the inducing inputs leave open (FITC), or 0 unless
    `corrected` (DTC). natural (m, M, M + 1), rows (B, k + 1) of inputs and y. Returns the new natural parameters, their
    log partition functions 0.5 h'P^-1 h - 0.5 log|P| (m,), and the sums of power log N(y | 0, noise + s) (m,).
    """
    m, num = inputs.shape[:2]
    x, y = np.ascontiguousarray(rows[:, :-1]), np.ascontiguousarray(rows[:, -1])
    sets, given, cost = (inputs, factors, natural), (x, y, kept, power, noise, corrected), float(m * num**2 * len(rows))
    return filled(_tilt, sets, given, 1, cost, natural.shape[1:], (), ())


def predicted(inputs: Array, factors: Array, natural: Array, points: Array) -> tuple[Array, Array]:
    """f at points (n, k) given each set: means (m, n), and lower Cholesky factors (m, n, n) of the covariances.

    Cov = K_** - A'A + A'P^-1 A, A = L^-1 k(Z, *): what the inducing inputs leave open is the prior's.
    """
    m, n = len(inputs), len(points)
    cost = float(m * inputs.shape[1] ** 2 * n)
    return filled(_predict, (inputs, factors, natural), (plain(points),), 1, cost, (n,), (n, n))


def whitened(factor: Array, columns: Array) -> Array:
    """L^-1 columns for a lower triangular L (M, M), of every (M, n) in columns (..., M, n)."""
    factor, out = plain(factor), np.array(columns, float, order="C")
    each = out.reshape(-1, *out.shape[-2:])
    run_blocks(lambda a, b: _whiten(factor, each[a:b]), len(each), 1, out.size * len(factor) / 2)
    return out


def covariances(first: Array, second: Array) -> Array:
    """exp(-|x - z|^2 / 2) of inputs (n, k) and (M, k), as (n, M)."""
    out = np.empty((len(first), len(second)))
    _covariances(plain(first), plain(second), out)
    return out


@fast_jit
def add_squares(row, columns, point):
    """row[j] += sum over k of (point[k] - columns[k, j])^2, four k at a time."""
    k = 0
    while k + 4 <= point.size:
        p0, p1, p2, p3 = point[k], point[k + 1], point[k + 2], point[k + 3]
        for j in range(row.size):
            a, b = p0 - columns[k, j], p1 - columns[k + 1, j]
            c, d = p2 - columns[k + 2, j], p3 - columns[k + 3, j]
            row[j] += a * a + b * b + c * c + d * d
        k += 4
    while k < point.size:
        p0 = point[k]
        for j in range(row.size):
            a = p0 - columns[k, j]
            row[j] += a * a
        k += 1


@fast_jit
def to_kernel(row):
    """exp(-row / 2), in place."""
    for j in range(row.size):
        row[j] = exp64(-0.5 * row[j])


@jit
def _transposed(matrix):
    out = np.empty((matrix.shape[1], matrix.shape[0]))
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            out[j, i] = matrix[i, j]
    return out


@jit
def _covariances(first, second, out):
    columns = _transposed(second)
    for i in range(first.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = 0.0
        add_squares(out[i], columns, first[i])
        to_kernel(out[i])


@jit
def _factorise(inputs, out):
    for i in range(inputs.shape[0]):
        _covariances(inputs[i], inputs[i], out[i])
        for r in range(out.shape[1]):
            out[i, r, r] += JITTER
        cholesky(out[i])
        clear_above(out[i])


@jit
def _whiten(factor, each):
    for i in range(each.shape[0]):
        forward(factor, each[i])


@jit
def _features(inputs, factor, x):
    """a of every row, one a column: (M, B)."""
    found = np.empty((inputs.shape[0], x.shape[0]))
    _covariances(inputs, x, found)
    forward(factor, found)
    return found


@jit
def _tilt(inputs, factors, natural, x, y, kept, power, noise, corrected, new, partitions, bases):
    num, variance, weighted = inputs.shape[1], np.empty(y.size), np.empty((inputs.shape[1], y.size))
    for i in range(inputs.shape[0]):
        a, base = _features(inputs[i], factors[i], x), 0.0
        for n in range(y.size):
            variance[n] = noise + 1.0 if corrected else noise
        if corrected:
            for r in range(num):
                for n in range(y.size):
                    variance[n] -= a[r, n] * a[r, n]
            for n in range(y.size):
                variance[n] = max(variance[n], noise)
        for n in range(y.size):
            base += np.log(2 * np.pi * variance[n]) + y[n] * y[n] / variance[n]
        bases[i] = -0.5 * power * base
        for r in range(num):
            for n in range(y.size):
                weighted[r, n] = a[r, n] / variance[n]
            for s in range(r + 1):
                new[i, r, s] = kept * natural[i, r, s]
            new[i, r, r] += 1.0 - kept
            new[i, r, num] = kept * natural[i, r, num] + power * dot(weighted[r], y, y.size)
        add_products(new[i], weighted, a, power)
        clear_above(new[i])
        partitions[i] = _log_partition(new[i])


@jit
def _log_partition(natural):
    num = natural.shape[0]
    factor, h = natural[:, :num].copy(), natural[:, num:].copy()
    cholesky(factor)
    forward(factor, h)
    total = 0.0
    for r in range(num):
        total += 0.5 * h[r, 0] * h[r, 0] - np.log(factor[r, r])
    return total


@jit
def _predict(inputs, factors, natural, points, means, choleskys):
    num, n = inputs.shape[1], points.shape[0]
    for i in range(inputs.shape[0]):
        a = _features(inputs[i], factors[i], points)
        factor, h = natural[i, :, :num].copy(), natural[i, :, num:].copy()
        cholesky(factor)
        forward(factor, h)
        seen = a.copy()
        forward(factor, seen)
        for p in range(n):
            means[i, p] = 0.0
        for r in range(num):
            for p in range(n):
                means[i, p] += h[r, 0] * seen[r, p]
        across, beyond = _transposed(seen), _transposed(a)
        _covariances(points, points, choleskys[i])
        for r in range(n):
            choleskys[i, r, r] += JITTER
        add_products(choleskys[i], across, across, 1.0)
        add_products(choleskys[i], beyond, beyond, -1.0)
        cholesky(choleskys[i])
        clear_above(choleskys[i])


# The marginal likelihood of a Gaussian process classifier by Laplace's approximation, at many hyperparameters.
#
# Of n rows with features z and classes y of -1 and 1 the model is P(y | f) = 1 / (1 + exp(-y f)), f ~ GP(0, K) with
#
#     K_ij = s^2 exp(-1/2 sum_k (z_ik - z_jk)^2 / l_k^2),   theta = (log l_1, ..., log l_k, log s).
#
# The posterior of f is replaced by a Gaussian at its peak, which Newton's method finds (Rasmussen, Williams 2006,
# Algorithm 3.1), and so is the integral over f (their equation 3.32):
#
#     log q(y | theta) = -1/2 a'f + sum_i log P(y_i | f_i) - 1/2 log|B|,   f = K a,   B = I + W^1/2 K W^1/2,
#
# W the negative second derivatives of log P(y | f). It takes no random numbers: the same theta has the same value.
# Values of theta are the blocks that threads share.

REACH = 30.0  # of log l: a length of e^30 is endless to rounding, and with e^-30 no two inputs share anything
TALLEST = 10.0  # of log s: rounding of s^2 stays far below the 1 on the diagonal of B
MAX_NEWTON, MAX_HALVINGS = 60, 30
CLOSE = 1e-6  # of f: Newton's error is squared in each step: this one leaves 1e-12
SLACK = 1e-9  # of the height, within which a step that seems to lead down is rounding


def gp_log_marginal(theta: Array, features: Array, classes: Array) -> Array:
    """log q(y | theta) in nats, theta (m, k + 1), features (n, k), classes (n,) of -1 and 1; as (m,).

    Log lengths beyond 30 in size are taken at 30, and a log s above 10 at 10. A theta with NaN has -inf.
    """
    given, cost = (plain(features.T), plain(classes)), float(len(theta)) * len(classes) ** 3
    return filled(_log_marginal, (_within_reach(theta),), given, 1, cost, ())[0]


def gp_class_chances(theta: Array, features: Array, classes: Array, points: Array) -> Array:
    """P(y = 1 | z, theta) at points (p, k), as (m, p); theta must be finite, the rest as in `gp_log_marginal`.

    The logistic function's mean under N(mu, v), the Laplace approximation of f there (Algorithm 3.2), is taken at mu
    / sqrt(1 + pi v / 8) (MacKay 1992), which is 1/2 where it is.
    """
    given, n = (plain(features.T), plain(classes), plain(points.T)), len(classes)
    theta, cost = finite(_within_reach(theta), "theta"), float(len(theta)) * n * n * (n + len(points))
    return filled(_chances, (theta,), given, 1, cost, (len(points),))[0]


def _within_reach(theta: Array) -> Array:
    return np.clip(theta, -REACH, np.append(np.full(theta.shape[1] - 1, REACH), TALLEST))


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
            _scaled_covariances(theta[i], columns, columns, cov)
            out[i] = _peak(cov, y, a, f, factor)
            for r in range(n):
                out[i] -= np.log(factor[r, r])


@jit
def _chances(theta, columns, y, places, out):
    n = y.size
    cov, factor, a, f = np.empty((n, n)), np.empty((n, n)), np.empty(n), np.empty(n)
    across, mean, left = np.empty((n, places.shape[1])), np.empty(places.shape[1]), np.empty(places.shape[1])
    for i in range(theta.shape[0]):
        _scaled_covariances(theta[i], columns, columns, cov)
        _peak(cov, y, a, f, factor)
        _scaled_covariances(theta[i], columns, places, across)
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
            out[i, p] = _sigmoid(mean[p] / np.sqrt(1.0 + np.pi / 8.0 * max(left[p], 0.0)))


@jit
def _scaled_covariances(theta, columns, places, out):
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
        _factorise_b(cov, f, factor)
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
    _factorise_b(cov, f, factor)
    return height


@jit
def _factorise_b(cov, f, factor):
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
        b[r] = _curvature(f[r]) * f[r] + y[r] * _sigmoid(-y[r] * f[r])
    for r in range(n):
        v[r] = np.sqrt(_curvature(f[r])) * dot(cov[r], b, n)
        v[r] = (v[r] - dot(factor[r], v, r)) / factor[r, r]
    for r in range(n - 1, -1, -1):
        v[r] /= factor[r, r]
        add_multiple(factor[r], -v[r], v[:r])
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


@jit
def _sigmoid(f):
    e = np.exp(-abs(f))
    return (1.0 if f > 0.0 else e) / (1.0 + e)


@jit
def _curvature(f):
    """-(log P(y | f))'' = p (1 - p), whatever y is."""
    e = np.exp(-abs(f))
    return e / ((1.0 + e) * (1.0 + e))


def warm_up_calls() -> WarmUps:
    """Calls that compile every kernel of this file."""
    inputs, natural = np.zeros((1, 2, 1)), np.zeros((1, 2, 3))
    natural[0, :, :2] = np.eye(2)
    rows = np.zeros((2, 2))
    yield "sparse_gp", "sparse Gaussian process", factorised, inputs
    given = inputs, np.eye(2)[None], natural
    yield "sparse_gp", "its step", tilted, *given, rows, 0.5, 0.5, 1.0, True
    yield "sparse_gp", "its predictions", predicted, *given, rows[:, :1]
    yield "sparse_gp", "its coordinates", whitened, np.eye(2), natural[0, :, :2]
    yield "sparse_gp", "its covariances", covariances, rows[:, :1], rows[:, :1]
    given = np.zeros((1, 2)), np.zeros((2, 1)), np.array([-1.0, 1.0])
    yield "gp_classification", "Gaussian process classifier", gp_log_marginal, *given
    yield "gp_classification", "its chances", gp_class_chances, *given, np.zeros((1, 1))
