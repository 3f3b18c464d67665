"""The kernels of nets with weights from -1 to 1 against the formula in NumPy, and the gradient against differences."""

import numpy as np
import pytest

from pmdviz.kernels.likelihoods.binary_net import NetShape, net_gradient, net_log_likelihood, net_log_probabilities
from tests.support.tables import looped

SHAPES = [NetShape(5, 4, 3, 2.0, 3.0), NetShape(1, 1, 2, 0.5, 1.0), NetShape(7, 9, 10, 5.0, 0.7)]


def drawn(shape, hard, m=4, n=6, seed=0):
    rng = np.random.default_rng(seed)
    theta = rng.uniform(-1, 1, (m, shape.dim))
    rows = np.column_stack([rng.uniform(-1, 1, (n, shape.inputs)), rng.integers(shape.classes, size=n)])
    return (np.where(theta >= 0, 1.0, -1.0) if hard else theta), rows


def naive(theta, rows, shape, hard):
    """log p of every class, (m, n, K)."""
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
    np.testing.assert_allclose(net_log_probabilities(theta, rows, shape, hard), expected, atol=1e-12)
    of_row = expected[:, np.arange(len(rows)), rows[:, -1].astype(int)]
    np.testing.assert_allclose(net_log_likelihood(theta, rows, shape, hard), of_row.sum(axis=1), atol=1e-11)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_gradient_of_soft_units_is_that_of_the_likelihood(shape):
    theta, rows = drawn(shape, hard=False)
    step = 1e-5 * np.eye(shape.dim)
    slopes = [
        (net_log_likelihood(theta + e, rows, shape, False) - net_log_likelihood(theta - e, rows, shape, False)) / 2e-5
        for e in step
    ]
    np.testing.assert_allclose(net_gradient(theta, rows, shape, False), np.stack(slopes, axis=1), atol=1e-7)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_hard_gradient_passes_through_signs_as_through_clipped_identities(shape):
    theta, rows = drawn(shape, hard=True)
    cut, labels = shape.inputs * shape.hidden, rows[:, -1].astype(int)
    first, second = theta[:, :cut].reshape(-1, shape.inputs, shape.hidden), theta[:, cut:]
    second = second.reshape(-1, shape.classes, shape.hidden)
    factor = shape.steepness / np.sqrt(shape.inputs)
    a = factor * (rows[:, :-1] @ first)
    slopes = np.eye(shape.classes)[labels] - np.exp(naive(theta, rows, shape, True))
    slopes = shape.scale / np.sqrt(shape.hidden) * slopes
    pulls = slopes @ second * factor * (np.abs(a) <= 1)
    into_first = np.einsum("nf,mnh->mfh", rows[:, :-1], pulls).reshape(len(theta), -1)
    into_second = np.einsum("mnk,mnh->mkh", slopes, np.where(a >= 0, 1.0, -1.0)).reshape(len(theta), -1)
    expected = np.concatenate([into_first, into_second], axis=1)
    np.testing.assert_allclose(net_gradient(theta, rows, shape, True), expected, atol=1e-12)


def test_a_unit_at_zero_counts_as_one():
    shape = NetShape(2, 1, 2, 1.0, 1.0)
    theta = np.array([[1.0, -1.0, 1.0, -1.0]])  # V = (1, -1), so that equal inputs cancel
    found = net_log_probabilities(theta, np.array([[0.5, 0.5, 0.0]]), shape, True)[0, 0]
    np.testing.assert_allclose(found[0] - found[1], 2.0)
