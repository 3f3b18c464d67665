"""Structured updates of a sparse Gaussian process against plain formulas, which invert matrices."""

import numpy as np
import pytest

from pmdviz.kernels.sparse_gp import JITTER, covariances, factorised, predicted, tilted, whitened
from tests.support.tables import looped

NOISE, KEPT, POWER = 0.01, 0.7, 1.9


def rbf(x, z):
    return np.exp(-0.5 * ((x[:, None] - z[None]) ** 2).sum(axis=2))


def posed(seed=0, m=3, num=7, size=11, k=2):
    """Inducing inputs, their factors, a posterior that is not the prior, and rows."""
    rng = np.random.default_rng(seed)
    inputs, rows = rng.normal(size=(m, num, k)), rng.normal(size=(size, k + 1))
    root = rng.normal(size=(m, num, num))
    precision = np.eye(num) + root @ root.transpose(0, 2, 1)
    natural = np.concatenate([np.tril(precision), rng.normal(size=(m, num, 1))], axis=2)
    return inputs, factorised(inputs), natural, rows


def full(natural):
    """Precision and linear term."""
    lower = natural[:, :-1]
    return lower + np.tril(lower, -1).T, natural[:, -1]


def features(inputs, factor, x):
    return np.linalg.inv(factor) @ rbf(inputs, x)


def test_factors_are_of_the_kernel_matrix():
    inputs, factors, _, _ = posed()
    for z, factor in zip(inputs, factors, strict=True):
        assert np.array_equal(factor, np.tril(factor))
        np.testing.assert_allclose(factor @ factor.T, rbf(z, z) + JITTER * np.eye(len(z)), atol=1e-13)
    np.testing.assert_allclose(covariances(inputs[0], inputs[1]), rbf(inputs[0], inputs[1]), rtol=1e-13)


@looped("corrected", [True, False])
@looped("num", [1, 2, 7, 13])
def test_a_tilted_posterior_is_the_product_of_its_factors(corrected, num):
    inputs, factors, natural, rows = posed(num=num)
    new, partitions, bases = tilted(inputs, factors, natural, rows, KEPT, POWER, NOISE, corrected)
    y = rows[:, -1]
    for i in range(len(inputs)):
        a = features(inputs[i], factors[i], rows[:, :-1])
        variance = NOISE + (1 - (a**2).sum(axis=0) if corrected else np.zeros(len(y)))
        precision, linear = full(natural[i])
        precision = KEPT * precision + (1 - KEPT) * np.eye(num) + POWER * (a / variance) @ a.T
        linear = KEPT * linear + POWER * (a / variance) @ y
        np.testing.assert_allclose(full(new[i])[0], precision, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(full(new[i])[1], linear, rtol=1e-9, atol=1e-9)
        partition = 0.5 * linear @ np.linalg.inv(precision) @ linear - 0.5 * np.linalg.slogdet(precision)[1]
        assert partitions[i] == pytest.approx(partition, rel=1e-10)
        base = -0.5 * POWER * (np.log(2 * np.pi * variance) + y**2 / variance).sum()
        assert bases[i] == pytest.approx(base, rel=1e-10)


def test_predictions_are_those_of_the_conditional_gaussian():
    inputs, factors, natural, rows = posed()
    points = rows[:5, :-1]
    means, choleskys = predicted(inputs, factors, natural, points)
    for i in range(len(inputs)):
        a = features(inputs[i], factors[i], points)
        precision, linear = full(natural[i])
        inverse = np.linalg.inv(precision)
        np.testing.assert_allclose(means[i], a.T @ inverse @ linear, rtol=1e-9, atol=1e-12)
        cov = rbf(points, points) - a.T @ a + a.T @ inverse @ a + JITTER * np.eye(len(points))
        np.testing.assert_allclose(choleskys[i] @ choleskys[i].T, cov, atol=1e-9)
        assert np.array_equal(choleskys[i], np.tril(choleskys[i]))


def test_whitened_columns_are_those_of_the_inverse_factor():
    _, factors, _, _ = posed()
    columns = np.random.default_rng(4).normal(size=(3, 7, 5))
    before = columns.copy()
    expected = np.linalg.inv(factors[0]) @ columns
    np.testing.assert_allclose(whitened(factors[0], columns), expected, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(whitened(factors[0], columns[0]), expected[0], rtol=1e-8, atol=1e-8)
    assert np.array_equal(columns, before)
