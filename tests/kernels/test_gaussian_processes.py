"""Gaussian processes and their factors against NumPy, plain formulas that invert matrices, and scikit-learn."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel

from pmdviz.kernels import gaussian_processes
from pmdviz.kernels.factors import cholesky as small_cholesky
from pmdviz.kernels.factors import inverse, precision
from pmdviz.kernels.gaussian_processes import add_products, cholesky, forward
from tests.support.tables import looped

NOISE, KEPT, POWER = 0.01, 0.7, 1.9


def rbf(x, z):
    return np.exp(-0.5 * ((x[:, None] - z[None]) ** 2).sum(axis=2))


def posed(seed=0, m=3, num=7, size=11, k=2):
    rng = np.random.default_rng(seed)
    inputs, rows, root = (rng.normal(size=shape) for shape in ((m, num, k), (size, k + 1), (m, num, num)))
    precision = np.eye(num) + root @ root.transpose(0, 2, 1)
    natural = np.concatenate([np.tril(precision), rng.normal(size=(m, num, 1))], axis=2)
    return inputs, gaussian_processes.factorised(inputs), natural, rows


def full(natural):
    lower = natural[:, :-1]
    return lower + np.tril(lower, -1).T, natural[:, -1]


def features(inputs, factor, x):
    return np.linalg.inv(factor) @ rbf(inputs, x)


def test_factors_are_of_the_kernel_matrix_and_whitened_columns_are_those_of_their_inverse():
    inputs, factors, _, _ = posed()
    for z, factor in zip(inputs, factors, strict=True):
        covariance = rbf(z, z) + gaussian_processes.JITTER * np.eye(len(z))
        np.testing.assert_allclose(factor @ factor.T, covariance, atol=1e-13)
        assert np.array_equal(factor, np.tril(factor))
    found = gaussian_processes.covariances(inputs[0], inputs[1])
    np.testing.assert_allclose(found, rbf(inputs[0], inputs[1]), rtol=1e-13)
    columns = np.random.default_rng(4).normal(size=(3, 7, 5))
    before, expected = columns.copy(), np.linalg.inv(factors[0]) @ columns
    np.testing.assert_allclose(gaussian_processes.whitened(factors[0], columns), expected, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(gaussian_processes.whitened(factors[0], columns[0]), expected[0], rtol=1e-8, atol=1e-8)
    assert np.array_equal(columns, before)


@looped("corrected", [True, False])
@looped("num", [1, 2, 7, 13])
def test_a_tilted_posterior_is_the_product_of_its_factors(corrected, num):
    inputs, factors, natural, rows = posed(num=num)
    new, partitions, bases = gaussian_processes.tilted(inputs, factors, natural, rows, KEPT, POWER, NOISE, corrected)
    y = rows[:, -1]
    for i in range(len(inputs)):
        a = features(inputs[i], factors[i], rows[:, :-1])
        variance = NOISE + (1 - (a**2).sum(axis=0) if corrected else np.zeros(len(y)))
        precision, linear = full(natural[i])
        precision = KEPT * precision + (1 - KEPT) * np.eye(num) + POWER * (a / variance) @ a.T
        linear = KEPT * linear + POWER * (a / variance) @ y
        for found, expected in zip(full(new[i]), (precision, linear), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
        partition = 0.5 * linear @ np.linalg.inv(precision) @ linear - 0.5 * np.linalg.slogdet(precision)[1]
        base = -0.5 * POWER * (np.log(2 * np.pi * variance) + y**2 / variance).sum()
        assert [partitions[i], bases[i]] == pytest.approx([partition, base], rel=1e-10)


def test_predictions_are_those_of_the_conditional_gaussian():
    inputs, factors, natural, rows = posed()
    points = rows[:5, :-1]
    means, choleskys = gaussian_processes.predicted(inputs, factors, natural, points)
    for i in range(len(inputs)):
        a = features(inputs[i], factors[i], points)
        precision, linear = full(natural[i])
        inverse = np.linalg.inv(precision)
        np.testing.assert_allclose(means[i], a.T @ inverse @ linear, rtol=1e-9, atol=1e-12)
        cov = rbf(points, points) - a.T @ a + a.T @ inverse @ a + gaussian_processes.JITTER * np.eye(len(points))
        np.testing.assert_allclose(choleskys[i] @ choleskys[i].T, cov, atol=1e-9)
        assert np.array_equal(choleskys[i], np.tril(choleskys[i]))


def posed_classes(n=30, k=2, m=6, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, k))
    y = np.where(x[:, 0] + 0.5 * rng.standard_normal(n) > 0, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return 1.5 * rng.standard_normal((m, k + 1)), x, y


def class_covariance(theta, x, z):
    gaps = (x[:, None] - z) / np.exp(theta[:-1])
    return np.exp(2 * theta[-1] - 0.5 * (gaps**2).sum(axis=2))


def naive(theta, x, y):
    """The peak by Newton's steps with inverse matrices; the integral of the Gaussian there."""
    cov, f = class_covariance(theta, x, x), np.zeros(len(y))
    for _ in range(100):
        w = expit(f) * expit(-f)
        f = np.linalg.solve(np.eye(len(y)) + cov @ np.diag(w), cov @ (w * f + y * expit(-y * f)))
    w = expit(f) * expit(-f)
    a = y * expit(-y * f)  # at the peak K^-1 f is the gradient
    return -0.5 * a @ f + np.log(expit(y * f)).sum() - 0.5 * np.linalg.slogdet(np.eye(len(y)) + cov * w)[1]


@looped("n, k", [(30, 2), (29, 4), (5, 1), (2, 1)])
def test_the_marginal_likelihood_is_the_plain_formulas(n, k):
    theta, x, y = posed_classes(n, k)
    found = gaussian_processes.gp_log_marginal(theta, x, y)
    np.testing.assert_allclose(found, [naive(t, x, y) for t in theta], rtol=1e-9)


def test_chances_are_scikit_learns():
    """Which integrates the logistic function by five error functions; here it is MacKay's formula, as good as that."""
    theta, x, y = posed_classes()
    points = 2 * np.random.default_rng(1).standard_normal((40, 2))
    for t in theta:
        kernel = ConstantKernel(np.exp(2 * t[-1])) * RBF(np.exp(t[:-1]))
        expected = GaussianProcessClassifier(kernel, optimizer=None).fit(x, y).predict_proba(points)[:, 1]
        found = gaussian_processes.gp_class_chances(t[None], x, y, points)[0]
        np.testing.assert_allclose(found, expected, atol=0.015)
        clear = np.abs(expected - 0.5) > 0.005
        assert clear.any() and np.array_equal((found > 0.5)[clear], (expected > 0.5)[clear])


def test_the_extremes_of_theta_are_finite_and_nan_has_no_density():
    _, x, y = posed_classes()
    corners = np.array([[a, b, c] for a in (-1e3, 40.0) for b in (-50.0, 1e6) for c in (-np.inf, 0.0, 25.0)])
    found = gaussian_processes.gp_log_marginal(corners, x, y)
    assert np.isfinite(found).all() and (found < 0).all()
    no_latent, broken = [0.0, 0.0, -gaussian_processes.REACH], [0.0, np.nan, 0.0]
    found = gaussian_processes.gp_log_marginal(np.array([no_latent, broken]), x, y)
    assert found[0] == pytest.approx(len(y) * np.log(0.5), rel=1e-9), "each class is a fair coin"
    assert found[1] == -np.inf


def positive(num, seed=0):
    root = np.random.default_rng(seed).normal(size=(num, num))
    return root @ root.T + num * np.eye(num)


@looped("num", [1, 2, 3, 4, 5, 6, 7, 8, 11, 33])
def test_products_solves_and_factors_of_the_lower_triangle_are_numpy_s(num):
    rng = np.random.default_rng(1)
    for n in (1, 5, 9, 16):
        left, rows, target = rng.normal(size=(num, n)), rng.normal(size=(num, n)), rng.normal(size=(num, num))
        expected = np.tril(target + 0.7 * left @ rows.T)
        add_products(target, left, rows, 0.7)
        np.testing.assert_allclose(np.tril(target), expected, rtol=1e-12, atol=1e-12)
        factor, columns = np.linalg.cholesky(positive(num)), rng.normal(size=(num, n))
        expected = np.linalg.solve(factor, columns)
        forward(factor, columns)
        np.testing.assert_allclose(columns, expected, rtol=1e-11, atol=1e-13)
    matrix = positive(num, 3)
    expected = np.linalg.cholesky(matrix)
    cholesky(matrix)
    np.testing.assert_allclose(np.tril(matrix), expected, rtol=1e-12, atol=1e-13)
    matrix = np.ones((6, 6))  # whose last pivot rounding makes negative
    matrix[5, 5] = 1 - 1e-12
    cholesky(matrix)
    assert np.isfinite(np.tril(matrix)).all() and matrix[5, 5] > 0


def test_small_factors_and_inverses_are_numpy_s_and_read_the_lower_triangle_of_positive_matrices_alone():
    for d in (1, 2, 5, 30):
        root = np.random.default_rng(d).normal(size=(3, d, 2 * d + 1))
        many = root @ root.transpose(0, 2, 1)
        tolerance = {"rtol": 1e-10, "atol": 1e-12, "err_msg": f"d = {d}"}
        before, factors = many.copy(), small_cholesky(many)
        np.testing.assert_allclose(factors, np.linalg.cholesky(many), **tolerance)
        np.testing.assert_array_equal(small_cholesky(many[0].T), factors[0])
        np.testing.assert_allclose(inverse(factors[0]), np.linalg.inv(factors[0]), **tolerance)
        np.testing.assert_allclose(precision(many[0]), np.linalg.inv(many[0]), **tolerance)
        np.testing.assert_array_equal(many, before)
    np.testing.assert_array_equal(small_cholesky(np.array([[4.0, np.nan], [2.0, 2.0]])), [[2, 0], [1, 1]])
    for last in (0.0, -1.0, np.nan):
        with pytest.raises(np.linalg.LinAlgError):
            small_cholesky(np.array([np.eye(2), np.diag([1.0, last])]))
