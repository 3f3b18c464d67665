"""The kernels of layered nets against the formula in NumPy, and their gradients against differences."""

import numpy as np

from pmdviz.kernels.likelihoods.regression_net import (
    TILE,
    LayeredShape,
    regression_fit,
    regression_gradient,
    regression_outputs,
)
from tests.support.tables import looped

SIZES = [(1, 1, 1), (3, 4, 1), (5, 3, 2, 1), (2, 3, 4, 2, 1)]
KINDS = [(relu, binary) for relu in (False, True) for binary in (False, True)]


def drawn(shape, m=3, n=7, seed=0):
    rng = np.random.default_rng(seed)
    weights, x = rng.standard_normal((m, shape.dim)), rng.standard_normal((n, shape.sizes[0]))
    return weights, np.column_stack([x, rng.integers(2, size=n) if shape.binary else rng.standard_normal(n)])


def naive(weights, x, shape):
    """The outputs (m, n), one net and one layer after the other."""
    found = []
    for net in weights:
        values, rest = x, net
        for layer, (narrow, wide) in enumerate(zip(shape.sizes[:-1], shape.sizes[1:], strict=True), 2):
            matrix, biases, rest = rest[: narrow * wide], rest[narrow * wide :][:wide], rest[(narrow + 1) * wide :]
            values = values @ matrix.reshape(narrow, wide) + biases
            if layer < len(shape.sizes):
                values = np.maximum(values, 0) if shape.relu else np.tanh(values)
        found.append(values[:, 0])
    return np.stack(found)


@looped("kind", KINDS)
@looped("sizes", SIZES)
def test_outputs_and_fit_are_the_formula(sizes, kind):
    shape = LayeredShape(sizes, *kind)
    for n in (1, 7, TILE, TILE + 1):
        weights, rows = drawn(shape, n=n)
        eta, y = naive(weights, rows[:, :-1], shape), rows[:, -1]
        np.testing.assert_allclose(regression_outputs(weights, rows[:, :-1], shape), eta, atol=1e-12)
        each = y * eta - np.log1p(np.exp(eta)) if shape.binary else (y - eta) ** 2
        np.testing.assert_allclose(regression_fit(weights, rows, shape), each.sum(axis=1), rtol=1e-11, atol=1e-12)


@looped("kind", KINDS)
@looped("sizes", SIZES)
def test_the_gradient_is_that_of_the_fit(sizes, kind):
    shape = LayeredShape(sizes, *kind)
    weights, rows = drawn(shape, n=TILE + 3, seed=1)
    gradient, fit = regression_gradient(weights, rows, shape)
    step = 1e-6 * np.eye(shape.dim)
    slopes = [
        (regression_fit(weights + e, rows, shape) - regression_fit(weights - e, rows, shape)) / 2e-6 for e in step
    ]
    factor = 1.0 if shape.binary else -0.5
    np.testing.assert_allclose(gradient, factor * np.stack(slopes, axis=1), rtol=2e-5, atol=2e-5)
    np.testing.assert_array_equal(fit, regression_fit(weights, rows, shape))


def test_far_from_zero_classes_and_units_stay_numbers():
    shape = LayeredShape((1, 1, 1), False, True)
    weights = np.array([[1e4, 0.0, 1e4, 0.0], [-1e4, 0.0, 1e4, 0.0]])
    found = regression_fit(weights, np.array([[1.0, 1.0], [-1.0, 0.0]]), shape)
    np.testing.assert_allclose(found, [0.0, -2e4], atol=1e-12)
