"""Linear and logistic regression against plain NumPy and SciPy, their gradients against finite differences."""

import numpy as np
import pytest
from scipy.special import expit, log_expit
from scipy.stats import norm

from pmdviz.kernels.likelihoods.linear import linear_grad_log_likelihood, linear_log_likelihood
from pmdviz.kernels.likelihoods.logistic import (
    logistic_grad_log_likelihood,
    logistic_log_likelihood,
    logistic_row_log_likelihood,
)
from pmdviz.kernels.likelihoods.logistic_blocks import logistic_block_gradient
from tests.kernels.naive import differences

SHAPES = [(1, 1, 1), (3, 2, 5), (700, 4, 9), (5, 30, 40)]  # m, d, rows


def drawn(m, d, n, classes):
    rng = np.random.default_rng([m, d, n])
    x, y = rng.normal(size=(n, d)), rng.normal(size=n)
    return rng.normal(size=(m, d)), np.column_stack([x, (y > 0).astype(float) if classes else y])


@pytest.mark.parametrize("m, d, n", SHAPES)
def test_linear(m, d, n):
    theta, rows = drawn(m, d, n, classes=False)
    naive = norm.logpdf(rows[:, -1], theta @ rows[:, :-1].T, 0.7).sum(axis=1)
    np.testing.assert_allclose(linear_log_likelihood(theta, rows, 0.7), naive, rtol=1e-12)
    slope = differences(lambda t: linear_log_likelihood(t, rows, 0.7), theta)
    np.testing.assert_allclose(linear_grad_log_likelihood(theta, rows, 0.7), slope, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("m, d, n", SHAPES)
def test_logistic(m, d, n):
    theta, rows = drawn(m, d, n, classes=True)
    signs, a = 2 * rows[:, -1] - 1, theta @ rows[:, :-1].T
    np.testing.assert_allclose(logistic_row_log_likelihood(theta, rows), log_expit(signs * a), rtol=1e-12)
    np.testing.assert_allclose(logistic_log_likelihood(theta, rows), log_expit(signs * a).sum(axis=1), rtol=1e-12)
    exact = (rows[:, -1] - expit(a)) @ rows[:, :-1]
    np.testing.assert_allclose(logistic_grad_log_likelihood(theta, rows), exact, rtol=1e-11, atol=1e-12)
    slope = differences(lambda t: logistic_log_likelihood(t, rows), theta)
    np.testing.assert_allclose(logistic_grad_log_likelihood(theta, rows), slope, rtol=1e-6, atol=1e-6)


def test_logistic_far_out_neither_overflows_nor_loses_its_sign():
    rows = np.array([[1.0, 1.0], [1.0, 0.0]])
    found = logistic_row_log_likelihood(np.array([[800.0], [-800.0]]), rows)
    np.testing.assert_allclose(found, [[0.0, -800.0], [-800.0, 0.0]], atol=1e-12)


@pytest.mark.parametrize(
    "m, others, n, columns", [(1, 1, 1, [0]), (5, 3, 9, [1, 2]), (150, 10, 40, [0, 3]), (4, 2, 7, [0, 1, 2, 3])]
)
def test_logistic_gradients_of_a_block(m, others, n, columns):
    """Mean over the others of the plain gradient; far out too, where e^-a e^-b is beyond all numbers."""
    rng = np.random.default_rng([m, n])
    _, rows = drawn(1, 4, n, classes=True)
    for scale in (1.0, 300.0):
        own, rest = scale * rng.normal(size=(m, len(columns))), scale * rng.normal(size=(others, 4))
        expected = np.zeros(own.shape)
        for row in rest:
            theta = np.tile(row, (m, 1))
            theta[:, columns] = own
            p = expit(theta @ rows[:, :-1].T)
            expected += ((rows[:, -1] - p) @ rows[:, columns]) / others
        found = logistic_block_gradient(own, rest, np.array(columns), rows)
        near = dict(rtol=1e-10, atol=1e-10) if scale == 1.0 else dict(atol=n * 3.0)
        np.testing.assert_allclose(found, expected, **near)
        assert np.isfinite(found).all()
