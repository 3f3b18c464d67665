"""Networks, many weight vectors at once: one hidden layer with weights between -1 and 1, and layers of real weights.

The first is in NumPy, which is as fast as compiled loops there. BLAS computes its matrix products in one thread: the
bits do not depend on the number of threads.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from pmdviz.kernels.checks import Array, finite, plain
from pmdviz.kernels.jit import WarmUps, exp64, fast_jit
from pmdviz.kernels.pool import filled, one_blas_thread, run_blocks

NETS_PER_BLOCK, ROWS_AT_ONCE = 8, 512

# One hidden layer, weights between -1 and 1, no biases.
#
# A net is one row: the weights V (F, H) from inputs to hidden units, then U (K, H) from those to the classes, in C
# order. With a_h = steepness / sqrt(F) sum_f x_f V_fh the logits are scale / sqrt(H) sum_h U_kh g(a_h), and a row of
# data (x_1, ..., x_F, y) gives log softmax(logits)_y. Hard units have g = sign, 1 at 0; soft ones g = tanh.


class NetShape(NamedTuple):
    """F inputs, H hidden units and K classes; how steep soft units are at 0, and the factor of the logits."""

    inputs: int
    hidden: int
    classes: int
    steepness: float
    scale: float

    @property
    def dim(self) -> int:
        """Weights of a net."""
        return (self.inputs + self.classes) * self.hidden


def net_log_likelihood(theta: Array, rows: Array, shape: NetShape, hard: bool) -> Array:
    """Sum over the rows (B, F + 1) of log p(y | x, theta) in nats, for nets theta (m, d); as (m,).

    ValueError for weights that are not finite.
    """
    nets = _layers(theta, shape)
    out = np.zeros(len(nets))

    def work(part: slice, at: slice) -> None:
        tile = rows[at]
        logs, labels = _log_softmax(nets[part], tile, shape, hard)[0], tile[:, -1].astype(int)
        out[part] += logs[:, np.arange(len(tile)), labels].sum(axis=1)

    _by_nets(work, nets, rows)
    return out


def net_gradient(theta: Array, rows: Array, shape: NetShape, hard: bool) -> Array:
    """Gradient of `net_log_likelihood` in theta, (m, d).

    Of hard units, whose gradient is 0, the straight-through one: g' is the slope of max(-1, min(1, a)) instead.
    """
    nets = _layers(theta, shape)
    out = np.zeros(nets.shape)

    def work(part: slice, at: slice) -> None:
        tile = rows[at]
        logs, a, units = _log_softmax(nets[part], tile, shape, hard)
        slopes = np.eye(shape.classes)[tile[:, -1].astype(int)] - np.exp(logs)  # of the logits
        slopes *= shape.scale / np.sqrt(shape.hidden)
        pulls = slopes @ nets[part, shape.inputs :]
        pulls *= (np.abs(a) <= 1) if hard else 1 - units**2
        pulls *= shape.steepness / np.sqrt(shape.inputs)
        out[part, : shape.inputs] += tile[:, :-1].T @ pulls
        out[part, shape.inputs :] += slopes.swapaxes(1, 2) @ units

    _by_nets(work, nets, rows)
    return out.reshape(len(nets), -1)


def net_log_probabilities(theta: Array, rows: Array, shape: NetShape, hard: bool) -> Array:
    """log p(class | x, theta) of every net, row (whatever its own class) and class, (m, n, K), in nats."""
    nets = _layers(theta, shape)
    out = np.empty((len(nets), len(rows), shape.classes))

    def work(part: slice, at: slice) -> None:
        out[part, at] = _log_softmax(nets[part], rows[at], shape, hard)[0]

    _by_nets(work, nets, rows)
    return out


def _layers(theta: Array, shape: NetShape) -> Array:
    """Nets (m, F + K, H)."""
    return finite(plain(theta), "theta").reshape(len(theta), shape.inputs + shape.classes, shape.hidden)


def _log_softmax(nets: Array, rows: Array, shape: NetShape, hard: bool) -> tuple[Array, Array, Array]:
    """log p(class | x) (k, n, K) of k nets, their sums a and units g(a), (k, n, H) each."""
    a = shape.steepness / np.sqrt(shape.inputs) * (rows[:, :-1] @ nets[:, : shape.inputs])
    units = np.where(a >= 0, 1.0, -1.0) if hard else np.tanh(a)
    logits = shape.scale / np.sqrt(shape.hidden) * (units @ nets[:, shape.inputs :].swapaxes(1, 2))
    logits -= logits.max(axis=2, keepdims=True)
    return logits - np.log(np.exp(logits).sum(axis=2, keepdims=True)), a, units


@one_blas_thread()
def _by_nets(work: Callable[[slice, slice], None], nets: Array, rows: Array) -> None:
    """Call `work` for every block of nets with each tile of rows, one tile after the other."""

    def block(start: int, stop: int) -> None:
        for first in range(0, len(rows), ROWS_AT_ONCE):
            work(slice(start, stop), slice(first, first + ROWS_AT_ONCE))

    run_blocks(block, len(nets), NETS_PER_BLOCK, float(nets.size) * len(rows))


# Nets of real weights with hidden layers: outputs, how well they fit rows of data, and the gradient, many at once.
#
# A net is one row w of weights, layer after layer: W (fan-in, fan-out) in C order, then the biases (fan-out,). Units
# are tanh(a) or max(0, a), the last layer has one output eta and no such function. A row of data is (x_1, ..., x_F,
# y). Rows are taken by tiles, whose units are next to one another: every loop over rows vectorises; memory
# grows with the units times a tile, and with neither the rows nor the nets.

TILE = 64  # rows whose units are held at a time


class LayeredShape(NamedTuple):
    """Sizes (F, H_1, ..., H_L, 1) of the layers, what hidden units are, and whether y is a class 0 or 1."""

    sizes: tuple[int, ...]
    relu: bool
    binary: bool

    @property
    def dim(self) -> int:
        """Weights of a net, biases among them."""
        return sum((above + 1) * below for above, below in zip(self.sizes[:-1], self.sizes[1:], strict=True))


def regression_outputs(weights: Array, inputs: Array, shape: LayeredShape) -> Array:
    """eta(x, w) of nets (m, d) at inputs (n, F), as (m, n). ValueError for weights that are not finite."""
    given = np.array(shape.sizes), sum(shape.sizes), shape.relu
    return _by_nets_of_layers(_outputs, weights, inputs, given, (len(inputs),))[0]


def regression_fit(weights: Array, rows: Array, shape: LayeredShape) -> Array:
    """Sum over the rows (B, F + 1) of (y - eta)^2, or of log P(y | x, w) = y eta - log(1 + e^eta) in nats; (m,)."""
    return _fitted(weights, rows, shape, 0)[1]


def regression_gradient(weights: Array, rows: Array, shape: LayeredShape) -> tuple[Array, Array]:
    """Sum over the rows of (y - E(y | x, w)) grad eta (m, d), E y being eta or 1 / (1 + e^-eta); and `regression_fit`.

    The former is the gradient of -1/2 of the sum of squares, and of the log likelihood of classes.
    """
    return _fitted(weights, rows, shape, shape.dim)


def _fitted(weights: Array, rows: Array, shape: LayeredShape, columns: int) -> tuple[Array, Array]:
    """Gradients (m, d), or without any columns none, and the fit (m,)."""
    given = rows[:, -1].copy(), np.array(shape.sizes), sum(shape.sizes), (shape.relu, shape.binary)
    return _by_nets_of_layers(_gradient, weights, rows[:, :-1], given, (columns,), ())


def _by_nets_of_layers(kernel: Callable, nets: Array, x: Array, given: tuple, *shapes: tuple[int, ...]) -> Any:
    """One net a block; the inputs (F, n) of a tile of rows are contiguous in memory."""
    across = np.ascontiguousarray(x.T)
    return filled(kernel, (finite(nets, "weights"),), (across, *given), 1, float(nets.size) * len(x), *shapes)


@fast_jit
def _activate(units, first, last, count, relu):
    """Hidden units' values of their sums, in place."""
    for h in range(first, last):
        if relu:
            for r in range(count):
                units[h, r] = max(units[h, r], 0.0)
        else:
            for r in range(count):
                e = exp64(-2.0 * abs(units[h, r]))
                t = (1.0 - e) / (1.0 + e)
                units[h, r] = t if units[h, r] > 0.0 else -t


@fast_jit
def _forward(net, x, start, count, sizes, relu, units):
    """All units (sum of sizes, TILE) of a tile of rows; the output is in the last row."""
    for f in range(sizes[0]):
        for r in range(count):
            units[f, r] = x[f, start + r]
    below, offset = 0, 0
    for layer in range(1, sizes.size):
        wide, above = sizes[layer], below + sizes[layer - 1]
        biases = offset + sizes[layer - 1] * wide
        for h in range(wide):
            for r in range(count):
                units[above + h, r] = net[biases + h]
            for f in range(sizes[layer - 1]):
                w = net[offset + f * wide + h]
                for r in range(count):
                    units[above + h, r] += w * units[below + f, r]
        if layer < sizes.size - 1:
            _activate(units, above, above + wide, count, relu)
        below, offset = above, biases + wide


@fast_jit
def _judge(units, pulls, y, start, count, binary):
    """Squared error or log likelihood of a tile; in the last row of `pulls` the y - E y."""
    last, total = units.shape[0] - 1, 0.0
    for r in range(count):
        eta = units[last, r]
        if binary:
            e = exp64(-abs(eta))
            chance = (1.0 if eta > 0.0 else e) / (1.0 + e)
            pulls[last, r] = y[start + r] - chance
            total += y[start + r] * eta - max(eta, 0.0) - np.log(1.0 + e)
        else:
            pulls[last, r] = y[start + r] - eta
            total += pulls[last, r] * pulls[last, r]
    return total


@fast_jit
def _backward(net, units, pulls, count, sizes, relu, out):
    """Adds to `out` (d,) what a tile pulls at the weights."""
    above, offset = units.shape[0] - 1, net.size
    for layer in range(sizes.size - 1, 0, -1):
        wide, narrow = sizes[layer], sizes[layer - 1]
        below = above - narrow
        biases = offset - wide
        offset = biases - narrow * wide
        for f in range(narrow):
            for r in range(count):
                pulls[below + f, r] = 0.0
        for h in range(wide):
            total = 0.0
            for r in range(count):
                total += pulls[above + h, r]
            out[biases + h] += total
            for f in range(narrow):
                total, w = 0.0, net[offset + f * wide + h]
                for r in range(count):
                    total += pulls[above + h, r] * units[below + f, r]
                    pulls[below + f, r] += w * pulls[above + h, r]
                out[offset + f * wide + h] += total
        for f in range(narrow):
            for r in range(count):
                u = units[below + f, r]
                pulls[below + f, r] *= (1.0 if u > 0.0 else 0.0) if relu else 1.0 - u * u
        above = below


@fast_jit
def _outputs(nets, x, sizes, held, relu, out):
    units = np.empty((held, TILE))
    for i in range(nets.shape[0]):
        for start in range(0, out.shape[1], TILE):
            count = min(TILE, out.shape[1] - start)
            _forward(nets[i], x, start, count, sizes, relu, units)
            for r in range(count):
                out[i, start + r] = units[units.shape[0] - 1, r]


@fast_jit
def _gradient(nets, x, y, sizes, held, kind, out, fit):
    units, pulls = np.empty((held, TILE)), np.empty((held, TILE))
    for i in range(nets.shape[0]):
        fit[i], out[i, :] = 0.0, 0.0
        for start in range(0, y.size, TILE):
            count = min(TILE, y.size - start)
            _forward(nets[i], x, start, count, sizes, kind[0], units)
            fit[i] += _judge(units, pulls, y, start, count, kind[1])
            if out.shape[1] > 0:
                _backward(nets[i], units, pulls, count, sizes, kind[0], out[i])


def warm_up_calls() -> WarmUps:
    """Calls that compile every kernel of this file."""
    shape = LayeredShape((1, 2, 1), False, False)
    weights, rows = np.ones((2, shape.dim)), np.zeros((2, 2))
    yield "regression_net", "regression net", regression_gradient, weights, rows, shape
    yield "regression_net", "regression net's outputs", regression_outputs, weights, rows[:, :1], shape
