"""Kernels of nets, of signs and of layers, against the formula in NumPy, and their gradients against differences."""

import numpy as np

from pmdviz.kernels import networks
from tests.kernels.naive import differences
from tests.support.tables import looped

SHAPES = [
    networks.NetShape(5, 4, 3, 2.0, 3.0),
    networks.NetShape(1, 1, 2, 0.5, 1.0),
    networks.NetShape(7, 9, 10, 5.0, 0.7),
]


def drawn(shape, hard, m=4, n=6, seed=0):
    rng = np.random.default_rng(seed)
    theta = rng.uniform(-1, 1, (m, shape.dim))
    rows = np.column_stack([rng.uniform(-1, 1, (n, shape.inputs)), rng.integers(shape.classes, size=n)])
    return (np.where(theta >= 0, 1.0, -1.0) if hard else theta), rows


def naive(theta, rows, shape, hard):
    cut = shape.inputs * shape.hidden
    first, second = theta[:, :cut].reshape(-1, shape.inputs, shape.hidden), theta[:, cut:]
    a = shape.steepness / np.sqrt(shape.inputs) * (rows[:, :-1] @ first)
    units = np.where(a >= 0, 1.0, -1.0) if hard else np.tanh(a)
    second = second.reshape(-1, shape.classes, shape.hidden)
    logits = shape.scale / np.sqrt(shape.hidden) * units @ np.swapaxes(second, 1, 2)
    return logits - np.log(np.exp(logits).sum(axis=2, keepdims=True))


@looped("hard", [True, False])
@looped("shape", SHAPES)
def test_forward_is_the_formula(shape, hard):
    theta, rows = drawn(shape, hard)
    expected = naive(theta, rows, shape, hard)
    np.testing.assert_allclose(networks.net_log_probabilities(theta, rows, shape, hard), expected, atol=1e-12)
    of_row = expected[:, np.arange(len(rows)), rows[:, -1].astype(int)]
    np.testing.assert_allclose(networks.net_log_likelihood(theta, rows, shape, hard), of_row.sum(axis=1), atol=1e-11)


@looped("shape", SHAPES)
def test_a_hard_gradient_passes_through_signs_as_through_clipped_identities(shape):
    theta, rows = drawn(shape, hard=True)
    cut, labels = shape.inputs * shape.hidden, rows[:, -1].astype(int)
    first, second = theta[:, :cut].reshape(-1, shape.inputs, shape.hidden), theta[:, cut:]
    second, factor = second.reshape(-1, shape.classes, shape.hidden), shape.steepness / np.sqrt(shape.inputs)
    a = factor * (rows[:, :-1] @ first)
    slopes = np.eye(shape.classes)[labels] - np.exp(naive(theta, rows, shape, True))
    slopes = shape.scale / np.sqrt(shape.hidden) * slopes
    pulls = slopes @ second * factor * (np.abs(a) <= 1)
    into_first = np.einsum("nf,mnh->mfh", rows[:, :-1], pulls).reshape(len(theta), -1)
    into_second = np.einsum("mnk,mnh->mkh", slopes, np.where(a >= 0, 1.0, -1.0)).reshape(len(theta), -1)
    expected = np.concatenate([into_first, into_second], axis=1)
    np.testing.assert_allclose(networks.net_gradient(theta, rows, shape, True), expected, atol=1e-12)


def test_a_unit_at_zero_counts_as_one():
    shape = networks.NetShape(2, 1, 2, 1.0, 1.0)
    theta = np.array([[1.0, -1.0, 1.0, -1.0]])  # V = (1, -1), so that equal inputs cancel
    found = networks.net_log_probabilities(theta, np.array([[0.5, 0.5, 0.0]]), shape, True)[0, 0]
    np.testing.assert_allclose(found[0] - found[1], 2.0)


SHAPES_OF_LAYERS = [
    networks.LayeredShape(sizes, relu, binary)
    for sizes in ((1, 1, 1), (3, 4, 1), (5, 3, 2, 1), (2, 3, 4, 2, 1))
    for relu in (False, True)
    for binary in (False, True)
]


def drawn_layers(shape, m=3, n=7, seed=0):
    rng = np.random.default_rng(seed)
    weights, x = rng.standard_normal((m, shape.dim)), rng.standard_normal((n, shape.sizes[0]))
    return weights, np.column_stack([x, rng.integers(2, size=n) if shape.binary else rng.standard_normal(n)])


def naive_layers(weights, x, shape):
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


@looped("shape", SHAPES_OF_LAYERS)
@looped("n", [1, 7, networks.TILE, networks.TILE + 1])
def test_outputs_and_fit_are_the_formula(shape, n):
    weights, rows = drawn_layers(shape, n=n)
    eta, y = naive_layers(weights, rows[:, :-1], shape), rows[:, -1]
    np.testing.assert_allclose(networks.regression_outputs(weights, rows[:, :-1], shape), eta, atol=1e-12)
    fit = (y * eta - np.log1p(np.exp(eta)) if shape.binary else (y - eta) ** 2).sum(axis=1)
    np.testing.assert_allclose(networks.regression_fit(weights, rows, shape), fit, rtol=1e-11, atol=1e-12)


@looped("shape", SHAPES_OF_LAYERS)
def test_the_gradient_is_that_of_the_fit(shape):
    weights, rows = drawn_layers(shape, n=networks.TILE + 3, seed=1)
    gradient, fit = networks.regression_gradient(weights, rows, shape)
    slope = differences(lambda w: networks.regression_fit(w, rows, shape), weights, 1e-6)
    np.testing.assert_allclose(gradient, (1.0 if shape.binary else -0.5) * slope, rtol=2e-5, atol=2e-5)
    np.testing.assert_array_equal(fit, networks.regression_fit(weights, rows, shape))


def test_far_from_zero_classes_and_units_stay_numbers():
    shape = networks.LayeredShape((1, 1, 1), False, True)
    weights = np.array([[1e4, 0.0, 1e4, 0.0], [-1e4, 0.0, 1e4, 0.0]])
    found = networks.regression_fit(weights, np.array([[1.0, 1.0], [-1.0, 0.0]]), shape)
    np.testing.assert_allclose(found, [0.0, -2e4], atol=1e-12)
