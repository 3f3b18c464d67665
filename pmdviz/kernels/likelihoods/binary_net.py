"""A net of one hidden layer with weights between -1 and 1 and no biases: logits, likelihood and gradient, many at once.

A net is one row theta = (V, U), V (F, H) from the inputs to the hidden units and U (K, H) from those to the classes, in
C order. With a_h = steepness / sqrt(F) sum_f x_f V_fh the logits are scale / sqrt(H) sum_h U_kh g(a_h), and a row of
data (x_1, ..., x_F, y) gives log softmax(logits)_y. Hard units have g = sign, 1 at 0; soft ones g = tanh.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from pmdviz.kernels.checks import finite, matrix
from pmdviz.kernels.jit import fast_jit
from pmdviz.kernels.pool import run_blocks


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


def net_log_likelihood(theta: np.ndarray, rows: np.ndarray, shape: NetShape, hard: bool) -> np.ndarray:
    """Sum over the rows (B, F + 1) of log p(y | x, theta) in nats, for nets theta (m, d); as (m,).

    ValueError for shapes or values that do not fit.
    """
    nets, rows, layer, logit = _checked(theta, rows, shape)
    out = np.empty(len(nets))
    run_blocks(lambda a, b: _log_likelihood(nets[a:b], rows, layer, logit, hard, out[a:b]), *_blocks(nets, rows))
    return out


def net_gradient(theta: np.ndarray, rows: np.ndarray, shape: NetShape, hard: bool) -> np.ndarray:
    """Gradient of `net_log_likelihood` in theta, (m, d).

    Of hard units, whose gradient is 0, the straight-through one: g' is that of max(-1, min(1, a)) in its place.
    """
    nets, rows, layer, logit = _checked(theta, rows, shape)
    out = np.zeros(nets.shape)
    run_blocks(lambda a, b: _gradient(nets[a:b], rows, layer, logit, hard, out[a:b]), *_blocks(nets, rows))
    return out.reshape(len(nets), -1)


def net_log_probabilities(theta: np.ndarray, rows: np.ndarray, shape: NetShape, hard: bool) -> np.ndarray:
    """log p(class | x, theta) of every net, row (whatever its own class) and class, (m, n, K), in nats."""
    nets, rows, layer, logit = _checked(theta, rows, shape)
    out = np.empty((len(nets), len(rows), shape.classes))
    run_blocks(lambda a, b: _log_probabilities(nets[a:b], rows, layer, logit, hard, out[a:b]), *_blocks(nets, rows))
    return out


def _blocks(nets: np.ndarray, rows: np.ndarray) -> tuple[int, int, float]:
    """One net a block."""
    return len(nets), 1, float(nets.size) * len(rows)


def _checked(
    theta: np.ndarray, rows: np.ndarray, shape: NetShape
) -> tuple[np.ndarray, np.ndarray, tuple[int, float], float]:
    """Nets (m, F + K, H), rows, F with the factor of its units, and the factor of the logits."""
    theta = finite(matrix(theta, "theta", shape.dim), "theta")
    rows = finite(matrix(rows, "rows", shape.inputs + 1), "rows")
    if len(rows) and not np.isin(rows[:, -1], np.arange(shape.classes)).all():
        raise ValueError(f"the last column of rows must be a class from 0 to {shape.classes - 1}")
    nets = theta.reshape(len(theta), shape.inputs + shape.classes, shape.hidden)
    layer = shape.inputs, float(shape.steepness / np.sqrt(shape.inputs))
    return nets, rows, layer, float(shape.scale / np.sqrt(shape.hidden))


@fast_jit
def _units(row, net, layer, hard, units):
    """g(a_h) of a row (F + 1,), and in the second row of `units` (2, H) the slope of g times that of a."""
    inputs, factor = layer
    units[0, :] = 0.0
    for f in range(inputs):
        x = row[f]
        for h in range(net.shape[1]):
            units[0, h] += x * net[f, h]
    for h in range(net.shape[1]):
        a = factor * units[0, h]
        if hard:
            units[0, h] = 1.0 if a >= 0.0 else -1.0
            units[1, h] = factor if abs(a) <= 1.0 else 0.0
        else:
            t = np.tanh(a)
            units[0, h] = t
            units[1, h] = factor * (1.0 - t * t)


@fast_jit
def _softmax(net, inputs, logit, units, out):
    """log p(class) of the units' values, (K,)."""
    top = -1e300
    for k in range(out.size):
        total = 0.0
        for h in range(net.shape[1]):
            total += units[0, h] * net[inputs + k, h]
        out[k] = logit * total
        top = max(top, out[k])
    total = 0.0
    for k in range(out.size):
        total += np.exp(out[k] - top)
    top += np.log(total)
    for k in range(out.size):
        out[k] -= top


@fast_jit
def _log_probabilities(nets, rows, layer, logit, hard, out):
    units = np.empty((2, nets.shape[2]))
    for i in range(nets.shape[0]):
        for n in range(rows.shape[0]):
            _units(rows[n], nets[i], layer, hard, units)
            _softmax(nets[i], layer[0], logit, units, out[i, n])


@fast_jit
def _log_likelihood(nets, rows, layer, logit, hard, out):
    units, chances = np.empty((2, nets.shape[2])), np.empty(nets.shape[1] - layer[0])
    for i in range(nets.shape[0]):
        out[i] = 0.0
        for n in range(rows.shape[0]):
            _units(rows[n], nets[i], layer, hard, units)
            _softmax(nets[i], layer[0], logit, units, chances)
            out[i] += chances[int(rows[n, layer[0]])]


@fast_jit
def _gradient(nets, rows, layer, logit, hard, out):
    """Adds to `out` (m, F + K, H); the logits' own slopes are 1[y = k] - p_k."""
    inputs, hidden = layer[0], nets.shape[2]
    units, chances, pulls = np.empty((2, hidden)), np.empty(nets.shape[1] - inputs), np.empty(hidden)
    for i in range(nets.shape[0]):
        for n in range(rows.shape[0]):
            _units(rows[n], nets[i], layer, hard, units)
            _softmax(nets[i], inputs, logit, units, chances)
            for h in range(pulls.size):
                pulls[h] = 0.0
            for k in range(chances.size):
                slope = logit * ((1.0 if k == int(rows[n, inputs]) else 0.0) - np.exp(chances[k]))
                for h in range(hidden):
                    out[i, inputs + k, h] += slope * units[0, h]
                    pulls[h] += slope * nets[i, inputs + k, h]
            for h in range(hidden):
                pulls[h] *= units[1, h]
            for f in range(inputs):
                x = rows[n, f]
                for h in range(hidden):
                    out[i, f, h] += x * pulls[h]


def warm_up_calls() -> Iterator[tuple[str, str, Callable[[], object]]]:
    """One call of each kernel."""
    shape = NetShape(1, 2, 2, 1.0, 1.0)
    theta, rows = np.ones((2, shape.dim)), np.zeros((2, 2))
    yield "binary_net", "binary net", lambda: net_log_likelihood(theta, rows, shape, True)
    yield "binary_net", "binary net's gradient", lambda: net_gradient(theta, rows, shape, False)
    yield "binary_net", "binary net class by class", lambda: net_log_probabilities(theta, rows, shape, True)
